/** Data directories of every release so far, and of this one, are opened by this one and go on working. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../daemon/store/migrations.ts';
import { type Fixture, makeFixture, restore, Service } from './fixture.ts';

/**
 * The SHA-256 of each released migration's statements, joined by newlines. A release adds lines for what it went out with;
 * no line ever changes, and nor does its migration: what is to be different is a new one.
 */
const RELEASED: readonly [name: string, sha256: string][] = [
  ['0001-first', 'eb6950bedd53b7fbc04a2b76859e349047a515be305b312185bbfd800a1e6bba'],
  ['0002-withdrawals', 'd3a2450f9acedc304c38f10b3bc93af2027ced769064af9552981cdf66bf307b'],
  ['0003-branding', 'd2cb0fe7495b41e2ff8e2763b204be37a72df71e6b6a3e2625deb6ed34a84183'],
  ['0004-appliance', '6ac7e4b1555c63a58baa6e9172c61bf80bbe370041455bb19f85dce5d7b760ae'],
  ['0005-clients', 'c06b63fad770e391e579370786153ad1fbc9ea154661461d80f9cfdb278995e0'],
  ['0006-restored', '3f013df33a442ba8f6f7bc626ba40326228c57eccf3a395634612c2e3b1c6f56'],
];

describe('a migration that was released is never edited', () => {
  it.each(RELEASED)('%s', (name, sha256) => {
    const statements = MIGRATIONS.find((migration) => migration[0] === name)?.[1] ?? [];
    expect(createHash('sha256').update(statements.join('\n')).digest('hex')).toBe(sha256);
  });

  it('and every file of one is registered, in the order of their numbers', () => {
    const files = readdirSync(join(import.meta.dirname, '../../daemon/store/migrations'));
    expect(MIGRATIONS.map(([name]) => name)).toEqual(files.map((file) => file.replace(/\.ts$/, '')).sort());
  });
});

const releases = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.json'));
const read = (file: string): Fixture => JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8')) as Fixture;

describe.each<[string, () => Fixture | Promise<Fixture>]>([
  ...releases.map((file): [string, () => Fixture] => [file.replace(/\.json$/, ''), () => read(file)]),
  ['this release', makeFixture],
])('a data directory of %s', (_, make) => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'countinghouse-migrated-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  it('says what it said, ends what it began, and takes new payments', async () => {
    const fixture = await make();
    restore(fixture, dataDir);
    const service = await Service.start(dataDir, fixture);
    try {
      expect(Object.keys(fixture.answers).length).toBeGreaterThan(3);
      for (const [path, answer] of Object.entries(fixture.answers)) {
        // the port may be another one
        const expected = { ...(answer as object) };
        if ('invoice_url' in expected) expected.invoice_url = expect.stringContaining('/pay/');
        expect(await service.call('GET', path)).toMatchObject(expected);
      }
      // what was unconfirmed when the release stopped confirms in this one
      await service.sell('LTC', 3);
      const invoices = Object.keys(fixture.answers).filter((path) => path.startsWith('/invoice/'));
      const statuses = await Promise.all(invoices.map((path) => service.call<{ status: string }>('GET', path)));
      expect(statuses.map(({ status }) => status)).toEqual(['paid', 'paid', 'unpaid']);
    } finally {
      await service.stop();
    }
  });
});
