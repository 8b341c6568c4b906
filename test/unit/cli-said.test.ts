/** The service's messages as the command line prints them. */
import { describe, expect, it } from 'vitest';
import { reportText } from '../../daemon/cli/backup-text.ts';
import { textIn, textOf } from '../../daemon/cli/said.ts';
import { when } from '../../daemon/cli/table.ts';
import { message } from '../../daemon/domain/messages.ts';

const AT = '2026-11-30T01:36:29.469000Z';

describe('a message on a terminal', () => {
  it('has its times as tables have them', () => {
    expect(when(AT)).toMatch(/^2026-\d\d-\d\d \d\d:36$/);
    expect(textOf(message('doctor.books_proved', { at: AT }))).toBe(`proved on ${when(AT)}, or since the start`);
  });

  it('has those of a message within it, too', () => {
    const inner = message('forward.cheap', { until: AT });
    const said = message('forward.waits', { business: 'Shop', asset: 'ETH', reason: inner });
    expect(textOf(said)).toBe(
      `Shop: the takings in ETH are not forwarded: it waits for an hour in which gas is cheap, until ${when(AT)} at the latest`,
    );
  });

  it('leaves a name that has a time in it, and nothing, as they are', () => {
    expect(textOf(`order ${AT}`)).toBe(`order ${AT}`);
    expect(textIn(null)).toBe(null);
  });
});

it('a backup is of a time as in tables', () => {
  const facts = { counts: { invoices: 1, payments: 1, credits: 0 }, accounts: [], balances: [] };
  const manifest = { made_at: AT, fingerprint: '5e7cbb1f', release: '0.1.0', facts };
  const report = { manifest, addresses: 0, watch_only: [], problems: [], newer: [] };
  expect(reportText(report as never)).toMatch(`Backup of ${when(AT)}, wallet 5e7cbb1f, release 0.1.0`);
});
