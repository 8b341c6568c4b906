/** The console beside a service that lies, or whose answers are lost: what is shown is what is signed, and what was compared is what is paid. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { PAID_INVOICE } from './lying-invoice.ts';
import { BUSINESS, Lies, Lost, Refusal } from './lying-kit.ts';

const OURS = 'rltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kkxkgs6';
const THIEFS = 'rltc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qn2kq7e';

const WITHDRAWAL = {
  id: 7,
  uuid: '018f0000-0000-7000-8000-000000000007',
  business_id: 1,
  business: 'Shop',
  network: 'sandbox',
  crypto: 'LTC',
  origin: 'operator',
  refund_of: null,
  amount: '1.5',
  sweep: false,
  usd_value: null,
  address: OURS,
  state: 'requested',
  reason: null,
  problem: null,
  approved_by: null,
  approved_at: null,
  deadline_at: null,
  fee_max: '0.001',
  fee: null,
  fee_crypto: 'LTC',
  tx_id: null,
  canceling: false,
  created_at: '2026-11-20T10:00:00.000Z',
  updated_at: '2026-11-20T10:00:00.000Z',
};

const NOTHING_KNOWN = {
  valid: true,
  cost: null,
  label: null,
  since: null,
  paid: 0,
  unasked: 0,
  last: null,
  first_approved_at: null,
  most: null,
  lookalikes: [],
};

const DAY = '2026-11-01T00:00:00.000Z';
const PAID_BEFORE = { paid: 3, first_approved_at: '2026-10-01T00:00:00.000Z' };

/** The proposal of a payment on the sandbox, whose transactions have no bytes. */
const proposed = (address: string, amount = '1.5', speed = '0.0001') => ({
  withdrawals: [WITHDRAWAL],
  why: null,
  collect: null,
  preview: {
    crypto: 'LTC',
    purpose: 'pay',
    intents: [
      {
        uuid: WITHDRAWAL.uuid,
        network: 'sandbox',
        accountNo: 0,
        chain: 'LTC',
        asset: 'LTC',
        address,
        units: `${BigInt(Number(amount) * 1e8)}`,
        sweep: false,
        coins: null,
        feeMax: '100000',
      },
    ],
    raw: null,
    outputs: [{ address, groups: address, amount, usd_value: null, change: false, change_index: null }],
    inputs: ['00'.repeat(32)],
    fee: speed,
    fee_crypto: 'LTC',
    fee_usd: null,
    fee_max: '0.001',
    fee_max_usd: null,
    usd_rate: null,
    fee_rate: '1',
    vsize: 141,
    warnings: [],
    notes: [],
    outside: false,
    until: Date.now() + 3_600_000,
    speeds: ['slow', 'normal', 'fast'].map((one) => ({ speed: one, minutes: 10, fee: '0.0001', fee_usd: null })),
  },
});

/** The proposal of a payment of real ether that is collected first, so that it has no bytes. */
function ofEther(feeMax: bigint) {
  const made = proposed('0x52908400098527886E0F7030069857D2E4169EE7');
  const [intent] = made.preview.intents;
  const units = '1500000000000000000';
  Object.assign(made.preview, { crypto: 'ETH', fee_crypto: 'ETH', speeds: [] });
  Object.assign(intent!, { network: 'mainnet', chain: 'ETH', asset: 'ETH', units, feeMax: '2000000000000000' });
  const collect = { chain: 'ETH', coin: 'ETH', addresses: 2, cost: '0.001', fee_max: `${feeMax}`, needs: null };
  return { ...made, collect: { ...collect, until: Date.now() + 3_600_000 } };
}

const NONE = { count: 0, sum: '0', unvalued: 0 };
const closing = (number: number, taken: string) => ({
  number,
  from: '2026-11-20T08:00:00.000Z',
  to: '2026-11-20T18:00:00.000Z',
  parts: [
    {
      currency: 'USD',
      taken,
      sales: { count: 1, sum: taken },
      tips: '0',
      kept_tips: '0',
      refunds: NONE,
      items: [],
      coins: [],
      taxes: [],
      fees: [],
      difference: '0',
    },
  ],
  books: { agree: 1, differ: [] },
  waiting: [],
  mail: null,
});

