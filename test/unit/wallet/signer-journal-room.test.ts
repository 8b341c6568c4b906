/** How much of the signer's journal somebody can fill who has the service, and the operator's approvals of before alone. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Journal } from '../../../daemon/wallet/signer/journal.ts';
import type { Line } from '../../../daemon/wallet/signer/journal-line.ts';

/** In place of 512 MiB and their parts. */
vi.mock('../../../daemon/wallet/signer/files.ts', async (original) => ({
  ...(await original<object>()),
  JOURNAL_BYTES_MAX: 4_000_000,
  UNASKED_BYTES_MAX: 3_000_000,
  UNASKED_DAY_BYTES_MAX: 500_000,
}));

const DAY = 86_400_000;
const NOW = Date.UTC(2030, 0);
/** Of which four are a day's, and 28 all. */
const LINE_BYTES = 105_000;

let folder: string;
let journal: Journal;
let lines = 0;
let at = NOW;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'journal-room-'));
  journal = await open();
});
afterAll(async () => {
  await journal.close();
  await rm(folder, { recursive: true });
});

const open = (): Promise<Journal> => Journal.open(folder, Buffer.alloc(32, 7), '73c5da0a', NOW);

type Entry = Extract<Line, { kind: 'sign' }>['entries'][number];

/** A transaction of many coins. */
const signed = (entry: Omit<Entry, 'identity'>, more: Partial<Extract<Line, { kind: 'sign' }>> = {}) =>
  journal.append({
    kind: 'sign',
    at,
    purpose: 'pay',
    txid: `${++lines}`,
    fee: '1',
    inputs: ['x'.repeat(LINE_BYTES)],
    entries: [{ identity: 'i', ...entry }],
    ...more,
  });
const refused = { code: 'signer.limit', message: expect.stringContaining('takes no more') };

it('a day of it, whatever it is: versions, policies or what is forwarded', async () => {
  await signed({ uuid: 'approved', feeMax: '5' });
  const again = () => signed({ uuid: 'approved', feeMax: '5' });
  const byPolicy = () => signed({ uuid: `p ${lines}`, feeMax: '0', byPolicy: true });
  const forwarded = () =>
    signed({ uuid: `f ${lines}`, feeMax: '0' }, { spentForward: { subject: 'forward/regtest/0/BTC', units: '1' } });
  for (const one of [again, byPolicy, forwarded, again]) await one();
  for (const one of [again, byPolicy, forwarded]) await expect(one()).rejects.toMatchObject(refused);
});

it('as much after it was opened again, and a later day as much again', async () => {
  await journal.close();
  journal = await open();
  await expect(signed({ uuid: 'approved', feeMax: '5' })).rejects.toMatchObject(refused);
  at += DAY;
  await signed({ uuid: 'approved', feeMax: '5' });
});

it('no more than three quarters, and what the operator approves goes on behind them', async () => {
  const fill = async (): Promise<void> => {
    for (; ; at += DAY / 2) await signed({ uuid: 'approved', feeMax: '5' });
  };
  await expect(fill()).rejects.toMatchObject({
    message: 'It needs the operator: the record of signatures takes no more of what needs no approval',
  });
  expect(lines).toBeGreaterThan(28);
  await signed({ uuid: 'approved', feeMax: '6' });
  await signed({ uuid: 'another', feeMax: '1' });
  await journal.append({ kind: 'revoked', at, epoch: '0'.repeat(32) });
  expect(journal.memory.signed.get('approved')?.feeMax).toBe(6n);
  await expect(signed({ uuid: 'approved', feeMax: '6' })).rejects.toMatchObject(refused);
});
