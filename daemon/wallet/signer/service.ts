/**
 * The signer as a service of its own user. It listens on a unix socket for the daemon. The daemon's user can connect to
 * the socket. It can neither access the wallet's folder nor replace the socket. A second socket, in that folder, is for the
 * operator as root: the daemon can use up neither its connections nor its tries at the passphrase.
 *
 * Invariant: this process holds no secret. The words are in its child, which has the restrictions of every signer
 * (spawn.ts). Requests from the socket are checked here, and again in the child.
 */
import { chmod, mkdir, stat } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import { Rejected } from '../../domain/errors.ts';
import { say } from '../../kit/async.ts';
import { removeLeftSocket } from '../../kit/left-socket.ts';
import { portFault } from '../../kit/port-fault.ts';
import { answerLine } from './answering.ts';
import { SignerClient, type SignerOptions } from './client.ts';
import { OPERATOR_SOCKET } from './files.ts';
import { readLines } from './lines.ts';
import { decodeImages, decodeOrder, encodeSigned, LINE_BYTES_MAX, otherRelease, type Request } from './wire.ts';

/** On each of the two sockets. */
const CONNECTIONS_MAX = 10;

type ServiceOptions = Omit<SignerOptions, 'sandbox' | 'remote'> & {
  /** The path of the unix socket. Write access to it allows asking for signatures. */
  socket: string;
};

/**
 * Serves until it is closed. Throws `Rejected('signer.service')` if the folder or the socket belongs to another user,
 * is open to others, or is in use.
 */
export async function serveSigner({ socket, ...options }: ServiceOptions): Promise<{ close(): Promise<void> }> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  await needOwn(options.folder, 0o077);
  await needOwn(dirname(socket), 0o022);
  const signer = new SignerClient({
    ...options,
    sandbox: { sign: () => Promise.reject(new Rejected('signer.unsupported', 'The sandbox signs by itself')) },
  });
  // the group is the daemon's; the permissions of its folder limit access further
  const listening = [await listen(socket, 0o660, signer, undefined)];
  try {
    listening.push(await listen(join(options.folder, OPERATOR_SOCKET), 0o600, signer, 'operator'));
  } catch (error) {
    for (const one of listening) one.close();
    throw error;
  }
  // begins to open the wallet, if it opens itself
  await signer.status();
  return {
    async close() {
      const ended = listening.map((one) => one.close());
      await signer.close();
      for (const destroy of ended) destroy();
    },
  };
}

/** Of a daemon on another machine, which passphrases never come from. */
type Server = { stopped: () => Promise<boolean> };
/** Whose request it is. */
type By = 'operator' | Server | undefined;
/** The calls of a daemon on another machine: none that needs a passphrase, which is asked for here alone. */
const OF_A_SERVER: ReadonlySet<Request['call']> = new Set(['status', 'lock', 'sign', 'images', 'grant', 'revoke']);

/** Listens for the operator of a wallet at home, who alone reaches its folder. Throws as `serveSigner`. */
export async function serveOperator(folder: string, signer: SignerClient): Promise<{ close(): void }> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await needOwn(folder, 0o077);
  const listening = await listen(join(folder, OPERATOR_SOCKET), 0o600, signer, 'operator');
  return { close: () => listening.close()() };
}

/** Answers a daemon on another machine until the connection ends. `stopped`: whether it gets no signature now. */
export const serveServer = (connection: Duplex, signer: SignerClient, stopped: () => Promise<boolean>): Promise<void> =>
  serve(connection, signer, { stopped });

/** Listens on a socket. Its `close` takes no more connections, and returns what ends those that are open. */
async function listen(path: string, mode: number, signer: SignerClient, by: By): Promise<{ close(): () => void }> {
  const connections = new Set<Socket>();
  const server = createServer((connection) => {
    connections.add(connection);
    connection.once('close', () => connections.delete(connection));
    void serve(connection, signer, by);
  });
  server.maxConnections = CONNECTIONS_MAX;
  await removeLeftSocket(path);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', (error: NodeJS.ErrnoException) =>
    reject(new Rejected('signer.service', `The socket ${path} cannot be used: ${portFault(error)}`)),
  );
  server.listen({ path }, resolve);
  await promise;
  await chmod(path, mode);
  return {
    close() {
      server.close();
      return () => {
        for (const connection of connections) connection.destroy();
      };
    },
  };
}

/** `forbidden`: the mode bits of other users. */
async function needOwn(folder: string, forbidden: number): Promise<void> {
  const { uid, mode } = await stat(folder);
  if (uid === process.getuid?.() && (mode & forbidden) === 0) return;
  const right = (0o777 & ~forbidden).toString(8);
  throw new Rejected('signer.service', `${folder} must belong to the user of the signer, with mode 0${right} or less`);
}

/** Handles one line at a time. An invalid line ends the connection. */
async function serve(connection: Duplex, signer: SignerClient, by: By): Promise<void> {
  connection.on('error', () => {});
  try {
    for await (const line of readLines(connection, LINE_BYTES_MAX)) {
      const answer = await answerLine(line, (request) => carryOut(signer, request, by), otherRelease);
      if (!connection.writable) return;
      await say(connection, `${JSON.stringify(answer)}\n`);
    }
    connection.end();
  } catch {
    connection.destroy();
  }
}

/** A server waits for a wallet that signs nothing for it as for a locked one. */
const SHUT = { state: 'locked', lockAt: null } as const;
const TAKES_BACK: ReadonlySet<Request['call']> = new Set(['status', 'lock', 'revoke']);

/** Whether the server gets no signature now. Throws `Rejected` for what a server may not ask, or not now. */
async function needServers(call: Request['call'], { stopped }: Server): Promise<boolean> {
  if (!OF_A_SERVER.has(call)) {
    throw new Rejected(
      'signer.unsupported',
      'The passphrase is asked for at home alone, on the machine that has the wallet',
    );
  }
  const isStopped = await stopped();
  if (isStopped && !TAKES_BACK.has(call)) {
    throw new Rejected('signer.locked', 'The computer at home has stopped signing: look there, it says why');
  }
  return isStopped;
}

/** Each request has an answer: the return type has no `undefined`, so that the compiler finds a call that is left out. */
async function carryOut(signer: SignerClient, request: Request, by: By): Promise<object | string | null> {
  const whose = by === 'operator' ? by : undefined;
  const isStopped = typeof by === 'object' && (await needServers(request.call, by));
  switch (request.call) {
    case 'status':
      return isStopped ? { ...(await signer.status()), ...SHUT } : signer.status();
    case 'sealKey':
      return signer.sealKey();
    case 'unlock':
      return signer.unlock(request.sealed, whose);
    case 'lock':
      return signer.lock();
    case 'change':
      return signer.changePassphrase(request.sealed, whose);
    case 'authorize':
      return signer.authorize(request.sealed, whose);
    case 'custody':
      // a daemon that was taken over would make a wallet of its own here, or show its pages instead of the operator's
      throw new Rejected('signer.unsupported', 'A separate signer makes and shows words on its own command line only');
    case 'grant':
      await signer.grantPolicy(request.grant, request.mac);
      return null;
    case 'revoke':
      await signer.revokeApprovals(request.next, request.mac);
      return null;
    case 'end':
      throw new Rejected('signer.unsupported', "A separate signer ends approvals by the operator's word only");
    case 'sign':
      return encodeSigned(await signer.sign(decodeOrder(request.order)));
    case 'images':
      return signer.keyImages(decodeImages(request.images));
  }
}
