/** The browser that the tests of a process share. */
import { chromium } from 'playwright-core';
import { describe, expect, it, vi } from 'vitest';
import { chromiumTitle, hasChromium, launchChromium } from '../support/chromium.ts';

describe.skipIf(!hasChromium)(chromiumTitle('the shared browser'), () => {
  it('is another one after it is gone, and after one that did not start', async () => {
    const gone = await launchChromium();
    const first = (await gone.newContext()).browser()!;
    await first.close();
    const launch = vi.spyOn(chromium, 'launch').mockRejectedValueOnce(new Error('no memory'));
    await expect(launchChromium()).rejects.toThrow('no memory');
    launch.mockRestore();
    const windows = await launchChromium();
    const page = await windows.newPage();
    expect(await page.evaluate('6 * 7')).toBe(42);
    expect(page.context().browser()).not.toBe(first);
    await gone.close();
    await windows.close();
  });
});
