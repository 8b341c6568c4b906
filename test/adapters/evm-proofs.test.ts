/**
 * Payments of Ethereum's family that an endpoint puts into a real block, where the block's own roots prove that they are not there; and
 * endpoints that tell no proof.
 */
import type { Hex, TransactionSerializable } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EvmAdapter } from '../../daemon/chains/evm/adapter.ts';
import { receiptBytes, senderOf, transactionBytes } from '../../daemon/chains/evm/envelopes.ts';
import { provedBlock } from '../../daemon/chains/evm/proved-block.ts';
import { hexOf, keccak, trieRoot } from '../../daemon/chains/evm/trie.ts';
import { Anvil, anvilTitle, callOf, hasAnvil, type Json } from '../nodes/evm/anvil.ts';
import { emptyBlob } from '../nodes/evm/blob.ts';
import type { Behaviour, Request } from '../nodes/evm/endpoint-proxy.ts';
import { INVENTED_TXID, inventedPayment } from '../nodes/evm/inventions.ts';
import { until } from './conformance.ts';
import { EndpointPair } from './evm-controls.ts';
import { testAccount } from './keys.ts';

type Fields = { [key: string]: Json };
const NO_METHOD = { error: { code: -32_601, message: 'the method eth_getBlockReceipts does not exist' } };
const pause = () => undefined;
const isProof = ({ method }: Pick<Request, 'method'>): boolean => method === 'eth_getBlockReceipts';

/** One behaviour, and another where the first one says nothing. */
const both = (first: Behaviour, second: Behaviour): Behaviour => ({
  instead: async (request) => (await first.instead?.(request)) ?? second.instead?.(request),
  changed(request, result) {
    const told = first.changed?.(request, result) ?? result;
    return second.changed?.(request, told) ?? told;
  },
});
const withoutMethod: Behaviour = { instead: (request) => (isProof(request) ? NO_METHOD : undefined) };
const truncated: Behaviour = {
  changed: (request, result) => (isProof(request) ? (result as Json[]).slice(0, -1) : result),
};
const unknown: Behaviour = { instead: (request) => (isProof(request) ? { result: null } : undefined) };
const adding: Behaviour = {
  changed(request, result) {
    if (!isProof(request)) return result;
    const receipts = result as Fields[];
    return [...receipts, { ...receipts[0], transactionHash: INVENTED_TXID }];
  },
};

