/** A service that was restored from a backup while withdrawals of before it wait that the lost machine has paid. */
import { expect } from 'vitest';
import { deriveSkipped } from '../../../daemon/app/addresses/skipped.ts';
import { beginQuarantine } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import type { PayBench } from './pay-bench.ts';
import type { PayFamily } from './pay-families.ts';

export const JUMP = 20;
/** The withdrawals that the lost machine paid. */
export const PAID = 2;

export async function deriveAllSkipped({ app }: PayBench): Promise<void> {
  for (const account of app.directory.accounts()) await deriveSkipped(app, account, () => false);
}

/**
 * Three approved withdrawals, of which the backup has one planned and none signed. Two were paid after it. Returns the service
 * that was restored, in quarantine, and the transactions that its source has not heard of. `asked`: the recipients of as many others of
 * the same amount, which were requested before them.
 */
export async function restored(family: PayFamily, asked: readonly (string | undefined)[] = []) {
  const before = await family.open();
  const { coin } = before.chain;
  await before.deposits(Array(4 + asked.length).fill(coin), 1 + family.lockBlocks);
  for (const address of asked) await before.request(coin / 4n, address);
  const ids: number[] = [];
  for (let i = 0; i <= PAID; i++) ids.push(await before.withdraw(coin / 4n));
  before.signer.refuses = () => new Rejected('signer.locked', 'the wallet is locked');
  await before.pass();
  expect(before.versions(ids[0]!)).toMatchObject([{ txid: null }]);
  const backup = before.moment();
  before.signer.refuses = ({ withdrawals }) =>
    withdrawals.some(({ intent }) => intent.uuid === before.row(ids[PAID]!).uuid)
      ? new Rejected('signer.locked', '')
      : null;
  await before.round();
  const paid = ids.slice(0, PAID).map((id) => {
    const [{ txid, raw } = { txid: null, raw: null }] = before.versions(id);
    return { id, txid: txid!, raw: raw!, address: before.row(id).address };
  });
  expect(paid.map(({ txid }) => before.chain.waiting().includes(txid))).toEqual([true, true]);
  await before.app.store.close();

  const pay: PayBench = await backup();
  const { app, bench } = pay;
  await app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, bench.at, JUMP));
  await deriveAllSkipped(pay);
  await pay.round();
  return { pay, ids, paid, waiting: ids[PAID]! };
}