const named = (address: string, at: number) => ({
  id: at + 1,
  business_id: 1,
  business: 'Shop',
  chain: 'LTC',
  address,
  label: `Cold wallet ${at + 1}`,
  created_at: DAY,
});

const PREVIEW = {
  crypto: 'LTC',
  address: OURS,
  addresses: [],
  amount: null,
  usd_value: null,
  payments: 0,
  fee: null,
  fee_crypto: 'LTC',
  fee_share: null,
  gas: null,
  kept: '0',
  free: '0',
  next_at: null,
  problem: null,
};

describe.skipIf(!hasChromium)(chromiumTitle('the console beside a service that lies'), () => {
  let lies: Lies;
  beforeAll(async () => {
    lies = await Lies.open();
  });
  afterAll(async () => {
    await lies?.close();
  });

  it('takes no comparison for a payment that came in the place of the compared one', async () => {
    const fast = Promise.withResolvers<unknown>();
    const page = await lies.show('withdrawals/7/approve', {
      'withdrawal.propose': (input) => ('speed' in input && input.speed === 'fast' ? fast.promise : proposed(OURS)),
      'withdrawal.recipient': () => NOTHING_KNOWN,
    });
    const compared = page.getByRole('checkbox', { name: /^I compared all/ });
    const approve = page.getByRole('button', { name: /^Approve and send/ });
    await compared.check();
    expect(await approve.isEnabled()).toBe(true);
    await page.getByRole('radio', { name: /^Fast/ }).check();
    // the former one is still shown
    await compared.check();
    fast.resolve(proposed(THIEFS));
    await page.getByText('33g0', { exact: true }).waitFor();
    expect(await compared.isChecked()).toBe(false);
    expect(await approve.isEnabled()).toBe(false);
  });

  it('asks for a withdrawal once, however often the answer is lost, and says that it may have been asked for', async () => {
    const page = await lies.show('withdrawals/new', {
      'policy.show': () => ({ policy: { mode: 'automatic' } }),
      'addressBook.list': () => ({ addresses: [] }),
      'withdrawal.recipient': () => NOTHING_KNOWN,
      'withdrawal.add': () => Promise.reject(new Lost()),
    });
    const send = page.getByRole('button', { name: 'Send it now' });
    const amount = page.getByLabel('Amount in LTC');
    const problem = page.getByRole('alert');
    const press = async () => {
      await send.click();
      await problem.waitFor();
    };
    await amount.fill('1.5');
    await page.getByLabel('LTC address of the recipient').fill(OURS);
    await press();
    expect(await problem.textContent()).toBe(
      ' Countinghouse does not answerWhether it was done is not known: look before you ask for it again.',
    );
    await press();
    await amount.fill('2');
    await press();
    await amount.fill('1.5');
    await press();
    const asked = lies.inputsOf('withdrawal.add') as { amount: string; request: string }[];
    expect(asked.map((one) => one.amount)).toEqual(['1.5', '1.5', '2', '1.5']);
    const [first, second, third, fourth] = asked.map(({ request }) => request);
    expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect([second, fourth]).toEqual([first, first]);
    expect(third).not.toBe(first);
  });

  const inAnotherCoin = proposed(OURS);
  Object.assign(inAnotherCoin.preview.intents[0]!, { asset: 'BTC' });
  it.each([
    { name: 'another coin', lie: inAnotherCoin, amount: '1.5' },
    { name: 'another address', lie: proposed(THIEFS), amount: '1.5' },
    { name: 'another amount', lie: proposed(OURS, '3'), amount: '1.5' },
    { name: 'another address for everything', lie: proposed(THIEFS), amount: null },
  ])(
    'shows no review of a withdrawal that was typed a moment ago, and comes back with $name',
    async ({ lie, amount }) => {
      const page = await lies.show('withdrawals/new', {
        'policy.show': () => ({ policy: { mode: 'manual' } }),
        'addressBook.list': () => ({ addresses: [] }),
        'withdrawal.add': () => ({ withdrawal: WITHDRAWAL }),
        'withdrawal.propose': () => lie,
        // he says that it was paid before, so that nobody compares it
        'withdrawal.recipient': ({ address }) => ({
          ...NOTHING_KNOWN,
          paid: 3,
          last: { address, at: '2026-11-01T00:00:00.000Z' },
          first_approved_at: '2026-10-01T00:00:00.000Z',
        }),
      });
      if (amount === null) await page.getByRole('checkbox', { name: 'Send everything, less the fee' }).check();
      else await page.getByLabel('Amount in LTC').fill(amount);
      await page.getByLabel('LTC address of the recipient').fill(OURS);
      await page.getByRole('button', { name: 'Go on to the review' }).click();
      await page.getByText('Do not approve anything').waitFor();
      expect(await page.getByRole('button', { name: /^Approve/ }).count()).toBe(0);
    },
  );

  it('shows the review of a withdrawal that comes back as it was typed', async () => {
    const page = await lies.show('withdrawals/new', {
      'policy.show': () => ({ policy: { mode: 'manual' } }),
      'addressBook.list': () => ({ addresses: [] }),
      'withdrawal.add': () => ({ withdrawal: WITHDRAWAL }),
      'withdrawal.propose': () => proposed(OURS),
      'withdrawal.recipient': () => NOTHING_KNOWN,
    });
    await page.getByLabel('Amount in LTC').fill('01,50');
    await page.getByLabel('LTC address of the recipient').fill(`  ${OURS} `);
    await page.getByRole('button', { name: 'Go on to the review' }).click();
    await page.getByRole('button', { name: 'Approve and send 1.5\u00a0LTC' }).waitFor();
  });

  it.each([
    { name: 'the sandbox', over: {} },
    { name: 'a network for tests', over: { network: 'regtest' } },
    { name: 'another account', over: { network: 'mainnet', account_no: 1 } },
    { name: 'a business that nobody asked for', over: { id: 2, network: 'mainnet' } },
  ])('shows no review of real money while the frame tells of $name', async ({ over }) => {
    const page = await lies.show('withdrawals/7/approve', {
      'business.list': () => ({ businesses: [{ ...BUSINESS, ...over }] }),
      'withdrawal.propose': () => ofEther(3_000_000_000_000_000n),
      'withdrawal.recipient': () => NOTHING_KNOWN,
    });
    await page.getByText('Do not approve anything').waitFor();
    expect(await page.getByRole('button', { name: /^Approve/ }).count()).toBe(0);
  });

  it.each([
    { fees: 'a little', most: 3_000_000_000_000_000n, says: 'Fee is 0.34 % of the amount' },
    { fees: 'much', most: 748_000_000_000_000_000n, says: 'Fee is 50.00 % of the amount, and may rise above 5 %' },
  ])('warns of the fees of a collection in the coin that is paid: $fees', async ({ most, says }) => {
    const page = await lies.show('withdrawals/7/approve', {
      'business.list': () => ({ businesses: [{ ...BUSINESS, network: 'mainnet' }] }),
      'withdrawal.propose': () => ofEther(most),
      'withdrawal.recipient': () => NOTHING_KNOWN,
    });
    await page.getByRole('button', { name: 'Approve and send 1.5\u00a0ETH' }).waitFor();
    expect(await page.locator('.checks li').allTextContents()).toContain(says);
  });

  it.each(['withdrawal.insufficient', 'vault.passphrase', 'unavailable'] as const)(
    'says that a server may have kept the approval that it answers with %s',
    async (code) => {
      const page = await lies.show(
        'withdrawals/7/approve',
        {
          'business.list': () => ({ businesses: [{ ...BUSINESS, network: 'mainnet' }] }),
          'withdrawal.propose': () => ofEther(3_000_000_000_000_000n),
          'withdrawal.recipient': () => NOTHING_KNOWN,
          'wallet.status': () => ({ wallet: { state: 'unlocked', retry_after_seconds: 0 } }),
          'desktop.authorize': () => ({ approvals: ['a'.repeat(64)], grants: ['b'.repeat(64)] }),
          'withdrawal.approve': () => Promise.reject(new Refusal(code)),
        },
        '?server=shop',
      );
      const kept = page.getByText('can keep an approval');
      const denied = page.getByText('Nothing was approved');
      await page.getByRole('checkbox', { name: /^I compared all/ }).check();
      await page.getByLabel('Wallet passphrase').fill('a passphrase');
      expect(await kept.count()).toBe(0);
      await page.getByRole('button', { name: /^Approve and send/ }).click();
      await kept.waitFor();
      await page.getByText('countinghouse --server shop wallet revoke').waitFor();
      expect(await denied.count()).toBe(0);
    },
  );

  it('grants gas for the account of the business in the frame, whatever the service says of a desk', async () => {
    const desk = {
      business_id: 1,
      business: 'Shop',
      network: 'mainnet',
      account_no: 7,
      chain: 'ETH',
      coin: 'ETH',
      tank: { address: '0x52908400098527886E0F7030069857D2E4169EE7', amount: '0', index: 0 },
      former_tanks: [],
      price: '1',
      prices: [],
      assets: [],
      needs: null,
      plan: null,
    };
    const forecast = { items: [], worth: 1, cost: '1', cost_usd: null, coin: 'ETH', price: '1', needs: null };
    const page = await lies.show('gas', {
      'business.list': () => ({ businesses: [{ ...BUSINESS, network: 'testnet', account_no: 3 }] }),
      'gas.status': () => ({ desks: [desk] }),
      'gas.forecast': () => ({ ...forecast, fee_max: '2000000000000000000' }),
      'wallet.status': () => ({ wallet: { state: 'unlocked', retry_after_seconds: 0 } }),
      'gas.collect': () => ({ plan: null }),
    });
    await page.getByRole('textbox', { name: 'Wallet passphrase' }).fill('a passphrase');
    await page.getByRole('button', { name: 'Collect now' }).click();
    const grants = () => lies.asked.find(({ method }) => method === 'desktop.authorize')?.input;
    const own = { network: 'testnet', accountNo: 3, chain: 'ETH' };
    await expect.poll(grants).toMatchObject({ wanted: { grants: [own] } });
  });

  it('sends no server the sale that waits for another one', async () => {
    const shop = {
      business: 1,
      name: 'Shop',
      network: 'sandbox',
      currency: 'USD',
      currencies: ['USD'],
      cryptos: [{ crypto: 'LTC', ready: true }],
      reach: 'everybody',
      sales: [],
    };
    const answers = {
      'counter.show': () => shop,
      'item.list': () => ({ items: [] }),
      'counter.sell': () => Promise.reject(new Lost()),
    };
    const page = await lies.show('counter', answers, '?server=shop');
    await page.keyboard.type('500');
    await page.keyboard.press('Enter');
    const sent = () => lies.inputsOf('counter.sell').length;
    await expect.poll(sent).toBeGreaterThan(0);
    await lies.show('counter', answers, '?server=bar');
    await page.locator('.till-amount').waitFor();
    expect(sent()).toBe(0);
    await lies.show('counter', answers, '?server=shop');
    await expect.poll(sent).toBeGreaterThan(0);
  });

  it('shows the code that pairs a till with one business under no other one', async () => {
    const code = 'AAAABBBBCCCC';
    const ends_at = new Date(Date.now() + 600_000).toISOString();
    const page = await lies.show('settings', {
      'business.list': () => ({ businesses: [BUSINESS, { ...BUSINESS, id: 2, name: 'Bar' }] }),
      'console.list': () => ({ sessions: [] }),
      'till.pair': () => ({ urls: [`http://192.168.1.2:8482/#sign-in=${code}`], code, ends_at }),
    });
    const shop = page.getByRole('combobox', { name: 'Business' }).first();
    await shop.selectOption('2');
    await page.getByRole('button', { name: 'Pair a till' }).click();
    const shown = page.getByText('AAAA BBBB CCCC');
    await shown.waitFor();
    await shop.selectOption('1');
    await shown.waitFor({ state: 'detached' });
    expect(lies.inputsOf('till.pair')).toEqual([{ business: '2' }]);
  });

  it('closes no day of a business under the figures of another one, and shows the closing that was chosen', async () => {
    const other = { ...BUSINESS, id: 2, name: 'Bar' };
    const late = Promise.withResolvers<unknown>();
    const page = await lies.show('closing', {
      'business.list': () => ({ businesses: [BUSINESS, other] }),
      'closing.next': ({ business }) => (business === '1' ? { closing: closing(4, '120'), mail_to: [] } : late.promise),
      'closing.list': ({ business }) => ({ closings: business === '1' ? [closing(3, '90')] : [closing(4, '5')] }),
      'closing.make': () => ({ closing: closing(4, '120') }),
    });
    const main = page.locator('main');
    const close = page.getByRole('button', { name: 'Close the day' });
    const taken = main.locator('.closing-sums dd').first();
    await close.waitFor();
    expect(await taken.textContent()).toBe('$120.00');
    const shop = page.getByRole('combobox', { name: 'Business' });
    await shop.selectOption('2');
    await main.getByRole('link', { name: 'Number 4' }).waitFor();
    expect([await close.count(), await taken.count()]).toEqual([0, 0]);
    late.resolve({ closing: closing(5, '7'), mail_to: [] });
    await close.waitFor();
    expect(await taken.textContent()).toBe('$7.00');
    await shop.selectOption('1');
    await close.click();
    await main.getByText('The day is closed, number 4').waitFor();
    expect(await taken.textContent()).toBe('$120.00');
    await main.getByRole('link', { name: 'Number 3' }).click();
    await main.getByText('$90.00').first().waitFor();
    expect(await taken.textContent()).toBe('$90.00');
    expect(lies.inputsOf('closing.make')).toEqual([{ business: '1', number: 4, language: 'en' }]);
    await shop.selectOption('2');
    await main.getByRole('link', { name: 'Number 4' }).waitFor();
    // it has no third one
    expect([await close.count(), await taken.count()]).toEqual([0, 0]);
  });

  it.each([
    { where: 'this computer', query: '', says: 'Same address as last time', asks: false },
    {
      where: 'a server',
      query: '?server=shop',
      says: 'The server says that you paid this address before',
      asks: true,
    },
  ])(
    'takes no server at its word that an address was paid before: on a page about $where',
    async ({ query, says, asks }) => {
      const page = await lies.show(
        'withdrawals/7/approve',
        {
          'withdrawal.propose': () => proposed(THIEFS),
          'withdrawal.recipient': ({ address }) => ({ ...NOTHING_KNOWN, ...PAID_BEFORE, last: { address, at: DAY } }),
        },
        query,
      );
      await page.locator('.finding').getByText(says).waitFor();
      expect(await page.getByRole('checkbox', { name: /^I compared all/ }).count()).toBe(asks ? 1 : 0);
      expect(await page.getByRole('button', { name: /^Approve and send/ }).isEnabled()).toBe(!asks);
      expect(await page.locator('.checks .good').count()).toBe(asks ? 1 : 2);
    },
  );

  it('asks on a page about a server to compare the destination of a plan, anew after each change of it', async () => {
    const answers = {
      'forwarding.list': () => ({ plans: [] }),
      'addressBook.list': () => ({ addresses: [OURS, THIEFS].map(named) }),
      'forwarding.preview': () => PREVIEW,
      'forwarding.set': () => ({}),
    };
    const page = await lies.show('withdrawals/forwarding/new', answers, '?server=shop');
    const choice = page.getByRole('combobox', { name: 'Address' });
    const compared = page.getByRole('checkbox', {
      name: 'I compared the destination with the wallet that gets the money',
    });
    const save = page.getByRole('button', { name: 'Save the plan' });
    await choice.selectOption(OURS);
    expect(await save.isEnabled()).toBe(false);
    await compared.check();
    expect(await save.isEnabled()).toBe(true);
    await choice.selectOption(THIEFS);
    expect([await compared.isChecked(), await save.isEnabled()]).toEqual([false, false]);
    // on this computer the page and its service are one
    await lies.show('withdrawals/forwarding/new', answers);
    await choice.selectOption(OURS);
    expect([await compared.count(), await save.isEnabled()]).toEqual([0, true]);
  });

  it('shows a name in which characters turn the text around without them', async () => {
    const label = 'Sup\u202eplier\n\u200b';
    const alike = { label, address: THIEFS, paid_at: DAY };
    const answers = {
      'policy.show': () => ({ policy: { mode: 'manual' } }),
      'addressBook.list': () => ({ addresses: [{ ...named(OURS, 0), label }] }),
      'withdrawal.propose': () => proposed(OURS),
      'withdrawal.recipient': () => ({ ...NOTHING_KNOWN, lookalikes: [alike] }),
      'forwarding.list': () => ({ plans: [] }),
    };
    const title = 'This is not Sup\ufffdplier \ufffd. It was made to look like it.';
    const page = await lies.show('withdrawals/new', answers);
    await page.getByLabel('LTC address of the recipient').fill(OURS);
    const notice = page.locator('.notice-title');
    await notice.waitFor();
    expect((await notice.textContent())?.trim()).toBe(title);
    await lies.show('withdrawals/7/approve', answers);
    await notice.waitFor();
    expect((await notice.textContent())?.trim()).toBe(title);
    expect(await page.locator('.checks .bad').last().textContent()).toBe(
      'Looks like Sup\ufffdplier \ufffd, and is not',
    );
    await lies.show('withdrawals/forwarding/new', answers);
    const shown = OURS.slice(0, 10);
    const choice = page.getByRole('combobox', { name: 'Address' }).locator('option', { hasText: shown });
    expect(await choice.textContent()).toBe(`Sup\ufffdplier \ufffd · ${shown}…`);
  });

  it('refunds to no address and no amount by what was said of others', async () => {
    const costOf = (missing: string) => ({
      fee: '0.001',
      fee_crypto: 'LTC',
      fee_on_top: true,
      available: '1.25',
      missing,
    });
    const never = new Promise(() => {});
    const page = await lies.show(`invoices/${PAID_INVOICE.slug}`, {
      'invoice.show': () => ({ invoice: PAID_INVOICE }),
      'refundLink.list': () => ({ links: [] }),
      'withdrawal.recipient': ({ address, amount }) =>
        address === OURS && amount === '1.25' ? { ...NOTHING_KNOWN, cost: costOf('0.001') } : never,
    });
    await page.getByRole('button', { name: 'Refund…' }).click();
    await page.getByRole('radio', { name: /I have the customer’s address/ }).check();
    const address = page.getByLabel('The customer’s LTC address');
    const ask = page.getByRole('button', { name: 'Review the refund' });
    const missing = page.getByRole('button', { name: /^Refund 1\.249/ });
    await address.fill(` ${OURS} `);
    await missing.waitFor();
    const state = async () => [await ask.isEnabled(), await missing.count()];
    expect(await state()).toEqual([true, 1]);
    await address.fill(THIEFS);
    expect(await state()).toEqual([false, 0]);
    await address.fill('rltc1q');
    expect(await state()).toEqual([false, 0]);
    await address.fill(OURS);
    expect(await state()).toEqual([true, 1]);
    await page.getByLabel(/Amount/).fill('1');
    expect(await state()).toEqual([false, 0]);
  });

  it('asks for a refund once, however often the answer is lost', async () => {
    const page = await lies.show(`invoices/${PAID_INVOICE.slug}`, {
      'invoice.show': () => ({ invoice: PAID_INVOICE }),
      'refundLink.list': () => ({ links: [] }),
      'withdrawal.recipient': () => NOTHING_KNOWN,
      'invoice.refund': () => Promise.reject(new Lost()),
    });
    await page.getByRole('button', { name: 'Refund…' }).click();
    await page.getByRole('radio', { name: /I have the customer’s address/ }).check();
    await page.getByLabel('The customer’s LTC address').fill(OURS);
    const inputs = () => lies.inputsOf('invoice.refund') as { amount: string; request: string }[];
    for (const [at, amount] of ['0.5', '0.5', '0.25'].entries()) {
      await page.getByLabel(/Amount/).fill(amount);
      await page.getByRole('button', { name: 'Review the refund' }).click();
      await expect.poll(() => inputs()[at]?.amount).toBe(amount);
      await page.getByText('Whether it was done is not known: look before you ask for it again.').waitFor();
    }
    const [first, second, third] = inputs().map(({ request }) => request);
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it('offers no withdrawal before it is known whether that is reviewed or sent at once', async () => {
    const policy = Promise.withResolvers<unknown>();
    const page = await lies.show('withdrawals/new', {
      'policy.show': () => policy.promise,
      'addressBook.list': () => ({ addresses: [] }),
      'withdrawal.recipient': () => NOTHING_KNOWN,
    });
    await page.getByLabel('Amount in LTC').fill('1.5');
    await page.getByLabel('LTC address of the recipient').fill(OURS);
    await page.locator('.address-preview').waitFor();
    const button = page.locator('form button[type=submit]');
    const state = async () => [await button.textContent(), await button.isEnabled()];
    expect(await state()).toEqual(['Go on to the review', false]);
    expect(await page.getByText('Nothing is sent yet.').count()).toBe(0);
    policy.resolve({ policy: { mode: 'automatic' } });
    await page.getByText('This business’s policy sends it without asking.').waitFor();
    expect(await state()).toEqual(['Send it now', true]);
  });
});