describe.skipIf(!hasAnvil)(anvilTitle('payments that are put into a real block of an anvil'), () => {
  const pair = new EndpointPair();
  const counted = (id: number) => pair.book.paid(id).filter(({ height }) => height !== null);
  const isCounted = async (adapter: EvmAdapter, id: number): Promise<boolean> => {
    await pair.book.catchUp(adapter);
    return counted(id).length > 0;
  };
  /** Follows some blocks, past one that is refused, too. */
  async function follow(adapter: EvmAdapter): Promise<void> {
    for (let i = 0; i < 3; i++) {
      await pair.scene.anvil.mine();
      await pair.book.catchUp(adapter).catch(() => null);
    }
  }
  /** A real block with a transaction of somebody else, into which the first endpoint puts a payment of 900 units. */
  async function invented(address: string, more: Behaviour): Promise<void> {
    await pair.pay(`0x${'7a'.repeat(20)}`, 5n);
    const { anvil, token } = pair.scene;
    pair.scene.proxy.behaviour = both(await inventedPayment(anvil, token, address, 900n), more);
  }
  const DISPROVED = /a payment that its block provably does not have|a log that its receipt does not have/;

  it.each<[string, Behaviour]>([
    ['proves the contrary by its own receipts', {}],
    ['adds its receipt to those of the block', adding],
    ['tells no receipts of blocks', withoutMethod],
    ['leaves the last of them out', truncated],
    ['does not know the block when it is asked', unknown],
  ])('count nothing, however small, of an endpoint that %s', async (_, more) => {
    const { adapter, address, id } = await pair.watching(pair.urls);
    await invented(address, more);
    await follow(adapter);
    expect(pair.book.paid(id)).toEqual([]);
    expect(pair.scene.alerts).toEqual([
      expect.objectContaining({
        server: expect.stringContaining('127.0.0.1'),
        message: expect.stringMatching(DISPROVED),
      }),
    ]);
    pair.scene.proxy.behaviour = {};
    await pair.pay(address, 40n);
    await until(() => isCounted(adapter, id), 'the real payment');
    expect(counted(id).map(({ units }) => units)).toEqual([40n]);
  });

  it('count nothing of the only endpoint either, whose own receipts prove the contrary', async () => {
    const { adapter, address, id } = await pair.watching([pair.scene.proxy.url]);
    await invented(address, {});
    await expect(pair.book.catchUp(adapter)).rejects.toThrow(DISPROVED);
    pair.scene.proxy.behaviour = {};
    await until(
      () =>
        pair.book.catchUp(adapter).then(
          () => true,
          () => false,
        ),
      'the truth',
    );
    expect(pair.book.paid(id)).toEqual([]);
  });

  it('count nothing that nobody can disprove while another operator denies it, and a true one that it affirms', async () => {
    const { adapter, address, id } = await pair.watching(pair.urls);
    await invented(address, withoutMethod);
    pair.second.behaviour = withoutMethod;
    await follow(adapter);
    expect(pair.book.paid(id)).toEqual([{ units: 900n, height: null }]);
    pair.scene.proxy.behaviour = withoutMethod;
    const other = await adapter.deriveAddress(testAccount, 0, 8_000);
    const otherId = pair.book.watch(other);
    await pair.pay(other.address, 60n);
    await until(() => isCounted(adapter, otherId), 'the payment that another operator affirms');
    expect(counted(otherId).map(({ units }) => units)).toEqual([60n]);
    expect(counted(id)).toEqual([]);
    expect(pair.scene.logged).toEqual([expect.stringMatching(/^No endpoint tells .*eth_getBlockReceipts/)]);
  });

  it.each([
    ['by a transaction', true],
    ['from inside a contract', false],
  ])('count no small coins that one endpoint alone tells, %s', async (_, isDirect) => {
    const { adapter, address, id } = await pair.watching(pair.urls);
    await pair.scene.payCoins([{ address: `0x${'7b'.repeat(20)}`, units: 1n }]);
    await pair.scene.anvil.mine();
    const { hash } = await pair.scene.anvil.rpc<Fields>('eth_getBlockByNumber', ['latest', false]);
    const ours = address.toLowerCase();
    const toUs = ({ transactions, ...block }: Fields): Fields => ({
      ...block,
      transactions: ((transactions ?? []) as Json[]).map((one) =>
        typeof one === 'string' ? one : { ...(one as Fields), to: ours, value: '0x64' },
      ),
    });
    pair.scene.proxy.behaviour = {
      instead: ({ method }) =>
        method === 'eth_call' ? { error: { code: -32_000, message: 'execution reverted' } } : undefined,
      changed({ method, params }, result) {
        if (method === 'eth_getBlockByHash' && isDirect && result !== null) return toUs(result as Fields);
        const isThere = method === 'eth_getBalance' && params[0] === ours;
        return isThere && (params[1] as Fields).blockHash === hash ? '0x64' : result;
      },
    };
    await pair.book.catchUp(adapter).catch(() => null);
    expect(counted(id)).toEqual([]);
    const caught = pair.scene.alerts.map(({ message }) => message);
    expect(caught).toEqual(isDirect ? [expect.stringMatching(DISPROVED)] : []);
    expect(pair.book.paid(id)).toEqual(isDirect ? [] : [{ units: 100n, height: null }]);
  });

  it('count once, though the asked endpoint names the id of another transaction in its block', async () => {
    const { adapter, address, id } = await pair.watching(pair.urls);
    const txid = await pair.scene.payTokens([{ address, units: 70n }]);
    const other = await pair.scene.payTokens([{ address: `0x${'7c'.repeat(20)}`, units: 1n }]);
    await pair.scene.anvil.mine();
    const exchanged = (text: string): string =>
      text.replaceAll(txid, 'first').replaceAll(other, txid).replaceAll('first', other);
    pair.scene.proxy.behaviour = {
      instead: ({ method, params }) =>
        method === 'eth_getTransactionReceipt'
          ? pair.scene.proxy
              .pass({ method, params: JSON.parse(exchanged(JSON.stringify(params))) as Json[] })
              .then((reply) => JSON.parse(exchanged(JSON.stringify(reply))))
          : undefined,
      changed: ({ method }, result) =>
        method === 'eth_getLogs' ? (JSON.parse(exchanged(JSON.stringify(result))) as Json) : result,
    };
    await follow(adapter);
    expect(pair.book.creditOf(id)).toMatchObject({ txid, amount: { units: 70n } });
  });
});

