/**
 * The alarm about a foreign address, and what the operator said about it.
 *
 * Invariants: while the file of an alarm is there, whatever it holds, this computer signs nothing for that server. The operator alone
 * ends it. It outlives restarts: it is on the disk before anything is said about it.
 */
import { appendFile, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Alarm, Foreign } from '../contract/signing-machine.ts';
import { exists, isMissing, replaceFile, syncFolder } from '../wallet/files.ts';
import { wordsOf } from '../wallet/wallet.ts';
import { walletFolderIn } from './place.ts';

const FILE = 'foreign-address.json';
/** A line for each foreign address that the operator has looked at. */
const LOOKED_FILE = 'foreign-addresses-looked-at.jsonl';
/** More are counted, and not kept. */
const SEEN_MAX = 50;

/** The operator's message while signing is stopped. `server`: its name here. */
export const stoppedText = (server: string): string =>
  `a foreign address was seen, and nothing is signed for ${server}: see countinghouse --server ${server} signer resume`;

/** Whether signing is stopped. */
export const isStopped = (folder: string): Promise<boolean> => exists(join(folder, FILE));

/** The alarm of a server; null: there is none. A damaged file is an alarm of which nothing is known. */
export async function readAlarm(folder: string): Promise<Alarm | null> {
  try {
    return Alarm.parse(JSON.parse(await readFile(join(folder, FILE), 'utf8')));
  } catch (error) {
    return isMissing(error) ? null : { seen: [], more: 0 };
  }
}

/** Raises the alarm, or adds to it. Returns those that are new: neither in it nor looked at before. */
export async function raiseAlarm(folder: string, found: readonly Foreign[]): Promise<Foreign[]> {
  if (found.length === 0) return [];
  const alarm = await readAlarm(folder);
  const known = new Set([...(await lookedAt(folder)), ...(alarm?.seen ?? []).map(subjectOf)]);
  const fresh = found.filter((one) => {
    const isNew = !known.has(subjectOf(one));
    known.add(subjectOf(one));
    return isNew;
  });
  if (fresh.length === 0) return [];
  const all = [...(alarm?.seen ?? []), ...fresh];
  const stored: Alarm = { seen: all.slice(0, SEEN_MAX), more: (alarm?.more ?? 0) + Math.max(0, all.length - SEEN_MAX) };
  await replaceFile(join(folder, FILE), `${JSON.stringify(stored, null, 2)}\n`);
  return fresh;
}

/**
 * The operator has looked, and signs for the server again. `folder`: of the server. Throws `Rejected`: `vault.*` for another passphrase.
 */
export async function signAgain(folder: string, passphrase: string, now: string): Promise<void> {
  await wordsOf(walletFolderIn(folder), passphrase);
  await endAlarm(folder, now);
}

/** The operator has looked: what was seen is remembered, and does not raise the alarm again. */
export async function endAlarm(folder: string, now: string): Promise<void> {
  const alarm = await readAlarm(folder);
  if (!alarm) return;
  const lines = alarm.seen.map((one) => `${JSON.stringify({ looked_at: now, ...one })}\n`);
  await appendFile(join(folder, LOOKED_FILE), lines.join(''), { mode: 0o600 });
  await syncFolder(folder);
  await rm(join(folder, FILE));
}

const subjectOf = ({ where, invoice, shown }: Pick<Foreign, 'where' | 'invoice' | 'shown'>): string =>
  JSON.stringify([where, invoice, shown]);

async function lookedAt(folder: string): Promise<string[]> {
  const text = await readFile(join(folder, LOOKED_FILE), 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return '';
    throw error;
  });
  return text.split('\n').flatMap((line) => {
    try {
      return [subjectOf(Foreign.parse(JSON.parse(line)))];
    } catch {
      // cut by a crash: its address raises the alarm again
      return [];
    }
  });
}
