/**
 * The pass of a backup: a text by which a machine without the words opens this one file. A server whose keys are at home is restored with it.
 *
 * Invariant: it holds the hash of the file that was compared with the words. The maker of a file knows its key, and could make another
 * one with the same.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Rejected } from '../domain/errors.ts';

const PREFIX = 'CH-BACKUP-1-';
/** Of the age format. */
const KEY_BYTES = 16;
const HASH_BYTES = 32;
const CHECK_BYTES = 3;

export type BackupPass = { fileKey: Uint8Array; hash: Uint8Array };

const checkOf = (body: Uint8Array): Buffer =>
  createHash('sha256').update(PREFIX).update(body).digest().subarray(0, CHECK_BYTES);

export function passText({ fileKey, hash }: BackupPass): string {
  const body = Buffer.concat([fileKey, hash]);
  return `${PREFIX}${Buffer.concat([body, checkOf(body)]).toString('base64url')}`;
}

/** Throws `Rejected('backup.pass')` for a text that is none, or has a wrong character. */
export function readPass(text: string): BackupPass {
  const typed = text.trim();
  const bytes = Buffer.from(typed.slice(PREFIX.length), 'base64url');
  const body = bytes.subarray(0, KEY_BYTES + HASH_BYTES);
  const pass = { fileKey: body.subarray(0, KEY_BYTES), hash: body.subarray(KEY_BYTES) };
  if (bytes.length !== body.length + CHECK_BYTES || passText(pass) !== typed) {
    throw new Rejected('backup.pass', 'This is no pass of a backup: a character of it is wrong or missing');
  }
  return pass;
}

/** SHA-256 of a file. */
export async function hashOf(file: string): Promise<Buffer> {
  const digest = createHash('sha256');
  for await (const part of createReadStream(file)) digest.update(part as Buffer);
  return digest.digest();
}

/** Throws `Rejected('backup.pass')` for any other file than the one that the pass was made of. */
export async function needOwnPass(file: string, { hash }: BackupPass): Promise<void> {
  if ((await hashOf(file)).equals(hash)) return;
  const text = 'This pass is of another backup, or the file was altered after it was compared with the words';
  throw new Rejected('backup.pass', text);
}
