/**
 * Connects this computer to a server, and proves each to the other (contract/signing-machine.ts).
 *
 * Invariant: nothing but public keys and proofs is sent before the server has proved the key that this computer has pinned. A server's
 * words until then are at most shown.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import {
  boxOf,
  Channel,
  jsonBytes,
  linkName,
  newPair,
  pageProof,
  publicText,
  randomText,
  serviceProof,
  textOf,
} from '../contract/console-channel.ts';
import {
  type About,
  codeOf,
  type Greeting,
  joinOrigin,
  Known,
  lineOrigin,
  MACHINE_HEADER,
  MACHINE_PATH,
  markOf,
  type Role,
  serverMark,
  Welcome,
} from '../contract/signing-machine.ts';
import { Rejected, Unavailable } from '../domain/errors.ts';
import type { RejectCode } from '../domain/rejections.ts';
import { Inbox, SOCKET_OPTIONS, sealedStream } from '../kit/sealed-stream.ts';
import { hasWallet } from '../wallet/wallet.ts';
import { needProxy, readServer, type Server, walletFolderIn } from './place.ts';

const OPEN_MS = 20_000;
/** Tor may need so long for its first way to an onion service. */
const PROXY_MS = 60_000;
const ANSWER_MS = 20_000;
const RETRY_SECONDS = 5;
const TWICE_RETRY_SECONDS = 60;
/** Each side ends a connection that is silent for longer. */
const PING_MS = 30_000;
/** While nothing is read, as during a long signing, no question for a sign of life is seen: the server waits for one for 5 s. */
const BUSY_PING_MS = 2_000;
const CURVE = { name: 'ECDH', namedCurve: 'P-256' };

const STRANGE = 'No server of this program answers there, or one of another release';
const IMPOSTOR =
  'What answers there could not prove to be the server that this computer was connected with. Nothing was told to it. If the server was set up anew, connect this computer anew: `countinghouse signer invite` there';
const TWICE =
  'Another computer signs for this server already, with the key of this one: it has a copy of this folder. Nothing is signed here. Stop one of the two for good, and go on with the one that signed last, because only its record knows what was signed. If you know of no other one, end it on the server with `countinghouse signer remove`, and move the money to new words';

const NEVER = new AbortController().signal;

type Place = Pick<Server, 'url' | 'proxy'>;

const away = (url: string, why: string): Unavailable =>
  new Unavailable(`The server ${url} does not answer: ${why}`, RETRY_SECONDS);

/** The connection through the server's proxy; null: it has none. */
async function tunnelOf({ url, proxy }: Place, signal: AbortSignal): Promise<Socket | null> {
  if (proxy === undefined) return null;
  const { tunnelTo } = await import('../kit/socks.ts');
  try {
    return await tunnelTo(new URL(url), proxy, PROXY_MS, AbortSignal.any([signal, AbortSignal.timeout(PROXY_MS)]));
  } catch (error) {
    const isSilent = (error as Error).message.includes('ECONNREFUSED');
    throw away(url, isSilent ? `nothing listens at the proxy ${proxy}` : `the proxy ${proxy} could not connect to it`);
  }
}

/** `machine`: the public key of this computer, which the server knows. Throws as `needProxy`, and `Unavailable`. */
async function open(place: Place, signal: AbortSignal, machine?: string): Promise<Inbox> {
  needProxy(place);
  const { url } = place;
  const tunnel = await tunnelOf(place, signal);
  const socket = new WebSocket(new URL(MACHINE_PATH, url.replace(/^http/, 'ws')), {
    followRedirects: false,
    ...(machine !== undefined && { headers: { [MACHINE_HEADER]: machine } }),
    ...(tunnel && { createConnection: () => tunnel }),
    ...SOCKET_OPTIONS,
  });
  const inbox = new Inbox(socket);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once('open', resolve);
  socket.once('error', (error: NodeJS.ErrnoException) => reject(away(url, error.code ?? error.message)));
  socket.once('unexpected-response', (_, { statusCode }) => {
    reject(away(url, `it answers ${statusCode}. A web server before it must pass WebSockets at ${MACHINE_PATH}`));
    socket.terminate();
  });
  socket.once('close', () => reject(away(url, 'it closed the connection')));
  // `handshakeTimeout` of ws ends no handshake over a connection that was made before, and none that trickles
  const end = AbortSignal.any([signal, AbortSignal.timeout(OPEN_MS)]);
  const onEnd = (): void => {
    reject(away(url, 'it did not answer in time'));
    socket.terminate();
  };
  if (end.aborted) onEnd();
  end.addEventListener('abort', onEnd);
  await promise.finally(() => end.removeEventListener('abort', onEnd));
  return inbox;
}

/** The refusals of an invitation. A server that has proved nothing yet could end the program for good by another code. */
const REFUSALS: ReadonlySet<string> = new Set<RejectCode>([
  'signer.code_expired',
  'signer.code_foreign',
  'signer.code_used',
  'signer.code_wrong',
  'signer.machine',
]);

/** The answer to a greeting. Throws `Rejected` with the server's refusal, and `Unavailable` without an answer. */
async function greet<I extends 'joined' | 'greeted'>(inbox: Inbox, greeting: Greeting, is: I) {
  inbox.socket.send(JSON.stringify(greeting));
  const answer = await inbox.next(ANSWER_MS);
  if (!answer) throw new Unavailable('The server ended the connection without an answer', RETRY_SECONDS);
  const welcome = answer.isBinary ? null : Welcome.safeParse(jsonOf(answer.data.toString())).data;
  if (welcome?.is === 'refused') {
    const isKnown = is === 'joined' && REFUSALS.has(welcome.code);
    throw new Rejected(isKnown ? (welcome.code as RejectCode) : 'signer.server', welcome.message);
  }
  if (welcome?.is !== is) throw new Rejected('signer.server', STRANGE);
  return welcome as Extract<Welcome, { is: I }>;
}

