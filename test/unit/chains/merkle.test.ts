import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BadProof,
  couldBeTransaction,
  DepthNeeded,
  type MerkleClaim,
  treeDepth,
  verifyMerkle,
} from '../../../daemon/chains/utxo/electrum/headers/merkle.ts';
import { sha256d } from '../../../daemon/kit/bytes.ts';
import { writeCoinbase, writeTransaction } from '../../adapters/fixtures/serial.ts';
import { BCH_PROOF } from './headers-vectors.ts';

const printed = (hash: Buffer): string => Buffer.from(hash).reverse().toString('hex');
const script = (bytes = 20): Buffer => Buffer.concat([Buffer.from([0, bytes]), randomBytes(bytes)]);
const payment = (n: number): Buffer =>
  writeTransaction({
    inputs: [{ txid: randomBytes(32).toString('hex'), vout: n }],
    outputs: [{ units: 1_000n + BigInt(n), script: script() }],
  });
const coinbase = (): Buffer => writeTransaction(writeCoinbase(7, script()));
const idOf = (raw: Buffer): string => printed(sha256d(raw));

type Node = { hash: Buffer; raw?: Buffer };
const leaf = (raw: Buffer): Node => ({ hash: sha256d(raw), raw });

/** All levels of a block's tree, leaves first; the last of an odd level stands for two. */
function levelsOf(leaves: Node[]): Buffer[][] {
  const levels = [leaves.map(({ hash }) => hash)];
  for (let level = levels[0]!; level.length > 1; level = levels.at(-1)!) {
    const up: Buffer[] = [];
    for (let i = 0; i < level.length; i += 2) up.push(sha256d(Buffer.concat([level[i]!, level[i + 1] ?? level[i]!])));
    levels.push(up);
  }
  return levels;
}

function claimOf(leaves: Node[], position: number, raw = leaves[position]!.raw!): MerkleClaim {
  const levels = levelsOf(leaves);
  const branch = levels.slice(0, -1).map((level, depth) => {
    const at = (position >> depth) ^ 1;
    return printed(level[at] ?? level[at - 1]!);
  });
  return { chain: 'BTC', raw, txid: idOf(raw), branch, position, merkleRoot: printed(levels.at(-1)![0]!) };
}

const block = (payments: number): Node[] => [
  leaf(coinbase()),
  ...Array.from({ length: payments }, (_, n) => leaf(payment(n))),
];

describe('a merkle branch', () => {
  it('of a published block is accepted, and refused with any bit changed', async () => {
    const header = Buffer.from(BCH_PROOF.header, 'hex');
    const claim: MerkleClaim = {
      chain: 'BCH',
      raw: Buffer.from(BCH_PROOF.raw, 'hex'),
      txid: BCH_PROOF.txid,
      branch: BCH_PROOF.branch.map((hash) => printed(Buffer.from(hash, 'hex'))),
      position: BCH_PROOF.position,
      merkleRoot: printed(header.subarray(36, 68)),
    };
    expect((await verifyMerkle(claim)).outputs.map(({ units }) => units)).toEqual([7_128_000_000n, 429_587_989_836n]);
    for (let level = 0; level < claim.branch.length; level++) {
      const branch = claim.branch.with(
        level,
        claim.branch[level]!.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
      );
      await expect(verifyMerkle({ ...claim, branch })).rejects.toThrow(BadProof);
    }
    for (const position of [0, 2, 3, 17, 32, 33, -1, 1.5]) {
      await expect(verifyMerkle({ ...claim, position }), String(position)).rejects.toThrow(BadProof);
    }
    await expect(verifyMerkle({ ...claim, raw: Buffer.concat([claim.raw, Buffer.alloc(1)]) })).rejects.toThrow(
      BadProof,
    );
    await expect(verifyMerkle({ ...claim, txid: BCH_PROOF.txid.replace('2', '3') })).rejects.toThrow(BadProof);
    await expect(verifyMerkle({ ...claim, branch: claim.branch.slice(0, -1) })).rejects.toThrow(BadProof);
    await expect(verifyMerkle({ ...claim, branch: [...claim.branch, claim.txid] })).rejects.toThrow(BadProof);
    await expect(verifyMerkle({ ...claim, branch: claim.branch.with(0, 'ab') })).rejects.toThrow(BadProof);
  });

  it('of any transaction of any block is accepted at its own position alone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 40 }), fc.nat(), fc.nat(63), async (payments, pick, wrong) => {
        const leaves = block(payments);
        const position = pick % leaves.length;
        const claim = claimOf(leaves, position);
        expect((await verifyMerkle(claim)).txid()).toBe(claim.txid);
        expect((await verifyMerkle({ ...claim, depth: claim.branch.length })).coinbase).toBe(position === 0);
        if (wrong !== position) await expect(verifyMerkle({ ...claim, position: wrong })).rejects.toThrow(BadProof);
      }),
      { numRuns: 60 },
    );
  });

  it('of a block of one transaction is empty, which proves a coinbase only', async () => {
    const raw = payment(1);
    const claim = { chain: 'BTC', raw, txid: idOf(raw), branch: [], position: 0, merkleRoot: idOf(raw) } as const;
    await expect(verifyMerkle(claim)).rejects.toThrow(BadProof);
    expect((await verifyMerkle(claimOf(block(0), 0))).coinbase).toBe(true);
  });

  it('is no longer than a block can have', async () => {
    const raw = payment(1);
    let hash = sha256d(raw);
    const branch: string[] = [];
    for (let level = 0; level < 16; level++) {
      const other = randomBytes(32);
      branch.push(printed(other));
      hash = sha256d(Buffer.concat(level === 0 ? [other, hash] : [hash, other]));
    }
    const claim: MerkleClaim = { chain: 'BTC', raw, txid: idOf(raw), branch, position: 1, merkleRoot: printed(hash) };
    await expect(verifyMerkle(claim)).rejects.toThrow(BadProof);
    expect((await verifyMerkle({ ...claim, chain: 'BCH' })).txid()).toBe(claim.txid);
  });
});

