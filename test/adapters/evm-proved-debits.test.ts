/**
 * Money that left by a real transaction, about which an endpoint of Ethereum's family lies: what it took, its fee, whether it failed, who
 * sent it. The block's own roots prove the lie, also where nobody else is asked.
 */
import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import type { EvmAdapter } from '../../daemon/chains/evm/adapter.ts';
import { chainIdOf } from '../../daemon/domain/evm.ts';
import { nonceKey } from '../../daemon/domain/spend.ts';
import { anvilTitle, callOf, hasAnvil, type Json } from '../nodes/evm/anvil.ts';
import type { Behaviour } from '../nodes/evm/endpoint-proxy.ts';
import { INVENTED_TXID, inventedSending } from '../nodes/evm/inventions.ts';
import { until } from './conformance.ts';
import { EndpointPair } from './evm-controls.ts';

type Fields = { [key: string]: Json };
/** A transaction of an address of ours in the newest block. */
type Sent = { txid: string; from: string };
type Lie = (sent: Sent) => Behaviour | Promise<Behaviour>;
type What = 'coins' | 'tokens' | 'too many tokens';

const COIN = 10n ** 18n;
const PAYEE = `0x${'5e'.repeat(20)}` as const;
const DISPROVED = /a transaction of ours that its block provably does not have|a log that its receipt does not have/;
const SAID = /^No endpoint tells .*eth_getBlockReceipts/;
const GAS_PRICE = 10n ** 10n;
/** Of gas, so that the price is the base fee and this. */
const TIP = 10n ** 9n;

const many = (value: Json | undefined): string => `0x${(BigInt(String(value)) * 1_000n).toString(16)}`;
const more = (value: Json | undefined): string => `0x${(BigInt(String(value)) + 1n).toString(16)}`;
const about = (txid: string, method: string, change: (told: Fields) => Fields): Behaviour => ({
  changed: (request, result) =>
    request.method === method && request.params[0] === txid && result !== null ? change(result as Fields) : result,
});
const receipt = (change: (told: Fields) => Fields): Lie => {
  return ({ txid }) => about(txid, 'eth_getTransactionReceipt', change);
};
const sending = (change: (told: Fields) => Fields): Lie => {
  return ({ txid }) => about(txid, 'eth_getTransactionByHash', change);
};
/** Changes the receipts that are to prove a block. */
const proof = (change: (receipts: Fields[]) => Fields[]): Lie => {
  return () => ({
    changed: ({ method }, result) => (method === 'eth_getBlockReceipts' ? change(result as Fields[]) : result),
  });
};
/** Several lies at once. */
const all = (...lies: readonly Lie[]): Lie => {
  return async (sent) => {
    const told = await Promise.all(lies.map((lie) => lie(sent)));
    return {
      instead: (request) => told.map((one) => one.instead?.(request)).find((reply) => reply !== undefined),
      changed: (request, result) => told.reduce((so, one) => one.changed?.(request, so) ?? so, result),
    };
  };
};
const dearer = receipt((told) => ({ ...told, effectiveGasPrice: many(told.effectiveGasPrice) }));
const failed = receipt((told) => ({ ...told, status: '0x0', logs: [] }));
const succeeded = receipt((told) => ({ ...told, status: '0x1' }));
const omitted = proof((receipts) => receipts.slice(0, -1));
/** As receipts were before EIP-1559. */
const unpriced = receipt(({ effectiveGasPrice: _, ...told }) => told);
const withheld: Lie = () => ({
  instead: ({ method }) =>
    method === 'eth_getBlockReceipts' ? { error: { code: -32_601, message: 'no method' } } : undefined,
});
const swapped = proof((receipts) => receipts.toReversed());

