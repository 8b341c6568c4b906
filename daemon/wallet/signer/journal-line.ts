/** The forms of the lines of the signer's journal and of its head, and the reading of the head without the journal's key. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { Rejected } from '../../domain/errors.ts';
import { exists } from '../files.ts';
import { HEAD_FILE, JOURNAL_FILE } from './files.ts';
import { EpochShape, ForwardGrantShape, GasGrantShape, GrantShape } from './wire.ts';

export const LINE_BYTES_MAX = 4 * 1024 * 1024;
export const MAC_CHARS = 64;
export const NO_MAC = '0'.repeat(MAC_CHARS);

const Entry = z.object({
  uuid: z.string(),
  identity: z.string(),
  /** The highest fee that the operator approved, smallest units. */
  feeMax: z.string(),
  /** A policy approved it, so the line's fee counts against the grant. */
  byPolicy: z.literal(true).optional(),
});
const Use = z.object({ subject: z.string(), units: z.string() });
/** Where the change of a transaction went. */
const Change = z.object({ account: z.string(), index: z.int().min(0) });
const signFields = {
  kind: z.literal('sign'),
  at: z.number(),
  purpose: z.string(),
  txid: z.string(),
  fee: z.string(),
  /** The use of a grant, if a policy allowed it. */
  spent: Use.optional(),
  /** The fee, counted against the grant of its own asset; absent if it is part of `spent`. */
  spentFee: Use.optional(),
  /**
   * A grant of forwarding allowed it: the fee, counted against that. `to`: the address of an extended public key that it pays. `gas`: what a
   * deposit address gets, and the subject of its account's grant of gas.
   */
  spentForward: Use.extend({
    to: z.object({ key: z.string(), index: z.int().min(0) }).optional(),
    gas: z.object({ account: z.string(), index: z.int().min(0), units: z.string() }).optional(),
  }).optional(),
  /** Absent in release 0.1.0, and without change. */
  change: Change.optional(),
  /** The fee, counted against a grant of gas. `funded`: what a deposit address gets; absent in release 0.1.0. */
  spentGas: Use.extend({ funded: z.object({ index: z.int().min(0), units: z.string() }).optional() }).optional(),
};
/** `inputs`: every conflict key of the transaction. On a coin chain these are the outpoints that it spends. */
const SignLine = z.object({ ...signFields, inputs: z.array(z.string()).min(1), entries: z.array(Entry) });
/**
 * The line format of release 0.1.0. It names only one input, which every version of a withdrawal had to spend. For a
 * payment by a policy it names neither the subject nor the operator's highest fee.
 */
const AnchoredLine = z
  .object({ ...signFields, entries: z.array(Entry.extend({ anchor: z.string() })).min(1) })
  .transform(({ entries, ...line }) => ({
    ...line,
    inputs: [...new Set(entries.map(({ anchor }) => anchor))],
    entries: entries.map(({ uuid, identity, feeMax }) =>
      line.spent ? { uuid, identity, feeMax: '0', byPolicy: true as const } : { uuid, identity, feeMax },
    ),
  }));
export const Line = z.union([
  /** `sealed`: absent in release 0.1.0, whose heads had no MAC of their own. */
  z.object({
    kind: z.literal('start'),
    at: z.number(),
    fingerprint: z.string(),
    sealed: z.literal(true).optional(),
    /** The words were made with it. */
    fresh: z.literal(true).optional(),
    epoch: EpochShape.optional(),
  }),
  /** In a journal that release 0.1.0 began: from this line on the head has a MAC. */
  z.object({ kind: z.literal('sealed'), at: z.number() }),
  z.object({ kind: z.literal('grant'), at: z.number(), grant: GrantShape }),
  z.object({ kind: z.literal('gas'), at: z.number(), grant: GasGrantShape }),
  z.object({ kind: z.literal('forward'), at: z.number(), grant: ForwardGrantShape }),
  /**
   * Begins a new epoch. After a restore the signatures made since the backup are unknown. So earlier approvals and
   * limits are no longer valid, and a kept approval cannot pay a second time.
   */
  z.object({ kind: z.literal('revoked'), at: z.number(), epoch: EpochShape }),
  /**
   * Follows lines of one number, which two signers wrote. `macs`: of the newest line of each signer but the one that this line
   * continues. It makes a later removal of their lines visible.
   */
  z.object({ kind: z.literal('joined'), at: z.number(), macs: z.array(z.string().length(MAC_CHARS)).min(1) }),
  SignLine,
  AnchoredLine,
]);
export type Line = z.output<typeof Line>;
export type SignLine = Extract<Line, { kind: 'sign' }>;
/** `mac`: of the newest line. `seal`: of the head itself, so that a line's MAC cannot forge an older head. */
export const Head = z.object({
  lines: z.int().min(1),
  mac: z.string().length(MAC_CHARS),
  seal: z.string().length(MAC_CHARS).optional(),
  /** For the programs that make approvals. The signer itself reads the epoch from the lines. */
  epoch: EpochShape.nullable().default(null),
});
export type Head = z.infer<typeof Head>;

export const altered = (): Rejected =>
  new Rejected(
    'signer.journal',
    `The record of signatures cannot be trusted: ${JOURNAL_FILE} or ${HEAD_FILE} was altered or lost. Put both back from ` +
      'a backup of the same time; or, when the chain shows that no withdrawal is under way, remove both',
  );

/** A line without its MAC. Throws `Rejected`: `signer.journal` for what is none, `store.newer` for one of a newer release. */
export function parseLine(json: string): Line {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    throw altered();
  }
  const line = Line.safeParse(parsed);
  if (line.success) return line.data;
  throw new Rejected(
    'store.newer',
    `The record of signatures, ${JOURNAL_FILE}, was written by a newer release: install that release or a later one. Nothing was changed`,
  );
}

/** The head's text, or null if there is none. */
export async function headText(folder: string): Promise<string | null> {
  const path = join(folder, HEAD_FILE);
  return (await exists(path)) ? readFile(path, 'utf8') : null;
}

export function parseHead(text: string | null): Head | null {
  if (text === null) return null;
  try {
    return Head.parse(JSON.parse(text));
  } catch {
    throw altered();
  }
}
