/** The operator API's methods about backups and restores. */
import { z } from 'zod';
import { CHAINS, NETWORKS } from '../domain/assets.ts';
import type { DrillReport } from '../domain/drill.ts';
import { JUMPS_SEARCHED } from '../domain/indices.ts';
import { byPassphrase, changes, reads } from './method.ts';
import { AccountKeySchema, Gap, HighestUsed, Id, Instant, KeyShape, Nothing } from './operator-shapes.ts';
import { SealedShape } from './wallet.ts';

const PATH_CHARS_MAX = 4_096;
const ACCOUNTS_MAX = 200;
const RESTORES_MAX = 999;
const KEYS_MAX = 1_000;

const Path = z.string().min(1).max(PATH_CHARS_MAX);
const Report: z.ZodType<DrillReport> = z.object({
  made_at: z.string(),
  invoices: z.int(),
  deposits: z.int(),
  addresses: z.int(),
  watch_only: z.array(z.string()),
  problems: z.array(z.string()),
  newer: z.array(z.string()),
});

export const RECOVERY = {
  /** Makes a backup at an absolute path on the daemon's machine; answers when it is complete. */
  'backup.make': changes(
    z.strictObject({ file: Path }),
    z.object({
      file: z.string(),
      bytes: z.int().min(0),
      made_at: z.string(),
      fingerprint: z.string(),
      /** The `--gap` that a restore from the words alone needs. */
      gap: z.int().min(0),
    }),
    { scope: 'browser' },
  ),
  /**
   * Begins the drill of a backup at an absolute path: a process of its own, to whose X25519 key (hex) the wallet's
   * passphrase is sealed for the purpose `drill`. A separate signer has no drill here: its vault is elsewhere.
   */
  'backup.drill': changes(z.strictObject({ file: Path }), z.object({ seal_key: z.string() }), { scope: 'browser' }),
  /** Answers when the passphrase was right; the drill then runs by itself. */
  'backup.drillOpen': changes(z.strictObject({ sealed: SealedShape }), z.object({}), {
    scope: 'browser',
    approves: byPassphrase,
  }),
  /** The last drill since the service was started. */
  'backup.drillStatus': reads(
    Nothing,
    z.object({
      drill: z
        .object({
          file: z.string(),
          running: z.boolean(),
          started_at: z.string(),
          ended_at: z.string().nullable(),
          /** Null while it runs, and when it failed. */
          report: Report.nullable(),
          error: z.string().nullable(),
        })
        .nullable(),
      /** When a backup of this service was last found whole, by whatever drill. */
      last_good_at: Instant.nullable(),
    }),
  ),
  /** Notes that a backup was opened and found whole. */
  'backup.drilled': changes(Nothing, z.object({})),
  /** Whether this service was restored and waits for the operator's confirmation. */
  'restore.status': reads(
    Nothing,
    z.object({
      quarantined: z.boolean(),
      since: z.string().nullable(),
      backup_made_at: z.string().nullable(),
      /** The businesses whose policy approved automatically; their withdrawals wait until it is set again. */
      policies: z.array(z.string()),
      /** Whether `restore.confirm` would end the quarantine now. Without one: whether all skipped addresses are watched. */
      ready: z.boolean(),
      /** Those that withdraw or refund. They sleep until they are kept, because they may have been revoked meanwhile. */
      sleeping_keys: z.array(KeyShape),
      /** Client IDs by name and event endpoints by URL, which may have been taken away meanwhile, too. */
      clients: z.array(z.string()),
      endpoints: z.array(z.string()),
    }),
  ),
  /**
   * Searches a wallet for used accounts. One search at a time; another one replaces the last. The same search goes on where it was,
   * also after a restart, unless it is to begin `anew`.
   */
  'wallet.discover': changes(
    z.strictObject({
      network: z.enum(NETWORKS),
      birthday: z.iso.datetime(),
      gap: Gap.default(1_000),
      /** How many restores in a row, without a payment in between, are allowed for. */
      restores: z.int().min(0).max(RESTORES_MAX).default(JUMPS_SEARCHED),
      /** The public keys of accounts 0, 1, 2, … of each chain. */
      accounts: z.partialRecord(z.enum(CHAINS), z.array(AccountKeySchema).max(ACCOUNTS_MAX)),
      anew: z.boolean().default(false),
    }),
    z.object({}),
  ),
  'wallet.discovery': reads(
    Nothing,
    z.object({
      running: z.boolean(),
      /** Whether it goes on with a search that was interrupted. */
      resumed: z.boolean(),
      chains: z.array(
        z.object({
          chain: z.enum(CHAINS),
          /** How many addresses were derived before the search, of all. Null once they are. */
          derived: z.object({ done: z.int(), of: z.int() }).nullable(),
          /** The block from which on blocks are read, the last that was read, and the newest. */
          from: z.int().nullable(),
          height: z.int().nullable(),
          tip: z.int().nullable(),
          /** How many addresses were asked for, of all, and how long the others take at this rate. Null where blocks are read. */
          addresses: z.object({ asked: z.int(), of: z.int(), seconds_left: z.int().nullable() }).nullable(),
          /** Whether the likely addresses were searched: those of the first gap, near used ones, and behind one restore. */
          near: z.boolean(),
          done: z.boolean(),
        }),
      ),
      /** The highest paid index in each branch; -1: none. */
      used: z.array(HighestUsed.extend({ chain: z.enum(CHAINS), account_no: z.int() })),
      error: z.string().nullable(),
      /** Of how many accounts the search is that can be continued, by a request that names at least as many; 0: none. */
      accounts: z.int(),
      /** Added accounts whose past is still being read, and the height reached. */
      rescans: z.array(z.object({ chain: z.string(), height: z.int().nullable() })),
    }),
  ),
  /** `keep_keys`: the sleeping keys that work again. The others are revoked. */
  'restore.confirm': changes(
    z.strictObject({ keep_keys: z.union([z.literal('all'), z.array(Id).max(KEYS_MAX)]).default([]) }),
    z.object({}),
    { approves: byPassphrase },
  ),
} as const;
