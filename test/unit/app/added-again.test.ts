/** A business that is added again, because the data came back without it. */
import { expect, it } from 'vitest';
import { deriveSkipped } from '../../../daemon/app/addresses/skipped.ts';
import { beginQuarantine } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { endQuarantine } from '../../../daemon/app/recovery/quarantine.ts';
import { addBusiness } from '../../../daemon/app/shops/businesses.ts';
import type { AccountKey } from '../../../daemon/domain/chain.ts';
import { GAP } from '../../../daemon/domain/indices.ts';
import { accountById } from '../../../daemon/store/queries/businesses.ts';
import { Bench } from './bench.ts';

const JUMP = 20;
const KEY: AccountKey = { kind: 'secp256k1', publicKey: 'second', chainCode: '' };

/** The index of the first address that a second business gives out. */
async function firstIndex({ app }: Bench, key = KEY): Promise<number> {
  const named = { name: 'Second', network: 'mainnet', timeZone: 'UTC', accountNo: 1, birthday: null } as const;
  const id = await app.store.write((tx) => addBusiness(app, { ...named, accounts: { BTC: key } }, tx));
  const account = app.directory.accounts().find(({ businessId }) => businessId === id)!;
  return app.store.get(accountById, { id: account.id })!.next_index;
}

it('begins at the first address where the data never came back', async () => {
  expect(await firstIndex(await Bench.open())).toBe(0);
});

it('begins behind what its account may have given out, also after the operator has confirmed', async () => {
  for (const isConfirmed of [false, true]) {
    const bench = await Bench.open();
    const { app } = bench;
    await app.store.write((tx) => beginQuarantine(tx, { made_at: null }, bench.at, JUMP));
    for (const account of app.directory.accounts()) await deriveSkipped(app, account, () => false);
    await bench.tell({ blocks: 1 });
    if (isConfirmed) await app.store.write((tx) => endQuarantine(app, tx));
    expect(await firstIndex(bench)).toBeGreaterThan(GAP);
  }
});

it('begins at the first one where the keys are in another wallet, which would not find what is far behind', async () => {
  const bench = await Bench.open();
  await bench.app.store.write((tx) => beginQuarantine(tx, { made_at: null }, bench.at, JUMP));
  expect(await firstIndex(bench, { ...KEY, watch: { form: 'p2wpkh', origin: null } })).toBe(0);
});
