/** A payer of Monero who splits one payment into 200 outputs, which takes 14 transactions of consensus' 16 outputs at the most. */
import { expect, it } from 'vitest';
import { cpuMs } from '../../bench/turns.ts';
import { Bench } from './bench.ts';

const OUTPUTS = 200;
const OUTPUTS_PER_TRANSACTION = 15;
const CONFIRMATIONS = 10;

it('has each output in the books and loses none: 100 count at once, and the others wait for the operator', async () => {
  const bench = await Bench.open('XMR');
  const invoice = await bench.invoice();
  const part = invoice.units / BigInt(OUTPUTS);
  const credits = () =>
    Array.from({ length: OUTPUTS }, (_, n) => {
      const txid = `transaction ${Math.floor(n / OUTPUTS_PER_TRANSACTION)}`;
      return bench.credit(invoice.targetId, part, CONFIRMATIONS - 1, { n, txid });
    });
  const began = cpuMs();
  await bench.tell({ blocks: CONFIRMATIONS, credits });
  expect(cpuMs() - began).toBeLessThan(5_000);
  expect(bench.creditsOf(invoice.targetId)).toHaveLength(OUTPUTS);
  expect(bench.balance()).toBe(part * BigInt(OUTPUTS));
  expect(bench.invoiceStatus(invoice.id)).toBe('unpaid');
  expect(bench.inbox()).toHaveLength(100);
  // a payment of the missing half, which the invoice still asks for, pays it
  await bench.tell({
    blocks: CONFIRMATIONS,
    credits: () => [bench.credit(invoice.targetId, invoice.units / 2n, CONFIRMATIONS - 1, { txid: 'the rest' })],
  });
  expect(bench.invoiceStatus(invoice.id)).toBe('paid');
});
