/** The link to the console, by the address on which it listens. */
import { beforeAll, expect, it } from 'vitest';
import { buildConsole } from '../support/console.ts';
import { startTestDaemon } from '../support/daemon.ts';
import { strictCaller } from './operator-raw.ts';

beforeAll(() => buildConsole());

// other systems have no second address of loopback
it.each(['::1', ...(process.platform === 'linux' ? ['127.0.0.2'] : [])])('opens on %s', async (host) => {
  const daemon = await startTestDaemon(`[console]\nhost = "${host}"\nport = 0\n`);
  try {
    const { url } = await strictCaller(daemon.dataDir)('console.open', {});
    expect((await fetch(url)).status).toBe(200);
  } finally {
    await daemon.stop();
  }
});
