/**
 * Stored facts that are asked for again: an answer is what two operators say alike, be it that something is there or that it is not.
 */
import { describe, expect, it } from 'vitest';
import type { BookedSending, StoredCoin } from '../../daemon/chains/adapter.ts';
import { anvilTitle, callOf, hasAnvil } from '../nodes/evm/anvil.ts';
import type { Behaviour } from '../nodes/evm/endpoint-proxy.ts';
import { INVENTED_TXID, inventedSending } from '../nodes/evm/inventions.ts';
import { EndpointPair } from './evm-controls.ts';

const COIN = 10n ** 18n;
const STRANGER = `0x${'5e'.repeat(20)}`;
const SILENT: Behaviour = { raw: (response) => Boolean(response.destroy()) };
const signal = () => AbortSignal.timeout(60_000);
/** An endpoint that has blocks, and no index of old transactions. */
const FORGETFUL: Behaviour = {
  instead: ({ method }) =>
    method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash' ? { result: null } : undefined,
};
/** An endpoint that denies what is in its blocks. */
const denying = (txid: string): Behaviour => ({
  instead: ({ method, params }) =>
    method.startsWith('eth_getTransaction') && params[0] === txid ? { result: null } : undefined,
  changed({ method }, result) {
    if (method !== 'eth_getBlockByNumber' || result === null) return result;
    const block = result as { transactions: string[] };
    return { ...block, transactions: block.transactions.filter((one) => one !== txid) };
  },
});

describe.skipIf(!hasAnvil)(anvilTitle('what operators say again of stored facts'), () => {
  const pair = new EndpointPair();

  /** An address that was paid and has sent tokens, with its transactions. */
  async function spent() {
    const { adapter, address, id } = await pair.watching(pair.urls);
    await pair.scene.payCoins([{ address, units: COIN }]);
    const paidBy = await pair.pay(address, 5_000n);
    await pair.scene.anvil.rpc('anvil_impersonateAccount', [address]);
    const data = callOf('TetherLike', 'transfer', [STRANGER, 2_000n]);
    const txid = await pair.scene.anvil.send({ from: address, to: pair.scene.token, data, gas: 100_000 });
    await pair.scene.anvil.mine();
    await pair.book.catchUp(adapter);
    const [target] = pair.book.page(id - 1, 1);
    const coins = pair.book.coinsOf(id);
    if (!target) throw new Error('the address is watched');
    const sending = (of: string, block = pair.book.tip): BookedSending => ({ txid: of, block, target });
    return { witnesses: adapter.witnesses, target, coins, paidBy, txid, sending };
  }

  it('is what the books have where it is true', async () => {
    const { witnesses, txid, sending, coins, target } = await spent();
    const [again] = await witnesses.sent([sending(txid)], signal());
    expect(again?.debits).toEqual([...pair.book.debits.values()]);
    expect(again?.spends).toEqual([...pair.book.spends.values()]);
    expect(await witnesses.came(coins, signal())).toEqual([true, true]);
    const [standing] = await witnesses.standing([target], pair.book.tip, signal());
    expect(standing?.nonce).toBe(1n);
    expect(standing?.units).toEqual(
      new Map([
        ['ETH', pair.book.unitsAt(target.id, 'ETH')],
        ['USDT_ERC20', 3_000n],
      ]),
    );
  });

  it('is what the books have, although its sender is known to be our own only since then', async () => {
    const { witnesses, coins } = await spent();
    const payer = pair.scene.anvil.accounts[0] ?? '';
    pair.book.watch({ address: payer, script: Buffer.from(payer.slice(2), 'hex') });
    expect(await witnesses.came(coins, signal())).toEqual([true, true]);
  });

  it('is nothing of what one of them invents', async () => {
    const { witnesses, sending, coins, target } = await spent();
    const address = `0x${Buffer.from(target.script).toString('hex')}`;
    const { anvil, token, proxy } = pair.scene;
    proxy.behaviour = await inventedSending(anvil, token, { address, fee: COIN });
    expect(await witnesses.sent([sending(INVENTED_TXID)], signal())).toEqual([null]);
    pair.scene.proxy.behaviour = {};
    const height = { height: pair.book.tip.height, hash: `0x${'ab'.repeat(32)}` };
    const nothing = { spends: [], debits: [] };
    expect(await witnesses.sent([sending(INVENTED_TXID), sending(INVENTED_TXID, height)], signal())).toEqual([
      nothing,
      nothing,
    ]);
    const [coin] = coins;
    const more: StoredCoin = { ...coin!, units: 5_001n };
    const other: StoredCoin = { ...coin!, outpoint: `${INVENTED_TXID}:0`, txid: INVENTED_TXID };
    expect(await witnesses.came([coin!, more, other], signal())).toEqual([true, false, false]);
  });

  it('is nothing for certain where one operator denies, is silent, or both forgot', async () => {
    const { witnesses, txid, sending, coins, target } = await spent();
    for (const behaviour of [denying(txid), SILENT]) {
      pair.second.behaviour = behaviour;
      expect(await witnesses.sent([sending(txid)], signal())).toEqual([null]);
    }
    expect(await witnesses.standing([target], pair.book.tip, signal())).toEqual([null]);
    pair.second.behaviour = FORGETFUL;
    pair.scene.proxy.behaviour = FORGETFUL;
    expect(await witnesses.sent([sending(txid)], signal())).toEqual([null]);
    expect(await witnesses.came(coins, signal())).toEqual([null, null]);
  });
});
