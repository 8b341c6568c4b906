/** Withdrawals of an account whose keys are in another wallet, which sends them by itself. */
import { describe, expect, it } from 'vitest';
import { handOut } from '../../../daemon/app/spends/outside.ts';
import { readPlan } from '../../../daemon/app/spends/stored-plan.ts';
import { decodeTransaction, unsignedTransaction } from '../../../daemon/chains/utxo/spend/transaction.ts';
import { message, textOf } from '../../../daemon/domain/messages.ts';
import type { UtxoPlan } from '../../../daemon/domain/spend.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { storeOutside } from '../../../daemon/store/queries/outside.ts';
import { COIN, type CoinBench, PayBench } from './pay-bench.ts';
import { PayChain } from './pay-chain.ts';

const GONE = textOf(message('wait.gone'));
const GONE_NEWER = textOf(message('wait.gone_newer'));
/** Smallest units per 1,000 virtual bytes. */
const HIGH = 200_000n;

/** A withdrawal whose PSBT was downloaded, and the transaction that the other wallet makes of it. */
async function handedOut(chain: 'BTC' | 'LTC') {
  const network = new PayChain(chain);
  Object.assign(network, { account: { ...network.account, watch: { form: 'p2wpkh', origin: null } } });
  const pay: CoinBench = await PayBench.on(network);
  await pay.deposits([COIN]);
  const id = await pay.withdraw(COIN / 4n);
  await pay.pass();
  await handOut(pay.app, `${id}`);
  const raw = signed(pay, id);
  return { pay, id, raw };
}

/** Nobody here checks signatures, so that it has none. */
function signed(pay: CoinBench, id: number): string {
  return unsignedTransaction(readPlan(pay.versions(id).at(-1)!.plan) as UtxoPlan);
}

describe.each(['BTC', 'LTC'] as const)('%s: a payment that another wallet sent', (chain) => {
  it('says what to do once no node shows it any more', async () => {
    const { pay, id, raw } = await handedOut(chain);
    const { txid } = decodeTransaction(raw, chain, 'mainnet');
    await pay.chain.take(raw);
    for (let i = 0; i < 2; i++) await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: null });
    await pay.chain.forget(txid);
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: GONE });
    expect(pay.alerts()).toMatchObject([{ kind: 'withdrawal.coin_missing', subject: `${id}` }]);
    await pay.chain.take(raw);
    await pay.round();
    expect([pay.row(id).problem, pay.alerts()]).toEqual([null, []]);
  });

  it('can be replaced then by another PSBT', async () => {
    const { pay, id, raw } = await handedOut(chain);
    const { txid } = decodeTransaction(raw, chain, 'mainnet');
    await pay.chain.take(raw);
    for (let i = 0; i < 2; i++) await pay.round();
    await pay.chain.forget(txid);
    await pay.round();
    await pay.replace(id, 'speed-up');
    await pay.pass();
    await handOut(pay.app, `${id}`);
    await pay.round();
    // the newer one may be signed nowhere
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: GONE_NEWER });
    expect(pay.alerts()).toMatchObject([{ kind: 'withdrawal.coin_missing', subject: `${id}` }]);
    const second = signed(pay, id);
    await pay.chain.take(second);
    for (let i = 0; i < 2; i++) await pay.round();
    await pay.chain.mine(BURIED_BLOCKS[chain]);
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid: decodeTransaction(second, chain, 'mainnet').txid });
    expect(pay.alerts()).toEqual([]);
  });

  it('says so, too, where a newer PSBT was handed out before it went', async () => {
    const { pay, id, raw } = await handedOut(chain);
    await pay.chain.take(raw);
    for (let i = 0; i < 2; i++) await pay.round();
    await pay.replace(id, 'speed-up', HIGH);
    await pay.pass();
    await handOut(pay.app, `${id}`);
    await pay.round();
    expect(pay.row(id).problem).toBeNull();
    await pay.chain.forget(decodeTransaction(raw, chain, 'mainnet').txid);
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: GONE_NEWER });
    expect(pay.alerts()).toMatchObject([{ kind: 'withdrawal.coin_missing', subject: `${id}` }]);
    await pay.chain.take(raw);
    await pay.round();
    expect([pay.row(id).problem, pay.alerts()]).toEqual([null, []]);
  });

  it('is called under way while every node refuses the one that takes its place', async () => {
    const { pay, id, raw } = await handedOut(chain);
    await pay.chain.take(raw);
    for (let i = 0; i < 2; i++) await pay.round();
    await pay.replace(id, 'speed-up', HIGH);
    await pay.pass();
    await handOut(pay.app, `${id}`);
    const version = pay.versions(id).at(-1)!;
    const { txid } = decodeTransaction(signed(pay, id), chain, 'mainnet');
    await pay.app.store.write((tx) => {
      tx.run(storeOutside, {
        id: version.id,
        txid,
        raw: signed(pay, id),
        size: version.size,
        signed_at: pay.app.now(),
      });
    });
    pay.chain.refuses = () => 'insufficient fee';
    for (let i = 0; i < 3; i++) await pay.round();
    expect(pay.chain.waiting()).toHaveLength(1);
    const advice = textOf(message('advice.earlier_under_way'));
    expect(pay.alerts()).toMatchObject([{ kind: 'withdrawal.not_sent', message: expect.stringContaining(advice) }]);
  });
});
