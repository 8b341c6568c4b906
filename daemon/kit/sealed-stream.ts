/**
 * A stream of bytes through the boxes of a channel, one box in each message of a WebSocket.
 *
 * Invariant: boxes are numbered in each direction, so one that was altered, left out, repeated or moved ends the connection. The
 * other side can fill no memory: a message has a limit, and is read when there is room; signs of life that nobody takes end it. It can use up
 * no time: messages and bytes have a pace, above which reading waits, and signs of life one, above which it ends. Sockets are made with
 * `SOCKET_OPTIONS`.
 */
import { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

type Bytes = Uint8Array<ArrayBuffer>;
/** A channel of contract/console-channel.ts. */
type Boxes = {
  seal(path: string, number: number, plain: Bytes): Promise<Bytes>;
  open(path: string, number: number, box: Bytes): Promise<Bytes | null>;
};

/** Of the plain bytes in a box. */
const PIECE_BYTES_MAX = 65_536;
const TAG_BYTES = 16;
/** The longest message of a WebSocket that is a box. */
export const MESSAGE_BYTES_MAX = PIECE_BYTES_MAX + TAG_BYTES;

/** The bytes that may wait for one who sends signs of life and reads no answers. */
const UNREAD_BYTES_MAX = 4 * MESSAGE_BYTES_MAX;
/** Of the WebSockets that an `Inbox` reads, which answers signs of life itself. */
export const SOCKET_OPTIONS = { perMessageDeflate: false, maxPayload: MESSAGE_BYTES_MAX, autoPong: false } as const;

const SECOND_MS = 1_000;
/** A sealed order is one message or more. */
const MESSAGES_PER_SECOND = 500;
const BYTES_PER_SECOND = 16 * 1_048_576;
/** An honest side asks for one every two seconds at most, and a paused one finds those of minutes at once. */
const PINGS_PER_SECOND = 50;
/** Of the pace, how many seconds may come at once. */
const BURST_SECONDS = 4;

const BOX_PATH = '/box';

/** A pace, and how much of it is left. */
class Pace {
  readonly #perSecond: number;
  #left: number;
  #at = performance.now();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond * BURST_SECONDS;
  }

  /** Takes an amount; returns for how long to wait before the next one, in milliseconds. */
  take(amount: number): number {
    const now = performance.now();
    const earned = ((now - this.#at) / SECOND_MS) * this.#perSecond;
    this.#left = Math.min(this.#left + earned, this.#perSecond * BURST_SECONDS) - amount;
    this.#at = now;
    return this.#left >= 0 ? 0 : (-this.#left / this.#perSecond) * SECOND_MS;
  }
}

type Message = { data: Buffer; isBinary: boolean };

/** The messages of a socket in their order, read when they are wanted. */
export class Inbox {
  readonly socket: WebSocket;
  readonly #waiting: Message[] = [];
  #wanted: ((message: Message | null) => void) | null = null;
  #isOver = false;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      const message = { data, isBinary };
      if (this.#wanted) this.#give(message);
      else {
        this.#waiting.push(message);
        socket.pause();
      }
    });
    const pings = new Pace(PINGS_PER_SECOND);
    socket.on('ping', (data: Buffer) => {
      if (socket.bufferedAmount > UNREAD_BYTES_MAX || pings.take(1) > 0) socket.terminate();
      else socket.pong(data);
    });
    // 'close' follows
    socket.on('error', () => {});
    socket.once('close', () => {
      this.#isOver = true;
      this.#give(null);
    });
  }

  /** The next message; null: the socket is closed, or nothing came in time. One caller at a time. */
  next(ms?: number): Promise<Message | null> {
    const waiting = this.#waiting.shift();
    if (waiting) return Promise.resolve(waiting);
    if (this.#isOver) return Promise.resolve(null);
    const { promise, resolve } = Promise.withResolvers<Message | null>();
    const timer = ms === undefined ? undefined : setTimeout(() => this.#give(null), ms);
    this.#wanted = (message) => {
      clearTimeout(timer);
      resolve(message);
    };
    if (this.socket.isPaused) this.socket.resume();
    return promise;
  }

  #give(message: Message | null): void {
    const wanted = this.#wanted;
    this.#wanted = null;
    wanted?.(message);
  }
}

/** `next`: the number of the first box in each direction. The stream ends with the socket. */
export function sealedStream(inbox: Inbox, channel: Boxes, next: number): Duplex {
  const { socket } = inbox;
  let [sent, received] = [next, next];
  const [messages, bytes] = [new Pace(MESSAGES_PER_SECOND), new Pace(BYTES_PER_SECOND)];
  let room = Promise.withResolvers<void>();
  const seal = async (piece: Uint8Array): Promise<void> => {
    const box = await channel.seal(BOX_PATH, sent++, new Uint8Array(piece));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.send(box, { binary: true }, (error) => (error ? reject(error) : resolve()));
    await promise;
  };
  const stream = new Duplex({
    allowHalfOpen: false,
    read() {
      room.resolve();
    },
    write(chunk: Buffer, _, done) {
      const all = async (): Promise<void> => {
        for (let from = 0; from < chunk.length; from += PIECE_BYTES_MAX) {
          await seal(chunk.subarray(from, from + PIECE_BYTES_MAX));
        }
      };
      all().then(() => done(), done);
    },
    final(done) {
      socket.close();
      done();
    },
    destroy(error, done) {
      socket.terminate();
      done(error);
    },
  });
  const receive = async (): Promise<void> => {
    for (let message = await inbox.next(); message && !stream.destroyed; message = await inbox.next()) {
      const box = new Uint8Array(message.data);
      const plain = message.isBinary ? await channel.open(BOX_PATH, received++, box) : null;
      if (plain === null) throw new Error('the other side sent what is no box of this connection');
      const waitMs = Math.max(messages.take(1), bytes.take(box.length));
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      if (stream.destroyed) return;
      room = Promise.withResolvers();
      if (!stream.push(plain)) await room.promise;
    }
    if (!stream.destroyed) stream.push(null);
  };
  // whoever reads is told by the end; without a listener an error would end the process
  stream.on('error', () => {});
  stream.once('close', () => room.resolve());
  receive().catch((error: Error) => stream.destroy(error));
  return stream;
}
