/** A server and a computer at home that signs for it: two folders, and nothing shared but a port. */
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server as HttpServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach } from 'vitest';
import { joinServer } from '../../../daemon/home/dial.ts';
import { walletFolderIn, writeServer } from '../../../daemon/home/place.ts';
import { signAtHome } from '../../../daemon/home/signing.ts';
import { type Answering, Machines, type MachinesOptions } from '../../../daemon/http/machines/machines.ts';
import { withSignerService } from '../../../daemon/operator/local-keyholder.ts';
import { writeOnce } from '../../../daemon/wallet/files.ts';
import { streamChannel } from '../../../daemon/wallet/signer/channel.ts';
import { SignerClient } from '../../../daemon/wallet/signer/client.ts';
import { readLines } from '../../../daemon/wallet/signer/lines.ts';
import { SEAL_UNLOCK } from '../../../daemon/wallet/signer/port.ts';
import { seal } from '../../../daemon/wallet/signer/seal.ts';
import { until } from '../../support/daemon.ts';
import { undoAll } from '../../support/undo.ts';
import { cheapWallet } from '../../support/wallet.ts';
import { PASSPHRASE, useEpochOf, WORDS } from '../wallet/signer-kit.ts';

const SILENT = { info: () => {}, warn: () => {} } as never;
const sandbox = { sign: () => Promise.reject(new Error('no sandbox here')) };
const echo: Answering = async (method, params) => ({ status: 200, body: { method, params } });

/** Of the test that runs. `undo`: what ends it, the latest first. */
export const stage = { root: '', clock: 0, undo: [] as (() => Promise<unknown> | unknown)[] };

/** Call once in a test file. */
export function stageEach(): void {
  beforeEach(async () => {
    const root = await mkdtemp(join(tmpdir(), 'home-'));
    stage.root = root;
    stage.clock = Date.now();
    stage.undo = [() => rm(root, { recursive: true, force: true })];
  });
  afterEach(() => undoAll(stage.undo));
}

const listening = async (server: HttpServer | ReturnType<typeof createTcp>): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stage.undo.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

type Given = { answers?: Answering } & Partial<Pick<MachinesOptions, 'channel' | 'writeOnce'>>;

/** `answers`: its operator API. `channel`: what it makes of a signer's connection. `writeOnce`: how it keeps the key of backups. */
export async function serverIn(
  name: string,
  { answers = echo, channel = streamChannel, writeOnce: write = writeOnce }: Given = {},
) {
  const dataDir = join(stage.root, name);
  await mkdir(dataDir);
  let woken = 0;
  let greetings = 0;
  const machines = new Machines({
    dataDir,
    now: () => stage.clock,
    log: SILENT,
    onConnected: () => (woken += 1),
    channel,
    lines: readLines,
    writeOnce: write,
  });
  const http = createServer();
  http.on('upgrade', (request, socket, head) => {
    greetings += 1;
    machines.upgrade(request, socket, head, answers);
  });
  const url = await listening(http);
  stage.undo.push(() => machines.close());
  const clientOf = () =>
    new SignerClient({
      folder: join(dataDir, 'vault'),
      home: machines,
      autoLockMinutes: 0,
      source: () => ({ kind: 'prompt' }),
      sandbox,
      log: () => {},
    });
  const signer = clientOf();
  stage.undo.push(() => signer.close());
  return { dataDir, machines, signer, url, woken: () => woken, greetings: () => greetings };
}

/**
 * A tunnel that ends every connection once the home side has said so many bytes since `arm`, or at once by `cut`. `turns`: how often the
 * side that speaks has changed: on a slow link each costs the time of one way.
 */
export async function tunnel(to: string) {
  let left = Number.POSITIVE_INFINITY;
  let turns = 0;
  let last: 'home' | 'server' | null = null;
  const spoke = (side: 'home' | 'server') => {
    if (side !== last) turns++;
    last = side;
  };
  const open = new Set<Duplex>();
  const server = createTcp((near) => {
    const far = connect(Number(new URL(to).port), '127.0.0.1');
    open.add(near);
    near.once('close', () => open.delete(near));
    for (const side of [near, far]) side.on('error', () => {});
    far.pipe(near);
    far.on('data', () => spoke('server'));
    near.on('data', (data: Buffer) => {
      spoke('home');
      far.write(data.subarray(0, Math.min(left, data.length)));
      left -= data.length;
      if (left <= 0) for (const side of [near, far]) side.destroy();
    });
    near.once('close', () => far.destroy());
    far.once('close', () => near.destroy());
  });
  const url = await listening(server);
  return {
    url,
    turns: () => turns,
    cut: () => {
      for (const one of open) one.destroy();
    },
    arm: (bytes: number) => {
      left = bytes;
    },
  };
}

/** Joins a server. `folder`: what the computer keeps of it. */
export async function homeOf(
  url: string,
  code: string,
  folder = join(stage.root, 'Laptop'),
  name = 'Laptop',
  proxy?: string,
) {
  await writeServer(folder, await joinServer(url, code, name, proxy));
  return folder;
}

/** The wallet of WORDS in the folder of a server. */
export async function walletAtHome(folder: string): Promise<string> {
  const wallet = walletFolderIn(folder);
  await mkdir(wallet, { mode: 0o700 });
  await cheapWallet(wallet, { words: WORDS, passphrase: PASSPHRASE });
  await useEpochOf(wallet);
  return wallet;
}

export async function signing(folder: string) {
  const made = await signAtHome({
    folder,
    release: 'test',
    autoLockMinutes: 0,
    source: () => ({ kind: 'prompt' }),
    log: () => {},
    told: () => {},
    audit: { env: {}, told: () => {} },
  });
  made.ended.catch(() => {});
  stage.undo.push(() => made.close());
  return made;
}

export const unlock = (folder: string) =>
  withSignerService({ dataDir: folder, folder: walletFolderIn(folder) }, '', async (signer) =>
    signer.unlock(await seal(await signer.sealKey(), SEAL_UNLOCK, PASSPHRASE)),
  );

/** The transactions that the record in a wallet's folder names. */
export async function journalOf(wallet: string): Promise<string[]> {
  const journal = await readFile(join(wallet, 'signer-journal.jsonl'), 'utf8');
  return journal.split('\n').flatMap((text) => /"txid":"([0-9a-f]+)"/.exec(text)?.[1] ?? []);
}

export const connected = (machines: Machines) =>
  until('the computer is connected', async () => machines.connectedSince !== null);
export const away = (machines: Machines) => until('the computer is away', async () => machines.connectedSince === null);