/** The code that somebody typed, checked before anything is sent. Throws `Rejected('signer.code_wrong')`. */
export async function readCode(typed: string): Promise<string> {
  const code = await codeOf(typed);
  if (code !== null) return code;
  const text = 'This is no code: a character of its 24 is wrong or missing. Compare it with the server’s terminal';
  throw new Rejected('signer.code_wrong', text);
}

/**
 * Throws `Rejected('signer.other_server')` if a server's folder has a wallet, and this code is of another server than the wallet signed for: the
 * address of a tunnel, or one that looks alike, leads to the same folder. `code`: without dashes.
 */
export async function needSameServer(folder: string, code: string): Promise<void> {
  const wallet = walletFolderIn(folder);
  if (!(await hasWallet(wallet))) return;
  const stored = await readServer(folder).catch(() => null);
  if (stored !== null && markOf(code) === (await serverMark(stored.service))) return;
  const text = `The words in ${wallet} signed for another server, or for one that was removed here. This one takes its place: it can ask for signatures within the limits that you granted`;
  throw new Rejected('signer.other_server', text);
}

/**
 * Connects this computer for the first time. `code`: without dashes. `proxy`: see `Server`. Throws `Rejected`: `signer.code_*`,
 * `signer.machine`, `signer.proxy`, `signer.server`; `Unavailable` if nothing answers.
 */
export async function joinServer(url: string, code: string, name: string, proxy?: string): Promise<Server> {
  const pair = await newPair(true);
  const [machine, nonce] = [await publicText(pair), randomText()];
  const said = { origin: joinOrigin(name), page: machine, nonce };
  const [link, proof] = await Promise.all([linkName(code), pageProof(code, said)]);
  const inbox = await open({ url, proxy }, NEVER);
  try {
    const greeting = { do: 'join', mark: markOf(code), link, machine, nonce, proof, name } as const;
    const welcome = await greet(inbox, greeting, 'joined');
    const { service } = welcome;
    const isRight = welcome.proof === (await serviceProof(code, said, service));
    if (!isRight || markOf(code) !== (await serverMark(service))) throw new Rejected('signer.server', IMPOSTOR);
    const { kty, crv, x, y, d } = await crypto.subtle.exportKey('jwk', pair.privateKey);
    const joined = new Date().toISOString();
    const key = { kty: kty!, crv: crv!, x: x!, y: y!, d: d! };
    return { url, service, name, machine: key, joined, ...(proxy !== undefined && { proxy }) };
  } finally {
    inbox.socket.close();
  }
}

/**
 * Opens a connection to a server that this computer has joined. Throws `Rejected('signer.server')` if another one answers,
 * `Rejected('signer.not_found')` if the server has removed this computer, `Rejected('signer.proxy')` as `needProxy`, `Unavailable` if
 * nothing answers. `signal`: ends the attempt.
 */
export async function dial(server: Server, role: Role, about: About, signal = NEVER): Promise<Duplex> {
  const { url, service, machine } = server;
  const { subtle } = crypto;
  const { kty, crv, x, y } = machine;
  const own = await subtle.importKey('jwk', machine, CURVE, false, ['deriveBits']);
  const page = await publicText({ publicKey: await subtle.importKey('jwk', { kty, crv, x, y }, CURVE, true, []) });
  const nonce = randomText();
  const inbox = await open(server, signal, page);
  try {
    const { key: ephemeral, box } = await greet(inbox, { do: 'greet', role, machine: page, nonce }, 'greeted');
    const channel = await Channel.ofPage(own, { origin: lineOrigin(role), page, service, ephemeral, nonce }).catch(
      () => null,
    );
    const plain = await channel?.open(MACHINE_PATH, 0, boxOf(box));
    if (!channel || !plain) throw new Rejected('signer.server', IMPOSTOR);
    const { known, twice } = Known.parse(jsonOf(textOf(plain)));
    if (twice) throw new Unavailable(TWICE, TWICE_RETRY_SECONDS);
    if (!known) {
      throw new Rejected(
        'signer.not_found',
        `${url} has removed this computer, or was restored from before it joined: invite it anew there`,
      );
    }
    inbox.socket.send(await channel.seal(MACHINE_PATH, 1, jsonBytes(about)));
    const stream = sealedStream(inbox, channel, 2);
    keepAlive(inbox.socket, stream);
    return stream;
  } catch (error) {
    inbox.socket.terminate();
    throw error;
  }
}

/** Says that this computer is there, and ends a connection whose other end is gone. */
function keepAlive(socket: WebSocket, stream: Duplex): void {
  let answered = true;
  const timer = setInterval(() => {
    // an answer is not seen either
    if (!answered && !socket.isPaused) stream.destroy(new Error('the server does not answer any more'));
    answered = socket.isPaused;
    socket.ping();
  }, PING_MS);
  const busy = setInterval(() => {
    if (socket.isPaused) socket.ping();
  }, BUSY_PING_MS);
  for (const one of [timer, busy]) one.unref();
  const isAlive = (): void => {
    answered = true;
  };
  socket.on('pong', isAlive);
  socket.on('message', isAlive);
  socket.once('close', () => {
    for (const one of [timer, busy]) clearInterval(one);
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
