/** What nodes of the family say about fees and about transactions that they are given, in their own words. */
import { describe, expect, it } from 'vitest';
import type { CoinSource } from '../../daemon/chains/adapter.ts';
import { coinSource } from './coin-source.ts';
import { FactBook } from './fact-book.ts';
import { bchn, core28 } from './fixtures/dialects.ts';
import { FakeNode } from './fixtures/fake-node.ts';
import { adapterOf, closeAfterEach, nodeOf, ready, signal } from './fixtures/fake-setup.ts';
import { idOf, writeTransaction } from './fixtures/serial.ts';

closeAfterEach();

const RAW = '0200000001';
const failing = (code: number, message: string) => () => FakeNode.failure(code, message);

async function spendingOn(dialect: typeof core28): Promise<{ node: FakeNode; spending: CoinSource }> {
  const node = await nodeOf(dialect);
  return { node, spending: coinSource(adapterOf(node, new FactBook())) };
}

describe('the fee rate', () => {
  const mempool = { size: 0, bytes: 0, usage: 0, mempoolminfee: 0.00001, minrelaytxfee: 0.00001 };

  it.each([
    ['is the estimate', { feerate: 0.00023457, blocks: 6 }, 0.00001, 23_457n],
    ['is the fallback without one', { errors: ['Insufficient data'], blocks: 2 }, 0.00001, 5_000n],
    ['is what the full mempool asks for above it', { feerate: 0.00002, blocks: 6 }, 0.00004, 4_000n],
    ['has a ceiling', { feerate: 0.5, blocks: 6 }, 0.00001, 1_000_000n],
    ['is the fallback when the estimate makes no sense', { feerate: -1 }, 0.00001, 5_000n],
  ])('of Bitcoin Core %s', async (_name, estimate, mempoolminfee, expected) => {
    const { node, spending } = await spendingOn(core28);
    let asked: unknown[] = [];
    node.overrides.set('estimatesmartfee', (params) => {
      asked = params;
      return estimate;
    });
    node.overrides.set('getmempoolinfo', () => ({ ...mempool, mempoolminfee }));
    expect(await spending.feeRate(6, signal())).toBe(expected);
    expect(asked).toEqual([6, 'ECONOMICAL']);
    await spending.feeRate(5_000, signal());
    expect(asked).toEqual([1_008, 'ECONOMICAL']);
  });

  it.each([
    [0.00001231, 1_231n],
    [0.000001, 1_000n],
    [1, 100_000n],
    [-1, 1_200n],
  ])('of Bitcoin Cash Node, estimated at %s, is %s', async (estimate, expected) => {
    const { node, spending } = await spendingOn(bchn);
    node.overrides.set('estimatefee', () => estimate);
    node.overrides.set('getmempoolinfo', () => mempool);
    expect(await spending.feeRate(6, signal())).toBe(expected);
  });
});

describe('a broadcast', () => {
  it.each([
    ['in the mempool already', -27, 'txn-already-in-mempool'],
    ['in the mempool with another witness', -26, 'txn-same-nonwitness-data-in-mempool'],
    ['known from a block', -26, 'txn-already-known'],
    ['in a block', -27, 'Transaction already in block chain'],
    ['in a block, as Core 28 says it', -27, 'Transaction outputs already in utxo set'],
  ])('of a transaction that is %s is a success', async (_name, code, message) => {
    const { node, spending } = await spendingOn(core28);
    node.overrides.set('sendrawtransaction', failing(code, message));
    await expect(spending.broadcast(RAW, signal())).resolves.toBeUndefined();
  });

  it.each([
    [-26, 'txn-mempool-conflict'],
    [-26, 'insufficient fee, rejecting replacement'],
    [-26, 'min relay fee not met, 1 < 100'],
    [-25, 'bad-txns-inputs-missingorspent'],
    [-22, 'TX decode failed'],
  ])('that is refused (%s: %s) says why', async (code, message) => {
    const { node, spending } = await spendingOn(bchn);
    node.overrides.set('sendrawtransaction', failing(code, message));
    await expect(spending.broadcast(RAW, signal())).rejects.toMatchObject({ code: 'broadcast.refused', message });
  });

  it.each([
    ['starts', failing(-28, 'Loading block index...')],
    ['has an error of its own', failing(-1, 'database trouble')],
    ['answers nonsense', () => 7],
  ])('to a node that %s may be tried again', async (_name, answer) => {
    const { node, spending } = await spendingOn(core28);
    node.overrides.set('sendrawtransaction', answer);
    await expect(spending.broadcast(RAW, signal())).rejects.toMatchObject({ name: 'Unavailable' });
  });

  it('never reaches a node of another chain', async () => {
    const { node, spending } = await spendingOn(core28);
    node.overrides.set('getblockhash', () => '00'.repeat(32));
    await expect(spending.broadcast(RAW, signal())).rejects.toThrow('another chain');
    expect(node.calls.get('sendrawtransaction')).toBeUndefined();
  });
});