describe.skipIf(!hasAnvil)(anvilTitle('a transaction of ours in a real block of an anvil'), () => {
  const pair = new EndpointPair();
  let count = 0;

  /** An address of ours with coins and tokens, and what it sends in a block with one of somebody else's. */
  async function sent(urls: readonly string[], data: What, kind: 'eip1559' | 'legacy' = 'eip1559') {
    const { adapter } = await pair.watching(urls, { needsAgreement: () => false, secondLookMs: 3_600_000 });
    const { anvil, token } = pair.scene;
    const key = `0x${(0xabc00n + BigInt(++count)).toString(16).padStart(64, '0')}` as const;
    const account = privateKeyToAccount(key);
    const script = Buffer.from(account.address.slice(2), 'hex');
    const id = pair.book.watch({ address: account.address, script });
    await pair.scene.payCoins([{ address: account.address, units: COIN }]);
    await pair.pay(account.address, 5_000n);
    await pair.book.catchUp(adapter);
    const units = data === 'too many tokens' ? 9_000n : 2_000n;
    const call = { to: token as `0x${string}`, data: callOf('TetherLike', 'transfer', [PAYEE, units]), value: 0n };
    const common = {
      chainId: chainIdOf('regtest', 'ETH'),
      nonce: 0,
      gas: 100_000n,
      ...(data === 'coins' ? { to: PAYEE, value: COIN / 4n } : call),
    };
    const raw = await account.signTransaction(
      kind === 'legacy'
        ? { ...common, type: kind, gasPrice: GAS_PRICE }
        : { ...common, type: kind, maxFeePerGas: GAS_PRICE, maxPriorityFeePerGas: TIP },
    );
    const txid = await anvil.rpc<string>('eth_sendRawTransaction', [raw]);
    pair.book.nonces.length = 0;
    pair.book.nonces.push({
      target: { id, script },
      key: nonceKey(account.address, 0n),
      nonce: 0n,
      txids: [txid],
      usedIn: null,
    });
    await pair.scene.payCoins([{ address: `0x${'7d'.repeat(20)}`, units: 3n }]);
    await anvil.mine();
    return { adapter, id, told: { txid, from: account.address } };
  }
  const debits = (id: number) =>
    [...pair.book.debits.values()]
      .filter(({ targetId, block }) => targetId === id && block)
      .map(({ amount, kind }) => [kind, amount.asset, amount.units]);
  const spends = () => [...pair.book.spends.values()].filter(({ block }) => block !== null);
  /** What the transaction took, by the node itself. */
  async function truth({ txid }: Sent, what: What) {
    const { gasUsed, effectiveGasPrice, status } = await pair.scene.anvil.rpc<Fields>('eth_getTransactionReceipt', [
      txid,
    ]);
    const fee = ['fee', 'ETH', BigInt(String(gasUsed)) * BigInt(String(effectiveGasPrice))];
    expect(status).toBe(what === 'too many tokens' ? '0x0' : '0x1');
    if (what === 'too many tokens') return [fee];
    return [fee, what === 'coins' ? ['paid', 'ETH', COIN / 4n] : ['paid', 'USDT_ERC20', 2_000n]];
  }
  const follow = (adapter: EvmAdapter): Promise<unknown> => pair.book.catchUp(adapter).catch((error: unknown) => error);

  /** Of a payment that was planned here, whose nonce is reserved. */
  const LIES: [string, What, Lie][] = [
    ['a fee a thousand times as high', 'coins', dearer],
    ['a fee of a token transfer a thousand times as high', 'tokens', dearer],
    ['a lower price', 'coins', receipt((told) => ({ ...told, effectiveGasPrice: '0x1' }))],
    ['more gas', 'coins', receipt((told) => ({ ...told, gasUsed: more(told.gasUsed) }))],
    ['a failure of coins that arrived', 'coins', failed],
    ['a failure of tokens that arrived', 'tokens', failed],
    ['a success of tokens that did not arrive', 'too many tokens', succeeded],
    ['a log twice', 'tokens', receipt((told) => ({ ...told, logs: [told.logs, told.logs].flat() as Json }))],
    ['another value', 'coins', sending((told) => ({ ...told, value: more(told.value) }))],
    ['another recipient', 'coins', sending((told) => ({ ...told, to: `0x${'66'.repeat(20)}` }))],
  ];
  /** Of one that nobody planned here, which its event tells. */
  const UNPLANNED: [string, Lie][] = [
    ['a fee a thousand times as high', dearer],
    ['a failure', failed],
    ['another sender', sending((told) => ({ ...told, from: PAYEE }))],
    ['another nonce', sending((told) => ({ ...told, nonce: '0x7' }))],
    [
      'another transaction beside it',
      ({ from }) => inventedSending(pair.scene.anvil, pair.scene.token, { address: from, fee: COIN }),
    ],
  ];

  async function nothingButTheTruth({ adapter, id, told }: Awaited<ReturnType<typeof sent>>, what: What) {
    pair.scene.proxy.behaviour = {};
    pair.second.behaviour = {};
    await until(async () => {
      await follow(adapter);
      return debits(id).length > 0;
    }, 'the truth');
    expect(debits(id)).toEqual(await truth(told, what));
    expect([...pair.book.debits.values()].map(({ txid }) => txid)).not.toContain(INVENTED_TXID);
  }

  it.each(LIES)(
    'takes no more than the truth from the books of the only endpoint, which tells %s',
    async (_, what, lie) => {
      const one = await sent([pair.scene.proxy.url], what);
      pair.scene.proxy.behaviour = await lie(one.told);
      expect(String(await follow(one.adapter))).toMatch(DISPROVED);
      expect([debits(one.id), spends()]).toEqual([[], []]);
      await nothingButTheTruth(one, what);
      expect(spends().map(({ txid, failed: has }) => [txid, has ?? false])).toEqual([
        [one.told.txid, what === 'too many tokens'],
      ]);
    },
  );

  it.each(UNPLANNED)('that nobody planned does so where the only endpoint tells %s', async (_, lie) => {
    const one = await sent([pair.scene.proxy.url], 'tokens');
    pair.book.nonces.length = 0;
    pair.scene.proxy.behaviour = await lie(one.told);
    expect(String(await follow(one.adapter))).toMatch(DISPROVED);
    expect(debits(one.id)).toEqual([]);
    await nothingButTheTruth(one, 'tokens');
  });

  it.each<[string, Lie]>([
    ['gives the true receipts of the block', () => ({})],
    ['leaves one of them out', omitted],
    ['exchanges them', swapped],
    ['gives none', withheld],
    ['changes its receipt there, too', proof((all) => all.map((one) => ({ ...one, status: '0x0', logs: [] })))],
  ])(
    'is disproved by its block before an endpoint that tells a failure and %s, and its operator is named',
    async (_, more) => {
      const one = await sent(pair.urls, 'tokens');
      pair.scene.proxy.behaviour = await all(failed, dearer, more)(one.told);
      await follow(one.adapter);
      expect(pair.scene.alerts.map(({ message }) => message)).toEqual([expect.stringMatching(DISPROVED)]);
      expect([[], await truth(one.told, 'tokens')]).toContainEqual(debits(one.id));
      await nothingButTheTruth(one, 'tokens');
    },
  );

  it('is disproved by its block, although two operators tell the same failure', async () => {
    const one = await sent(pair.urls, 'tokens');
    for (const proxy of [pair.scene.proxy, pair.second]) proxy.behaviour = await failed(one.told);
    await follow(one.adapter);
    expect([debits(one.id), spends()]).toEqual([[], []]);
    await nothingButTheTruth(one, 'tokens');
  });

  it.each([
    ['leaves a receipt of the block out', omitted],
    ['exchanges its receipts', swapped],
    ['gives none', withheld],
  ])('counts by the word of the only endpoint, which %s, and it is said that nothing proves it', async (_, lie) => {
    const one = await sent([pair.scene.proxy.url], 'tokens');
    pair.scene.proxy.behaviour = await lie(one.told);
    await follow(one.adapter);
    expect(debits(one.id)).toEqual(await truth(one.told, 'tokens'));
    expect(pair.scene.logged).toEqual([expect.stringMatching(SAID)]);
  });

  const KINDS = ['eip1559', 'legacy'] as const;

  it.each(KINDS)('takes its fee from the books where the receipt states no price, of the kind %s', async (kind) => {
    const one = await sent([pair.scene.proxy.url], 'tokens', kind);
    pair.scene.proxy.behaviour = await unpriced(one.told);
    await pair.book.catchUp(one.adapter);
    expect(debits(one.id)).toEqual(await truth(one.told, 'tokens'));
  });

  it.each(KINDS)('is agreed although one operator states no price in its receipt, of the kind %s', async (kind) => {
    const one = await sent(pair.urls, 'coins', kind);
    pair.second.behaviour = await unpriced(one.told);
    await pair.book.catchUp(one.adapter);
    expect(debits(one.id)).toEqual(await truth(one.told, 'coins'));
    expect(pair.scene.alerts).toEqual([]);
  });
});
