/** Calls a node while the event loop stands still, so that what a service is doing does not go on meanwhile. */
import { Worker } from 'node:worker_threads';
import type { Json } from '../nodes/evm/anvil.ts';

const ANSWER_BYTES_MAX = 1_000_000;
/** Seconds are not enough where other tests keep the processors busy. */
const WAIT_MS = 120_000;

const ASKING = `
const { parentPort, workerData: { url, shared } } = require('node:worker_threads');
const head = new Int32Array(shared, 0, 2);
parentPort.on('message', async (body) => {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const bytes = Buffer.from(await response.arrayBuffer());
  new Uint8Array(shared, 8).set(bytes);
  head[1] = bytes.length;
  Atomics.store(head, 0, 1);
  Atomics.notify(head, 0);
});
`;

export class HeldLine {
  readonly #shared = new SharedArrayBuffer(8 + ANSWER_BYTES_MAX);
  readonly #worker: Worker;
  /** The call whose answer may still come: a later call would take it for its own. */
  #unanswered = '';

  constructor(url: string) {
    this.#worker = new Worker(ASKING, { eval: true, workerData: { url, shared: this.#shared } });
  }

  /** The answer to a call. Throws if it is an error. */
  ask(method: string, params: Json[] = []): Json {
    if (this.#unanswered) throw new Error(`the node did not answer ${this.#unanswered}, so ${method} was not asked`);
    const head = new Int32Array(this.#shared, 0, 2);
    Atomics.store(head, 0, 0);
    this.#worker.postMessage(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    if (Atomics.wait(head, 0, 0, WAIT_MS) === 'timed-out') {
      this.#unanswered = method;
      throw new Error(`the node did not answer ${method}`);
    }
    const text = Buffer.from(this.#shared, 8, head[1]).toString('utf8');
    const { result, error } = JSON.parse(text) as { result: Json; error?: { message: string } };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
