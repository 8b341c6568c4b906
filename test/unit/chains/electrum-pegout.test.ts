/** Which payments over Electrum wait for the maturity of a peg-out, whatever a server says of them. */
import { expect, it } from 'vitest';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import { parseTransaction, transactionsOf } from '../../../daemon/chains/utxo/block.ts';
import { UnstoredTransactions } from '../../../daemon/chains/utxo/electrum/histories/unstored.ts';
import { hogExBlock } from '../../adapters/fixtures/hogex-block.ts';

const list = { targetIdOf: () => 1 } as unknown as ScriptList;
const [, payment, hogEx] = [...transactionsOf(Buffer.from(hogExBlock.hex, 'hex'), 'LTC')].map((one) => one!.base());

/** The bytes with the flag of a HogEx. */
function flagged(base: Buffer): Buffer {
  return Buffer.concat([base.subarray(0, 4), Buffer.of(0, 8), base.subarray(4, -4), Buffer.of(0), base.subarray(-4)]);
}

it.each([
  ['a HogEx', flagged(hogEx!), 6],
  ['a HogEx whose flag is left out', hogEx!, 6],
  ['a payment', payment!, 0],
  ['a payment that got the flag', flagged(payment!), 0],
] as const)('%s', (_, raw, maturity) => {
  const transaction = parseTransaction(raw, 'LTC');
  const held = new UnstoredTransactions('LTC', list).add(transaction.txid(), transaction, raw);
  expect(held.maturity).toBe(maturity);
});
