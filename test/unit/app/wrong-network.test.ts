/** Ethereum and BNB Smart Chain share keys: a payment on the wrong one of them belongs to one invoice, and counts for none. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { derive } from '../../../daemon/app/addresses/pool.ts';
import { acceptDeposit } from '../../../daemon/app/withdrawals/inbox.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { inboxBelow } from '../../../daemon/store/queries/inbox.ts';
import { Bench } from './bench.ts';

const DOLLAR_ETH = 10n ** 6n;
const DOLLAR_BSC = 10n ** 18n;

let ethereum: Bench;
let bsc: Bench;
beforeEach(async () => {
  ethereum = await Bench.open('ETH', {}, { also: ['BSC'] });
  bsc = await ethereum.beside('BSC');
  ethereum.rate('1');
});
afterEach(() => ethereum.app.store.close());

const addressOf = (id: number): string => ethereum.app.store.get(targetById, { id })!.address;
/** The same address as the other chain knows it. */
const twinOf = (targetId: number, other: Bench): number => {
  const { script } = other.app.store.get(targetById, { id: targetId })!;
  const all = Array.from({ length: 200 }, (_, i) => other.app.store.get(targetById, { id: i + 1 }));
  const twin = all.find((one) => one?.chain_key === other.chain.key && Buffer.from(one.script).equals(script));
  if (!twin) throw new Error('the other chain does not have this address');
  return twin.id;
};
const items = () => ethereum.app.store.all(inboxBelow, { id: 2 ** 31, limit: 100 });

describe('an address of two chains', () => {
  it('is given out on one of them only, whichever derives further', async () => {
    const given: string[] = [];
    for (let i = 0; i < 15; i++) {
      given.push(addressOf((await ethereum.invoice({ crypto: 'USDT_ERC20' })).targetId));
      given.push(addressOf((await bsc.invoice({ crypto: 'USDT_BEP20' })).targetId));
      await derive(ethereum.app, ethereum.app.directory.accounts()[i % 2]!, 3);
    }
    expect(new Set(given).size).toBe(30);
  });

  it('is not given out after a stranger was seen paying it on the other one', async () => {
    const target = ethereum.unassigned();
    const twin = twinOf(target, bsc);
    await bsc.tell({ blocks: 1, credits: () => [bsc.credit(twin, 5n, 0, { txid: 's', asset: 'BNB' })] });
    expect((await ethereum.invoice({ crypto: 'USDT_ERC20' })).targetId).not.toBe(target);
  });

  it('is found however many the other chain has given out', async () => {
    const given = new Set<string>();
    for (let i = 0; i < 150; i++) given.add(addressOf((await bsc.invoice({ crypto: 'USDT_BEP20' })).targetId));
    for (let i = 0; i < 3; i++) given.add(addressOf((await ethereum.invoice({ crypto: 'USDT_ERC20' })).targetId));
    expect(given.size).toBe(153);
  });

  it('takes what came on the wrong chain into the inbox, with the invoice that it was meant for', async () => {
    const asked = await ethereum.invoice({ crypto: 'USDT_ERC20' });
    const other = await bsc.invoice({ crypto: 'USDT_BEP20' });
    const credit = () => [
      bsc.credit(twinOf(asked.targetId, bsc), 100n * DOLLAR_BSC, 0, { txid: 'w', asset: 'USDT_BEP20' }),
    ];
    await bsc.tell({ blocks: 1, credits: credit });
    await bsc.tell({ blocks: 20 });
    expect(items()).toMatchObject([
      { reason: 'wrong-network', asset: 'USDT_BEP20', units: 100n * DOLLAR_BSC, invoice_slug: asked.slug },
    ]);
    expect([ethereum.invoiceStatus(asked.id), ethereum.invoiceStatus(other.id)]).toEqual(['unpaid', 'unpaid']);
    expect(bsc.balance('USDT_BEP20')).toBe(100n * DOLLAR_BSC);
    await expect(
      ethereum.app.store.write((tx) => acceptDeposit(ethereum.app, tx, items()[0]!.id)),
    ).rejects.toMatchObject({ code: 'inbox.asset' });
    await ethereum.tell({
      blocks: 20,
      credits: () => [ethereum.credit(asked.targetId, 100n * DOLLAR_ETH, 19, { txid: 'r', asset: 'USDT_ERC20' })],
    });
    expect(ethereum.invoiceStatus(asked.id)).toBe('paid');
  });

  it('counts of an invoice that is paid in three assets the one that it asked for, and keeps the others to be spent', async () => {
    const asked = await ethereum.invoice({ crypto: 'USDT_ERC20' });
    const [half, ether] = [50n * DOLLAR_ETH, 10n ** 18n];
    await ethereum.tell({
      blocks: 1,
      credits: () => [
        ethereum.credit(asked.targetId, half, 0, { txid: 'half', asset: 'USDT_ERC20' }),
        ethereum.credit(asked.targetId, ether, 0, { txid: 'ether', asset: 'ETH' }),
      ],
    });
    const credit = () => [
      bsc.credit(twinOf(asked.targetId, bsc), 50n * DOLLAR_BSC, 0, { txid: 'w', asset: 'USDT_BEP20' }),
    ];
    await bsc.tell({ blocks: 1, credits: credit });
    for (const chain of [ethereum, bsc]) await chain.tell({ blocks: 20 });
    expect([ethereum.invoiceStatus(asked.id), ethereum.payment(asked.id).received]).toEqual(['unpaid', half]);
    expect(items().map(({ reason, asset, invoice_slug }) => [reason, asset, invoice_slug])).toEqual([
      ['wrong-network', 'USDT_BEP20', asked.slug],
      ['unexpected', 'ETH', asked.slug],
    ]);
    // each is in the balance, from which withdrawals are made
    expect([ethereum.balance('USDT_ERC20'), ethereum.balance('ETH'), bsc.balance('USDT_BEP20')]).toEqual([
      half,
      ether,
      50n * DOLLAR_BSC,
    ]);
    // the rest in the asked asset pays it
    const rest = () => [ethereum.credit(asked.targetId, half, 11, { txid: 'rest', asset: 'USDT_ERC20' })];
    await ethereum.tell({ blocks: 12, credits: rest });
    expect(ethereum.invoiceStatus(asked.id)).toBe('paid');
  });

  it('takes a stranger’s money at an address of nobody as before', async () => {
    await bsc.tell({ blocks: 1, credits: () => [bsc.credit(bsc.unassigned(), 5n, 0, { txid: 's', asset: 'BNB' })] });
    expect(items()).toMatchObject([{ reason: 'unassigned', invoice_slug: null }]);
  });
});
