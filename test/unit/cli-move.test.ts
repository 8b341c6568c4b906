/** `signer move` on the old server: the gas that its tokens need. */
import { tmpdir } from 'node:os';
import { expect, it, vi } from 'vitest';
import type * as Client from '../../daemon/contract/client.ts';

const DESK = {
  business_id: 1,
  business: 'My shop',
  network: 'mainnet',
  account_no: 0,
  chain: 'ETH',
  coin: 'ETH',
  tank: { address: '0xtank', amount: '0', index: 0 },
  former_tanks: [],
  price: '1',
  prices: [],
  assets: [],
  needs: { amount: '0.001', address: '0xtank', text: 'needs 0.001 ETH for gas' },
  plan: null,
};
const BALANCE = { crypto: 'USDT_ERC20', amount: '5', locked: null, withheld: null, unproven: null };
const NOTHING = { next: null, invoices: [], items: [], links: [], plans: [], withdrawals: [], cryptos: [] };
const told: Record<string, unknown> = {
  'wallet.status': { wallet: { state: 'unlocked' } },
  'signer.machines': { machines: [] },
  'business.list': {
    businesses: [{ id: 1, name: 'My shop', network: 'mainnet', cryptos: [], watch_only: [], balances: [BALANCE] }],
  },
  'address.given': { last: 0 },
};

vi.mock('../../daemon/contract/client.ts', async (original) => {
  const client = await original<typeof Client>();
  const ask = async (method: string) =>
    // as the client judges the answer of a service
    method === 'gas.status' ? client.answerOf(method, 200, told[method]) : (told[method] ?? NOTHING);
  return { ...client, operatorClient: () => ask };
});
const { cli } = await import('./cli-kit.ts');

async function money(desk: object): Promise<string> {
  told['gas.status'] = { desks: [{ ...DESK, ...desk }] };
  const { out, err } = await cli(tmpdir(), ['--json', 'signer', 'move']);
  expect(err).toBe('');
  return JSON.parse(out).steps.find(({ step }: { step: string }) => step === 'money').text;
}

const UNKNOWN = 'The gas for paying tokens out is not known: this service is of an earlier release';

it('names what collecting needs, and that the rest is not known, where the service does not tell it', async () => {
  expect(await money({})).toContain(`My shop needs 0.001 ETH for gas. ${UNKNOWN}. Only confirmed money leaves.`);
});

it('names both together where the service tells it, and nothing where nothing is lacking', async () => {
  const text = await money({ needs_out: { ...DESK.needs, text: 'needs 0.002 ETH for gas' } });
  expect(text).toContain('My shop needs 0.002 ETH for gas. Only confirmed money leaves.');
  const enough = await money({ needs_out: null });
  expect([enough.includes('for gas'), enough.includes(UNKNOWN)]).toEqual([false, false]);
});
