/** How far away the change of a payment may go: no further than whoever has only the words would look. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { masterFingerprint } from '../../../daemon/wallet/accounts.ts';
import { seedOf } from '../../../daemon/wallet/mnemonic.ts';
import { journalKey } from '../../../daemon/wallet/signer/approval.ts';
import { HEAD_FILE, JOURNAL_FILE } from '../../../daemon/wallet/signer/files.ts';
import { revokeIn } from '../../../daemon/wallet/signer/journal.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { codeOf, own, PASSPHRASE, payment, useEpochOf, WORDS, walletFolder } from './signer-kit.ts';

let wallet: Awaited<ReturnType<typeof walletFolder>>;
let session: Session;
let paid = 0;

beforeEach(async () => {
  wallet = await walletFolder();
  session = await Session.open(wallet.folder, PASSPHRASE, Date.now);
});
afterEach(async () => {
  await session.close();
  await wallet.remove();
});

/** Signs a payment whose change goes to this index; a version of `order` if it is given. */
function signed(index: number, order = payment('LTC', [`payment ${paid++}`])) {
  const change = order.plan.outputs.find(({ kind }) => kind === 'change');
  Object.assign(change ?? {}, own('LTC', 1, index), { index });
  return session.sign(order);
}

/** The wallet is restored so many times: each begins an epoch. `isFresh`: it has a journal as of new words instead. */
async function restored(times: number, isFresh = false): Promise<void> {
  await session.close();
  const seed = await seedOf(WORDS, '');
  if (isFresh) for (const name of [JOURNAL_FILE, HEAD_FILE]) await rm(join(wallet.folder, name));
  for (let i = 0; i < times; i++) {
    await revokeIn(wallet.folder, journalKey(seed), masterFingerprint(seed), Date.now(), isFresh);
  }
  await useEpochOf(wallet.folder);
  session = await Session.open(wallet.folder, PASSPHRASE, Date.now);
}

describe('change', () => {
  it('goes at most a gap beyond the highest index that was signed for', async () => {
    await signed(5_000);
    expect(await codeOf(signed(6_001))).toBe('signer.differs');
    await signed(6_000);
    await signed(17);
    expect(await codeOf(signed(7_001))).toBe('signer.differs');
    await signed(7_000);
  });

  it('goes no further in other versions of the same payment, since one of them confirms at most', async () => {
    await signed(5_000);
    const order = payment('LTC', ['versions']);
    await signed(6_000, order);
    expect(await codeOf(signed(6_001, order))).toBe('signer.differs');
    await signed(5_999, order);
    await session.close();
    session = await Session.open(wallet.folder, PASSPHRASE, Date.now);
    expect(await codeOf(signed(7_000, order))).toBe('signer.differs');
    // another payment can confirm beside it, and the two lead each other no further
    const other = payment('LTC', ['versions of another']);
    await signed(7_000, other);
    expect(await codeOf(signed(6_001, order))).toBe('signer.differs');
    expect(await codeOf(signed(7_001, other))).toBe('signer.differs');
    await signed(7_000, other);
  });

  it('of a payment that waits goes as far as others have led meanwhile', async () => {
    const order = payment('LTC', ['waits']);
    await signed(11, order);
    expect(await codeOf(signed(1_012, order))).toBe('signer.differs');
    for (const index of [12, 600, 1_500]) await signed(index);
    expect(await codeOf(signed(2_501, order))).toBe('signer.differs');
    await signed(2_500, order);
  });

  it('still knows that index after the signer was started again', async () => {
    await signed(5_000);
    await session.close();
    session = await Session.open(wallet.folder, PASSPHRASE, Date.now);
    expect(await codeOf(signed(6_001))).toBe('signer.differs');
  });

  it.each([
    [1, 10_000],
    [1, 210_000],
    [3, 630_000],
  ])('goes on behind the jumps of %d restores: by %d', async (times, jump) => {
    await signed(5_000);
    await restored(times);
    expect(await codeOf(signed(5_000 + 1_000 + times * 211_000 + 1))).toBe('signer.differs');
    await signed(5_000 + jump);
    expect(await codeOf(signed(5_000 + jump + 1_001))).toBe('signer.differs');
  });

  it('of each account has its own limit', async () => {
    await signed(5_000);
    const other = payment('BCH', ['of BCH']);
    Object.assign(other.plan.outputs.at(-1) ?? {}, own('BCH', 1, 400_000), { index: 400_000 });
    await session.sign(other);
  });

  it('of words that were just made begins at the first address', async () => {
    await restored(1, true);
    expect(await codeOf(signed(1_000))).toBe('signer.differs');
    await signed(999);
  });

  it('is where it was not known before at most a million away', async () => {
    expect(await codeOf(signed(1_000_001))).toBe('signer.differs');
    await signed(1_000_000);
  });
});
