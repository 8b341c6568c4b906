/** A server that says what none of this program says, asks for what is not the wallet's, or lost its memory; and a second computer at home. */
import { once } from 'node:events';
import { cp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { dial } from '../../../daemon/home/dial.ts';
import { forgetServer, readServer, writeServer } from '../../../daemon/home/place.ts';
import { streamChannel } from '../../../daemon/wallet/signer/channel.ts';
import type { SignerClient } from '../../../daemon/wallet/signer/client.ts';
import type { UtxoOrder } from '../../../daemon/wallet/signer/port.ts';
import { serveServer } from '../../../daemon/wallet/signer/service.ts';
import { LINE_BYTES_MAX } from '../../../daemon/wallet/signer/wire.ts';
import { until } from '../../support/daemon.ts';
import { codeOf, coin, payment } from '../wallet/signer-kit.ts';
import {
  away,
  connected,
  homeOf,
  serverIn,
  signing,
  stage,
  stageEach,
  tunnel,
  unlock,
  walletAtHome,
} from './home-kit.ts';

stageEach();

const ABOUT = { release: 'test', fingerprint: null, backupKey: null };

/** A server and a computer at home that signs for it, its wallet open. `lines`: the server's ends of the signer's connections. */
async function pair() {
  const lines: Duplex[] = [];
  const channel = (stream: Duplex) => {
    lines.push(stream);
    return streamChannel(stream);
  };
  const server = await serverIn('server', { channel });
  const line = await tunnel(server.url);
  const { code } = await server.machines.invite();
  const folder = await homeOf(line.url, code);
  const wallet = await walletAtHome(folder);
  const home = await signing(folder);
  await connected(server.machines);
  await unlock(folder);
  return { ...server, folder, home, line, lines, wallet };
}

/** The record of a server on a computer at home that runs no signer for it. */
async function placeOfServer() {
  const { url, machines } = await serverIn('server');
  return readServer(await homeOf(url, (await machines.invite()).code));
}

/** The same payment, with the same approval, from other coins: beside the first one it would pay twice. */
function fromOtherCoins({ plan, withdrawals }: UtxoOrder): UtxoOrder {
  const coins = [0, 1, 2].map((n) => coin('LTC', 50_000_000n, { branch: 0, index: 50 + n, n, network: 'regtest' }));
  const previous = Object.fromEntries(coins.map(({ txid, raw }) => [txid, raw]));
  return { purpose: 'pay', plan: { ...plan, inputs: coins.map((one) => one.coin) }, withdrawals, previous };
}

const isNoSocket = (path: string): boolean => !path.endsWith('.sock');

describe.skipIf(process.platform === 'win32')('a server that answers strangely', () => {
  it.each([
    ['with garbage', 'garbage'],
    ['as one of another release', JSON.stringify({ is: 'refused', code: 'signer.server', message: 'another release' })],
    ['as if the program had been called wrongly', JSON.stringify({ is: 'refused', code: 'params', message: 'no' })],
    ['as if the wallet had said it', JSON.stringify({ is: 'refused', code: 'signer.foreign_address', message: 'no' })],
    ['with a box that it cannot have made', JSON.stringify({ is: 'greeted', key: 'A'.repeat(87), box: 'AAAA' })],
  ])('%s, is left, and is told nothing of the wallet', async (_, answer) => {
    const place = await placeOfServer();
    const heard: string[] = [];
    const strange = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    stage.undo.push(() => strange.close());
    await once(strange, 'listening');
    strange.on('connection', (socket) =>
      socket.on('message', (data) => {
        heard.push(String(data));
        socket.send(answer);
      }),
    );
    const url = `http://127.0.0.1:${(strange.address() as AddressInfo).port}`;
    expect(await codeOf(dial({ ...place, url }, 'signer', ABOUT))).toBe('signer.server');
    expect(heard.map((text) => Object.keys(JSON.parse(text)).sort())).toEqual([['do', 'machine', 'nonce', 'role']]);
  });

  it('stands in the way for a while: the computer goes on when its own server answers again', async () => {
    const { folder, home, machines } = await pair();
    await home.close();
    await away(machines);
    const place = await readServer(folder);
    const strange = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    stage.undo.push(() => strange.close());
    await once(strange, 'listening');
    let greeted = 0;
    strange.on('connection', (socket) =>
      socket.on('message', () => {
        greeted += 1;
        socket.send(JSON.stringify({ is: 'refused', code: 'params', message: 'no' }));
      }),
    );
    await writeServer(folder, { ...place, url: `http://127.0.0.1:${(strange.address() as AddressInfo).port}` });
    await signing(folder);
    await until('it was greeted again', async () => greeted > 2);
    await writeServer(folder, place);
    await connected(machines);
  });

  it.each([
    ['forgotten', forgetServer],
    ['damaged', (folder: string) => writeFile(join(folder, 'server.json'), '{')],
  ])('is not waited for once it is %s on this computer: the signing ends', async (_, lose) => {
    const { folder, home, line } = await pair();
    await lose(folder);
    line.cut();
    expect(await codeOf(home.ended)).toBe('signer.server');
  });

  it('that has no such path, as an older one has not, is asked again later', async () => {
    const place = await placeOfServer();
    const old = createServer((_, response) => response.writeHead(404).end());
    stage.undo.push(() => old.close());
    await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(old.address() as AddressInfo).port}`;
    await expect(dial({ ...place, url }, 'signer', ABOUT)).rejects.toThrow(
      'does not answer: it answers 404. A web server before it must pass WebSockets at /signing-machine',
    );
  });

  it.each([
    ['garbage', (stream: Duplex) => stream.write('{"id":1,"call"\n')],
    ['a line without end', (stream: Duplex) => stream.write(Buffer.alloc(LINE_BYTES_MAX + 2, 0x20))],
  ])(
    'on the open connection with %s, gets no signature by it, and the next order is signed',
    async (_, say) => {
      const { lines, machines, signer } = await pair();
      machines.connect();
      const former = lines.at(-1)!;
      say(former);
      const signed = await until(
        'it signs again',
        () => signer.sign(payment('LTC', ['after'])).catch(() => null),
        30_000,
      );
      expect(signed?.fee).toBe(2_000n);
    },
    60_000,
  );

  it('and reads no answer is asked for none: its requests wait, and fill no memory', async () => {
    let answered = 0;
    const status = { state: 'locked', fingerprint: null, lockAt: null, retryAfterSeconds: 0, wordsUnproved: false };
    const signer = { status: async () => ++answered && status } as unknown as SignerClient;
    const silent = new Duplex({ read() {}, write() {} });
    const serving = serveServer(silent, signer, async () => false);
    for (let id = 0; id < 20_000; id++) silent.push(`{"id":${id},"call":"status"}\n`);
    await until('it waits', async () => silent.writableNeedDrain);
    for (let turns = 0; turns < 100; turns++) await new Promise(setImmediate);
    expect(answered).toBeLessThan(2_000);
    silent.destroy();
    await serving;
  });

  it('with orders of another wallet gets none of them signed', async () => {
    const { signer } = await pair();
    const foreign = payment('LTC', ['foreign']);
    // an input of a key that is not this wallet's
    foreign.plan.inputs[0] = { ...foreign.plan.inputs[0]!, index: foreign.plan.inputs[0]!.index + 1 };
    expect(await codeOf(signer.sign(foreign))).toBe('signer.input');
    const account = payment('LTC', ['account']);
    Object.assign(account.plan, { accountNo: 1 });
    expect(await codeOf(signer.sign(account))).toMatch(/^signer\.(differs|input)$/);
  });
});

describe.skipIf(process.platform === 'win32')('a memory that was lost', () => {
  it('of the server, which plans a payment anew from other coins, pays nothing twice', async () => {
    const { signer } = await pair();
    const order = payment('LTC', ['paid']);
    const first = await signer.sign(order);
    expect(await codeOf(signer.sign(fromOtherCoins(order)))).toBe('signer.conflict');
    expect(await signer.sign(order)).toEqual(first);
  });

  it('of the computer at home, whose record is older than the server, gives the same bytes for what was signed after it', async () => {
    const { folder, home, machines, signer, wallet } = await pair();
    const older = join(stage.root, 'older');
    await signer.sign(payment('LTC', ['before']));
    await cp(wallet, older, { recursive: true, filter: isNoSocket });
    const order = payment('LTC', ['after'], 30_000_000n);
    const first = await signer.sign(order);
    await home.close();
    await away(machines);
    await rm(wallet, { recursive: true });
    await cp(older, wallet, { recursive: true });
    await signing(folder);
    await connected(machines);
    await unlock(folder);
    expect(await signer.sign(order)).toEqual(first);
    expect(await codeOf(signer.sign(fromOtherCoins(order)))).toBe('signer.conflict');
  });
});

describe.skipIf(process.platform === 'win32')('a second computer with a copy of the folder', () => {
  it('is turned away while the first is alive, is told what to do, and takes over once that has gone', async () => {
    const { folder, home, machines, signer } = await pair();
    const order = payment('LTC', ['one']);
    const first = await signer.sign(order);
    const copy = join(stage.root, 'Copy');
    await cp(folder, copy, { recursive: true, filter: isNoSocket });
    await expect(dial(await readServer(copy), 'signer', ABOUT)).rejects.toThrow(
      /Another computer signs for this server already[\s\S]*Stop one of the two/,
    );
    expect(await signer.sign(order)).toEqual(first);
    await home.close();
    await away(machines);
    await signing(copy);
    await connected(machines);
    await unlock(copy);
    // the copy knows what was signed before it was made
    expect(await signer.sign(order)).toEqual(first);
  });
});
