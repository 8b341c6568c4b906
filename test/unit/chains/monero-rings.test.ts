/** The rings of a payment of Monero: whom they are made of when the chain is not what it was when the payment was planned. */
import { describe, expect, it } from 'vitest';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import type { KeptTransactions } from '../../../daemon/chains/spending.ts';
import type { Scanner } from '../../../daemon/chains/xmr/scan.ts';
import { fittingRings } from '../../../daemon/chains/xmr/spend/rings.ts';
import { type MoneroSource, MoneroSpending } from '../../../daemon/chains/xmr/spend/spending.ts';
import { ringBytes, weightOf } from '../../../daemon/chains/xmr/spend/weight.ts';
import type { MoneroPlan } from '../../../daemon/domain/spend.ts';
import { writeKept } from '../../../daemon/monero/kept.ts';
import { varint } from '../../../daemon/monero/varint.ts';

/** The first bytes of addresses of mainnet. */
const [STANDARD, OTHER_STANDARD, SUBADDRESS] = ['12', '1200', '2a'] as const;
const BLOCKS = 1_000;
const PER_BLOCK = 2;
/** The outputs of the last blocks are too young. */
const OLD_ENOUGH = (BLOCKS - 9) * PER_BLOCK;
const OWN_AT = 600;
const keyOf = (index: number): string => index.toString(16).padStart(64, '0');

/** A coinbase with one output, as a node has it at a place of the chain. */
function kept(at: number): Buffer {
  const bytes = [
    varint(2),
    varint(60),
    varint(1),
    Uint8Array.of(0xff),
    varint(7),
    varint(1),
    varint(5),
    Uint8Array.of(2),
    Buffer.from(keyOf(OWN_AT), 'hex'),
    varint(0),
    Uint8Array.of(0),
  ];
  return Buffer.from(writeKept(at, '00'.repeat(32), Buffer.concat(bytes)));
}

class Source implements MoneroSource {
  readonly asked: number[][] = [];
  counts = Array.from({ length: BLOCKS }, (_, at) => (at + 1) * PER_BLOCK);
  isUnlocked = (index: number): boolean => index < OLD_ENOUGH;
  firstIndex = OWN_AT;

  distribution = async () => ({ startHeight: 0, counts: this.counts });
  outputs = async (indices: readonly number[]) => {
    this.asked.push([...indices]);
    if (indices.some((index) => index >= BLOCKS * PER_BLOCK)) throw new Error('the chain has no such output');
    return indices.map((index) => ({
      index,
      key: keyOf(index),
      commitment: 'ee'.repeat(32),
      unlocked: this.isUnlocked(index),
    }));
  };
  /** What was asked of it, and the answer. */
  readonly lacked: unknown[] = [];
  lacksOwn: MoneroSource['lacksOwn'] = async (indices, own) => {
    this.lacked.push([indices, own]);
    return { height: 7, hash: 'bb'.repeat(32) };
  };
  transaction = async () => kept(this.firstIndex).toString('hex');
  feeRate = async () => 0n;
  broadcast = async () => {};
}

const OUTPOINT = `${'ab'.repeat(32)}:0`;
const planned = (decoys: number[]): MoneroPlan => ({
  kind: 'monero',
  network: 'regtest',
  chain: 'XMR',
  accountNo: 0,
  outputs: [],
  fee: 0n,
  weight: 0,
  inputs: [{ outpoint: OUTPOINT, units: 5n, script: new Uint8Array(), branch: 0, index: 0, confirmations: 60, decoys }],
});

/** The numbers of the ring that is made of a plan's decoys. */
async function ringOf(source: Source, decoys: number[], at = OWN_AT): Promise<number[]> {
  const spending = new MoneroSpending('regtest', source, {} as ScriptList, {} as Scanner);
  const previous: KeptTransactions = {
    signed: () => null,
    base: () => kept(at),
    blockOf: () => null,
    limit: () => AbortSignal.timeout(1_000),
  };
  const { rings } = await spending.unsigned(planned(decoys), previous);
  return rings[0]!.map(({ index }) => index);
}

