/** What the wallet may sign without asking follows the policy and the address book both ways: given, and taken back. */
import { beforeEach, expect, it, vi } from 'vitest';
import { reject } from '../../../daemon/app/withdrawals/approve.ts';
import {
  changePolicyGranted,
  grantsWithout,
  removeAddressGranted,
  type SignedGrant,
  wantedGrants,
} from '../../../daemon/app/withdrawals/grants.ts';
import { addAddress, addressBook, policyFor } from '../../../daemon/app/withdrawals/policy.ts';
import { ASSETS } from '../../../daemon/domain/assets.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { MANUAL, type Policy } from '../../../daemon/domain/policy.ts';
import type { PolicyGrant, Signer } from '../../../daemon/wallet/signer/port.ts';
import { codeOf } from '../wallet/signer-kit.ts';
import { COIN, PayBench } from './pay-bench.ts';

const AUTOMATIC: Policy = {
  mode: 'automatic',
  perWithdrawalUsd: 100n * 100_000_000n,
  perDayUsd: 500n * 100_000_000n,
  addressBookOnly: true,
};

let bench: PayBench;
let granted: PolicyGrant[] = [];
let locked = false;
beforeEach(async () => {
  bench = await PayBench.open('BTC');
  bench.bench.rate('60000');
  granted = [];
  locked = false;
  const signer: Pick<Signer, 'grantPolicy'> = {
    async grantPolicy(grant) {
      if (locked) throw new Rejected('signer.locked', 'The wallet is locked');
      granted.push(grant as PolicyGrant);
    },
  };
  Object.assign(bench.app, { signer: signer as Signer });
});

const business = () => bench.app.directory.business(bench.bench.businessId);
const signed = (grants: PolicyGrant[]): SignedGrant[] => grants.map((grant) => ({ grant, mac: 'mac' }));
const set = (policy: Policy) =>
  changePolicyGranted(bench.app, business(), policy, signed(wantedGrants(bench.app, business(), policy)));
async function inBook(address: string, label: string): Promise<number> {
  const entry = { chain: 'BTC' as const, address, label };
  return (await bench.app.store.write((tx) => addAddress(bench.app, tx, business(), entry))).id;
}

it('a policy by hand ends what was granted, and is not set without', async () => {
  await set(AUTOMATIC);
  expect(granted[0]?.perDay).not.toBe('0');
  expect(await codeOf(changePolicyGranted(bench.app, business(), MANUAL, []))).toBe('policy.grants');
  expect(policyFor(bench.app.store, business()).mode).toBe('automatic');
  await set(MANUAL);
  expect(granted.slice(-ASSETS.length)).toMatchObject(
    ASSETS.map(({ symbol }) => ({ asset: symbol, perWithdrawal: '0', perDay: '0' })),
  );
  expect(policyFor(bench.app.store, business()).mode).toBe('manual');
});

it('what the business takes no more is taken back too', async () => {
  await set(AUTOMATIC);
  const nothing = { perWithdrawal: '0', perDay: '0' };
  const all = ASSETS.map(({ symbol }) => ({ asset: symbol, ...nothing }));
  expect(granted).toMatchObject([{ asset: 'BTC' }, ...all.slice(1)]);
  const one = { ...business(), enabled: [] };
  expect(wantedGrants(bench.app, one, MANUAL)).toMatchObject(all);
  expect(wantedGrants(bench.app, one, AUTOMATIC)).toMatchObject(all);
});

it('a policy by hand is in force here at once, and says so while the wallet is locked', async () => {
  await set(AUTOMATIC);
  locked = true;
  await expect(set(MANUAL)).rejects.toThrow('wait for you from now on');
  expect(policyFor(bench.app.store, business()).mode).toBe('manual');
});

it('a policy without asking is not in force before the wallet took it', async () => {
  locked = true;
  expect(await codeOf(set(AUTOMATIC))).toBe('signer.locked');
  expect(policyFor(bench.app.store, business()).mode).toBe('manual');
});

it('an address that leaves the book leaves what the wallet may pay', async () => {
  const [gone, stays] = [bench.recipient(), bench.recipient()];
  const id = await inBook(gone, 'gone');
  await inBook(stays, 'stays');
  await set(AUTOMATIC);
  expect(granted[0]?.addresses).toEqual([gone, stays]);
  const { grants } = grantsWithout(bench.app, id);
  expect(await codeOf(removeAddressGranted(bench.app, id, []))).toBe('policy.grants');
  const still = grants.map((grant) => ({ ...grant, addresses: [gone, stays] }));
  expect(await codeOf(removeAddressGranted(bench.app, id, signed(still)))).toBe('policy.grants');
  expect(addressBook(bench.app.store, business())).toHaveLength(2);
  await removeAddressGranted(bench.app, id, signed(grants));
  expect(granted.at(-ASSETS.length)).toMatchObject({ asset: 'BTC', addresses: [stays] });
  expect(addressBook(bench.app.store, business()).map(({ address }) => address)).toEqual([stays]);
});

it('an address leaves the book without a rate, too, and nothing is granted then', async () => {
  const id = await inBook(bench.recipient(), 'gone');
  await inBook(bench.recipient(), 'stays');
  await set(AUTOMATIC);
  expect(granted.filter(({ addresses }) => addresses?.length !== 0)).toMatchObject([{ asset: 'BTC' }]);
  vi.spyOn(bench.app.rates, 'rate').mockReturnValue(null);
  expect(() => wantedGrants(bench.app, business(), AUTOMATIC)).toThrow(/no exchange rate for BTC/);
  const { grants } = grantsWithout(bench.app, id);
  expect(grants).toMatchObject(ASSETS.map(() => ({ perWithdrawal: '0', perDay: '0', addresses: [] })));
  await removeAddressGranted(bench.app, id, signed(grants));
  expect(addressBook(bench.app.store, business()).map(({ label }) => label)).toEqual(['stays']);
});

it('an address that no policy may pay just leaves', async () => {
  const id = await inBook(bench.recipient(), 'gone');
  expect(grantsWithout(bench.app, id).grants).toEqual([]);
  await removeAddressGranted(bench.app, id, []);
  expect(addressBook(bench.app.store, business())).toEqual([]);
});

it('lets plain payments go, and leaves a sweep to the operator: the wallet would refuse it', async () => {
  await set({ ...AUTOMATIC, addressBookOnly: false });
  await bench.deposits([COIN / 1_000n], 6);
  const sweep = bench.row(await bench.request(null));
  expect(sweep).toMatchObject({ state: 'requested', approved_by: null });
  expect(sweep.problem).toMatch(/all that there is, and refunds, are approved by hand/);
  await bench.app.store.write((tx) => reject(bench.app, tx, `${sweep.id}`, null));
  const plain = bench.row(await bench.request(COIN / 2_000n));
  expect(plain).toMatchObject({ state: 'approved', approved_by: 'policy' });
});

it('speaks of no policy where there is none', async () => {
  await bench.deposits([COIN / 1_000n], 6);
  const sweep = bench.row(await bench.request(null));
  expect(sweep).toMatchObject({ state: 'requested', problem: expect.stringContaining('by hand') });
  expect(sweep.problem).not.toMatch(/policy approves/);
});
