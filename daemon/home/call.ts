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

/** Each call has a connection of its own. Its calls throw as `operatorClient` and as `dial`. */
export function serverClient(folder: string, release: string): Call {
  return async (method, params) => {
    const server = await readServer(folder);
    const stream = await dial(server, 'operator', await aboutOf(walletFolderIn(folder), release));
    try {
      stream.write(`${JSON.stringify({ method, params })}\n`);
      const { status, body } = await answered(stream);
      return answerOf(method, status, body);
    } finally {
      stream.destroy();
    }
  };
}

async function answered(stream: Duplex) {
  const timer = setTimeout(() => stream.destroy(), ANSWER_MS);
  try {
    for await (const line of readLines(stream, ANSWER_BYTES_MAX)) return MachineAnswer.parse(JSON.parse(line));
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
