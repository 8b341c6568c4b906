/**
 * The listener of the operator API: a unix socket in a folder for the owner only, or loopback; never another address.
 *
 * Invariant: `operator.json` in the data directory (mode 0600) has the address and the token of the running daemon, and
 * is removed at a clean stop. Each start makes a new token.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, open, rename, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { App } from '../../app/app.ts';
import { OPERATOR_FILE, type OperatorFile } from '../../contract/operator.ts';
import { Rejected } from '../../domain/errors.ts';
import { removeLeftSocket } from '../../kit/left-socket.ts';
import { portFault } from '../../kit/port-fault.ts';
import { closeServer } from '../server.ts';
import { type Answer, answer } from './answer.ts';
import type { OperatorExtra } from './context.ts';
import { Gate } from './gate.ts';

const HOST = '127.0.0.1';
const SOCKET_FOLDER = 'operator';
const SOCKET_FILE = 'operator.sock';
const TOKEN_BYTES = 32;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const CONNECTIONS_MAX = 100;

type OperatorServer = {
  /** The port on loopback; null on a socket. */
  port: number | null;
  url: string;
  close(): Promise<void>;
};

/** Serves the operator API. Throws `Rejected('operator.listen')` if its port or socket is not usable. */
export async function serveOperator(app: App, extra: OperatorExtra): Promise<OperatorServer> {
  const { port: wanted } = app.config.operator;
  const { socket, leave } = await chooseSocket(app.config.operator, extra.dataDir);
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const server = createServer({ headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS });
  server.maxConnections = CONNECTIONS_MAX;
  await (socket === null ? listen(server, { host: HOST, port: wanted }) : listenOnSocket(server, socket));
  const port = socket === null ? (server.address() as AddressInfo).port : null;
  const url = port === null ? 'http://localhost' : `http://${HOST}:${port}`;
  const address: OperatorFile = { url, socket, token };
  const gate = new Gate(port, address);
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    answer({ app, extra }, gate, request).then(
      (outcome) => send(response, outcome),
      (error: unknown) => app.log.error({ error }, 'an operator call could not be answered'),
    );
  });
  const file = join(extra.dataDir, OPERATOR_FILE);
  try {
    await writeFile(file, address);
  } catch (error) {
    await closeServer(server);
    throw error;
  }
  return {
    port,
    url: socket === null ? url : `unix:${socket}`,
    close: async () => {
      await rm(file, { force: true });
      await closeServer(server);
      await leave();
    },
  };
}

/** The chosen socket. `leave` removes files and folders that were made for it. */
type SocketChoice = { socket: string | null; leave(): Promise<void> };

/** The maximum length of a socket's path on every system (`sun_path` of macOS, with its final byte). */
const SOCKET_PATH_BYTES_MAX = 103;

/** The configured socket, or one in a folder of mode 0700; null: loopback. */
async function chooseSocket(
  { listen: kind, port, socket }: App['config']['operator'],
  dataDir: string,
): Promise<SocketChoice> {
  const leave = async (): Promise<void> => {};
  if (socket !== null) return { socket, leave };
  if (kind === 'loopback' || port !== 0 || process.platform === 'win32') return { socket: null, leave };
  const folder = join(dataDir, SOCKET_FOLDER);
  const path = join(folder, SOCKET_FILE);
  if (Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    return { socket: path, leave };
  }
  // a new random name in a folder of mode 0700
  const aside = await mkdtemp(join(tmpdir(), 'countinghouse-'));
  return { socket: join(aside, SOCKET_FILE), leave: () => rm(aside, { recursive: true, force: true }) };
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  response.end(text);
}

function listen(server: Server, where: { host: string; port: number } | { path: string }): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const name = 'path' in where ? `socket ${where.path}` : `port ${where.port}`;
  const onError = (error: NodeJS.ErrnoException): void => {
    reject(new Rejected('operator.listen', `The operator ${name} cannot be used: ${portFault(error)}`));
  };
  server.once('error', onError);
  server.listen(where, () => {
    server.removeListener('error', onError);
    resolve();
  });
  return promise;
}

async function listenOnSocket(server: Server, path: string): Promise<void> {
  await removeLeftSocket(path);
  await listen(server, { path });
  if (process.platform !== 'win32') await chmod(path, 0o600);
}

/** Writes a temporary file and renames it, so that readers never see a part. */
async function writeFile(file: string, contents: OperatorFile): Promise<void> {
  const aside = `${file}.tmp`;
  await rm(aside, { force: true });
  const handle = await open(aside, 'wx', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(contents, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(aside, file);
}
