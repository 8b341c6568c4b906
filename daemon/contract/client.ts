/**
 * The operator API's client, for the command line and the desktop shell. It reads the address and the token from the
 * data directory at each call, so that it finds a daemon that was restarted.
 *
 * Invariant: nothing is sent, the token included, before the other side has proved that it knows the token of this
 * start. The request uses the connection of that proof. Every answer is checked against the contract before a caller
 * gets it.
 */
import { readFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import {
  type Call,
  ErrorBody,
  type Method,
  OPERATOR,
  OPERATOR_FILE,
  OPERATOR_PATH,
  OperatorFile,
  type Params,
  type Result,
} from './operator.ts';
import { CHALLENGE_HEADER, isProof, newChallenge, PROOF_PATH } from './proof.ts';

/** A resend waits up to ten seconds for the shop's server; every other method is faster. */
const TIMEOUT_MS = 30_000;
/** For methods that copy the database or make a node read all of its coins. */
const SLOW_TIMEOUT_MS = 3_600_000;
const SLOW_METHODS: readonly string[] = ['backup.make', 'ledger.adopt', 'ledger.prove', 'maintenance.free'];
/** How long an answer may take, milliseconds. `fastMs`: of any other method. */
export const timeoutOf = (method: string, fastMs = TIMEOUT_MS): number =>
  SLOW_METHODS.includes(method) ? SLOW_TIMEOUT_MS : fastMs;
const ANSWER_BYTES_MAX = 16 * 1_048_576;

/** An error answer of the daemon. `code` is for programs, `message` for people. */
export class OperatorError extends Error {
  readonly status: number;
  readonly code: string;
  readonly field: string | undefined;

  constructor(status: number, { code, message, field }: ErrorBody['error']) {
    super(message);
    this.name = 'OperatorError';
    this.status = status;
    this.code = code;
    this.field = field;
  }
}

export class NoDaemon extends Error {
  readonly dataDir: string;

  constructor(dataDir: string) {
    super(`no Countinghouse is running on ${dataDir}`);
    this.name = 'NoDaemon';
    this.dataDir = dataDir;
  }
}

/** Another program answers at the address in the file. It was sent nothing. */
export class NotTheDaemon extends Error {
  constructor(dataDir: string) {
    super(
      `the program that answers for ${dataDir} does not know the token of its service, or is of another version: it was told nothing. ` +
        'Start the service anew',
    );
    this.name = 'NotTheDaemon';
  }
}

/** Its calls throw `OperatorError`, `NoDaemon`, `NotTheDaemon`, or an Error for an invalid answer. */
export function operatorClient(dataDir: string): Call {
  return async <M extends Method>(method: M, params: Params<M>): Promise<Result<M>> => {
    const { status, body } = await post(await readAddress(dataDir), method, params, dataDir);
    return answerOf(method, status, parseJson(body));
  };
}

/** The result in an answer of a daemon. Throws `OperatorError`, or an Error for an invalid answer. */
export function answerOf<M extends Method>(method: M, status: number, json: unknown): Result<M> {
  if (status !== 200) {
    const failed = ErrorBody.safeParse(json);
    if (failed.success) throw new OperatorError(status, failed.data.error);
    throw new Error(`the daemon answered ${method} with status ${status}`);
  }
  const result = OPERATOR[method].result.safeParse(json);
  if (result.success) return result.data as Result<M>;
  throw new Error(`the daemon that is running is of another version: restart it (its answer to ${method} is unknown)`);
}

async function readAddress(dataDir: string): Promise<OperatorFile> {
  let text: string;
  try {
    text = await readFile(join(dataDir, OPERATOR_FILE), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') throw new NoDaemon(dataDir);
    throw new Error(`${join(dataDir, OPERATOR_FILE)} cannot be read (${code}): run this as the service's user`);
  }
  const address = OperatorFile.safeParse(parseJson(text));
  if (address.success) return address.data;
  throw new Error(`${join(dataDir, OPERATOR_FILE)} is damaged: restart the daemon`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An agent with exactly one connection, because the proof is valid only for the connection on which it was made. */
class OneConnection extends Agent {
  #made = false;

  constructor() {
    super({ keepAlive: true, maxSockets: 1 });
  }

  override createConnection(...[options, done]: Parameters<Agent['createConnection']>) {
    if (this.#made) {
      // passed to the callback, because an exception thrown here could not be caught
      done?.(new Error('the connection was closed'), undefined as never);
      return undefined;
    }
    this.#made = true;
    return super.createConnection(options, done);
  }
}

/** Asks for the proof that this is the daemon of the file, and only then sends the token and the request. */
async function post(address: OperatorFile, method: string, params: unknown, dataDir: string): Promise<Answer> {
  const agent = new OneConnection();
  const ask = { address, agent, dataDir, timeoutMs: timeoutOf(method) };
  try {
    const challenge = newChallenge();
    const { status, body } = await send(ask, {
      method: 'GET',
      path: PROOF_PATH,
      headers: { [CHALLENGE_HEADER]: challenge },
    });
    const { proof } = (parseJson(body) ?? {}) as { proof?: unknown };
    if (status !== 200 || !isProof(address, challenge, proof)) throw new NotTheDaemon(dataDir);
    const text = JSON.stringify(params);
    const headers = {
      authorization: `Bearer ${address.token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    };
    return await send(ask, { method: 'POST', path: OPERATOR_PATH + method, headers, body: text });
  } finally {
    agent.destroy();
  }
}

type Answer = { status: number; body: string };
type Ask = { address: OperatorFile; agent: Agent; dataDir: string; timeoutMs: number };
type HttpAnswer = { method: string; path: string; headers: OutgoingHttpHeaders; body?: string };

function send(
  { address, agent, dataDir, timeoutMs }: Ask,
  { method, path, headers, body = '' }: HttpAnswer,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const call = request(
    new URL(path, address.url),
    {
      method,
      ...(address.socket === null ? {} : { socketPath: address.socket }),
      headers,
      agent,
      timeout: timeoutMs,
      signal: AbortSignal.timeout(timeoutMs),
    },
    (response) => {
      readBody(response).then((text) => resolve({ status: response.statusCode ?? 0, body: text }), reject);
    },
  );
  call.once('error', (error: NodeJS.ErrnoException) => {
    // a killed daemon leaves its file behind
    if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') reject(new NoDaemon(dataDir));
    else if (error.name === 'AbortError' || error.name === 'TimeoutError')
      reject(new Error(`the daemon did not answer within ${timeoutMs / 1000} s`));
    else reject(new Error(`the daemon did not answer: ${error.code ?? error.message}`));
  });
  call.end(body);
  return promise;
}

async function readBody(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`the daemon's answer is larger than ${ANSWER_BYTES_MAX} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