describe('a ring', () => {
  const right = Array.from({ length: 74 }, (_, n) => 100 + n);

  it('is made of the first decoys of its plan that can be spent, and our output', async () => {
    const source = new Source();
    source.isUnlocked = (index) => index % 2 === 0 && index < OLD_ENOUGH;
    const wanted = right.filter((index) => index % 2 === 0).slice(0, 15);
    expect(await ringOf(source, right)).toEqual([...wanted, OWN_AT]);
    // the node does not learn which of them are used
    expect(source.asked).toEqual([[...right, OWN_AT]]);
  });

  it('has our output where it is, although its stored number is above all that the chain has', async () => {
    for (const at of [BLOCKS * PER_BLOCK, 1e12]) {
      const source = new Source();
      expect(await ringOf(source, right, at)).toEqual([...right.slice(0, 15), OWN_AT]);
      source.firstIndex = at;
      await expect(ringOf(source, right, at)).rejects.toThrow('another output under the number of ours');
    }
  });

  it('has others instead of decoys that the chain does not have, or not deep enough', async () => {
    const beyond = Array.from({ length: 44 }, (_, n) => BLOCKS * PER_BLOCK + n * 100);
    const young = Array.from({ length: 30 }, (_, n) => OLD_ENOUGH + (n % 18));
    for (const decoys of [[...beyond, ...right.slice(0, 30)], [...beyond, ...young], young, []]) {
      const source = new Source();
      const ring = await ringOf(source, decoys);
      expect(new Set(ring).size).toBe(16);
      expect(ring).toContain(OWN_AT);
      expect(Math.max(...ring)).toBeLessThan(OLD_ENOUGH);
      expect(ring).toEqual(ring.toSorted((a, b) => a - b));
      expect(Math.max(...source.asked.flat())).toBeLessThan(OLD_ENOUGH);
    }
  });

  it('has others besides where too few of its plan can be spent, asked for together with them', async () => {
    const source = new Source();
    source.isUnlocked = (index) => index < OLD_ENOUGH && !(index >= 110 && index < 174);
    const ring = await ringOf(source, right);
    expect(ring).toEqual(expect.arrayContaining([...right.slice(0, 10), OWN_AT]));
    expect(source.asked).toHaveLength(2);
    expect(source.asked[1]).toEqual(expect.arrayContaining(source.asked[0]!));
  });

  it('of the same decoys has what the chain has under their numbers now, and ours, after a deep reorganisation', async () => {
    const source = new Source();
    const spending = new MoneroSpending('regtest', source, {} as ScriptList, {} as Scanner);
    const previous: KeptTransactions = {
      signed: () => null,
      base: () => kept(OWN_AT),
      blockOf: () => null,
      limit: () => AbortSignal.timeout(1_000),
    };
    const membersOf = async () => (await spending.unsigned(planned(right), previous)).rings[0]!;
    const before = await membersOf();
    const told = source.outputs;
    // the blocks from number 110 on gave way to others, but for that of our output
    const isAnother = (index: number) => index >= 110 && index !== OWN_AT;
    source.outputs = async (indices) =>
      (await told(indices)).map((one) => ({
        ...one,
        key: keyOf(isAnother(one.index) ? one.index + 5_000 : one.index),
      }));
    const after = await membersOf();
    expect(after.map(({ index }) => index)).toEqual(before.map(({ index }) => index));
    expect(before.map(({ key }) => key)).toEqual(before.map(({ index }) => keyOf(index)));
    expect(after.map(({ key }) => key)).toEqual(
      after.map(({ index }) => keyOf(isAnother(index) ? index + 5_000 : index)),
    );
    expect(after).not.toEqual(before);
  });

  it('is not made while too few outputs can be spent, and asks three times at the most', async () => {
    const source = new Source();
    source.isUnlocked = () => false;
    await expect(ringOf(source, right)).rejects.toThrow('Too few outputs');
    expect(source.asked).toHaveLength(3);
  });

  it('has our output where it is now, when a node named another place of it', async () => {
    expect(await ringOf(new Source(), right, 42)).toEqual([...right.slice(0, 15), OWN_AT]);
    const source = new Source();
    source.firstIndex = 43;
    await expect(ringOf(source, right, 42)).rejects.toThrow('another output under the number of ours');
  });
});

