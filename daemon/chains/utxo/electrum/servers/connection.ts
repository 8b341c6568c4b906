/**
 * One connection to one server: JSON-RPC, an object a line, both ways. Requests are sent as they come, several under way at
 * once, each on a line of its own: every server takes that, which not all do of JSON-RPC's batches.
 *
 * Invariant: the memory that a server can occupy is bounded: one line, our own pending requests, and notifications, which
 * are counted and handled at once. After the end no callback is called.
 *
 * Source: the Electrum protocol, versions 1.4 to 1.6 (electrum-protocol.readthedocs.io), "Protocol Basics".
 */
import type { Socket } from 'node:net';
import { ConnectionLost, Misbehaved, ServerRefusal, serverText, TooLong } from './faults.ts';
import { END_BYTES, Lines } from './lines.ts';
import { connect, inWords, isProxied, type TransportOptions } from './transport.ts';

export type Timeouts = {
  /** A request without a complete answer by then ends the connection, even if bytes still arrive. */
  requestMs: number;
  /** If nothing arrives for this long while an answer is due, the server counts as frozen. */
  stallMs: number;
  /** A ping is sent after this time without a request: it notices a frozen server, and keeps the connection open. */
  pingMs: number;
  /** A configured server is tried again within this time, whatever it did, because it may have been repaired. */
  ownRetryMs: number;
};

export const TIMEOUTS: Timeouts = { requestMs: 20_000, stallMs: 4_000, pingMs: 3_000, ownRetryMs: 20_000 };
/** Tor is slow, but a frozen server must be noticed within 15 seconds, possibly after a ping. */
const PROXIED_REQUEST_FACTOR = 4;
const PROXIED_STALL_FACTOR = 2.5;

/** The longest answer: a transaction that fills a block of 4 MB, in hex. */
const LINE_BYTES_MAX = 9 * 1024 * 1024;
/** The longest answer that is skipped: a history of some hundred thousand transactions. */
const SKIPPED_BYTES_MAX = 32 * 1024 * 1024;
/**
 * Values in one message. Parsing one takes some hundred nanoseconds, so that this many block the event loop for a few
 * hundredths of a second. A history of the maximum length has fewer.
 */
const VALUES_MAX = 120_000;
/** A shorter line cannot have too many values. */
const UNCOUNTED_BYTES_MAX = 64 * 1024;
/** Answers waited for at once. */
const OUTSTANDING_MAX = 2_000;
const SWEEP_MS = 250;
/** The window in which notifications are counted. A block may touch every subscribed address. */
const WINDOW_MS = 10_000;
const NOTIFICATIONS_PER_WINDOW_MIN = 1_000;
const NOTIFICATIONS_PER_SUBSCRIPTION = 4;

const PROTOCOL_MIN = '1.4';
const PROTOCOL_MAX = '1.6';
const CLIENT_NAME = 'countinghouse';

type ConnectionEvents = {
  onNotification(method: string, params: readonly unknown[]): void;
  /** Called once when the connection ends, unless it was closed here. */
  onEnd(error: ConnectionLost | Misbehaved): void;
  /** The number of subscriptions, by which a flood of notifications is recognised. */
  subscriptions(): number;
};

type Waiting = { settle: (result: unknown) => void; reject: (error: Error) => void; sentAtMs: number };

/** The request's number, if it comes before the result, and if it comes after. */
const ID_FIRST = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,/;
const ID_LAST = /"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

