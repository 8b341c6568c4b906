/** Hints over a WebSocket, from servers that behave, flood, send too much, or end at once. */
import { createHash } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Heads } from '../../../daemon/chains/evm/heads.ts';
import { type SocketUrl, sortedUrls } from '../../../daemon/chains/evm/urls.ts';
import { until } from '../../adapters/conformance.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const HEAD = JSON.stringify({
  jsonrpc: '2.0',
  method: 'eth_subscription',
  params: { subscription: '0x1', result: {} },
});

/** A server's text frame (RFC 6455, 5.2). */
function frame(text: string): Buffer {
  const body = Buffer.from(text);
  const long = Buffer.alloc(10);
  long.set([0x81, 127]);
  long.writeBigUInt64BE(BigInt(body.length), 2);
  return Buffer.concat([body.length < 126 ? Buffer.from([0x81, body.length]) : long, body]);
}

let server: http.Server;
let sockets: Duplex[];
let connections: number;
let behave: (socket: Duplex) => void;
let heads: Heads | null = null;
let hints: number;

beforeEach(async () => {
  sockets = [];
  connections = 0;
  hints = 0;
  behave = () => {};
  server = http.createServer();
  server.on('upgrade', (request, socket) => {
    connections++;
    sockets.push(socket);
    socket.on('error', () => {});
    const key = createHash('sha1').update(`${request.headers['sec-websocket-key']}${GUID}`).digest('base64');
    const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
    socket.write(`${[...head, `Sec-WebSocket-Accept: ${key}`].join('\r\n')}\r\n\r\n`);
    behave(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  heads?.close();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const url = (): SocketUrl => {
  const [found] = sortedUrls([`ws://127.0.0.1:${(server.address() as AddressInfo).port}`]).sockets;
  return found!;
};
const listen = (): void => {
  heads = new Heads(url(), () => hints++);
  heads.start();
};

describe('hints over a WebSocket', () => {
  it('subscribes, and passes a head on, but not the answer to the subscription', async () => {
    let told = '';
    behave = (socket) => {
      socket.on('data', (data: Buffer) => {
        told += data.length;
        socket.write(frame('{"jsonrpc":"2.0","id":1,"result":"0x1"}'));
      });
    };
    listen();
    await until(async () => told !== '', 'the subscription');
    expect(hints).toBe(0);
    sockets[0]!.write(frame(HEAD));
    await until(async () => hints === 1, 'the hint');
  });

  it('connects again after an end', async () => {
    behave = (socket) => {
      if (connections === 1) socket.destroy();
      else socket.write(frame(HEAD));
    };
    listen();
    await until(async () => hints === 1, 'the hint of the second connection', 5_000);
    expect(connections).toBe(2);
  });

  it.each<{ what: string; send: (socket: Duplex) => void; most: number }>([
    {
      what: 'a flood of heads',
      most: 3,
      send: (socket) => {
        for (let i = 0; i < 5_000; i++) socket.write(frame(HEAD));
      },
    },
    { what: 'a message of a megabyte', most: 0, send: (socket) => socket.write(frame('x'.repeat(1_000_000))) },
  ])('leaves a server that sends $what', async ({ send, most }) => {
    let heard = Buffer.alloc(0);
    behave = (socket) => {
      socket.on('data', (data: Buffer) => {
        heard = Buffer.concat([heard, data]);
      });
      send(socket);
    };
    listen();
    // the frame that closes has the opcode 8 (RFC 6455, 5.5.1); the subscription came before it
    await until(async () => heard.includes(0x88), 'the end of the connection', 5_000);
    const before = hints;
    sockets[0]!.write(frame(HEAD));
    await new Promise((resolve) => setImmediate(resolve));
    expect(before).toBeLessThanOrEqual(most);
    expect([hints, connections]).toEqual([before, 1]);
  });

  it('connects again after garbage', async () => {
    behave = (socket) => socket.write(connections === 1 ? Buffer.alloc(1_000, 0xff) : frame(HEAD));
    listen();
    await until(async () => hints === 1, 'the hint of the second connection', 5_000);
  });

  it('is quiet after it was closed', async () => {
    let ended = false;
    behave = (socket) => {
      socket.on('data', (data: Buffer) => {
        if (data.includes(0x88)) ended = true;
      });
      socket.write(frame(HEAD));
    };
    listen();
    await until(async () => hints === 1, 'the first hint');
    heads!.close();
    await until(async () => ended, 'the end');
    sockets[0]!.write(frame(HEAD));
    await new Promise((resolve) => setImmediate(resolve));
    heads!.start();
    expect([hints, connections]).toEqual([1, 1]);
  });
});
