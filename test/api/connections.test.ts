/** Many connections from many addresses: those of loopback, but for its first, are strangers. */
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { strictCaller } from './operator-raw.ts';

const STREAMS = 40;
const STREAMERS = 100;
const STREAMS_MAX = 2_000;
const KEPT = 199;
const KEEPERS = 12;
const PROBES = 50;
const ASKED_AGAIN_MS = 4_000;
const COMES_AGAIN_MS = 100;

let service: TestDaemon;
let slug: string;
let key: string;
const sockets: Socket[] = [];
let isOver = false;

beforeAll(async () => {
  service = await startTestDaemon();
  const wanted = { business: '1', name: 'backend', scopes: ['invoices' as const] };
  key = (await strictCaller(service.dataDir)('key.add', wanted)).key.key;
  slug = (await service.call<{ id: string }>('POST', '/invoice', { amount: 20 })).body.id;
});
afterAll(async () => {
  isOver = true;
  for (const socket of sockets) socket.destroy();
  await service.stop();
});

/** One connection that asks for `path`; `asked` gets the beginning of the answer. Ends as the server ends it. */
function hold(localAddress: string, path: string, asked: (head: string) => void): Socket {
  const { hostname, port } = new URL(service.url);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  socket.on('error', () => {});
  socket.once('connect', () => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`));
  socket.once('data', (head: Buffer) => asked(head.toString('latin1')));
  socket.resume();
  sockets.push(socket);
  return socket;
}

/** The status of a request by a new connection; 0 if it is reset. */
function probe(path: string, localAddress: string, headers: Record<string, string> = {}): Promise<number> {
  const { hostname: host, port } = new URL(service.url);
  return new Promise((resolve) => {
    const call = request({ host, port, path, localAddress, headers, agent: false }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode!));
    });
    call.on('error', () => resolve(0));
    call.end();
  });
}

const counted = (statuses: readonly number[]): Record<string, number> =>
  Object.fromEntries([...new Set(statuses)].map((one) => [one, statuses.filter((status) => status === one).length]));

it('neither streams nor kept connections of 112 addresses keep out the backend of the shop, or a payer', async () => {
  let [answered, streams, refused] = [0, 0, 0];
  for (let at = 0; at < STREAMERS; at++) {
    // of networks of their own, so that nothing but their number is against them
    for (let stream = 0; stream < STREAMS; stream++) {
      hold(`127.${60 + at}.0.1`, `/pay/${slug}/events`, (head) => {
        answered++;
        if (head.startsWith('HTTP/1.1 200')) streams++;
        if (head.startsWith('HTTP/1.1 204')) refused++;
      });
    }
  }
  await until(
    'all were answered or ended',
    async () => answered >= STREAMS_MAX && streams + refused === answered,
    60_000,
  );
  expect(streams).toBeGreaterThanOrEqual(STREAMS_MAX);
  let tries = 0;
  const keep = (address: string): void => {
    if (isOver) return;
    tries++;
    const socket = hold(address, '/health', () => {});
    // before the server ends a connection that asks nothing
    const again = setInterval(() => socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n'), ASKED_AGAIN_MS);
    socket.once('close', () => {
      clearInterval(again);
      setTimeout(() => keep(address), COMES_AGAIN_MS);
    });
  };
  for (let at = 0; at < KEEPERS; at++) for (let one = 0; one < KEPT; one++) keep(`127.31.${at}.1`);
  await until('some were ended, and came again', async () => tries >= 2 * KEEPERS * KEPT, 60_000);
  const backend: number[] = [];
  const payer: number[] = [];
  for (let one = 0; one < PROBES; one++) {
    backend.push(await probe('/api/v1/merchant/cryptos', '127.0.0.1', { 'mb-api-key': key }));
    payer.push(await probe(`/pay/${slug}`, `127.40.${one}.1`));
  }
  expect([counted(backend), counted(payer)]).toEqual([{ 200: PROBES }, { 200: PROBES }]);
});
