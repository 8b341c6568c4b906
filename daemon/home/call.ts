/** The operator API of a server, called from home. */
import type { Duplex } from 'node:stream';
import { answerOf, timeoutOf } from '../contract/client.ts';
import { type Call, type Method, type Params, type Result, rulesOf } from '../contract/operator.ts';
import { ANSWER_BYTES_MAX, MachineAnswer } from '../contract/signing-machine.ts';
import { Unavailable } from '../domain/errors.ts';
import { readLines } from '../wallet/signer/lines.ts';
import { aboutOf } from './about.ts';
import { dial } from './dial.ts';
import { readServer, type Server, walletFolderIn } from './place.ts';

const ANSWER_MS = 120_000;
const RETRY_SECONDS = 5;

/** Each call opens its own connection. Its calls throw as `operatorClient` and as `dial`. */
export function serverClient(folder: string, release: string): Call {
  return (method, params) => withServer(folder, release, (call) => call(method, params));
}

/** Calls one method after the other over one connection. They throw as `operatorClient` and as `dial`. `server`: that answers. */
export async function withServer<T>(
  folder: string,
  release: string,
  use: (call: Call, server: Server) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const line = await openLine(folder, release, signal);
  if (signal?.aborted) line.close();
  signal?.addEventListener('abort', line.close);
  try {
    return await use(line.call, line.server);
  } finally {
    signal?.removeEventListener('abort', line.close);
    line.close();
  }
}

/** A connection. `call`: one method after the other; `isOpen`: whether the next one may use it. */
type Line = { server: Server; call: Call; isOpen(): boolean; close(): void };

async function openLine(folder: string, release: string, signal?: AbortSignal): Promise<Line> {
  const server = await readServer(folder);
  const stream = await dial(server, 'operator', await aboutOf(walletFolderIn(folder), release), signal);
  // told by the call that waits
  stream.on('error', () => {});
  const lines = readLines(stream, ANSWER_BYTES_MAX);
  return {
    server,
    call: async (method, params) => {
      if (stream.writable) stream.write(`${JSON.stringify({ method, params })}\n`);
      const { status, body } = await answered(stream, lines, timeoutOf(method, ANSWER_MS));
      return answerOf(method, status, body);
    },
    isOpen: () => stream.writable,
    close: () => void stream.destroy(),
  };
}

async function answered(stream: Duplex, lines: AsyncIterator<string>, ms: number) {
  const timer = setTimeout(() => stream.destroy(), ms);
  try {
    const { value, done } = await lines.next();
    if (!done) return MachineAnswer.parse(JSON.parse(value));
  } catch {
    // told below
  } finally {
    clearTimeout(timer);
  }
  stream.destroy();
  throw new Unavailable(
    'The connection to the server ended before its answer: look whether it was done',
    RETRY_SECONDS,
  );
}

/** Fewer than a server takes, with room for another program of this computer. */
const LINES_MAX = 6;
const IDLE_MS = 60_000;

/** Calls over connections that stay open for a while, for a program that shows a whole console. */
export class ServerCalls {
  readonly #open: () => Promise<Line>;
  readonly #idle: { line: Line; timer: NodeJS.Timeout }[] = [];
  readonly #waiting: (() => void)[] = [];
  #used = 0;
  #renewals = 0;

  constructor(folder: string, release: string) {
    this.#open = () => openLine(folder, release);
  }

  /** Its calls throw as `operatorClient` and as `dial`. A reading one is tried again where a kept connection had ended unnoticed. */
  readonly call: Call = async (method, params) => {
    while (this.#used >= LINES_MAX) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#used += 1;
    const at = this.#renewals;
    try {
      const kept = this.#kept();
      if (kept === null) return await this.#over(await this.#open(), at, method, params);
      try {
        return await this.#over(kept, at, method, params);
      } catch (error) {
        if (!(error instanceof Unavailable) || rulesOf(method).does !== 'reads') throw error;
        return await this.#over(await this.#open(), at, method, params);
      }
    } finally {
      this.#used -= 1;
      this.#waiting.shift()?.();
    }
  };

  /** Ends the connections: those in use after their call. The next call opens another, which tells the server of this computer anew. */
  renew(): void {
    this.#renewals += 1;
    for (const { line, timer } of this.#idle.splice(0)) {
      clearTimeout(timer);
      line.close();
    }
  }

  #kept(): Line | null {
    for (let one = this.#idle.pop(); one; one = this.#idle.pop()) {
      clearTimeout(one.timer);
      if (one.line.isOpen()) return one.line;
    }
    return null;
  }

  /** `at`: how many renewals there had been when the call began. */
  async #over<M extends Method>(line: Line, at: number, method: M, params: Params<M>): Promise<Result<M>> {
    try {
      return await line.call(method, params);
    } finally {
      if (at === this.#renewals) this.#keep(line);
      else line.close();
    }
  }

  #keep(line: Line): void {
    if (!line.isOpen()) return;
    const timer = setTimeout(() => {
      const at = this.#idle.findIndex((one) => one.line === line);
      if (at >= 0) this.#idle.splice(at, 1);
      line.close();
    }, IDLE_MS);
    timer.unref();
    this.#idle.push({ line, timer });
  }
}
