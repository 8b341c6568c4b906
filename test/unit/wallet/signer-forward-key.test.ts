/** Forwarding to another wallet's account: the signer derives the next address itself, and nobody makes it go elsewhere or far. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scriptOf } from '../../../daemon/chains/utxo/address.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { forwardKeyOf, isForwardKey } from '../../../daemon/wallet/forward-key.ts';
import { ForwardIndices, NEW_IN_DAY } from '../../../daemon/wallet/signer/forward-index.ts';
import type { ForwardGrant, UtxoOrder } from '../../../daemon/wallet/signer/port.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { DESTINATIONS } from '../chains/spend-kit.ts';
import { codeOf, coin, grantOf, PASSPHRASE, payment, walletFolder } from './signer-kit.ts';

/** The account m/84h/1h/0h of "abandon … about", and another one of the same words. */
const VPUB =
  'vpub5Y6cjg78GGuNLsaPhmYsiw4gYX3HoQiRBiSwDaBXKUafCt9bNwWQiitDk5VZ5BVxYnQdwoTyXSs2JHRPAgjAvtbBrf8ZhDYe2jWAqvZVnsc';
const UPUB =
  'upub5EFU65HtV5TeiSHmZZm7FUffBGy8UKeqp7vw43jYbvZPpoVsgU93oac7Wk3u6moKegAEWtGNF8DehrnHtv21XXEMYRUocHqguyjknFHYfgY';
const HOUR = 3_600_000;
const START = Date.parse('2026-11-20T00:00:00Z');
const FROM = 3;

const cold = forwardKeyOf(VPUB, 'LTC', 'regtest');
const other = forwardKeyOf(UPUB, 'LTC', 'regtest');
const grant: ForwardGrant = {
  kind: 'forward',
  network: 'regtest',
  accountNo: 0,
  asset: 'LTC',
  address: cold.text,
  from: FROM,
  feeSharePpm: null,
  feeMax: '4000',
  feeDay: '1000000',
  issuedAt: START,
};

const made = new Map<number, ReturnType<typeof coin>[]>();
/** Two coins of a number, which are the same each time. */
function coinsOf(n: number): ReturnType<typeof coin>[] {
  const known = made.get(n) ?? [0, 1].map((index) => coin('LTC', 50_000_000n, { index }));
  made.set(n, known);
  return known;
}

/** Forwards 0.4 LTC to an address, by the coins of a number. */
function forward(uuid: string, address: string, n = Number(uuid), fee = 2_000n): UtxoOrder {
  const order = payment('LTC', [uuid]);
  const [payout, change] = order.plan.outputs;
  const coins = coinsOf(n);
  order.plan.inputs = coins.map((one) => one.coin);
  order.previous = Object.fromEntries(coins.map(({ txid, raw }) => [txid, raw]));
  order.plan.fee = fee;
  order.plan.outputs = [
    { ...payout!, address, script: scriptOf(address, 'LTC', 'regtest')! },
    { ...change!, units: 60_000_000n - fee },
  ];
  order.withdrawals[0]!.intent.address = address;
  order.withdrawals[0]!.approval = { by: 'forward' };
  return order;
}