describe('rings together', () => {
  /** Numbers as a chain of a hundred million outputs has them: most are young. */
  const others = (seed: number): number[] =>
    Array.from({ length: 74 }, (_, n) => 100_000_000 - ((seed * 7_919 + n * n * n * 104_729) % 60_000_000));
  const around = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ own: 99_000_000 - n * 1_000, others: others(n + 1) }));
  const bytesOf = (rings: readonly number[][]) => rings.reduce((sum, ring) => sum + ringBytes(ring), 0);

  it.each([1, 2, 9, 150])('of %i inputs have the planned bytes where any do, and the same again', (count) => {
    const inputs = around(count);
    const first = fittingRings(inputs, 0);
    // so far away that none fit: those of the first decoys
    expect(first).toEqual(inputs.map(({ own, others: all }) => [own, ...all.slice(0, 15)].toSorted((a, b) => a - b)));
    for (const off of [-1, 0, 1]) {
      const rings = fittingRings(inputs, bytesOf(first) + off);
      expect(rings).toEqual(fittingRings(inputs, bytesOf(first) + off));
      for (const [at, ring] of rings.entries()) {
        expect(new Set(ring).size).toBe(16);
        expect(ring).toContain(inputs[at]!.own);
      }
      if (off === 0) expect(rings).toEqual(first);
      expect(Math.abs(bytesOf(rings) - bytesOf(first))).toBeLessThanOrEqual(1);
    }
  });

  it.each<[payouts: string[], weight: bigint]>([
    [[SUBADDRESS], 1_490n],
    [[STANDARD], 1_490n],
    [[], 1_490n],
    [[STANDARD, OTHER_STANDARD], 2_078n],
    [[STANDARD, SUBADDRESS], 2_177n],
  ])('and a payment to %j have the weight that nodes count', (payouts, weight) => {
    const scripts = payouts.map((prefix) => Buffer.from(prefix.padEnd(130, '7'), 'hex'));
    expect(weightOf({ inputs: 1, payouts: scripts, ringBytes: 0 }, 30_000_000n)).toBe(weight);
  });
});

describe('a signed transaction whose coin left the chain', () => {
  const spending = (source: Source) => new MoneroSpending('regtest', source, {} as ScriptList, {} as Scanner);
  const image = Buffer.alloc(32, 3);
  // one ring, of the outputs 500 and 600
  const ring = [varint(1), Uint8Array.of(2), varint(0), varint(2), varint(500), varint(100), image];
  const bytes = [varint(2), varint(0), ...ring, varint(0), varint(0), Uint8Array.of(0)];
  const raw = Buffer.from(writeKept(0, '00'.repeat(32), Buffer.concat(bytes))).toString('hex');
  const limit = () => AbortSignal.timeout(5_000);

  it('is compared with the chain by the numbers of its ring, and by the key of its coin', async () => {
    const source = new Source();
    const block = await spending(source).displacedAt({ raw, key: OUTPOINT, base: kept(OWN_AT) }, limit);
    expect(block).toEqual({ height: 7, hash: 'bb'.repeat(32) });
    expect(source.lacked).toEqual([[[500, 600], { at: OWN_AT, key: keyOf(OWN_AT), commitment: null }]]);
  });

  it('is not judged while the bytes that made its coin are unknown', async () => {
    const source = new Source();
    expect(await spending(source).displacedAt({ raw, key: OUTPOINT, base: null }, limit)).toBeNull();
    expect(source.lacked).toEqual([]);
  });
});
