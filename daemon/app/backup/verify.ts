/**
 * The drill: opens a backup into a scratch database and compares it with its manifest, with the wallet's words, and
 * with the service on this machine if it is the same one. Nothing is kept, and files that are only checked are not
 * written.
 */
import { isDeepStrictEqual } from 'node:util';
import { deriveAddress } from '../../chains/derive.ts';
import { isWatchOnly } from '../../domain/chain.ts';
import type { DrillReport } from '../../domain/drill.ts';
import { Scratch } from '../../store/scratch.ts';
import {
  type AddressSample,
  addressSamples,
  copyProblems,
  type Source,
  type StoreFacts,
  storeFacts,
  strangeIn,
} from '../../store/snapshot.ts';
import type { OpenedBackup } from '../../wallet/backup-key.ts';
import { DATABASE, MANIFEST, type Sink } from './container.ts';
import { sweepTemporary } from './leftovers.ts';
import type { Manifest } from './make.ts';
import { compareAccounts, foreignReady, keyOf, nameOf, placeOf } from './own-accounts.ts';
import { readManifest, unpackBackup } from './restore.ts';

const PROBLEMS_MAX = 50;

export type BackupReport = Pick<DrillReport, 'addresses' | 'problems' | 'newer' | 'watch_only'> & {
  manifest: Manifest;
};

/**
 * Checks a backup. `live`: of the service on this machine, or null. Throws `Rejected`: `backup.*` if it cannot be opened, `store.newer`.
 */
export async function verifyBackup(file: string, words: OpenedBackup, live: StoreFacts | null): Promise<BackupReport> {
  await sweepTemporary();
  const scratch = await Scratch.open();
  try {
    const manifest = await unpackInto(scratch, file, words);
    const database = scratch.db;
    const problems = copyProblems(database);
    if (!isDeepStrictEqual(storeFacts(database), manifest.facts)) {
      problems.push('the database does not hold what the backup says of it');
    }
    problems.push(...strangeIn(database).map((strange) => `the database has the ${strange}, which no release makes`));
    const { samples, foreign, watchOnly } = addressProblems(database, words);
    problems.push(...foreign, ...foreignReady(database));
    const compared = live === null ? { problems: [], newer: [] } : compareWithLive(manifest, live);
    problems.push(...compared.problems);
    return {
      manifest,
      addresses: samples,
      watch_only: watchOnly,
      problems: problems.slice(0, PROBLEMS_MAX),
      newer: compared.newer.slice(0, PROBLEMS_MAX),
    };
  } finally {
    await scratch.close();
  }
}

const MANIFEST_BYTES_MAX = 4 * 1_048_576;
export const NOWHERE: Sink = { write: async () => undefined, end: async () => undefined };

/** Writes the database to the scratch and returns the manifest. The other files are only checked. */
async function unpackInto(scratch: Scratch, file: string, words: OpenedBackup): Promise<Manifest> {
  const manifest: Buffer[] = [];
  let left = MANIFEST_BYTES_MAX;
  const sinks: Record<string, Sink> = {
    [DATABASE]: { ...NOWHERE, write: (bytes) => scratch.write(bytes) },
    [MANIFEST]: {
      ...NOWHERE,
      write: async (bytes) => {
        left -= bytes.length;
        if (left >= 0) manifest.push(Buffer.from(bytes));
      },
    },
  };
  await unpackBackup(file, words.secret, async (name) => sinks[name] ?? NOWHERE);
  return readManifest(Buffer.concat(manifest).toString());
}

/** Why the words may not give a Monero account. */
const HINT = ' (25 words that were imported are in the wallet file alone: the drill with its passphrase finds them)';

type Compared = { samples: number; foreign: string[]; watchOnly: string[] };

/** Compares the accounts and sample addresses of a database with those that the words give. `watchOnly`: see `compareAccounts`. */
export function addressProblems(database: Source, words: OpenedBackup): Compared {
  const { foreign, imported, watchOnly } = compareAccounts(database, words);
  const samples = addressSamples(database);
  return {
    samples: samples.filter((one) => !isWatchOnly(keyOf(one))).length,
    foreign: [
      ...foreign,
      ...imported.map((known) => `${known}: the words give another account${HINT}`),
      ...samples.flatMap(addressProblem),
    ],
    watchOnly,
  };
}

/** Whether the key of the account gives its address in the database. */
function addressProblem(sample: AddressSample): string[] {
  const { branch, idx, address } = sample;
  const [network, chain] = placeOf(sample);
  const target = deriveAddress(chain, network, keyOf(sample), branch, idx);
  return target.address === address
    ? []
    : [`${nameOf(sample)}, address ${branch}/${idx}: the words give ${target.address}, not ${address}`];
}

function compareWithLive({ facts }: Manifest, now: StoreFacts): { problems: string[]; newer: string[] } {
  const problems: string[] = [];
  const newer: string[] = [];
  for (const then of facts.accounts) {
    const same = now.accounts.find((one) => nameOf(one) === nameOf(then));
    if (!same) problems.push(`${nameOf(then)} is not on this machine`);
    else if (same.next_index < then.next_index) {
      problems.push(`${nameOf(then)}: this machine is at address ${same.next_index}, the backup at ${then.next_index}`);
    } else if (same.next_index > then.next_index) {
      newer.push(`${nameOf(then)}: ${same.next_index - then.next_index} more addresses since`);
    }
  }
  for (const one of now.accounts) {
    if (!facts.accounts.some((then) => nameOf(then) === nameOf(one))) newer.push(`${nameOf(one)} was added since`);
  }
  for (const one of now.balances) {
    const then = facts.balances.find((other) => nameOf(other) === nameOf(one) && other.asset === one.asset);
    if (one.units !== (then?.units ?? '0')) newer.push(`${nameOf(one)}: the balance of ${one.asset} changed since`);
  }
  return { problems, newer };
}
