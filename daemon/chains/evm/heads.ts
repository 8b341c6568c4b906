/**
 * Hints about new blocks over a WebSocket (`eth_subscribe`, "newHeads"). A hint makes the poller ask at once. Its
 * content is not used, so a silent or false server costs only time. Payments are in blocks, so a subscription to logs
 * would report nothing more.
 */
import type { SocketUrl } from './urls.ts';

const RETRY_MS = 1_000;
const RETRY_MS_MAX = 60_000;
/** After this time without a block the connection may be dead. */
const SILENT_MS_MAX = 120_000;
/** The minimum time between two hints: no chain has faster blocks. */
const HINT_MS_MIN = 100;
/** A head has about 2 kB. */
const MESSAGE_CHARS_MAX = 65_536;
/** The messages of one connection between two checks of the clock; more are a flood. */
const MESSAGES_PER_SECOND_MAX = 50;
/** The wait after a flood or an oversized message. The other side may keep such a connection open, so few are begun. */
const LEFT_WAIT_MS = 10 * 60_000;
const LEFT_MAX = 10;
const SUBSCRIBE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] });

export class Heads {
  readonly #url: SocketUrl;
  readonly #hint: () => void;
  #socket: WebSocket | null = null;
  #timer: NodeJS.Timeout | null = null;
  #failures = 0;
  #hintedAtMs = Number.NEGATIVE_INFINITY;
  #second = 0;
  #messages = 0;
  #left = 0;
  #closed = false;

  constructor(url: SocketUrl, hint: () => void) {
    this.#url = url;
    this.#hint = hint;
  }

  /** Connects, and again after every end of the connection. */
  start(): void {
    if (this.#closed || this.#socket) return;
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    socket.addEventListener('open', () => socket.send(SUBSCRIBE));
    socket.addEventListener('message', ({ data }) => this.#heard(socket, data));
    // an error is always followed by a close
    socket.addEventListener('error', () => {});
    socket.addEventListener('close', () => this.#retry(socket));
    this.#expect(socket);
  }

  close(): void {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    this.#socket?.close();
    this.#socket = null;
  }

  #heard(socket: WebSocket, data: unknown): void {
    if (this.#closed || this.#socket !== socket) return;
    const now = performance.now();
    const second = Math.floor(now / 1_000);
    this.#messages = second === this.#second ? this.#messages + 1 : 1;
    this.#second = second;
    const isFlood = this.#messages > MESSAGES_PER_SECOND_MAX;
    if (isFlood || typeof data !== 'string' || data.length > MESSAGE_CHARS_MAX) {
      this.#leave(socket);
      return;
    }
    // the answer to the subscription is no head
    if (!data.includes('eth_subscription')) return;
    this.#failures = 0;
    this.#expect(socket);
    if (now - this.#hintedAtMs < HINT_MS_MIN) return;
    this.#hintedAtMs = now;
    this.#hint();
  }

  /** Ends the connection when nothing comes for long. */
  #expect(socket: WebSocket): void {
    this.#wait(SILENT_MS_MAX, () => this.#leave(socket, RETRY_MS_MAX));
  }

  /** Ends a connection from this side, without waiting for the other one to agree. */
  #leave(socket: WebSocket, waitMs = LEFT_WAIT_MS): void {
    this.#socket = null;
    socket.close();
    if (++this.#left > LEFT_MAX) this.close();
    else this.#wait(waitMs, () => this.start());
  }

  #retry(socket: WebSocket): void {
    if (this.#closed || this.#socket !== socket) return;
    this.#socket = null;
    const waitMs = Math.min(RETRY_MS * 2 ** this.#failures, RETRY_MS_MAX);
    if (waitMs < RETRY_MS_MAX) this.#failures++;
    this.#wait(waitMs, () => this.start());
  }

  #wait(ms: number, then: () => void): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(then, ms);
    this.#timer.unref();
  }
}
