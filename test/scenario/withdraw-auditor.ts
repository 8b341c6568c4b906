/**
 * Checks payouts from outside: from the simulated chains' own tables (read-only) and from what the APIs say. Each recipient
 * has an address that nobody else is paid at, so that the chain alone tells who was paid, how much, and how often.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Call, Result } from '../../daemon/contract/operator.ts';
import type { ChainId } from '../../daemon/domain/assets.ts';
import { textOf } from '../../daemon/domain/messages.ts';
import { scriptAt } from '../../daemon/sandbox/addresses.ts';
import { outputsToUs, toUnits } from './auditor.ts';

type Withdrawal = Result<'withdrawal.list'>['withdrawals'][number];

/** What the chain pays to an address: of each transaction that does, the units, and whether it is in a block. */
function paidTo(dataDir: string, chain: ChainId, address: string): { txid: string; units: bigint; mined: boolean }[] {
  const db = new Database(join(dataDir, 'countinghouse.db'), { readonly: true, timeout: 5_000 });
  try {
    const rows = db
      .prepare(
        `SELECT t.txid, o.units, t.block_height IS NOT NULL AS mined FROM sandbox_output o
         JOIN sandbox_tx t ON t.id = o.tx_id WHERE o.chain = ? AND o.script = ?`,
      )
      .all(chain, scriptAt(chain, address)) as { txid: string; units: string; mined: number }[];
    return rows.map(({ txid, units, mined }) => ({ txid, units: BigInt(units), mined: mined === 1 }));
  } finally {
    db.close();
  }
}

const DECIMALS: Record<string, number> = { BTC: 8, LTC: 8, ETH: 18, XMR: 12 };

type Audited = {
  dataDir: string;
  operator: Call;
  /** What was paid out, and must be gone. */
  cryptos: readonly string[];
  /** GET of the merchant API: the answer's text. */
  get: (path: string) => Promise<string>;
  /** The withdrawals that were asked for, by their recipients' addresses: the amount, null for everything. */
  wanted: ReadonlyMap<string, { amount: string | null; canceled: boolean }>;
};

/** What is wrong, in words, when everything has ended; empty when all is as it must be. */
export async function auditPayouts({ dataDir, operator, cryptos, get, wanted }: Audited): Promise<string[]> {
  const faults: string[] = [];
  const { withdrawals } = await operator('withdrawal.list', { limit: 200 });
  const addresses = new Set(withdrawals.map(({ address }) => address));
  if (withdrawals.length !== wanted.size || addresses.size !== wanted.size) {
    faults.push(
      `there are ${withdrawals.length} withdrawals to ${addresses.size} addresses, ${wanted.size} were asked for`,
    );
  }
  for (const one of withdrawals) {
    const expected = wanted.get(one.address);
    if (!expected) faults.push(`nobody asked for withdrawal ${one.id}`);
    else faults.push(...checkOne(dataDir, one, expected));
    const shown = JSON.parse(await get(`/withdrawal/${one.id}`)) as { status: string; tx_id: string | null };
    if (shown.status !== (one.state === 'completed' ? 'completed' : 'failed') || shown.tx_id !== one.tx_id) {
      faults.push(`the two APIs disagree on withdrawal ${one.id}: ${shown.status} ${shown.tx_id}`);
    }
  }
  for (const output of outputsToUs(dataDir)) {
    const { chain, outpoint, spent, units } = output;
    // an account that is empty has its next nonce left
    if (cryptos.includes(chain) && !spent && units > 0n)
      faults.push(`${outpoint} of ${chain} was left behind by the sweep`);
  }
  const balance = JSON.parse(await get('/balance')) as Record<string, number>;
  for (const crypto of cryptos) {
    if (balance[crypto] !== 0) faults.push(`the balance of ${crypto} is ${balance[crypto]} when everything is gone`);
  }
  const { alerts } = await operator('alert.list', {});
  // the sandbox raises alerts of bugs alone; what became of each withdrawal is read from the chain above
  for (const { kind, message } of alerts) if (kind.endsWith('.halted')) faults.push(textOf(message));
  return faults;
}

function checkOne(dataDir: string, one: Withdrawal, wanted: { amount: string | null; canceled: boolean }): string[] {
  const paid = paidTo(dataDir, one.crypto as ChainId, one.address);
  const name = `withdrawal ${one.id} (${one.state})`;
  if (wanted.canceled) {
    if (paid.length > 0) return [`${name} was canceled and is paid by ${paid.map(({ txid }) => txid)}`];
    return one.state === 'failed' ? [] : [`${name} was canceled and is not failed`];
  }
  if (paid.length !== 1) return [`${name}: its recipient was paid ${paid.length} times`];
  const [only] = paid;
  if (only!.txid !== one.tx_id) return [`${name} names ${one.tx_id}, the chain ${only!.txid}`];
  if (!only!.mined || one.state !== 'completed') return [`${name} did not end in a block`];
  const decimals = DECIMALS[one.crypto] ?? 0;
  const units = toUnits(one.amount, decimals);
  const asked = wanted.amount === null ? units : toUnits(wanted.amount, decimals);
  return only!.units === units && units === asked ? [] : [`${name} was paid ${only!.units} units instead of ${asked}`];
}
