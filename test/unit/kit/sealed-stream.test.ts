/** The stream between a server and its signing machine: what a liar on the way, or one at its other end, can do to it. */
import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { say } from '../../../daemon/kit/async.ts';
import { Inbox, SOCKET_OPTIONS, sealedStream } from '../../../daemon/kit/sealed-stream.ts';
import { until } from '../../support/until.ts';

/** A socket whose other end is the test. */
class Line extends EventEmitter {
  isPaused = false;
  isEnded = false;
  /** Messages that were sent while it was paused. */
  readonly held: [Buffer, boolean][] = [];
  say(data: Buffer, isBinary = true): void {
    if (this.isPaused) this.held.push([data, isBinary]);
    else this.emit('message', data, isBinary);
  }
  pause(): void {
    this.isPaused = true;
  }
  resume(): void {
    this.isPaused = false;
    while (!this.isPaused && this.held.length > 0) this.emit('message', ...this.held.shift()!);
  }
  /** Takes nothing. */
  isSlow = false;
  bufferedAmount = 0;
  pongs = 0;
  pong(): void {
    this.pongs += 1;
  }
  send(_: Uint8Array, _options: object, done: () => void): void {
    if (!this.isSlow) done();
  }
  terminate(): void {
    this.isEnded = true;
    this.emit('close');
  }
  close(): void {
    this.terminate();
  }
}

/** A box names its number, and opens for that one alone. */
const box = (number: number, text: string): Buffer => Buffer.from(`${number} ${text}`);
const boxes = {
  seal: async (_: string, number: number, plain: Uint8Array) =>
    new Uint8Array(box(number, Buffer.from(plain).toString())),
  open: async (_: string, number: number, sealed: Uint8Array) => {
    const [, of, text = ''] = /^(\d+) ([\s\S]*)$/.exec(Buffer.from(sealed).toString()) ?? [];
    return Number(of) === number ? new Uint8Array(Buffer.from(text)) : null;
  },
};

function connection() {
  const line = new Line();
  const stream = sealedStream(new Inbox(line as unknown as WebSocket), boxes, 2);
  return { line, stream };
}

it('gives what comes in its order', async () => {
  const { line, stream } = connection();
  for (const [i, text] of ['one ', 'two ', 'three'].entries()) line.say(box(2 + i, text));
  let heard = '';
  stream.on('data', (data: Buffer) => {
    heard += data.toString();
  });
  await until('all was heard', async () => heard === 'one two three');
  expect(line.isEnded).toBe(false);
});

it.each<[string, Buffer, boolean]>([
  ['repeated', box(2, 'one'), true],
  ['left out', box(4, 'three'), true],
  ['altered', Buffer.from('garbage'), true],
  ['in clear', box(3, 'two'), false],
])('ends with a box that was %s, of which nothing is heard', async (_, second, isBinary) => {
  const { line, stream } = connection();
  let heard = '';
  stream.on('data', (data: Buffer) => {
    heard += data.toString();
  });
  const ended = once(stream, 'close');
  line.say(box(2, 'one'));
  line.say(second, isBinary);
  await expect(ended).rejects.toThrow('no box of this connection');
  expect([heard, line.isEnded]).toEqual(['one', true]);
});

it('reads no further than somebody wants, so that endless frames fill no memory', async () => {
  const { line, stream } = connection();
  const large = 'x'.repeat(60_000);
  for (let i = 0; i < 100; i++) line.say(box(2 + i, large));
  await until('the socket is paused', async () => line.isPaused);
  expect(stream.readableLength).toBeLessThanOrEqual(2 * large.length);
  expect(line.held.length).toBeGreaterThan(95);
  let heard = 0;
  stream.on('data', (data: Buffer) => {
    heard += data.length;
  });
  await until('all was heard', async () => heard === 100 * large.length);
});

it.each([
  ['and takes no answer', 1_000_000, 2],
  ['faster than anybody needs them', 0, 1_000],
])('ends with one who asks for signs of life %s', (_, bufferedAmount, asked) => {
  const { line } = connection();
  line.bufferedAmount = bufferedAmount;
  for (let n = 0; n < asked && !line.isEnded; n++) line.emit('ping', Buffer.alloc(0));
  expect(line.isEnded).toBe(true);
  expect(line.pongs).toBeLessThanOrEqual(bufferedAmount > 0 ? 0 : 300);
});

it('answers those who ask for signs of life now and then', () => {
  const { line } = connection();
  for (let n = 0; n < 150; n++) line.emit('ping', Buffer.alloc(0));
  expect([line.isEnded, line.pongs]).toEqual([false, 150]);
});

it('ends with one who sends signs of life without end and reads no answer: they fill no memory', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', ...SOCKET_OPTIONS });
  await once(server, 'listening');
  let most = 0;
  let isOver = false;
  server.on('connection', (socket) => {
    new Inbox(socket).next().catch(() => {});
    socket.on('ping', () => {
      most = Math.max(most, socket.bufferedAmount);
    });
    socket.on('close', () => {
      isOver = true;
    });
  });
  const silent: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  silent.on('error', () => {});
  silent.write(
    'GET / HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  silent.pause();
  // RFC 6455: a ping of 125 bytes, masked with zeros
  const pings = Buffer.concat(Array.from({ length: 1_000 }, () => Buffer.concat([PING_HEAD, Buffer.alloc(4 + 125)])));
  for (let sent = 0; sent < 400 && !isOver && !silent.destroyed; sent++) {
    if (!silent.write(pings)) await Promise.race([once(silent, 'drain'), once(silent, 'close')]).catch(() => {});
  }
  await until('the connection has ended', async () => isOver, 20_000);
  expect(most).toBeLessThan(1_000_000);
  silent.destroy();
  server.close();
});

const PING_HEAD = Buffer.from([0x89, 0x80 | 125]);

it('waits with the next answer until the one before was taken', async () => {
  const { line, stream } = connection();
  line.isSlow = true;
  let said = 0;
  const saying = (async () => {
    for (; said < 1_000; said++) await say(stream, 'x'.repeat(1_000));
  })();
  await until('nothing more is said', async () => stream.writableNeedDrain);
  const before = said;
  await new Promise(setImmediate);
  expect([said, stream.writableLength]).toEqual([before, before * 1_000 + 1_000]);
  expect(before).toBeLessThan(100);
  stream.destroy();
  await saying;
});
