/** The specs that the desktop shell's window passes in Chromium and in Electron. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import type { TestDaemon } from '../support/daemon.ts';

export type Bridge = { call(name: string, input: unknown): unknown };

export function shellSpecs(opened: () => { page: Page; service: TestDaemon }): void {
  it('shows the console, with a policy that permits no connection and no inline code', async () => {
    const { page } = opened();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    const fetched = page.evaluate(() =>
      fetch('https://example.com').then(
        () => 'fetched',
        () => 'refused',
      ),
    );
    expect(await fetched).toBe('refused');
  });

  it('gives the page two functions and no part of Electron', async () => {
    const { page, service } = opened();
    const names = await page.evaluate(() =>
      Object.keys((globalThis as unknown as { countinghouse: Bridge }).countinghouse),
    );
    expect(names).toEqual(['call', 'onNews']);
    const answer = await page.evaluate(() =>
      (globalThis as unknown as { countinghouse: Bridge }).countinghouse.call('console.open', {}),
    );
    expect(answer).toMatchObject({ ok: false, status: 404 });
    const { token } = JSON.parse(await readFile(join(service.dataDir, 'operator.json'), 'utf8'));
    expect(token).not.toBe('');
    expect(await page.content()).not.toContain(token);
  });
}
