/** What the service says with commands in it, as the console shows it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MESSAGES, message, textOf } from '../../daemon/domain/messages.ts';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { Console, shown } from './console-kit.ts';
import { faultsOf, overhangOf, rulesIn } from './page-kit.ts';
import { instead } from './stand-in.ts';

describe.skipIf(!hasChromium)(chromiumTitle('a command in a message'), () => {
  let shop: Console;
  beforeAll(async () => {
    shop = await Console.start();
  });
  afterAll(() => shop.stop());

  it.each(['en', 'de'])('is shown as code, without backticks, with its values: %s', async (language) => {
    expect(MESSAGES['gas.halted']).toContain('`countinghouse gas resume {business} {chain}`');
    const text = message('gas.halted', { address: '0xa', tx: '0xb', chain: 'ETH', business: 'Shop' });
    const end = instead('alert.list', async (_params, real) => {
      const made = { id: 1, kind: 'gas.halted', network: null, created_at: '2026-01-01T00:00:00.000Z' };
      return { ...(await real()), alerts: [{ ...made, text: textOf(text), message: text }] };
    });
    const page = await shop.open('alerts');
    await page.evaluate((chosen) => localStorage.setItem('countinghouse-language', chosen), language);
    await page.reload();
    await shown(page);
    await page.locator('main code').first().waitFor();
    expect(await page.locator('main code').first().innerText()).toMatch(/^countinghouse gas resume \S+/);
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 860 });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await faultsOf(page, rulesIn(colorScheme))).toEqual([]);
      }
      expect(await overhangOf(page)).toBe(0);
    }
    end();
    await page.context().close();
  });
});
