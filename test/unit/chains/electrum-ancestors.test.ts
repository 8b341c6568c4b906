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

/** `height`: of the exchange's payout; 0: it waits for a block. `tells`: whether the customer's history is given. */
function serverOf(height: number, tells = true): Server {
  const known = new Map([before, payout, deposit].map(({ txid, raw }) => [txid, raw]));
  const histories = new Map(
    [
      [CUSTOMER, tells ? [{ txid: payout.txid, height }] : null],
      [NOBODY, []],
      [OURS, [{ txid: deposit.txid, height: 0 }]],
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
