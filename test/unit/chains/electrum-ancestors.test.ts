/** The fee and size of unconfirmed transactions, where the history of what they spend is longer than servers tell. */
import { expect, it } from 'vitest';
import { parseTransaction } from '../../../daemon/chains/utxo/block.ts';
import { sumOf } from '../../../daemon/chains/utxo/electrum/ancestors.ts';
import { scriptHashOf } from '../../../daemon/chains/utxo/electrum/histories/scripts.ts';
import { ServerRefusal } from '../../../daemon/chains/utxo/electrum/servers/faults.ts';
import type { Server } from '../../../daemon/chains/utxo/electrum/servers/server.ts';

type Output = readonly [units: bigint, script: string];

/** A transaction that spends an output of another one, and pays scripts of one byte. */
function spending(parent: string, vout: number, outputs: readonly Output[]): { txid: string; raw: Buffer } {
  const amount = Buffer.alloc(8);
  const paid = outputs.map(([units, script]) => {
    amount.writeBigUInt64LE(units);
    return `${amount.toString('hex')}01${script}`;
  });
  const outpoint = `${Buffer.from(parent, 'hex').reverse().toString('hex')}0${vout}000000`;
  const count = `0${outputs.length}`;
  const raw = Buffer.from(`0100000001${outpoint}00ffffffff${count}${paid.join('')}00000000`, 'hex');
  return { txid: parseTransaction(raw, 'BTC').txid(), raw };
}

const [EXCHANGE, CUSTOMER, NOBODY, OURS] = ['51', '52', '6a', '53'];
const before = spending('aa'.repeat(32), 0, [[100_000n, EXCHANGE!]]);
const payout = spending(before.txid, 0, [
  [70_000n, EXCHANGE!],
  [0n, NOBODY!],
  [20_000n, CUSTOMER!],
]);
const deposit = spending(payout.txid, 0, [[60_000n, OURS!]]);

/** A deposit with a note before its outputs, which no server has a history of. */
const noted = spending(payout.txid, 0, [
  [0n, NOBODY!],
  [60_000n, OURS!],
]);

/**
 * `height`: of the exchange's payout; 0: it waits for a block. `tells`: whether the customer's history is given. `exchange`: the history of
 * the exchange's script; null: it is refused.
 */
function serverOf(height: number, tells = true, exchange: readonly unknown[] | null = null): Server {
  const known = new Map([before, payout, deposit, noted].map(({ txid, raw }) => [txid, raw]));
  const histories = new Map(
    [
      [EXCHANGE, exchange],
      [CUSTOMER, tells ? [{ txid: payout.txid, height }] : null],
      [NOBODY, []],
      [OURS, [deposit, noted].map(({ txid }) => ({ txid, height: 0 }))],
    ].map(([script, history]) => [scriptHashOf(Buffer.from(`${script}`, 'hex')), history]),
  );
  return {
    operator: 'a',
    transaction: async (txid: string) => known.get(txid),
    history: async (hash: string) => {
      const history = histories.get(hash);
      if (!history) throw new ServerRefusal(1, 'history too large');
      return history;
    },
  } as unknown as Server;
}

it.each([
  ['the transaction alone where its parent is in a block', 10, 10_000n, deposit.raw.length],
  // the parent's own parent is not told of by anybody
  ['nothing where the parent waits, and its own parent is not told of', 0, null, 0],
] as const)('%s', async (_, height, fee, vsize) => {
  expect(await sumOf(serverOf(height), deposit.txid, 'BTC')).toEqual(fee === null ? null : { fee, vsize });
});

it('nothing where no history that has the parent is told', async () => {
  expect(await sumOf(serverOf(10, false), deposit.txid, 'BTC')).toBeNull();
});

// Fulcrum tells an empty history in place of one that is longer than its limit
it('the same where the longest history is told as an empty one', async () => {
  expect(await sumOf(serverOf(10, true, []), deposit.txid, 'BTC')).toEqual({ fee: 10_000n, vsize: deposit.raw.length });
  expect(await sumOf(serverOf(0, true, []), deposit.txid, 'BTC')).toBeNull();
  expect(await sumOf(serverOf(10, false, []), deposit.txid, 'BTC')).toBeNull();
});

it('the same of a deposit whose first output is a note', async () => {
  expect(await sumOf(serverOf(10), noted.txid, 'BTC')).toEqual({ fee: 10_000n, vsize: noted.raw.length });
});

it('nothing more of a deposit that is in a block', async () => {
  const server = serverOf(10);
  const told = { ...server, history: async () => [{ txid: deposit.txid, height: 11 }] } as unknown as Server;
  expect(await sumOf(told, deposit.txid, 'BTC')).toBe('confirmed');
});
