/** A spend of a coin of ours that nobody here made: the data is older than what happened, or somebody else has the keys. */
import { beforeEach, describe, expect, it } from 'vitest';
import { quarantineOf } from '../../../daemon/app/recovery/quarantine.ts';
import { Bench, type Paid } from './bench.ts';

let bench: Bench;
let paid: Paid;
const outpoint = () => `tx${paid.targetId}:0`;

beforeEach(async () => {
  bench = await Bench.open();
  paid = await bench.invoice();
  await bench.tell({ blocks: 8, credits: () => [bench.credit(paid.targetId, paid.units, 7)] });
});

describe.each([
  { source: 'a node', wholeHistories: false },
  { source: 'the light client', wholeHistories: true },
])('a spend that $source shows', ({ wholeHistories }) => {
  it.each([
    { where: 'the mempool', isInBlock: false },
    { where: 'a block', isInBlock: true },
  ])('in $where, and that nobody here made, begins the quarantine', async ({ isInBlock }) => {
    Object.assign(bench.chain.adapter, { wholeHistories });
    await bench.tell();
    expect(quarantineOf(bench.app.store)).toBeNull();
    const { height, hash } = bench.tip;
    const block = isInBlock ? { height, hash } : null;
    await bench.tell({ spends: () => [{ outpoint: outpoint(), txid: 'ab'.repeat(32), block }] });
    expect(quarantineOf(bench.app.store)).not.toBeNull();
    expect(bench.alerts()).toContain('data.older');
  });
});

// the operator is told to move what a CashToken carries with another wallet that has the same words
describe('a spend of an output that this service never spends', () => {
  const spent = (outpoint: string) => {
    const { height, hash } = bench.tip;
    return { outpoint, txid: 'cd'.repeat(32), block: { height, hash } };
  };
  const token = () => `token${paid.targetId}:0`;

  beforeEach(async () => {
    const over = { locked: true, txid: `token${paid.targetId}` };
    await bench.tell({ blocks: 1, credits: () => [bench.credit(paid.targetId, 1_000n, 0, over)] });
    expect(bench.row(token()).locked).toBe(true);
    await bench.tell();
  });

  it('begins no quarantine', async () => {
    await bench.tell({ blocks: 1, spends: () => [spent(token())] });
    expect(bench.row(token()).spent_txid).toBe('cd'.repeat(32));
    expect(quarantineOf(bench.app.store)).toBeNull();
  });

  it('begins it where coins are spent by key images, of which two outputs may have the same', async () => {
    Object.assign(bench.chain.adapter, { keyImages: true });
    await bench.tell({ blocks: 1, spends: () => [spent(token())] });
    expect(quarantineOf(bench.app.store)).not.toBeNull();
  });

  it('begins it where another coin is spent with it', async () => {
    await bench.tell({ blocks: 1, spends: () => [spent(token()), spent(outpoint())] });
    expect(quarantineOf(bench.app.store)).not.toBeNull();
  });
});
