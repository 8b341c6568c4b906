/** The sandbox's controls: their errors, their limits, and what of them outlives the process. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { addressOfKey } from '../../../daemon/chains/utxo/address.ts';
import { CHAINS, type ChainId } from '../../../daemon/domain/assets.ts';
import { addToMempool, needRoom } from '../../../daemon/sandbox/consensus.ts';
import type { SandboxWriter } from '../../../daemon/sandbox/rows.ts';
import { accountOf, type Bench, openBench, publicKeyOf, signSpend } from '../../adapters/sandbox-kit.ts';

const signal = () => AbortSignal.timeout(25_000);
const open: Bench[] = [];
const bench = async (options: Parameters<typeof openBench>[0] = {}): Promise<Bench> => {
  const made = await openBench(options);
  open.push(made);
  return made;
};
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

const addressOf = async ({ sandbox, book }: Bench, chain: ChainId, index: number) => {
  const target = await sandbox.adapter(chain).deriveAddress(accountOf(chain), 0, index);
  return { address: target.address, id: book.watch(target) };
};

describe('addresses', () => {
  it.each([
    ['BTC', /^bcrt1q[a-z0-9]{38}$/],
    ['LTC', /^rltc1q[a-z0-9]{38}$/],
    ['BCH', /^bchreg:q[a-z0-9]{41}$/],
    ['XMR', /^7[1-9A-HJ-NP-Za-km-z]{94}$/],
    ['ETH', /^0x[0-9a-fA-F]{40}$/],
    ['BSC', /^0x[0-9a-fA-F]{40}$/],
  ] as const)('%s has the form of its test network', async (chain, form) => {
    const { sandbox } = await bench();
    const adapter = sandbox.adapter(chain);
    const [a, b, change] = await Promise.all([
      adapter.deriveAddress(accountOf(chain), 0, 0),
      adapter.deriveAddress(accountOf(chain), 0, 1),
      adapter.deriveAddress(accountOf(chain), 1, 0),
    ]);
    expect(a.address).toMatch(form);
    expect(new Set([a.address, b.address, change.address]).size).toBe(3);
    await expect(adapter.deriveAddress(accountOf(chain), 0, 2 ** 31)).rejects.toThrow('2^31 - 1');
  });
});

describe('what a control refuses', () => {
  const address = addressOfKey(publicKeyOf(0), 'BTC', 'sandbox').address;
  const mainnet = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';

  it.each([
    ['another chain’s asset', { address, asset: 'LTC', units: 1n }, 'sandbox.asset', 'crypto'],
    ['an address of mainnet', { address: mainnet, asset: 'BTC', units: 1n }, 'sandbox.address', 'address'],
    ['no address', { address: '', asset: 'BTC', units: 1n }, 'sandbox.address', 'address'],
    ['an amount of 0', { address, asset: 'BTC', units: 0n }, 'sandbox.amount', 'amount'],
    ['an amount below 0', { address, asset: 'BTC', units: -1n }, 'sandbox.amount', 'amount'],
    ['more coins than exist', { address, asset: 'BTC', units: 2_100_000_000_000_001n }, 'sandbox.amount', 'amount'],
  ] as const)('pay: %s', async (_, payment, code, field) => {
    const { sandbox, rows } = await bench();
    await expect(sandbox.pay('BTC', payment)).rejects.toMatchObject({ name: 'Rejected', code, field });
    expect(rows.mempoolSize('BTC')).toBe(0);
  });

  it.each([0, 101, 1.5, -1, Number.NaN])('mine: %d blocks', async (blocks) => {
    const { sandbox } = await bench();
    await expect(sandbox.mine('ETH', blocks)).rejects.toMatchObject({ code: 'sandbox.blocks', field: 'blocks' });
  });

  it.each([0, 101, 1.5])('reorg: a depth of %d', async (depth) => {
    const { sandbox } = await bench();
    await expect(sandbox.reorg('ETH', depth, false)).rejects.toMatchObject({ code: 'sandbox.depth', field: 'depth' });
  });

  it('double-spend: what is unknown, or in a block', async () => {
    const made = await bench();
    const { sandbox } = made;
    const { address: own } = await addressOf(made, 'XMR', 0);
    const { txid } = await sandbox.pay('XMR', { address: own, asset: 'XMR', units: 7n });
    await sandbox.mine('XMR', 1);
    await expect(sandbox.doubleSpend('XMR', 'ab'.repeat(32))).rejects.toMatchObject({ code: 'sandbox.unknown_tx' });
    await expect(sandbox.doubleSpend('XMR', txid)).rejects.toMatchObject({ code: 'sandbox.already_mined' });
  });

  it.each(['XMR', 'ETH', 'BSC'] as const)('broadcast: a real transaction of %s', async (chain) => {
    const { sandbox } = await bench();
    await expect(sandbox.broadcast(chain, Uint8Array.of(1))).rejects.toMatchObject({ code: 'spend.malformed' });
  });

  it('a reorganisation as deep as it goes is taken on a new chain', async () => {
    const { sandbox } = await bench();
    expect(await sandbox.mine('LTC', 1)).toEqual({ height: 201 });
    expect(await sandbox.reorg('LTC', 100, false)).toEqual({ height: 202 });
  });
});

describe('a payment', () => {
  it('keeps amounts above 2^64 and tells assets of one chain apart', async () => {
    const made = await bench();
    const { sandbox, book } = made;
    const adapter = sandbox.adapter('ETH');
    const { address, id } = await addressOf(made, 'ETH', 3);
    book.checkpoint = await adapter.begin(null, signal());
    const units = 10n ** 30n + 1n;
    await sandbox.pay('ETH', { address, asset: 'ETH', units });
    await sandbox.pay('ETH', { address, asset: 'USDT_ERC20', units: 1n });
    await book.catchUp(adapter);
    const amounts = [...book.credits.values()].map(({ targetId, amount }) => ({ targetId, ...amount }));
    expect(amounts).toEqual([
      { targetId: id, asset: 'ETH', units },
      { targetId: id, asset: 'USDT_ERC20', units: 1n },
    ]);
    expect([...book.credits.keys()].every((key) => /^0x[0-9a-f]{64}:0$/.test(key))).toBe(true);
  });

  it('says of a simulated transaction that it is one', async () => {
    const made = await bench();
    const { address } = await addressOf(made, 'XMR', 0);
    const { txid } = await made.sandbox.pay('XMR', { address, asset: 'XMR', units: 5n });
    expect(JSON.parse(made.rows.transaction('XMR', txid)?.raw ?? '')).toMatchObject({
      simulated: 'This is no transaction of a real chain',
      outputs: [{ address, asset: 'XMR', units: '5' }],
    });
  });

  it('that is double-spent leaves the others alone, however small', async () => {
    const made = await bench();
    const { sandbox, rows } = made;
    const { address } = await addressOf(made, 'BTC', 0);
    const txids: string[] = [];
    for (const units of [1n, 500_000n, 1n])
      txids.push((await sandbox.pay('BTC', { address, asset: 'BTC', units })).txid);
    const first = await sandbox.doubleSpend('BTC', txids[0] ?? '');
    const second = await sandbox.doubleSpend('BTC', txids[1] ?? '');
    const third = await sandbox.doubleSpend('BTC', second.txid);
    expect(rows.transactionsIn('BTC', null, 10).map(({ txid }) => txid)).toEqual([txids[2], first.txid, third.txid]);
    expect(rows.outputsOf(rows.transaction('BTC', third.txid)?.id ?? 0)[0]?.units).toBe(498_000n);
  });
});

describe('what outlives the process', () => {
  it('is every control that was answered, found in a copy of the files taken without closing', async () => {
    const root = mkdtempSync(join(tmpdir(), 'sandbox-'));
    try {
      const before = await bench({ dataDir: join(root, 'a') });
      const { address, id } = await addressOf(before, 'BTC', 0);
      const { txid } = await before.sandbox.pay('BTC', { address, asset: 'BTC', units: 1_000n });
      await before.sandbox.mine('BTC', 2);
      await before.sandbox.reorg('BTC', 1, true);
      const waiting = await before.sandbox.pay('BTC', { address, asset: 'BTC', units: 2_000n });
      await before.sandbox.doubleSpend('BTC', waiting.txid);
      await before.sandbox.pay('BTC', { address, asset: 'BTC', units: 3_000n });
      await before.sandbox.outage('LTC', true);
      cpSync(join(root, 'a'), join(root, 'b'), { recursive: true, filter: (file) => !file.endsWith('lock') });

      const after = await bench({ dataDir: join(root, 'b') });
      await addressOf(after, 'BTC', 0);
      const adapter = after.sandbox.adapter('BTC');
      after.book.checkpoint = await adapter.begin(0, signal());
      await after.book.catchUp(adapter);
      expect(after.book.tip).toEqual(before.sandbox.adapter('BTC').health().tip);
      expect(after.book.paid(id)).toEqual([
        { units: 1_000n, height: 201 },
        { units: 3_000n, height: null },
      ]);
      expect(after.rows.transaction('BTC', txid)?.height).toBe(201);
      await expect(after.sandbox.adapter('LTC').begin(null, signal())).rejects.toMatchObject({ name: 'Unavailable' });
      expect(after.sandbox.adapter('LTC').health().error).toMatch(/switched off/);
    } finally {
      for (const each of open.splice(0)) await each.close();
      rmSync(root, { recursive: true });
    }
  });
});

describe('limits', () => {
  it('prunes what is deeper than 1,000 blocks, but no coin of ours', async () => {
    const made = await bench();
    const { sandbox, rows, book } = made;
    const adapter = sandbox.adapter('BTC');
    const own = await addressOf(made, 'BTC', 0);
    const foreign = addressOfKey(publicKeyOf(1), 'BTC', 'sandbox');
    const kept = await sandbox.pay('BTC', { address: own.address, asset: 'BTC', units: 10_000n });
    const spent = await sandbox.pay('BTC', { address: own.address, asset: 'BTC', units: 20_000n });
    const others = await sandbox.pay('BTC', { address: foreign.address, asset: 'BTC', units: 30_000n });
    await sandbox.mine('BTC', 1);
    const outputs = [{ script: foreign.script, units: 19_000n }];
    const raw = signSpend('BTC', { coins: [{ id: `${spent.txid}:0`, units: 20_000n, index: 0 }], outputs });
    const spender = await sandbox.broadcast('BTC', raw);
    for (let i = 0; i < 14; i++) await sandbox.mine('BTC', 100);
    const tip = rows.tip('BTC')?.height ?? 0;
    expect(tip).toBe(1_601);
    // The first block stays, the one with our coin, and the last 1,000.
    const heights = rows.blocksUpTo('BTC', tip, 5_000).map(({ height }) => height);
    expect(heights).toEqual([0, 201, ...Array.from({ length: 1_000 }, (_, i) => tip - 999 + i)]);
    expect(rows.transactionsIn('BTC', 201, 10)).toMatchObject([{ txid: kept.txid, height: 201 }]);
    // What it paid is spent with the bytes of the transaction that paid it.
    await expect(adapter.spending?.transaction(kept.txid, null, AbortSignal.timeout(5_000))).resolves.toMatch(
      /^02000000/,
    );
    for (const { txid } of [spent, others, spender]) expect(rows.transaction('BTC', txid)).toBeUndefined();
    expect(rows.chain('BTC')).toMatchObject({ transactions: 1, pruned: tip - 1_000 });

    book.checkpoint = await adapter.begin(0, signal());
    await book.catchUp(adapter);
    expect(book.paid(own.id)).toEqual([{ units: 10_000n, height: 201 }]);
    const last = signSpend('BTC', {
      coins: [{ id: `${kept.txid}:0`, units: 10_000n, index: 0 }],
      outputs: [{ script: foreign.script, units: 9_000n }],
    });
    await expect(sandbox.broadcast('BTC', last)).resolves.toHaveProperty('txid');
    await sandbox.reorg('BTC', 100, true);
    await expect(sandbox.reorg('BTC', 100, false)).resolves.toEqual({ height: tip + 2 });
  });

  it('keeps through a long outage what nobody could read, and mines only so much meanwhile', async () => {
    const made = await bench();
    const { sandbox, rows, book } = made;
    const adapter = sandbox.adapter('ETH');
    const { address, id } = await addressOf(made, 'ETH', 0);
    book.checkpoint = await adapter.begin(null, signal());
    await sandbox.outage('ETH', true);
    await sandbox.pay('ETH', { address, asset: 'ETH', units: 5n });
    for (let i = 0; i < 17; i++) await sandbox.mine('ETH', 100);
    await expect(sandbox.mine('ETH', 100)).rejects.toMatchObject({ code: 'sandbox.full' });
    expect(rows.blockAt('ETH', 1)).toBeDefined();
    await sandbox.outage('ETH', false);
    await sandbox.mine('ETH', 100);
    await book.catchUp(adapter);
    expect(book.paid(id)).toEqual([{ units: 5n, height: 201 }]);
    expect(rows.chain('ETH')?.pruned).toBe(199);
  });

  it('takes 10,000 transactions into a mempool and 2,000 into a block', async () => {
    const made = await bench();
    const { sandbox, rows } = made;
    const { address } = await addressOf(made, 'BSC', 0);
    const pay = () => sandbox.pay('BSC', { address, asset: 'BNB', units: 1n });
    await pay();
    await rows.write((tx) => {
      for (let i = 1; i < 10_000; i++) addToMempool(tx, 'BSC', { txid: `${i}`, raw: '', inputs: [], outputs: [] }, 0);
    });
    await expect(pay()).rejects.toMatchObject({ code: 'sandbox.full' });
    await sandbox.mine('BSC', 1);
    expect(rows.mempoolSize('BSC')).toBe(8_000);
    await expect(pay()).resolves.toHaveProperty('txid');
    await sandbox.mine('BSC', 4);
    expect(rows.transactionsIn('BSC', 205, 3_000)).toHaveLength(2_000);
    await sandbox.mine('BSC', 1);
    await rows.write((tx) => {
      for (let i = 0; i < 10; i++) addToMempool(tx, 'BSC', { txid: `n${i}`, raw: '', inputs: [], outputs: [] }, 0);
    });
    await expect(sandbox.reorg('BSC', 6, false)).rejects.toMatchObject({ code: 'sandbox.full' });
    expect(rows.tip('BSC')?.height).toBe(206);
  });

  it('refuses the 100,001st transaction', () => {
    const rows = { mempoolSize: () => 0, chain: () => ({ transactions: 100_000 }) } as unknown as SandboxWriter;
    expect(() => needRoom(rows, 'BTC')).toThrow('The chain has 100000 transactions');
  });
});

describe('the block timer', () => {
  it('mines chains that are used, and every ten minutes all others, in one transaction, and wakes who waits', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const made = await bench({ blockSeconds: 10 });
      const { sandbox, rows, store, clock } = made;
      const heights = () => CHAINS.map((chain) => rows.tip(chain)?.height);
      const { address } = await addressOf(made, 'BTC', 0);
      for (const chain of CHAINS) await sandbox.mine(chain, 1);
      await sandbox.pay('BTC', { address, asset: 'BTC', units: 10_000n });
      const woken: ChainId[] = [];
      for (const chain of CHAINS) sandbox.adapter(chain).onHint(() => woken.push(chain));
      let commits = 0;
      store.onCommit = () => {
        commits++;
      };
      sandbox.start();
      const tick = async (): Promise<void> => {
        const before = commits;
        clock.now += 10_000;
        vi.advanceTimersByTime(10_000);
        await vi.waitFor(() => expect(commits).toBe(before + 1));
      };
      vi.advanceTimersByTime(9_999);
      expect(commits).toBe(0);
      clock.now += 10_000;
      vi.advanceTimersByTime(1);
      await vi.waitFor(() => expect(woken).toEqual(['BTC']));
      expect([commits, rows.newestMined('BTC')]).toEqual([1, 202]);
      for (let i = 0; i < 58; i++) await tick();
      expect(heights()).toEqual(CHAINS.map((chain) => (chain === 'BTC' ? 260 : 201)));
      woken.length = 0;
      await tick();
      await vi.waitFor(() => expect(woken).toEqual([...CHAINS]));
      for (let i = 0; i < 59; i++) await tick();
      // the transaction can leave its block no more
      expect(heights()).toEqual(CHAINS.map((chain) => (chain === 'BTC' ? 302 : 202)));
      await sandbox.close();
      vi.advanceTimersByTime(60_000);
      expect(rows.tip('BTC')?.height).toBe(302);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('a checkpoint', () => {
  it('of another database is no ground to stand on', async () => {
    const [one, other] = [await bench(), await bench()];
    other.clock.now += 1;
    const foreign = await other.sandbox.adapter('BTC').begin(null, signal());
    await expect(one.sandbox.adapter('BTC').sync(foreign, signal())).rejects.toThrow(/shares none/);
  });

  it('is the last block before a birthday', async () => {
    const { sandbox, clock } = await bench();
    const adapter = sandbox.adapter('BTC');
    await sandbox.mine('BTC', 1);
    clock.now += 5_000;
    const { height } = await sandbox.mine('BTC', 3);
    const at = async (time: number | null) => (await adapter.begin(time, signal())).at(-1)?.height;
    expect(await at(clock.now)).toBe(height - 3);
    expect(await at(clock.now + 1)).toBe(height);
    expect(await at(null)).toBe(height);
    expect(await at(clock.now - 5_000)).toBe(199);
  });
});