describe('a transaction', () => {
  it('that was pruned, or is another one, is not had', async () => {
    const { node, spending } = await spendingOn(core28);
    const txid = '11'.repeat(32);
    const missing = { name: 'Unavailable', message: expect.stringContaining('does not have the transaction') };
    node.overrides.set('getrawtransaction', failing(-1, 'Block not available (pruned data)'));
    await expect(spending.transaction(txid, '22'.repeat(32), signal())).rejects.toMatchObject(missing);
    const other = writeTransaction({
      inputs: [{ txid, vout: 0 }],
      outputs: [{ units: 1n, script: Uint8Array.of(0x6a) }],
    }).toString('hex');
    node.overrides.set('getrawtransaction', () => other);
    await expect(spending.transaction(txid, '22'.repeat(32), signal())).rejects.toMatchObject(missing);
  });

  it('that paid us comes with its credit, once a block has it, for a node that will have pruned it', async () => {
    const { node, book, adapter, target } = await ready(core28);
    const txid = node.pay([
      { address: target.address, units: 50_000n },
      { address: target.address, units: 60_000n },
    ]);
    const bytes = writeTransaction(node.mempool.get(txid)!);
    await book.catchUp(adapter);
    const bases = () => [...book.credits.values()].map(({ base }) => base && Buffer.from(base).toString('hex'));
    expect(bases()).toEqual([undefined, undefined]);
    node.mine(1);
    await book.catchUp(adapter);
    expect(bases()).toEqual([bytes.toString('hex'), bytes.toString('hex')]);
  });

  it.each([
    [
      'Bitcoin Core',
      core28,
      { ancestorsize: 500, vsize: 200, fees: { base: 0.00001, ancestor: 0.00001234 } },
      1_234n,
      500,
    ],
    ['Bitcoin Cash Node', bchn, { size: 220, fees: { base: 0.00000221, modified: 0.00000221 } }, 221n, 220],
  ])('of %s that is unconfirmed is weighed with what it comes from', async (_name, dialect, entry, fee, vsize) => {
    const { node, spending } = await spendingOn(dialect);
    expect(await spending.unconfirmed('33'.repeat(32), signal())).toBeNull();
    node.overrides.set('getmempoolentry', () => entry);
    expect(await spending.unconfirmed('33'.repeat(32), signal())).toEqual({ fee, vsize });
  });
});

describe('a node of its own limits', () => {
  const TXID = 'ab'.repeat(32);

  it.each([
    ['Bitcoin Core', core28, [RAW, 0]],
    ['Bitcoin Cash Node', bchn, [RAW, true]],
  ] as const)('%s is told to leave the fee to us', async (_name, dialect, expected) => {
    const { node, spending } = await spendingOn(dialect);
    let given: unknown[] = [];
    node.overrides.set('sendrawtransaction', (params) => {
      given = params;
      return TXID;
    });
    await spending.broadcast(RAW, signal());
    expect(given).toEqual(expected);
  });
});

