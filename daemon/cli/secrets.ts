/** Secrets: from a file that an option names, for scripts, or asked for on the terminal. */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import { EXIT, Failure, usage } from './io.ts';
import { askHidden, canAsk } from './prompt.ts';
import type { Session } from './session.ts';

/** `passphrase`: it was asked for before, in the same command. */
export type PassphraseOption = { passphraseFile?: string; passphrase?: string };

export const withPassphrase = (command: Command): Command =>
  command.option(
    '--passphrase-file <file>',
    "a file that holds the wallet's passphrase, or - for the input; otherwise it is asked for",
  );

export const passphraseOf = async (
  session: Session,
  { passphraseFile, passphrase }: PassphraseOption,
): Promise<string> =>
  passphrase ?? secretFrom(session, passphraseFile, 'Passphrase of the wallet:', '--passphrase-file');

/** The words of a wallet. `whose`: as the question names it. */
export const askedWords = (session: Session, file: string | undefined, whose = 'the wallet'): Promise<string> =>
  secretFrom(session, file, `The words of ${whose}, with spaces between them:`, '--words-file');

/** The BIP-39 passphrase in a file; empty without one. */
export const bip39In = async (file: string | undefined): Promise<string> =>
  file === undefined ? '' : secretFile(file, '--bip39-passphrase-file');

/** The secret in the file that `option` named; without one, the answer to a question. Throws `Failure`. */
export function secretFrom(session: Session, file: string | undefined, question: string, option: string) {
  return file === undefined ? askSecret(session, question, option) : secretFile(file, option, session.io.stdin);
}

/** Asks for a secret. Without a terminal, the error names the option that reads it from a file. */
export async function askSecret({ io }: Session, question: string, option: string): Promise<string> {
  if (!canAsk(io)) throw new Failure(`there is no terminal to ask on: give ${option}`, EXIT.failed, 'no_terminal');
  return askHidden(io, question);
}

const SECRET_BYTES_MAX = 4_096;

/** The secret in a file, or in `input` where the path is `-`; without the final line end. */
export async function secretFile(path: string, option: string, input: Readable = process.stdin): Promise<string> {
  const source = path === '-' ? input : createReadStream(path);
  const bytes = await readPast(source, SECRET_BYTES_MAX).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'ENOENT' ? 'is not there' : 'cannot be read';
    throw usage(`${option}: ${path} ${why}`);
  });
  if (bytes.length > SECRET_BYTES_MAX) throw usage(`${option}: ${path} is too large`);
  const text = bytes.toString('utf8').replace(/\r?\n$/, '');
  if (text === '') throw usage(`${option}: ${path} is empty`);
  return text;
}

/** Everything, or more than `bytesMax` bytes of it: a device or a pipe may have no end. */
export async function readPast(input: Readable, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    chunks.push(Buffer.from(chunk));
    bytes += chunk.length;
    if (bytes > bytesMax) break;
  }
  return Buffer.concat(chunks);
}
