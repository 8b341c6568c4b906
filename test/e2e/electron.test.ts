/** The desktop shell in Electron's own program, where it was fetched (`npm run desktop` does) and a screen is there. */
import { createSocket } from 'node:dgram';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { _electron, type ElectronApplication, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildConsole } from '../support/console.ts';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { shellSpecs } from './shell-specs.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const isFetched = existsSync(join(ROOT, 'node_modules', 'electron', 'path.txt'));
const hasScreen = process.platform !== 'linux' || Boolean(process.env.DISPLAY);

describe.skipIf(!isFetched || !hasScreen)('the desktop shell in Electron (needs a networked machine)', () => {
  let service: TestDaemon;
  let program: ElectronApplication;
  let page: Page;
  let home: string;

  beforeAll(async () => {
    buildConsole();
    const { buildShell } = (await import(join(ROOT, 'main', 'build.mjs'))) as { buildShell(): Promise<number> };
    expect(await buildShell()).toBe(0);
    service = await startTestDaemon();
    home = await mkdtemp(join(tmpdir(), 'electron-'));
    const { ELECTRON_RUN_AS_NODE: _, ...env } = process.env as Record<string, string>;
    program = await _electron.launch({
      executablePath: createRequire(import.meta.url)('electron') as string,
      // root, as in a container, has no sandbox of Chromium's
      args: [ROOT, `--user-data-dir=${home}`, '--lang=en-GB', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])],
      env: { ...env, COUNTINGHOUSE_DATA_DIR: service.dataDir, COUNTINGHOUSE_NODE: process.execPath },
    });
    page = await program.firstWindow();
  });
  afterAll(async () => {
    await program?.close();
    await service?.stop();
    if (home) await rm(home, { recursive: true, force: true });
  });

  shellSpecs(() => ({ page, service }));

  it('goes nowhere, and opens no window', async () => {
    const place = await page.evaluate('location.origin');
    expect(await page.evaluate(`window.open('http://example.com/') === null`)).toBe(true);
    await page.evaluate(`location.href = 'https://example.com/'`);
    expect(await page.evaluate('location.origin')).toBe(place);
    expect(program.windows().length).toBe(1);
  });

  it('reaches no network by WebRTC', async () => {
    let heard = 0;
    const thief = createSocket('udp4').on('message', () => heard++);
    await new Promise<void>((resolve) => thief.bind(0, '127.0.0.1', resolve));
    const state = await page.evaluate(`new Promise((resolve) => {
      const line = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${thief.address().port}' }] });
      line.createDataChannel('x');
      line.addEventListener('icegatheringstatechange', () => line.iceGatheringState === 'complete' && resolve('complete'));
      line.createOffer().then((offer) => line.setLocalDescription(offer));
    })`);
    thief.close();
    expect([state, heard]).toEqual(['complete', 0]);
  });

  it('leaves a service alone that it did not start', async () => {
    await program.close();
    expect(await service.call('POST', '/invoice', { amount: 10 })).toBeDefined();
  });
});