/** A hash such that 64 bytes that end in it have the form of a transaction: of the first half, one byte matters. */
function rightHalf(): Buffer {
  const bytes = randomBytes(32);
  bytes.writeUInt8(0, 41 - 32);
  bytes.writeUInt8(1, 46 - 32);
  bytes.writeUInt8(4, 55 - 32);
  return bytes;
}

/** A payment whose hash is the first half of such 64 bytes: one in 256 is. */
function fittingPayment(): Buffer {
  for (let n = 0; ; n++) {
    const raw = payment(n);
    if (sha256d(raw)[4] === 1) return raw;
  }
}

describe('64 bytes that are a transaction and a node (CVE-2017-12842)', () => {
  it('have one form, whichever way the scripts share their bytes', () => {
    for (let scriptBytes = 0; scriptBytes <= 4; scriptBytes++) {
      const raw = writeTransaction({
        inputs: [{ txid: 'ab'.repeat(32), vout: 1, script: Buffer.alloc(scriptBytes) }],
        outputs: [{ units: 5n, script: Buffer.alloc(4 - scriptBytes) }],
      });
      expect([raw.length, couldBeTransaction(raw)]).toEqual([64, true]);
      for (const at of [4, 41, 46 + scriptBytes, 55 + scriptBytes]) {
        const other = Buffer.from(raw);
        other.writeUInt8(raw[at]! + 5, at);
        expect(couldBeTransaction(other), `${scriptBytes} at ${at}`).toBe(false);
      }
    }
  });

  it('prove nothing as a transaction, also in a dress of witnesses', async () => {
    const plain = { inputs: [{ txid: 'ab'.repeat(32), vout: 1 }], outputs: [{ units: 5n, script: Buffer.alloc(4) }] };
    const raw = writeTransaction(plain);
    const dressed = writeTransaction({ ...plain, inputs: [{ ...plain.inputs[0]!, witness: [Buffer.alloc(70)] }] });
    expect([raw.length, dressed.length > 64]).toEqual([64, true]);
    const claim = claimOf([leaf(coinbase()), leaf(raw)], 1);
    await expect(verifyMerkle(claim)).rejects.toThrow(/64 bytes/);
    await expect(verifyMerkle({ ...claim, raw: dressed })).rejects.toThrow(/64 bytes/);
  });

  it('cannot carry an invented payment below them: the coinbase shows how deep the tree is', async () => {
    const invented = fittingPayment();
    const beside = rightHalf();
    const carrier = Buffer.concat([sha256d(invented), beside]);
    const leaves = [...block(2), leaf(carrier), ...block(3).slice(1)];
    const real = claimOf(leaves, 3);
    const attack: MerkleClaim = {
      ...real,
      raw: invented,
      txid: idOf(invented),
      branch: [printed(beside), ...real.branch],
      position: 6,
    };
    await expect(verifyMerkle(attack)).rejects.toThrow(DepthNeeded);
    const depth = await treeDepth(claimOf(leaves, 0));
    expect(depth).toBe(3);
    await expect(verifyMerkle({ ...attack, depth })).rejects.toThrow(BadProof);
  });

  it('that come about by chance do not hide a payment', async () => {
    const ours = leaf(fittingPayment());
    const leaves = [...block(1), ours, { hash: rightHalf() }];
    const claim = claimOf(leaves, 2);
    await expect(verifyMerkle(claim)).rejects.toThrow(DepthNeeded);
    const depth = await treeDepth(claimOf(leaves, 0));
    expect((await verifyMerkle({ ...claim, depth })).txid()).toBe(claim.txid);
  });

  it('leave no way to forge the depth with another transaction than the coinbase', async () => {
    const leaves = block(6);
    const other = claimOf(leaves, 2);
    await expect(treeDepth(other)).rejects.toThrow(BadProof);
    const first = claimOf(leaves, 0);
    await expect(treeDepth({ ...first, branch: first.branch.slice(1) })).rejects.toThrow(BadProof);
    await expect(treeDepth({ ...first, txid: other.txid })).rejects.toThrow(BadProof);
  });
});

describe('a repeated last node (CVE-2012-2459)', () => {
  it('gives a transaction no second position', async () => {
    const leaves = block(2);
    const claim = claimOf(leaves, 2);
    expect((await verifyMerkle(claim)).txid()).toBe(claim.txid);
    expect(claim.branch[0]).toBe(claim.txid);
    await expect(verifyMerkle({ ...claim, position: 3 })).rejects.toThrow(/beyond the last/);
  });
});
