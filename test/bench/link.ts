/**
 * A computer at home that signs over a link of 100 ms each way, and the same over loopback: the time from an order to its signature, and what
 * the orders take that waited when the computer came back, with as many under way as the service has (`app/spends/lanes.ts`). Server,
 * wallet and link are in this process and its signer's; the orders are plain payments of Litecoin with three coins. Those from one address of
 * Ethereum, payments of Tether, go one after the other.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinServer } from '../../daemon/home/dial.ts';
import { walletFolderIn, writeServer } from '../../daemon/home/place.ts';
import { signAtHome } from '../../daemon/home/signing.ts';
import { Machines } from '../../daemon/http/machines/machines.ts';
import { inParallel } from '../../daemon/kit/async.ts';
import { withSignerService } from '../../daemon/operator/local-keyholder.ts';
import { writeOnce } from '../../daemon/wallet/files.ts';
import { streamChannel } from '../../daemon/wallet/signer/channel.ts';
import { SignerClient } from '../../daemon/wallet/signer/client.ts';
import { readLines } from '../../daemon/wallet/signer/lines.ts';
import { SEAL_UNLOCK } from '../../daemon/wallet/signer/port.ts';
import { seal } from '../../daemon/wallet/signer/seal.ts';
import { until } from '../support/until.ts';
import { cheapWallet } from '../support/wallet.ts';
import { order as evmOrder } from '../unit/wallet/signer-evm-kit.ts';
import { PASSPHRASE, payment, useEpochOf, WORDS } from '../unit/wallet/signer-kit.ts';

const LINK_MS = 100;
const SAMPLES = 20;
const AT_ONCE = 16;
/** Orders from one address with nonces. */
const IN_ORDER = 50;
const { waiting: WAITING } = JSON.parse(process.argv[2] ?? '{}') as { waiting: number };
const LONG_MS = 3_600_000;

const root = await mkdtemp(join(tmpdir(), 'bench-link-'));
const dataDir = join(root, 'server');
await mkdir(dataDir);
const silent = { info: () => {}, warn: () => {} } as never;
const machines = new Machines({
  dataDir,
  now: Date.now,
  log: silent,
  onConnected: () => {},
  channel: streamChannel,
  lines: readLines,
  writeOnce,
});
const http = createServer();
http.on('upgrade', (request, socket, head) =>
  machines.upgrade(request, socket, head, async () => ({ status: 200, body: {} })),
);
const portOf = async (server: typeof http | ReturnType<typeof createTcp>): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};
const port = await portOf(http);
let delayMs = 0;
const later = (from: Socket, to: Socket): void => {
  from.on('data', (data: Buffer) => setTimeout(() => to.write(data), delayMs));
  from.on('error', () => {});
  from.once('close', () => to.destroy());
};
const link = createTcp((near) => {
  const far = connect(port, '127.0.0.1');
  later(near, far);
  later(far, near);
});
const url = `http://127.0.0.1:${await portOf(link)}`;
const signer = new SignerClient({
  folder: join(dataDir, 'vault'),
  home: machines,
  autoLockMinutes: 0,
  source: () => ({ kind: 'prompt' }),
  sandbox: { sign: () => Promise.reject(new Error('no sandbox here')) },
  log: () => {},
});

const folder = join(root, 'home');
const { code } = await machines.invite();
await writeServer(folder, await joinServer(url, code, 'Laptop'));
const wallet = walletFolderIn(folder);
await mkdir(wallet, { mode: 0o700 });
await cheapWallet(wallet, { words: WORDS, passphrase: PASSPHRASE });
await useEpochOf(wallet);
const begin = async () => {
  const home = await signAtHome({
    folder,
    release: 'bench',
    autoLockMinutes: 0,
    source: () => ({ kind: 'prompt' }),
    log: () => {},
    told: () => {},
    audit: { env: {}, told: () => {}, everyMs: LONG_MS },
  });
  await until('it is connected', async () => machines.connectedSince !== null);
  await withSignerService({ dataDir: folder, folder: wallet }, '', async (one) =>
    one.unlock(await seal(await one.sealKey(), SEAL_UNLOCK, PASSPHRASE)),
  );
  return home;
};
const orders = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => payment('LTC', [`${name}-${i}`]));
const median = (all: number[]): number => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};

let home = await begin();
const spent: Record<string, number> = {};
for (const ms of [0, LINK_MS]) {
  delayMs = ms;
  const samples: number[] = [];
  for (const order of orders(`link-${ms}`, SAMPLES)) samples.push(await timed(() => signer.sign(order)));
  spent[ms] = median(samples);
}
const inOrder = await timed(async () => {
  for (let nonce = 0n; nonce < IN_ORDER; nonce++) await signer.sign(evmOrder({ nonce, lowestNonce: 0n }));
});
await home.close();
await until('it is away', async () => machines.connectedSince === null);
const waiting = orders('waiting', WAITING);
const back = await timed(async () => {
  home = await begin();
});
const all = await timed(() => inParallel(waiting, AT_ONCE, async (order) => void (await signer.sign(order))));
console.log(
  JSON.stringify({
    waiting: WAITING,
    nearMs: spent[0],
    farMs: spent[LINK_MS],
    thereAndBackMs: 2 * LINK_MS,
    inOrderPerMinute: (IN_ORDER * 60_000) / inOrder,
    backSeconds: back / 1_000,
    waitedSeconds: all / 1_000,
  }),
);
await home.close();
await signer.close();
machines.close();
link.close();
http.close();
await rm(root, { recursive: true, force: true });
process.exit(0);
