/** The operator API of a server, called from home. */
import type { Duplex } from 'node:stream';
import { answerOf } from '../contract/client.ts';
import type { Call } from '../contract/operator.ts';
import { ANSWER_BYTES_MAX, MachineAnswer } from '../contract/signing-machine.ts';
import { Unavailable } from '../domain/errors.ts';
import { readLines } from '../wallet/signer/lines.ts';
import { aboutOf } from './about.ts';
import { dial } from './dial.ts';
import { readServer, walletFolderIn } from './place.ts';

const ANSWER_MS = 120_000;
const RETRY_SECONDS = 5;

/** Each call opens its own connection. Its calls throw as `operatorClient` and as `dial`. */
export function serverClient(folder: string, release: string): Call {
  return (method, params) => withServer(folder, release, (call) => call(method, params));
}

/** Calls one method after the other over one connection. They throw as `operatorClient` and as `dial`. */
export async function withServer<T>(
  folder: string,
  release: string,
  use: (call: Call) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const server = await readServer(folder);
  const stream = await dial(server, 'operator', await aboutOf(walletFolderIn(folder), release));
  const end = () => stream.destroy();
  if (signal?.aborted) end();
  signal?.addEventListener('abort', end);
  // told by the call that waits
  stream.on('error', () => {});
  const lines = readLines(stream, ANSWER_BYTES_MAX);
  try {
    return await use(async (method, params) => {
      if (stream.writable) stream.write(`${JSON.stringify({ method, params })}\n`);
      const { status, body } = await answered(stream, lines);
      return answerOf(method, status, body);
    });
  } finally {
    signal?.removeEventListener('abort', end);
    stream.destroy();
  }
}

async function answered(stream: Duplex, lines: AsyncIterator<string>) {
  const timer = setTimeout(() => stream.destroy(), ANSWER_MS);
  try {
    const { value, done } = await lines.next();
    if (!done) return MachineAnswer.parse(JSON.parse(value));
  } catch {
    // told below
  } finally {
    clearTimeout(timer);
  }
  throw new Unavailable(
    'The connection to the server ended before its answer: look whether it was done',
    RETRY_SECONDS,
  );
}
