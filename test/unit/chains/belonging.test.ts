/** Which transactions belong into the history of a script. */
import { describe, expect, it } from 'vitest';
import { type ParsedTransaction, parseTransaction } from '../../../daemon/chains/utxo/block.ts';
import { belongs } from '../../../daemon/chains/utxo/electrum/histories/belonging.ts';
import { writeTransaction } from '../../adapters/fixtures/serial.ts';

const ours = Buffer.from(`0014${'aa'.repeat(20)}`, 'hex');
const theirs = Buffer.from(`0014${'bb'.repeat(20)}`, 'hex');
const made = (inputs: [ParsedTransaction | string, number][], outputs: [bigint, Buffer][]): ParsedTransaction =>
  parseTransaction(
    writeTransaction({
      inputs: inputs.map(([from, vout]) => ({ txid: typeof from === 'string' ? from : from.txid(), vout })),
      outputs: outputs.map(([units, script]) => ({ units, script })),
    }),
    'LTC',
  );
const elsewhere = '11'.repeat(32);

/** Pays us in its second output, and its sender the change. */
const payment = made(
  [[elsewhere, 0]],
  [
    [5n, theirs],
    [7n, ours],
  ],
);
const empty = made([[elsewhere, 1]], [[0n, ours]]);
const many = Array.from({ length: 150 }, (_, i) => made([[elsewhere, 2 + i]], [[1n, theirs]]));

describe('a transaction in a history', () => {
  it.each([
    { what: 'pays the script', transaction: payment, named: [payment], belonging: 'yes' },
    { what: 'pays it nothing', transaction: empty, named: [empty], belonging: 'yes' },
    { what: 'spends its money', transaction: made([[payment, 1]], [[1n, theirs]]), named: [payment], belonging: 'yes' },
    { what: 'spends nothing of it', transaction: made([[empty, 0]], [[1n, theirs]]), named: [empty], belonging: 'yes' },
    {
      what: "spends the payer's change",
      transaction: made([[payment, 0]], [[1n, theirs]]),
      named: [payment],
      belonging: 'no',
    },
    {
      what: 'spends an output that is not there',
      transaction: made([[payment, 9]], [[1n, theirs]]),
      named: [payment],
      belonging: 'no',
    },
    { what: "is a stranger's", transaction: made([[elsewhere, 3]], [[1n, theirs]]), named: [payment], belonging: 'no' },
    {
      what: 'spends money whose payment is not named',
      transaction: made([[payment, 1]], [[1n, theirs]]),
      named: [],
      belonging: 'no',
    },
    {
      what: 'is what a payment spends',
      transaction: made([[elsewhere, 4]], [[9n, theirs]]),
      named: [payment],
      belonging: 'no',
    },
    {
      what: 'spends what cannot be read',
      transaction: made([[payment, 1]], [[1n, theirs]]),
      named: [payment],
      lost: true,
      belonging: 'unknown',
    },
    {
      what: 'spends outputs of too many others',
      transaction: made(
        many.map((one) => [one, 0]),
        [[1n, theirs]],
      ),
      named: many,
      belonging: 'unknown',
    },
  ])('that $what belongs there: $belonging', async ({ transaction, named, belonging, lost = false }) => {
    let read = 0;
    const answer = await belongs({
      transaction,
      script: ours,
      isCoin: () => false,
      named: new Set(named.map((one) => one.txid())),
      read: async (txid) => {
        read++;
        return lost ? null : (named.find((one) => one.txid() === txid) ?? null);
      },
    });
    expect(answer).toBe(belonging);
    expect(read).toBeLessThanOrEqual(100);
  });

  it('that spends a known coin belongs there, and nothing is fetched', async () => {
    const outpoint = `${payment.txid()}:1`;
    const answer = await belongs({
      transaction: made([[payment, 1]], [[1n, theirs]]),
      script: ours,
      named: new Set([payment.txid()]),
      isCoin: (one) => one === outpoint,
      read: () => expect.fail('fetched'),
    });
    expect(answer).toBe('yes');
  });
});
