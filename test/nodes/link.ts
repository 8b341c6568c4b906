/**
 * A link of some length between a client and a server on this machine: a TCP proxy that delays, scatters and throttles
 * what goes through it, in both directions. Bytes keep their order, as on every TCP connection.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { listening } from './listening.ts';

/** What a link is like. It may be changed while connections are open. */
export type Line = {
  /** Milliseconds that each direction takes: a round trip takes twice as long. */
  latencyMs: number;
  /** Up to so many milliseconds more, by chance for each piece. Default 0. */
  jitterMs?: number;
  /** Bytes per second in each direction. Default: without a limit. */
  bytesPerSecond?: number;
};

/** Lengths at which a client must work alike: the same machine, the same continent, another one, Tor. */
export const LATENCIES_MS = [0, 40, 150, 600] as const;

/** A link of this latency with the jitter of such a link: half of it. */
export const lineOf = (latencyMs: number): Line => ({ latencyMs, jitterMs: latencyMs / 2 });

/** Bytes on their way in one direction; beyond them the sender is not read from. */
const UNDER_WAY_BYTES_MAX = 4_000_000;
/** A throttled link passes on pieces of this size. */
const PIECE_BYTES = 4_096;

type Piece = { bytes: Buffer | null; atMs: number };

/** One direction of one connection. */
class Direction {
  readonly #line: () => Line;
  readonly #from: Socket;
  readonly #to: Socket;
  #pieces: Piece[] = [];
  #bytes = 0;
  /** When the throttled sender has sent what it was given. */
  #freeAtMs = 0;
  #lastAtMs = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(from: Socket, to: Socket, line: () => Line) {
    this.#from = from;
    this.#to = to;
    this.#line = line;
    from.on('data', (bytes: Buffer) => this.#take(bytes));
    from.on('end', () => this.#put(null));
    from.on('close', () => this.#put(null));
    to.on('drain', () => this.#pass());
  }

  #take(bytes: Buffer): void {
    // Nobody is there any more; what comes the other way still arrives.
    if (this.#to.destroyed) return;
    const { bytesPerSecond } = this.#line();
    const step = bytesPerSecond ? PIECE_BYTES : bytes.length;
    for (let at = 0; at < bytes.length; at += step) this.#put(bytes.subarray(at, at + step));
    if (this.#bytes > UNDER_WAY_BYTES_MAX) this.#from.pause();
  }

  #put(bytes: Buffer | null): void {
    if (this.#pieces.at(-1)?.bytes === null) return;
    const { latencyMs, jitterMs = 0, bytesPerSecond } = this.#line();
    const length = bytes?.length ?? 0;
    const sendMs = bytesPerSecond ? (length / bytesPerSecond) * 1_000 : 0;
    this.#freeAtMs = Math.max(performance.now(), this.#freeAtMs) + sendMs;
    this.#lastAtMs = Math.max(this.#lastAtMs, this.#freeAtMs + latencyMs + jitterMs * Math.random());
    this.#pieces.push({ bytes, atMs: this.#lastAtMs });
    this.#bytes += length;
    if (!this.#timer) this.#pass();
  }

  /** Hands on what has arrived. */
  #pass(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const now = performance.now();
    for (let piece = this.#pieces[0]; piece && piece.atMs <= now; piece = this.#pieces[0]) {
      if (this.#to.writableNeedDrain) return;
      this.#pieces.shift();
      if (this.#to.destroyed) continue;
      if (piece.bytes === null) this.#to.end();
      else this.#to.write(piece.bytes);
      this.#bytes -= piece.bytes?.length ?? 0;
    }
    if (this.#bytes <= UNDER_WAY_BYTES_MAX && this.#from.isPaused()) this.#from.resume();
    const next = this.#pieces[0];
    if (next) this.#timer = setTimeout(() => this.#pass(), next.atMs - now);
  }
}

export class Link {
  line: Line;
  /** The port that a client connects to. */
  readonly port: number;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  #toPort: number | null;

  private constructor(server: Server, port: number, toPort: number, line: Line) {
    this.#server = server;
    this.port = port;
    this.#toPort = toPort;
    this.line = line;
    server.on('connection', (near) => this.#join(near));
  }

  /** A link to a server on a port of this machine. */
  static async start(toPort: number, line: Line, port = 0): Promise<Link> {
    const server = createServer({ allowHalfOpen: true });
    return new Link(server, await listening(server, port), toPort, line);
  }

  /** Leads to a server on this port from now on. */
  open(toPort: number): void {
    this.#toPort = toPort;
  }

  /** Cuts every connection, and every new one at once, until `open`. The port is kept: nobody else gets it meanwhile. */
  cut(): void {
    this.#toPort = null;
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  #join(near: Socket): void {
    if (this.#toPort === null) {
      near.resetAndDestroy();
      return;
    }
    const far = connect({ port: this.#toPort, host: '127.0.0.1', allowHalfOpen: true });
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#sockets.delete(socket));
    }
    new Direction(near, far, () => this.line);
    new Direction(far, near, () => this.line);
  }
}