describe('a grant of forwarding to an extended public key', () => {
  let wallet: Awaited<ReturnType<typeof walletFolder>>;
  let session: Session;
  let now = START;
  const open = async (): Promise<void> => {
    session = await Session.open(wallet.folder, PASSPHRASE, () => now);
  };
  const give = (change: Partial<ForwardGrant>) =>
    session.grant(...grantOf({ ...grant, issuedAt: START + 1, ...change }));
  const pay = (uuid: string, index: number, n?: number) => session.sign(forward(uuid, cold.at(index), n));
  /** The index that the signer names in its refusal. */
  const wanted = async (order: UtxoOrder): Promise<string> => {
    const error = await session.sign(order).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    return error instanceof Rejected ? `${error.code} ${error.field}` : 'signed';
  };
  beforeEach(async () => {
    now = START;
    wallet = await walletFolder();
    await open();
    await session.grant(...grantOf(grant));
  });
  afterEach(async () => {
    await session.close();
    await wallet.remove();
  });

  it('pays one address after the other, also after a restart, and leaves none out', async () => {
    expect(await wanted(forward('1', cold.at(0)))).toBe('signer.index 3');
    expect(await wanted(forward('1', cold.at(4)))).toBe('signer.index 3');
    const first = await pay('1', 3);
    expect(first.fee).toBe(2_000n);
    expect(await wanted(forward('2', cold.at(3)))).toBe('signer.index 4');
    expect(await wanted(forward('2', cold.at(400)))).toBe('signer.index 4');
    await pay('2', 4);
    await session.close();
    await open();
    expect(await wanted(forward('3', cold.at(4)))).toBe('signer.index 5');
    await pay('3', 5);
    expect((await pay('1', 3)).raw).toBe(first.raw);
  });

  it('pays nobody else: no other account, no branch of change, no address of a book', async () => {
    for (const address of [other.at(FROM), DESTINATIONS.LTC[0]!, DESTINATIONS.LTC[1]!])
      expect(await wanted(forward('1', address))).toBe('signer.index 3');
  });

  it('gives payments of the same coins one address, whatever a service asks for, so that unsent ones lead nowhere', async () => {
    await pay('1', 3);
    for (const uuid of ['2', '4']) {
      expect(await wanted(forward(uuid, cold.at(4), 1))).toBe('signer.index 3');
      await pay(uuid, 3, 1);
    }
    expect((await session.sign(forward('1', cold.at(3), 1, 3_000n))).fee).toBe(3_000n);
    await pay('3', 4);
  });

  it('goes on by as many addresses a day as a wallet looks past, and uses the newest one again until then', async () => {
    for (let i = 0; i < NEW_IN_DAY; i++) await pay(`${i + 1}`, FROM + i);
    const newest = FROM + NEW_IN_DAY - 1;
    expect(await wanted(forward('30', cold.at(newest + 1)))).toBe(`signer.index ${newest}`);
    await pay('30', newest);
    now += 24 * HOUR;
    await pay('31', newest + 1);
  });

  it('remembers what was used over a new grant, and begins another account where that says', async () => {
    await pay('1', 3);
    await give({ from: 0 });
    expect(await wanted(forward('2', cold.at(0)))).toBe('signer.index 4');
    await give({ from: 9, issuedAt: START + 2 });
    await pay('2', 9);
    await give({ address: other.text, from: 0, issuedAt: START + 3 });
    expect(await wanted(forward('3', cold.at(10)))).toBe('signer.index 0');
    await session.sign(forward('3', other.at(0)));
    await give({ from: 0, issuedAt: START + 4 });
    await pay('4', 10);
  });

  it.each<[string, Partial<ForwardGrant>, string]>([
    ['in another spelling', { address: VPUB }, 'signer.approval'],
    [
      'with a wrong checksum',
      { address: cold.text.replace(/.$/, (last) => (last === 'q' ? 'p' : 'q')) },
      'account.checksum',
    ],
    ['without its first index', { from: undefined }, 'signer.approval'],
    ['of an address with an index', { address: DESTINATIONS.LTC[0]! }, 'signer.approval'],
    ['of another network', { network: 'mainnet' }, 'account.network'],
    ['of a coin without such accounts', { asset: 'XMR' }, 'account.key'],
  ])('%s is refused', async (_, change, code) => {
    expect(await codeOf(give(change))).toBe(code);
  });

  it('has a MAC that covers where it begins', async () => {
    const [changed] = grantOf({ ...grant, from: 5_000, issuedAt: START + 1 });
    const [, mac] = grantOf({ ...changed, from: FROM });
    expect(await codeOf(session.grant(changed, mac))).toBe('signer.approval');
  });
});

it('is told from an address by its text', () => {
  expect([VPUB, cold.text, 'wpkh('].map(isForwardKey)).toEqual([true, true, true]);
  expect([...DESTINATIONS.LTC, ...DESTINATIONS.BTC, ...DESTINATIONS.BCH].some(isForwardKey)).toBe(false);
});

describe('the next address', () => {
  const at = (index: number) => ({ key: 'k', index });
  const next = (indices: ForwardIndices, coins: string[] = [], from = FROM) => indices.next('k', from, coins, START);

  it('follows the farthest one, and is the same for the same coin', () => {
    const indices = new ForwardIndices();
    expect(next(indices)).toBe(FROM);
    indices.take(at(5), ['a', 'b'], START);
    indices.take(at(4), ['c'], START);
    expect([next(indices), next(indices, [], 9), next(indices, ['x', 'c'])]).toEqual([6, 9, 4]);
    expect([next(indices, ['b']), indices.next('other', FROM, ['a'], START)]).toEqual([5, FROM]);
  });

  it('is the farthest one once as many as a day allows are new', () => {
    const indices = new ForwardIndices();
    for (let n = 0; n < NEW_IN_DAY; n++) {
      expect(next(indices)).toBe(FROM + n);
      indices.take(at(FROM + n), [`${n}`], START);
      // the same one again is none of them
      indices.take(at(FROM + n), [`again ${n}`], START);
    }
    const last = FROM + NEW_IN_DAY - 1;
    const in24Hours = (ms: number) => indices.next('k', FROM, [], START + 24 * HOUR + ms);
    expect([next(indices), in24Hours(-1), in24Hours(0)]).toEqual([last, last, last + 1]);
  });

  it('counts those of a day, too, after the clock was days ahead for one payment', () => {
    const indices = new ForwardIndices();
    for (let n = 0; n < NEW_IN_DAY - 1; n++) indices.take(at(FROM + n), [`${n}`], START);
    indices.take(at(FROM + NEW_IN_DAY - 1), ['ahead'], START + 72 * HOUR);
    expect(next(indices)).toBe(FROM + NEW_IN_DAY - 1);
  });
});