describe.skipIf(!hasAnvil)(anvilTitle('true payments that their block of an anvil proves'), () => {
  const pair = new EndpointPair();
  const callsOf = (): [string, number][] => [...pair.scene.proxy.calls].sort();

  it('cost two calls for a block, however many they are, and no receipt of their own', async () => {
    const { adapter, address, id } = await pair.watching(pair.urls, { secondLookMs: 3_600_000 });
    await pair.scene.anvil.mine();
    await pair.book.catchUp(adapter);
    for (let i = 0; i < 12; i++) await pair.scene.payTokens([{ address, units: 10n + BigInt(i) }]);
    await pair.scene.anvil.mine();
    for (const { calls } of [pair.scene.proxy, pair.second]) calls.clear();
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toHaveLength(12);
    const calls = new Map(callsOf());
    expect(calls.get('eth_getBlockReceipts')).toBe(1);
    expect(calls.get('eth_getBlockByHash')).toBe(1);
    expect(calls.has('eth_getTransactionReceipt')).toBe(false);
    expect(pair.second.calls.has('eth_getBlockReceipts')).toBe(false);
    await pair.scene.anvil.mine();
    pair.scene.proxy.calls.clear();
    await pair.book.catchUp(adapter);
    expect(pair.scene.proxy.calls.has('eth_getBlockReceipts')).toBe(false);
  });

  it.each<[string, Behaviour]>([
    ['refuses them', withoutMethod],
    ['leaves one out', truncated],
  ])('are proved by another operator where the asked endpoint %s, which is asked once', async (_, behaviour) => {
    const { adapter, address, id } = await pair.watching(pair.urls, { secondLookMs: 3_600_000 });
    pair.scene.proxy.behaviour = behaviour;
    for (const { calls } of [pair.scene.proxy, pair.second]) calls.clear();
    for (const units of [21n, 22n]) {
      await pair.pay(address, units);
      await pair.book.catchUp(adapter);
    }
    const { height } = pair.book.tip;
    expect(pair.book.paid(id)).toEqual([
      { units: 21n, height: height - 1 },
      { units: 22n, height },
    ]);
    expect(pair.scene.proxy.calls.get('eth_getBlockReceipts')).toBe(1);
    expect(pair.second.calls.get('eth_getBlockReceipts')).toBe(2);
    expect(pair.scene.alerts).toEqual([]);
    expect(pair.scene.logged).toEqual([]);
  });

  it('count by the word of one endpoint where it is the only one and tells no proof, which is said once', async () => {
    const { adapter, address, id } = await pair.watching([pair.scene.proxy.url]);
    pair.scene.proxy.behaviour = withoutMethod;
    for (const units of [31n, 32n]) {
      await pair.pay(address, units);
      await pair.book.catchUp(adapter);
    }
    expect(pair.book.paid(id).map(({ height }) => height)).not.toContain(null);
    expect(pair.book.paid(id)).toHaveLength(2);
    expect(pair.scene.logged).toHaveLength(1);
  });
});

