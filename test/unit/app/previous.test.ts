/** The transactions that paid us stay, for the signer, whatever their source forgets. */
import { expect, it } from 'vitest';
import { previousTx } from '../../../daemon/store/queries/previous.ts';
import { Bench } from './bench.ts';

it('keeps a transaction that paid us from the block that has it on, once, and through a reorganisation', async () => {
  const bench = await Bench.open();
  const paid = await bench.invoice();
  const base = Buffer.from('0200000001', 'hex');
  const credit = (back: number | null) => {
    const seen = bench.credit(paid.targetId, paid.units, back);
    return back === null ? seen : { ...seen, base };
  };
  const { txid } = credit(null);
  const kept = () => bench.app.store.get(previousTx, { txid, chain_key: bench.chain.key })?.base;
  await bench.tell({ credits: () => [credit(null)] });
  expect(kept()).toBeUndefined();
  await bench.tell({ blocks: 1, credits: () => [credit(0)] });
  expect(Buffer.from(kept() ?? [])).toEqual(base);
  await bench.tell({ orphan: 1, blocks: 2, credits: () => [credit(0), credit(0)] });
  expect(Buffer.from(kept() ?? [])).toEqual(base);
  expect(bench.app.store.get(previousTx, { txid, chain_key: 'mainnet:LTC' })).toBeUndefined();
});

it('keeps it as the newest block has it: a reorganisation gives its outputs other numbers', async () => {
  const bench = await Bench.open();
  const paid = await bench.invoice();
  const credit = (back: number | null, base: string) => ({
    ...bench.credit(paid.targetId, paid.units, back),
    ...(back !== null && { base: Buffer.from(base, 'hex') }),
  });
  const { txid } = credit(null, '');
  const kept = () => bench.app.store.get(previousTx, { txid, chain_key: bench.chain.key })?.base;
  await bench.tell({ blocks: 1, credits: () => [credit(0, '01')] });
  await bench.tell({ orphan: 1, blocks: 2, credits: () => [credit(0, '02')] });
  expect(Buffer.from(kept() ?? []).toString('hex')).toBe('02');
});
