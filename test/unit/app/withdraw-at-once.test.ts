/** Orders to a signer that is far away: several are under way at the same time, and a cut line signs none of them twice. */
import { describe, expect, it } from 'vitest';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import type { SignOrder } from '../../../daemon/wallet/signer/port.ts';
import { COIN, PayBench } from './pay-bench.ts';
import { ETH } from './pay-families.ts';

const AT_ONCE = 16;
/** Longer than any part of the service needs to send what it sends at once. */
const TURNS = 50;

/** A line on which each order takes many turns of the event loop; it counts the orders that are on it. */
function farAway(pay: { signer: PayBench['signer'] }) {
  const seen = { most: 0, under: [] as SignOrder[], both: [] as SignOrder[][] };
  pay.signer.link.there = async (order) => {
    seen.under.push(order);
    seen.most = Math.max(seen.most, seen.under.length);
    seen.both.push([...seen.under]);
    for (let turn = 0; turn < TURNS; turn++) await new Promise(setImmediate);
    seen.under.splice(seen.under.indexOf(order), 1);
  };
  return seen;
}

const txidsOf = (pay: PayBench, id: number): Set<string> =>
  new Set(pay.signer.signed.get(pay.row(id).uuid)?.map(({ txid }) => txid));

async function coinsAndPayments(count: number) {
  const pay = await PayBench.open();
  await pay.deposits(Array.from({ length: count }, () => COIN));
  const ids: number[] = [];
  for (let i = 0; i < count; i++) ids.push(await pay.withdraw(COIN / 2n));
  return { pay: pay as unknown as PayBench, ids };
}

describe('orders to a signer that is far away', () => {
  it('are under way together, as many as are allowed and no more, and each is signed once', async () => {
    const { pay, ids } = await coinsAndPayments(24);
    const seen = farAway(pay);
    await pay.pass();
    expect(seen.most).toBe(AT_ONCE);
    expect(pay.signer.orders).toHaveLength(24);
    expect(ids.map((id) => pay.row(id).state)).toEqual(ids.map(() => 'broadcast'));
  });

  it('that a line loses with their answers are asked again when it is back, and have the same bytes', async () => {
    const { pay, ids } = await coinsAndPayments(24);
    farAway(pay);
    let answers = 0;
    pay.signer.link.back = async () => {
      if (++answers > 10) throw new Unavailable('The signing machine went away', 5);
    };
    await pay.pass();
    expect(ids.filter((id) => pay.row(id).state === 'broadcast')).toHaveLength(10);
    expect(pay.signer.orders).toHaveLength(24);
    pay.signer.link.back = async () => {};
    await pay.pass();
    expect(ids.map((id) => pay.row(id).state)).toEqual(ids.map(() => 'broadcast'));
    expect(pay.signer.orders).toHaveLength(38);
    expect(ids.map((id) => [...txidsOf(pay, id)])).toEqual(ids.map((id) => [pay.versions(id)[0]!.txid]));
  });

  it('of an address with nonces go one after the other, and those of another address beside them', async () => {
    const pay = await ETH.open();
    const { coin } = pay.chain;
    for (let i = 0; i < 2; i++) await pay.deposits([coin]);
    const ids: number[] = [];
    // the address with the most pays: the two take turns
    for (const part of [2n, 2n, 5n, 5n, 9n, 9n]) ids.push(await pay.withdraw(coin / part));
    const seen = farAway(pay);
    await pay.pass();
    const senderOf = ({ plan }: SignOrder) => (plan.kind === 'sandbox-account' ? plan.sender : '');
    const senders = seen.both.map((orders) => orders.map(senderOf));
    expect(senders.filter((all) => new Set(all).size < all.length)).toEqual([]);
    expect(new Set(senders.flat()).size).toBe(2);
    expect(seen.most).toBe(2);
    expect(pay.signer.orders).toHaveLength(6);
    expect(ids.map((id) => pay.row(id).state)).toEqual(ids.map(() => 'broadcast'));
  });

  it('of many coins go alone, since payers choose how large the transactions of these are', async () => {
    const pay = await PayBench.open();
    await pay.deposits(Array.from({ length: 25 }, () => COIN / 100n));
    const away = new Unavailable('The signing machine is not connected', 5);
    pay.signer.link.there = () => Promise.reject(away);
    const large = await pay.withdraw((COIN / 100n) * 24n);
    await pay.pass();
    await pay.deposits([COIN, COIN]);
    for (let i = 0; i < 2; i++) await pay.withdraw(COIN / 2n);
    const seen = farAway(pay as unknown as PayBench);
    await pay.pass();
    expect(pay.keys(pay.versions(large)[0]!.id).length).toBeGreaterThan(20);
    const counts = seen.both.map((orders) => orders.map(({ withdrawals: [one] }) => one!.intent.uuid));
    const { uuid } = pay.row(large);
    expect(counts.filter((uuids) => uuids.includes(uuid))).toEqual([[uuid]]);
    expect(seen.most).toBe(2);
  });
});