describe('what makes a transaction impossible', () => {
  const [vanished, other] = ['aa'.repeat(32), 'bb'.repeat(32)];
  const inputs = [`${'cc'.repeat(32)}:1`, `${'dd'.repeat(32)}:0`];
  const spender = (outpoint: string) => ({
    inputs: [{ txid: outpoint.slice(0, 64), vout: Number(outpoint.slice(65)) }],
    outputs: [{ units: 1_000n, script: Buffer.from('51', 'hex') }],
  });

  it('is a block that has another spender of one of its inputs', async () => {
    const { node, spending } = await spendingOn(core28);
    node.mine(3);
    node.overrides.set('gettxout', ([txid]) => (inputs[1]!.startsWith(txid as string) ? undefined : { value: 1 }));
    expect(await spending.conflict(vanished, inputs, 0, signal())).toBeNull();
    const killer = spender(inputs[1]!);
    // what only looks like it: another output of the same transaction
    node.addBlock([spender(`${'dd'.repeat(32)}:3`)]);
    node.addBlock([killer]);
    const height = node.blocks.length - 1;
    node.mine(2);
    const found = await spending.conflict(vanished, inputs, 0, signal());
    expect(found).toEqual({ txid: idOf(killer), block: { height, hash: node.blocks[height]!.hash } });
    // below the height from which it can be, and of a transaction that is the one itself
    expect(await spending.conflict(other, inputs, height, signal())).toBeNull();
    expect(await spending.conflict(idOf(killer), inputs, 0, signal())).toBeNull();
  });

  it('is found however far below the tip it is, some hundred blocks at a time', async () => {
    const { node, spending } = await spendingOn(core28);
    node.mine(3);
    const killer = spender(inputs[1]!);
    node.addBlock([killer]);
    node.mine(300);
    const read = () => node.calls.get('getblock') ?? 0;
    expect(await spending.conflict(vanished, inputs, 0, signal())).toBeNull();
    const first = read();
    // one more block is above what was read
    node.mine(1);
    expect(await spending.conflict(vanished, inputs, 0, signal())).toMatchObject({
      txid: idOf(killer),
      block: { height: 24 },
    });
    expect([first, read() - first]).toEqual([288, 14]);
  });

  it('is found where what was read has left the chain since', async () => {
    const { node, spending } = await spendingOn(core28);
    node.mine(5);
    expect(await spending.conflict(vanished, inputs, 0, signal())).toBeNull();
    node.disconnectBlocks(2);
    const killer = spender(inputs[0]!);
    node.addBlock([killer]);
    node.mine(2);
    expect(await spending.conflict(vanished, inputs, 0, signal())).toMatchObject({ block: { height: 24 } });
  });

  it('is found in a block that comes while its inputs are asked for', async () => {
    const { node, spending } = await spendingOn(core28);
    node.mine(3);
    const killer = spender(inputs[1]!);
    let isThere = false;
    node.overrides.set('gettxout', ([txid]) => {
      const isSpent = isThere || inputs[0]!.startsWith(txid as string);
      if (!isThere && inputs[1]!.startsWith(txid as string)) {
        node.addBlock([killer]);
        isThere = true;
      }
      return isSpent ? undefined : { value: 1 };
    });
    expect(await spending.conflict(vanished, inputs, 0, signal())).toBeNull();
    expect(await spending.conflict(vanished, inputs, 0, signal())).toMatchObject({ txid: idOf(killer) });
  });

  it('is not found in blocks that the node deletes meanwhile, which is no error', async () => {
    const { node, spending } = await spendingOn(core28);
    node.mine(6);
    const { hash } = node.blocks[2]!;
    node.overrides.set('getblock', ([asked]) =>
      asked === hash ? FakeNode.failure(-1, 'Block not available (pruned data)') : undefined,
    );
    expect(await spending.conflict(vanished, inputs, 0, signal())).toBeNull();
  });

  it('is not looked for in blocks while all of its inputs are unspent', async () => {
    const { node, spending } = await spendingOn(core28);
    node.mine(3);
    node.overrides.set('gettxout', () => ({ value: 1 }));
    expect(await spending.conflict(vanished, inputs, 0, signal())).toBeNull();
    expect(node.calls.get('getblock')).toBeUndefined();
  });
});