const [COMMA, BRACKET, BRACE] = [0x2c, 0x5b, 0x7b];

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export class Connection {
  /** The server's software and the agreed version. */
  software = '';
  protocol = '';
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  readonly #timeouts: Timeouts;
  readonly #waiting = new Map<number, Waiting>();
  readonly #lines = new Lines({ bytesMax: LINE_BYTES_MAX, skippedBytesMax: SKIPPED_BYTES_MAX });
  readonly #sweep: NodeJS.Timeout;
  #nextId = 0;
  #lastByteAtMs = performance.now();
  #lastSentAtMs = performance.now();
  #wasLate = false;
  #windowEndsAtMs = 0;
  #notifications = 0;
  #ended: ConnectionLost | Misbehaved | null = null;

  private constructor(socket: Socket, events: ConnectionEvents, timeouts: Timeouts) {
    this.#socket = socket;
    this.#events = events;
    this.#timeouts = timeouts;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.#end(new ConnectionLost(inWords(error))));
    socket.on('close', () => this.#end(new ConnectionLost('it ended the connection')));
    this.#sweep = setInterval(() => this.#look(), Math.min(SWEEP_MS, timeouts.stallMs / 4));
    this.#sweep.unref();
  }

  /**
   * Connects and agrees on a version, with the one `server.version` call that a connection may have. Throws
   * `ConnectionLost` or `Misbehaved`.
   */
  static async open(
    transport: Omit<TransportOptions, 'timeoutMs'>,
    events: ConnectionEvents,
    timeouts: Timeouts,
    signal: AbortSignal,
  ): Promise<Connection> {
    const [requestFactor, stallFactor] = isProxied(transport) ? [PROXIED_REQUEST_FACTOR, PROXIED_STALL_FACTOR] : [1, 1];
    const { requestMs, stallMs } = timeouts;
    const own = { ...timeouts, requestMs: requestMs * requestFactor, stallMs: stallMs * stallFactor };
    const socket = await connect({ ...transport, timeoutMs: own.stallMs }, signal);
    const connection = new Connection(socket, events, own);
    try {
      await connection.#agree();
      signal.throwIfAborted();
    } catch (error) {
      connection.close();
      if (error instanceof ServerRefusal) throw new ConnectionLost(`it refuses us: ${error.message}`);
      throw error;
    }
    return connection;
  }

  /**
   * The result of a call as `read` returns it. `read` is called when the answer arrives, before later messages of the
   * server are processed. Throws `ConnectionLost`, `ServerRefusal`, `TooLong`, `Misbehaved`, and errors of `read`.
   */
  request<T>(method: string, params: readonly unknown[], read: (result: unknown) => T): Promise<T> {
    if (this.#ended) return Promise.reject(this.#ended);
    if (this.#waiting.size >= OUTSTANDING_MAX) {
      this.#end(new ConnectionLost(`${OUTSTANDING_MAX} requests are not answered yet`));
      return Promise.reject(this.#ended);
    }
    const id = this.#nextId++;
    const now = performance.now();
    // requests of one turn of the event loop are sent together
    if (this.#socket.writableCorked === 0) {
      this.#socket.cork();
      process.nextTick(() => this.#socket.uncork());
    }
    this.#socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    this.#lastSentAtMs = now;
    return new Promise((resolve, reject) => {
      const settle = (result: unknown) => {
        try {
          resolve(read(result));
        } catch (error) {
          reject(error);
        }
      };
      this.#waiting.set(id, { settle, reject, sentAtMs: now });
    });
  }

  /** Closes the connection. Pending requests fail. */
  close(): void {
    this.#end(new ConnectionLost('the connection was closed'), false);
  }

  async #agree(): Promise<void> {
    const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
    const versions = [PROTOCOL_MIN, PROTOCOL_MAX];
    const [software, protocol] = await this.request('server.version', [CLIENT_NAME, versions], asList);
    if (typeof protocol !== 'string' || !/^1\.[456](\.\d{1,3})?$/.test(protocol)) {
      throw new ConnectionLost(
        `it speaks no protocol from ${PROTOCOL_MIN} to ${PROTOCOL_MAX}: ${serverText(protocol)}`,
      );
    }
    this.software = serverText(software).slice(0, 60);
    this.protocol = protocol;
  }

  #receive(chunk: Buffer): void {
    this.#lastByteAtMs = performance.now();
    const fits = this.#lines.push(
      chunk,
      (line) => {
        if (!this.#ended) this.#take(line);
      },
      (start, end) => {
        if (!this.#ended) this.#tooLong(start, end);
      },
    );
    if (!fits) this.#end(new Misbehaved(`it sent a line of more than ${SKIPPED_BYTES_MAX} bytes`));
  }

  /** Handles an answer that is not read, by its two ends: servers write the request's number at one of them. */
  #tooLong(start: Buffer, end: Buffer): void {
    const [, id] = ID_FIRST.exec(start.toString('latin1')) ?? ID_LAST.exec(end.toString('latin1')) ?? [];
    const waiting = id === undefined ? undefined : this.#waiting.get(Number(id));
    if (!waiting) {
      this.#end(new Misbehaved('it sent a message that is too long to be read, and answers nothing'));
      return;
    }
    this.#waiting.delete(Number(id));
    waiting.reject(new TooLong('its answer is too long to be read'));
  }

  #take(line: Buffer): void {
    if (line.length > UNCOUNTED_BYTES_MAX && hasTooManyValues(line)) {
      this.#tooLong(line.subarray(0, END_BYTES), line.subarray(-END_BYTES));
      return;
    }
    let message: unknown;
    try {
      message = JSON.parse(line.toString('utf8'));
    } catch {
      message = null;
    }
    if (!isObject(message)) {
      this.#end(new Misbehaved('it sent what is no JSON-RPC'));
    } else if (typeof message.method === 'string') {
      this.#notified(message.method, message.params);
    } else {
      this.#answered(message);
    }
  }

  #notified(method: string, params: unknown): void {
    const now = performance.now();
    if (now >= this.#windowEndsAtMs) {
      this.#windowEndsAtMs = now + WINDOW_MS;
      this.#notifications = 0;
    }
    const max = NOTIFICATIONS_PER_WINDOW_MIN + NOTIFICATIONS_PER_SUBSCRIPTION * this.#events.subscriptions();
    if (++this.#notifications > max) {
      this.#end(new Misbehaved(`it sent more than ${max} notifications in ${WINDOW_MS / 1_000} s`));
    } else if (Array.isArray(params)) {
      this.#events.onNotification(method, params);
    }
  }

  #answered(message: Record<string, unknown>): void {
    const { id, error } = message;
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    if (!waiting) {
      this.#end(new Misbehaved('it answered what nobody asked'));
      return;
    }
    this.#waiting.delete(id as number);
    if (error === undefined || error === null) {
      waiting.settle(message.result);
      return;
    }
    // some servers send only the message, others Core's error as an object
    const { code, message: text } = isObject(error) ? error : { code: 0, message: error };
    waiting.reject(new ServerRefusal(typeof code === 'number' ? code : 0, serverText(text)));
  }

  /** Checks for overdue answers, and sends a ping after a silence. */
  #look(): void {
    const now = performance.now();
    const oldest = this.#waiting.values().next().value;
    if (oldest) {
      const { requestMs, stallMs } = this.#timeouts;
      const silentMs = now - Math.max(this.#lastByteAtMs, oldest.sentAtMs);
      const isLate = silentMs > stallMs || now - oldest.sentAtMs > requestMs;
      // if this process was busy, the answer is already here and will be read before the next check
      if (isLate && this.#wasLate) this.#end(new ConnectionLost('it does not answer in time'));
      this.#wasLate = isLate;
    } else if (now - this.#lastSentAtMs > this.#timeouts.pingMs) {
      this.request('server.ping', [], () => null).catch((error: unknown) => {
        // a refused ping is an answer too
        if (!(error instanceof ServerRefusal)) this.#end(error as ConnectionLost);
      });
    }
  }

  #end(error: ConnectionLost | Misbehaved, tell = true): void {
    if (this.#ended) return;
    this.#ended = error;
    clearInterval(this.#sweep);
    this.#socket.destroy();
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    if (tell) this.#events.onEnd(error);
  }
}

/** Whether a line has more values than allowed: counts the characters that precede a value, also within strings. */
function hasTooManyValues(line: Buffer): boolean {
  let values = 0;
  for (let at = 0; at < line.length; at++) {
    const byte = line[at];
    if ((byte === COMMA || byte === BRACKET || byte === BRACE) && ++values > VALUES_MAX) return true;
  }
  return false;
}
