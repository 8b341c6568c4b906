/** The console's listener by the name of an onion service: for the computer at home that signs, and for no browser. */
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { MACHINE_PATH } from '../../daemon/contract/signing-machine.ts';
import { dial, joinServer } from '../../daemon/home/dial.ts';
import { SocksProxy } from '../nodes/socks-proxy.ts';
import { buildConsole } from '../support/console.ts';
import { sendRaw } from '../support/console-page.ts';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { strictCaller } from './operator-raw.ts';

const ONION = `${'a'.repeat(55)}d.onion`;

let daemon: TestDaemon;
let origin: string;
let proxy: SocksProxy;
beforeAll(async () => {
  buildConsole();
  daemon = await startTestDaemon('[console]\nport = 0\n');
  ({ origin } = new URL((await strictCaller(daemon.dataDir)('console.open', {})).url));
  proxy = await SocksProxy.to(Number(new URL(origin).port));
});
afterAll(async () => {
  await proxy?.close();
  await daemon?.stop();
});

it('lets the computer at home in', async () => {
  const { code } = await strictCaller(daemon.dataDir)('signer.invite', {});
  const server = await joinServer(`http://${ONION}`, code, 'Laptop', proxy.url);
  const stream = await dial(server, 'operator', { release: 'test', fingerprint: null, backupKey: null });
  stream.destroy();
  expect(proxy.asked).toEqual([`${ONION}:80`, `${ONION}:80`]);
});

it('lets no page of a browser in, and answers no call', async () => {
  const url = new URL(MACHINE_PATH, origin.replace(/^http/, 'ws'));
  const page = new WebSocket(url, { origin: `http://${ONION}`, headers: { host: ONION } }).on('error', () => {});
  const [, { statusCode }] = await once(page, 'unexpected-response');
  page.terminate();
  expect(statusCode).toBe(404);
  const headers = { host: ONION, origin: `http://${ONION}`, 'content-type': 'application/json' };
  const { status, bytes } = await sendRaw(origin, { method: 'POST', path: '/call/status', headers, body: '{}' });
  expect([status, JSON.parse(Buffer.from(bytes).toString()).error.code]).toEqual([403, 'host']);
});