describe.skipIf(!hasAnvil)(anvilTitle('the roots of blocks of an anvil'), () => {
  let anvil: Anvil;
  let token: string;
  beforeAll(async () => {
    anvil = await Anvil.start(1337);
    token = await anvil.deploy('TetherLike');
    await anvil.send({ to: token, data: callOf('Standard', 'mint', [anvil.payer, 10n ** 9n]) });
    await anvil.mine();
  });
  afterAll(() => anvil?.stop());

  const TO: Hex = `0x${'22'.repeat(20)}`;
  /** The first account of anvil's well-known words. */
  const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
  /** A transaction of a kind, by the node's own account. */
  const sent = (fields: Fields) =>
    anvil.rpc('eth_sendTransaction', [{ from: anvil.payer, to: TO, value: '0x5', gas: '0x13880', ...fields }]);
  const nextNonce = async (): Promise<number> =>
    Number(await anvil.rpc<string>('eth_getTransactionCount', [privateKeyToAccount(KEY).address, 'pending']));
  /** A transaction of a kind that the node does not sign itself. */
  async function ownTransaction(fields: Pick<TransactionSerializable, 'type'> & Record<string, unknown>): Promise<Hex> {
    const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1n };
    const own = { chainId: 1337, nonce: await nextNonce(), ...fees, ...fields } as TransactionSerializable;
    const raw = await privateKeyToAccount(KEY).signTransaction(own);
    await anvil.rpc('eth_sendRawTransaction', [raw]);
    return raw;
  }
  const newest = async (): Promise<{ block: Fields; receipts: Fields[] }> => {
    await anvil.mine();
    const block = await anvil.rpc<Fields>('eth_getBlockByNumber', ['latest', true]);
    return { block, receipts: await anvil.rpc<Fields[]>('eth_getBlockReceipts', [String(block.hash)]) };
  };
  const proved = ({ block, receipts }: { block: Fields; receipts: Fields[] }) =>
    provedBlock(String(block.hash), block, receipts, pause);

  it.each<[string, number, () => Promise<void>]>([
    ['nothing', 0, async () => undefined],
    [
      'transactions of each kind, some of which failed',
      6,
      async () => {
        await sent({ type: '0x0', gasPrice: '0x77359400' });
        await sent({
          type: '0x1',
          gasPrice: '0x77359400',
          accessList: [{ address: token, storageKeys: [`0x${'01'.repeat(32)}`] }],
        });
        await sent({ type: '0x2', maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x5' });
        await sent({ to: token, value: '0x0', data: '0xdeadbeef' });
        await anvil.send({ to: token, data: callOf('TetherLike', 'transfer', [TO, 7n]) });
        const account = privateKeyToAccount(KEY);
        const nonce = (await nextNonce()) + 1;
        const authorization = await account.signAuthorization({ chainId: 1337, address: token as Hex, nonce });
        await ownTransaction({ type: 'eip7702', to: TO, gas: 200_000n, authorizationList: [authorization] });
      },
    ],
    [
      'transactions without a price where the base fee is zero, as a validator of BNB Smart Chain makes them',
      3,
      async () => {
        await anvil.rpc('anvil_setNextBlockBaseFeePerGas', ['0x0']);
        await sent({ type: '0x0', gasPrice: '0x77359400' });
        const free = { type: '0x0', gasPrice: '0x0', from: anvil.accounts[1] ?? '' };
        await sent({ ...free, to: `0x${'1000'.padStart(40, '0')}`, gas: '0x7fffff' });
        await sent({ ...free, nonce: '0x1' });
      },
    ],
    [
      'hundreds',
      201,
      async () => {
        for (let i = 0; i < 201; i++) await anvil.send({ to: TO, value: 1n, gas: 21_000 });
      },
    ],
  ])('are made of what a block has: %s', async (_, count, send) => {
    await send();
    const told = await newest();
    const found = await proved(told);
    expect(found.size).toBe(count);
    for (const [i, transaction] of (told.block.transactions as Fields[]).entries()) {
      const one = found.get(String(transaction.hash));
      const { gasUsed, effectiveGasPrice, status, logs } = told.receipts[i] as Fields;
      expect(one?.sender()).toBe(transaction.from);
      expect(one?.receipt).toMatchObject({
        succeeded: status === '0x1',
        fee: BigInt(String(gasUsed)) * BigInt(String(effectiveGasPrice)),
        logs: (logs as Fields[]).map(({ data, topics, logIndex }) => ({ data, topics, index: Number(logIndex) })),
      });
    }
  });

  it('are made of the receipt of a blob, too; its transaction is in the root with its blob on anvil alone', async () => {
    await sent({});
    const raw = await ownTransaction({ type: 'eip4844', to: TO, gas: 21_000n, ...emptyBlob() });
    const { block, receipts } = await newest();
    const [one, blob = {}] = block.transactions as Fields[];
    expect([blob.type, receipts[1]?.type, receipts[1]?.status]).toEqual(['0x3', '0x3', '0x1']);
    expect(await trieRoot(receipts.map(receiptBytes), pause)).toBe(block.receiptsRoot);
    // on the networks it is there without its blob: `unit/chains/evm-bsc-blocks`
    const rootOf = (bytes: Uint8Array) => trieRoot([transactionBytes(one as Fields), bytes], pause);
    expect(await rootOf(Buffer.from(raw.slice(2), 'hex'))).toBe(block.transactionsRoot);
    expect(hexOf(await keccak(transactionBytes(blob), pause))).toBe(blob.hash);
    expect(senderOf(blob)).toBe(blob.from);
    await expect(proved({ block, receipts })).rejects.toThrow(/transactions that do not make the root/);
  });

  it('are made of nothing else', async () => {
    await sent({});
    await anvil.send({ to: token, data: callOf('TetherLike', 'transfer', [TO, 7n]) });
    const { block, receipts } = await newest();
    const [first = {}, second = {}] = receipts;
    const [one = {}, two = {}] = block.transactions as Fields[];
    const [log = {}] = second.logs as Fields[];
    const wrong: [Partial<Fields>, Fields[]][] = [
      [{}, [first, { ...second, status: '0x0' }]],
      [{}, [first, { ...second, cumulativeGasUsed: '0x1' }]],
      [{}, [first, { ...second, logs: [{ ...log, data: `0x${'9'.padStart(64, '0')}` }] }]],
      [{}, [first, { ...second, logs: [log, log] }]],
      [{}, [second, first]],
      [{}, [first]],
      [{ transactions: [one, { ...two, value: '0x1' }] }, receipts],
      [{ transactions: [two, one] }, receipts],
      [{ transactions: [{ ...one, hash: two.hash ?? '' }, two] }, receipts],
      [{ receiptsRoot: block.transactionsRoot ?? '' }, receipts],
      [{ hash: one.hash ?? '' }, receipts],
    ];
    await expect(proved({ block, receipts })).resolves.toHaveProperty('size', 2);
    for (const [change, told] of wrong) {
      const changed = { ...block, ...change } as Fields;
      await expect(provedBlock(String(block.hash), changed, told, () => undefined)).rejects.toThrow(/sent/);
    }
  });
});
