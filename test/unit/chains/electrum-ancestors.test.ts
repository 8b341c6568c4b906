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
  const index = Buffer.alloc(4);
  index.writeUInt32LE(vout);
  const outpoint = `${Buffer.from(parent, 'hex').reverse().toString('hex')}${index.toString('hex')}`;
  const count = `0${outputs.length}`;
  const raw = Buffer.from(`0100000001${outpoint}00ffffffff${count}${paid.join('')}00000000`, 'hex');
  return { txid: parseTransaction(raw, 'BTC').txid(), raw };
}

const [EXCHANGE, CUSTOMER, NOBODY, OURS, DEPOSITOR] = ['51', '52', '6a', '53', '54'];
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

/** A payment to an exchange, which it moves to its own script alone, and what it pays from there. */
const given = spending('bb'.repeat(32), 0, [[90_000n, DEPOSITOR!]]);
const moved = spending(given.txid, 0, [[85_000n, EXCHANGE!]]);
const paidOn = spending(moved.txid, 0, [[80_000n, OURS!]]);

/** What a miner pays from a block's reward, which is paid to a script of a long history. */
const reward = spending('00'.repeat(32), 0xffff_ffff, [[50_000n, EXCHANGE!]]);
const mined = spending(reward.txid, 0, [[49_000n, OURS!]]);

const all = [before, payout, deposit, noted, given, moved, paidOn, reward, mined];

/**
 * `height`: of the exchange's payout, and of what it moved; 0: it waits for a block. `tells`: whether the customer's history is given. `exchange`: the history of
 * the exchange's script; null: it is refused.
 */
function serverOf(height: number, tells = true, exchange: readonly unknown[] | null = null): Server {
  const known = new Map(all.map(({ txid, raw }) => [txid, raw]));
  const histories = new Map(
    [
      [EXCHANGE, exchange],
      [CUSTOMER, tells ? [{ txid: payout.txid, height }] : null],
      [NOBODY, []],
      [OURS, [deposit, noted, paidOn, mined].map(({ txid }) => ({ txid, height: 0 }))],
      [
        DEPOSITOR,
        [
          { txid: given.txid, height: 5 },
          { txid: moved.txid, height },
        ],
      ],
    ].map(([script, history]) => [scriptHashOf(Buffer.from(`${script}`, 'hex')), history]),
  );
  return {
    operator: 'a',
    transaction: async (txid: string) => {
      const raw = known.get(txid);
      if (!raw) throw new ServerRefusal(2, 'no such transaction');
      return raw;
    },
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

it.each([
  ['refused', null],
  ['told as an empty one', []],
])('what the history of a spent script says, where that of each paid one is %s', async (_, exchange) => {
  const alone = { fee: 5_000n, vsize: paidOn.raw.length };
  expect(await sumOf(serverOf(10, true, exchange), paidOn.txid, 'BTC')).toEqual(alone);
  const both = { fee: 10_000n, vsize: paidOn.raw.length + moved.raw.length };
  expect(await sumOf(serverOf(0, true, exchange), paidOn.txid, 'BTC')).toEqual(both);
});

it('the transaction alone where it spends the reward of a block', async () => {
  expect(await sumOf(serverOf(10), mined.txid, 'BTC')).toEqual({ fee: 1_000n, vsize: mined.raw.length });
});

it('the same of a deposit whose first output is a note', async () => {
  expect(await sumOf(serverOf(10), noted.txid, 'BTC')).toEqual({ fee: 10_000n, vsize: noted.raw.length });
});

it('nothing more of a deposit that is in a block', async () => {
  const server = serverOf(10);
  const told = { ...server, history: async () => [{ txid: deposit.txid, height: 11 }] } as unknown as Server;
  expect(await sumOf(told, deposit.txid, 'BTC')).toBe('confirmed');
});
