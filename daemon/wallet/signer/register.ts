/**
 * The limits that a wallet holds. They are read from the signer's journal without its key, so a locked wallet has them, too, and the
 * daemon is not asked. Nothing is checked, since nobody but its user and root writes to the folder of a separate signer.
 */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { isToken } from '../../domain/assets.ts';
import { exists, isMissing } from '../files.ts';
import { ENDED_FILE, JOURNAL_FILE } from './files.ts';
import { forwardGasOf, forwardSubjectOf, isForwarding } from './forward.ts';
import { gasSubjectOf } from './gas.ts';
import { LINE_BYTES_MAX, type Line, MAC_CHARS, parseLine } from './journal-line.ts';
import { JournalMemory } from './journal-memory.ts';
import { readLines } from './lines.ts';
import { type Memory, spentInDay, subjectOf } from './permission.ts';
import type { ForwardGrant, GasGrant, Grant, PolicyGrant } from './port.ts';

type Of<G> = { grant: G; used: bigint }[];
/** `gas`: of a token that is forwarded, what deposit addresses got in the last 24 hours. */
type Forwards = { grant: ForwardGrant; used: bigint; gas?: bigint }[];
/** `used`: smallest units, of a policy and of forwarding (fees) in the last 24 hours, of gas since it was granted. */
export type AccountGrants = { policies: Of<PolicyGrant>; gas: Of<GasGrant>; forwards: Forwards };

/** `seen`: gets each line, with what was known before it. */
async function memoryIn(folder: string, seen?: (line: Line, before: JournalMemory) => void): Promise<JournalMemory> {
  const memory = new JournalMemory();
  try {
    for await (const text of readLines(createReadStream(join(folder, JOURNAL_FILE)), LINE_BYTES_MAX)) {
      const line = parseLine(text.slice(MAC_CHARS + 1));
      seen?.(line, memory);
      memory.take(line, { isBeside: false, epoch: memory.epoch, bytes: text.length });
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  return memory;
}

/**
 * The transactions that were signed since a time, milliseconds since 1970, each once. `isUnasked`: it needed no new
 * approval of the operator. Throws as `limitsHeldIn`.
 */
export async function signedSince(folder: string, since: number): Promise<{ at: number; isUnasked: boolean }[]> {
  const signed = new Map<string, { at: number; isUnasked: boolean }>();
  await memoryIn(folder, (line, before) => {
    if (line.kind !== 'sign' || line.at < since || signed.has(line.txid)) return;
    signed.set(line.txid, { at: line.at, isUnasked: before.isUnasked(line) });
  });
  return [...signed.values()];
}

/** The newest date of a limit, milliseconds since 1970; 0: there was none. Throws as `limitsHeldIn`. */
export async function newestDateIn(folder: string): Promise<number> {
  return newestDateOf(await memoryIn(folder));
}

/** As `newestDateIn`, of what is known. */
export function newestDateOf({
  grants,
  gasGrants,
  forwardGrants,
}: Pick<Memory, 'grants' | 'gasGrants' | 'forwardGrants'>): number {
  const all = [...grants.values(), ...gasGrants.values(), ...forwardGrants.values()];
  return all.reduce((newest, { issuedAt }) => Math.max(newest, issuedAt), 0);
}

/** The limits under which something can be signed. Throws as the file system, and for a line of another release. */
export async function limitsHeldIn(folder: string, now: number): Promise<AccountGrants> {
  // the next signer ends them before it signs anything
  if (await exists(join(folder, ENDED_FILE))) return { policies: [], gas: [], forwards: [] };
  const memory = await memoryIn(folder);
  const policies = [...memory.grants.values()].map((grant) => {
    return { grant, used: spentInDay(memory.policySpends, subjectOf(grant), now) };
  });
  const gas = [...memory.gasGrants.values()].map((grant) => {
    return { grant, used: memory.gasUsed.get(gasSubjectOf(grant)) ?? 0n };
  });
  const forwards = [...memory.forwardGrants.values()].map((grant) => {
    const subject = forwardSubjectOf(grant);
    const used = spentInDay(memory.policySpends, subject, now);
    const gas = spentInDay(memory.policySpends, forwardGasOf(subject), now);
    return { grant, used, ...(isToken(grant.asset) && { gas }) };
  });
  return {
    policies: policies.filter(({ grant }) => !isEnd(grant)),
    gas: gas.filter(({ grant }) => grant.feeMax !== '0' && grant.until > now),
    forwards: forwards.filter(({ grant }) => !isEnd(grant)),
  };
}

/** Whether a grant allows nothing, and changes nothing but earlier ones. One that names a tank moves money there later. */
export function isEnd(grant: Grant): boolean {
  if (!('kind' in grant)) return grant.perWithdrawal === '0' || grant.perDay === '0';
  return grant.kind === 'forward' ? !isForwarding(grant) : grant.feeMax === '0' && grant.tank === undefined;
}

/** Replaces a grant by one that allows nothing. Its date is later than that of every grant that the operator signed before. */
export function endOf(grant: Grant, now: number): Grant {
  const issuedAt = Math.max(now, grant.issuedAt + 1);
  if ('kind' in grant) {
    return grant.kind === 'forward' ? { ...grant, feeDay: '0', issuedAt } : { ...grant, feeMax: '0', issuedAt };
  }
  return { ...grant, perWithdrawal: '0', perDay: '0', addresses: null, issuedAt };
}
