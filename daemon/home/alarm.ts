/**
 * The alarm about a foreign address, and what the operator said about it.
 *
 * Invariants: while the file of an alarm is there, whatever it holds, this computer signs nothing for that server. The operator alone
 * ends it. It outlives restarts: it is on the disk before anything is said about it.
 */
import { appendFile, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Alarm, Foreign } from '../contract/signing-machine.ts';
import { Rejected } from '../domain/errors.ts';
import { exists, isMissing, replaceFile, syncFolder } from '../wallet/files.ts';
import { wordsOf } from '../wallet/wallet.ts';
import { alone } from './alone.ts';
import { type Server, walletFolderIn } from './place.ts';

const FILE = 'foreign-address.json';
/** A line for each foreign address that the operator has looked at. */
const LOOKED_FILE = 'foreign-addresses-looked-at.jsonl';
const NOTHING_KNOWN: Alarm = { seen: [], more: 0 };
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
    return isMissing(error) ? null : NOTHING_KNOWN;
  }
}

/** A server, as this computer joined it. */
type Place = Pick<Server, 'service' | 'joined'>;

/**
 * Raises the alarm, or adds to it. `server`: that showed them. Returns those that are new: of this server neither in
 * the alarm nor looked at before.
 */
export const raiseAlarm = async (folder: string, found: readonly Foreign[], server: Place): Promise<Foreign[]> =>
  found.length === 0 ? [] : alone(folder, () => add(folder, found, server));

async function add(folder: string, found: readonly Foreign[], server: Place): Promise<Foreign[]> {
  const alarm = await readAlarm(folder);
  const before = [...(await lookedAt(folder)), ...(alarm?.seen ?? [])];
  const known = new Set(before.filter((one) => isBy(one, server)).map(subjectOf));
  const fresh = found.flatMap((one) => {
    const isNew = !known.has(subjectOf(one));
    known.add(subjectOf(one));
    return isNew ? [{ ...one, service: server.service }] : [];
  });
  if (fresh.length === 0) return [];
  const all = [...(alarm?.seen ?? []), ...fresh];
  const stored: Alarm = {
    seen: all.slice(0, SEEN_MAX),
    more: (alarm?.more ?? 0) + Math.max(0, all.length - SEEN_MAX),
    of: [...new Set([...(alarm?.of ?? []), server.service])],
  };
  await replaceFile(join(folder, FILE), `${JSON.stringify(stored, null, 2)}\n`);
  return fresh;
}

/**
 * Whether an alarm is about this server, and not only about one whose place it has taken. Those beyond the kept ones of
 * an earlier release may be of any.
 */
export const isOf = ({ seen, more, of }: Alarm, server: Place): boolean =>
  (of?.includes(server.service) ?? more > 0) || seen.some((one) => isBy(one, server));

/** One without a mark was kept by an earlier release: it is of the server that was joined then. */
const isBy = ({ service, at }: Foreign, server: Place): boolean =>
  service === undefined ? server.joined === undefined || at >= server.joined : service === server.service;

/** The word of an operator after a look. `shown`: how many addresses were shown (`countIn`). `now`: ISO 8601. */
type Looked = { shown: number; now: string };

/** How many foreign addresses an alarm is about. */
export const countIn = ({ seen, more }: Alarm): number => seen.length + more;

/**
 * The operator has looked, and signs for the server again. `folder`: of the server. Throws `Rejected`:
 * `vault.passphrase` for another passphrase, `vault.missing`, `vault.corrupted`, `signer.foreign_address` if more were
 * seen since.
 */
export async function signAgain(folder: string, passphrase: string, looked: Looked): Promise<void> {
  await wordsOf(walletFolderIn(folder), passphrase);
  await endAlarm(folder, looked);
}

/** Addresses that the operator saw raise no alarm again. Throws `Rejected('signer.foreign_address')` if there was more. */
export const endAlarm = (folder: string, looked: Looked): Promise<void> => alone(folder, () => end(folder, looked));

async function end(folder: string, { shown, now }: Looked): Promise<void> {
  const alarm = await readAlarm(folder);
  if (!alarm) return;
  if (countIn(alarm) > shown) {
    throw new Rejected('signer.foreign_address', 'More foreign addresses were seen meanwhile: look at them, too');
  }
  const lines = alarm.seen.map((one) => `${JSON.stringify({ looked_at: now, ...one })}\n`);
  await appendFile(join(folder, LOOKED_FILE), lines.join(''), { mode: 0o600, flush: true });
  await rm(join(folder, FILE));
  await syncFolder(folder);
}

/** The same for what was seen in the same place: what the operator says of one is not said of another. */
const subjectOf = ({ where, invoice, network, chain, account_no, index, shown }: Foreign): string =>
  JSON.stringify([where, invoice, network, chain, account_no, index, shown]);

async function lookedAt(folder: string): Promise<Foreign[]> {
  // one that cannot be read, as another user's, is as none: the addresses raise the alarm again
  const text = await readFile(join(folder, LOOKED_FILE), 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    try {
      return [Foreign.parse(JSON.parse(line))];
    } catch {
      // cut by a crash: its address raises the alarm again
      return [];
    }
  });
}
