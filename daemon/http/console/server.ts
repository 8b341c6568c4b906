/**
 * The console's listener: its pages, and the operator API for browsers that are signed in.
 *
 * Four checks keep other pages out. Only our own names pass as Host, also after DNS rebinding. Every call must come
 * from our own origin. It must have a content type that other origins cannot send without a preflight, and no preflight is
 * ever allowed. And it must come through a channel, which only a page with the private key of a session can open.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { z } from 'zod';
import { findBusiness } from '../../app/operator/find.ts';
import {
  CALL_PATH,
  CHANNEL_HEADER,
  HELLO_PATH,
  SESSION_PATH,
  SIGN_IN_PATH,
  textOf,
  UPLOAD_PATH,
} from '../../contract/console-channel.ts';
import { isMethod, rulesOf } from '../../contract/operator.ts';
import { Rejected } from '../../domain/errors.ts';
import { portFault } from '../../kit/port-fault.ts';
import type { Asset } from '../assets/asset.ts';
import { shareAmongDevices } from '../connections.ts';
import { TokenBuckets } from '../limits.ts';
import { type Answer, failed, failure, run } from '../operator/answer.ts';
import type { Context } from '../operator/context.ts';
import { jsonOf, Refused, readBody } from '../operator/gate.ts';
import { closeServer } from '../server.ts';
import { Channels, type Opened } from './channels.ts';
import { ConsoleDoor, type Door, TillDoor } from './door.ts';
import { Downloads } from './downloads.ts';
import { Entrance, tooMany } from './entrance.ts';
import { consoleFiles } from './files.ts';
import { allowed, visible } from './rights.ts';
import { type ConsoleSession, ConsoleSessions } from './sessions.ts';
import { Uploads } from './uploads.ts';

const SESSIONS_FILE = 'console.json';
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const CONNECTIONS_MAX = 200;
const CALLS_PER_MINUTE = 3_000;
const CALLS_BURST = 1_000;
const BUCKETS_MAX = 1_000;

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // codes of other wallets
  'permissions-policy': 'camera=(self), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** Has a browser drop the workers and the storage of this origin (Clear Site Data, W3C). */
const FORGET = { 'clear-site-data': '"storage"' };
const UPLOAD_PLACE = /^([\w-]{43})\/(\d{1,15})$/;
const OK = 200;
const Lock = z.strictObject({ business: z.int().min(1) });
const Upload = z.strictObject({ bytes: z.int().min(1) });

/** `server`, `door`: of a listener that is open. */
type Listener = { atTill: boolean; entrance: Entrance; server: Promise<Server> | null; door: Door | null };

/**
 * The console of a running daemon, and the tills of the shop's network. A listener opens with its first link, or at once if there are
 * sessions of it; the till's closes with its last session.
 */
export class ConsoleServer {
  readonly #context: Context;
  readonly sessions: ConsoleSessions;
  readonly #channels: Channels;
  readonly #listeners: { console: Listener; till: Listener };
  readonly #calls: TokenBuckets;
  readonly #downloads: Downloads;
  readonly #uploads: Uploads;
  /** Open answers by session, which end with it. */
  readonly #open = new Map<number, Set<ServerResponse>>();
  #files: Map<string, Asset> | undefined;

  constructor(context: Context) {
    this.#context = context;
    const { now } = context.app;
    this.sessions = new ConsoleSessions(join(context.extra.dataDir, SESSIONS_FILE), now);
    this.#channels = new Channels(this.sessions);
    this.#downloads = new Downloads(context.extra, now);
    this.#uploads = new Uploads(context.extra, now);
    const listener = (atTill: boolean): Listener => {
      const entrance = new Entrance(context.app, this.sessions, this.#channels, atTill);
      return { atTill, entrance, server: null, door: null };
    };
    this.#listeners = { console: listener(false), till: listener(true) };
    const bucketsMax = BUCKETS_MAX;
    this.#calls = new TokenBuckets({ perMinute: CALLS_PER_MINUTE, burst: CALLS_BURST, now, bucketsMax });
  }

  /** A sign-in link. The code is in the fragment, which neither servers nor their logs see. */
  async link(): Promise<{ url: string; endsAt: number }> {
    await this.listen();
    const { code, endsAt } = await this.sessions.link();
    return { url: `${this.#listeners.console.door!.url}/#sign-in=${code}`, endsAt };
  }

  /**
   * A link that pairs a till with the counter of a business, by each address of this machine. Throws `Rejected`:
   * `till.listen`, and `till.no_network` on a machine without an address of a local network.
   */
  async pairTill(business: number): Promise<{ urls: string[]; code: string; endsAt: number }> {
    await this.#ready(this.#listeners.till);
    const urls = (this.#listeners.till.door as TillDoor).urls();
    if (urls.length === 0) {
      await this.#closeTill();
      throw new Rejected('till.no_network', 'This computer has no address in a local network');
    }
    const { code, endsAt } = await this.sessions.link(business);
    return { urls, code, endsAt };
  }

  /** The addresses of the till's listener; null while it does not listen. */
  tillUrls(): string[] | null {
    return (this.#listeners.till.door as TillDoor | null)?.urls() ?? null;
  }

  /** Where the console listens. Throws as `listen`. */
  async address(): Promise<{ url: string }> {
    await this.listen();
    return { url: this.#listeners.console.door!.url };
  }

  /** Opens the console's listener, and the till's if one is paired. Throws `Rejected`: `console.listen`, `till.listen`. */
  async listen(): Promise<void> {
    await this.#ready(this.#listeners.console);
    if (this.sessions.hasTills()) await this.#ready(this.#listeners.till);
  }

  /** Ends one session or all, with the answers that wait. Throws as `ConsoleSessions.end`. */
  async end(id: number | null): Promise<number> {
    this.#hangUp(id);
    try {
      return await this.sessions.end(id);
    } finally {
      await this.#closeTill();
    }
  }

  /** Closes the till's listener, unless a till is paired. */
  async #closeTill(): Promise<void> {
    const { till } = this.#listeners;
    if (till.server === null || this.sessions.hasTills()) return;
    const server = await till.server.catch(() => null);
    [till.server, till.door] = [null, null];
    server?.close();
    server?.closeAllConnections();
  }

  /** Ends the answers that wait: of one session, or of all. */
  #hangUp(id: number | null): void {
    for (const [session, answers] of this.#open) {
      if (id === null || id === session) for (const answer of answers) answer.destroy();
    }
  }

  async close(): Promise<void> {
    const { console, till } = this.#listeners;
    const servers = await Promise.all([console, till].map(({ server }) => server?.catch(() => null)));
    this.#hangUp(null);
    await Promise.all([this.#downloads.sweep(), this.#uploads.sweep()]);
    await Promise.all(servers.map((server) => server && closeServer(server)));
  }

  async #ready(listener: Listener): Promise<void> {
    listener.server ??= this.#listen(listener).catch((error: unknown) => {
      listener.server = null;
      throw error;
    });
    await listener.server;
  }

  async #listen(listener: Listener): Promise<Server> {
    const { app } = this.#context;
    const key = listener.atTill ? 'till' : 'console';
    const { host, port } = app.config[key];
    this.#files ??= consoleFiles();
    if (!listener.atTill) await Promise.all([this.#downloads.sweep(), this.#uploads.sweep()]);
    const server = createServer({ headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS });
    server.maxConnections = CONNECTIONS_MAX;
    if (listener.atTill) server.on('connection', shareAmongDevices());
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        const text = `Port ${port} of ${host} cannot be used for the ${key}: ${portFault(error)}. Set [${key}] port, 0 for any free one`;
        reject(new Rejected(`${key}.listen`, text));
      });
      server.listen(port, host, resolve);
    });
    const { port: taken } = server.address() as AddressInfo;
    const door = listener.atTill ? new TillDoor(host, taken) : new ConsoleDoor(app.config, taken);
    listener.door = door;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#serve(door, listener, request, response).catch((error: unknown) => {
        app.log.error({ error }, 'a request of the console could not be answered');
        response.destroy();
      });
    });
    if (key === 'console') {
      server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
        this.#admit(request, socket, head),
      );
    }
    app.log.info({ url: door.url }, `the ${key} listens`);
    return server;
  }

  /** Lets a signing machine in, which is the operator's. */
  #admit(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => {});
    try {
      (this.#listeners.console.door as ConsoleDoor).checkPeer(request);
    } catch {
      socket.end('HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    this.#context.extra.machines.upgrade(request, socket, head, (name, params) =>
      this.#callOf(name, params).catch((error: unknown) => failed(this.#context, request, error)),
    );
  }

  /** A call of the operator at home, who needs no permission for browsers, and whose passphrase stays there. */
  async #callOf(name: string, params: unknown): Promise<Answer> {
    if (!isMethod(name)) return failure(404, 'method.unknown', 'There is no such method');
    if ((rulesOf(name).scope ?? 'page') !== 'page') {
      const text = 'This is done on the machine that it is about: on the server itself, or with the wallet at home';
      return failure(403, 'console.refused', text);
    }
    return run(this.#context, name, params);
  }

  async #serve(
    door: Door,
    { entrance, atTill }: Listener,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    try {
      door.checkPlace(request);
      if (request.method === 'GET' || request.method === 'HEAD') {
        if (Downloads.isOne(request.url ?? '') && !atTill) await this.#sendBackup(request, response);
        else this.#sendFile(request, response);
        return;
      }
      door.checkCall(request);
      if (request.url === SIGN_IN_PATH) send(response, await entrance.signIn(request));
      else if (request.url === HELLO_PATH) send(response, await entrance.greet(request));
      else await this.#serveChannel(request, response, atTill);
    } catch (error) {
      send(response, failed(this.#context, request, error));
    }
  }

  #sendFile({ url = '', method, headers }: IncomingMessage, response: ServerResponse): void {
    if (headers['service-worker'] === 'script') {
      // the console has none: another program that held the port has left one in this browser, which goes with this answer
      send(response, { ...failure(404, 'not_found', 'There is no such page'), headers: FORGET });
      return;
    }
    const path = url.split('?')[0]!;
    const asset = this.#files?.get(path);
    if (!asset) {
      send(response, failure(404, 'not_found', 'There is no such page'));
      return;
    }
    const packed = /\bgzip\b/.test(headers['accept-encoding'] ?? '');
    const body = packed ? asset.packed : asset.plain;
    response.writeHead(200, {
      ...HEADERS,
      'content-type': asset.type,
      'content-length': body.length,
      'cache-control': path.startsWith('/assets/') ? 'max-age=31536000, immutable' : 'no-store',
      vary: 'Accept-Encoding',
      ...(packed ? { 'content-encoding': 'gzip' } : {}),
    });
    response.end(method === 'HEAD' ? undefined : body);
  }

  async #sendBackup({ url = '', headers, method }: IncomingMessage, response: ServerResponse): Promise<void> {
    const foreign = (headers['sec-fetch-site'] ?? 'same-origin') !== 'same-origin';
    if (foreign || method === 'HEAD' || !(await this.#downloads.send(url, response, HEADERS))) {
      send(response, failure(404, 'not_found', 'This backup was fetched before or is too old: make a new one'));
    }
  }

  async #serveChannel(request: IncomingMessage, response: ServerResponse, atTill: boolean): Promise<void> {
    const { url = '', headers } = request;
    const box = new Uint8Array(await readBody(request));
    const opened = await this.#channels.open(String(headers[CHANNEL_HEADER] ?? ''), url, box);
    if (opened === 'repeated') throw new Refused(409, 'channel.repeated', 'This request was sent before');
    if (opened === null || opened.session.till !== atTill) {
      throw new Refused(401, 'channel', 'There is no such channel');
    }
    const answer = await this.#answer(opened, request, response).catch((error: unknown) =>
      failed(this.#context, request, error),
    );
    const body = Buffer.from(await opened.seal(answer));
    const type = { 'content-type': 'application/octet-stream', 'cache-control': 'no-store' };
    response.writeHead(answer.status, { ...HEADERS, ...type, 'content-length': body.length, ...answer.headers });
    response.end(body);
  }

  async #answer({ session, plain }: Opened, { url = '' }: IncomingMessage, response: ServerResponse): Promise<Answer> {
    const taken = this.#calls.takeFrom(`${session.id}`);
    if (!taken.ok) return tooMany(taken.retryAfterSeconds);
    if (url.startsWith(UPLOAD_PATH)) return this.#takePiece(session, url.slice(UPLOAD_PATH.length), plain);
    const body = jsonOf(textOf(plain));
    if (url.startsWith(CALL_PATH)) return this.#call(session, url.slice(CALL_PATH.length), body, response);
    return this.#change(session, url, body);
  }

  async #call(session: ConsoleSession, name: string, body: unknown, response: ServerResponse): Promise<Answer> {
    if (!isMethod(name)) return failure(404, 'method.unknown', 'There is no such method');
    const { app } = this.#context;
    const { scope, business } = session;
    const rights = { scope, business, approvals: app.config.console.approvals };
    const may = allowed(app, name, body, rights);
    if ('refused' in may) return failure(403, 'console.refused', may.refused);
    const open = this.#open.get(session.id) ?? new Set();
    this.#open.set(session.id, open.add(response));
    try {
      const answer = await run(this.#context, name, may.body);
      return answer.status === OK ? { ...answer, body: visible(app, name, answer.body, rights) } : answer;
    } finally {
      open.delete(response);
      if (open.size === 0) this.#open.delete(session.id);
    }
  }

  /** An upload is for a drill, so it needs the same right. */
  #mayUpload(session: ConsoleSession): boolean {
    return session.scope === 'all' && this.#context.app.config.console.approvals;
  }

  async #takePiece(session: ConsoleSession, place: string, piece: Uint8Array): Promise<Answer> {
    const [, code, offset] = UPLOAD_PLACE.exec(place) ?? [];
    if (code === undefined || !this.#mayUpload(session)) return failure(404, 'not_found', 'There is no such call');
    return { status: 200, body: { file: await this.#uploads.add(code, Number(offset), piece) } };
  }

  /** A locked session stays with its counter. */
  async #lock(session: ConsoleSession, body: unknown): Promise<Answer> {
    const params = Lock.safeParse(body);
    if (!params.success) return failure(422, 'params', 'Give the business of the counter');
    const { id } = findBusiness(this.#context.app, `${params.data.business}`);
    if (session.scope === 'all') {
      await this.sessions.lock(session.id, id);
      // calls that were let in before could still answer with what the counter may not see
      this.#hangUp(session.id);
    }
    return { status: 200, body: {} };
  }

  async #change(session: ConsoleSession, path: string, body: unknown): Promise<Answer> {
    if (path === SESSION_PATH) {
      // no page of this server asks for a passphrase whose keys are elsewhere
      const home = this.#context.extra.machines.machine()?.name ?? null;
      const approvals = home === null && this.#context.app.config.console.approvals;
      return { status: 200, body: { scope: session.scope, approvals, home } };
    }
    if (path === `${SESSION_PATH}/lock`) return this.#lock(session, body);
    if (path === `${SESSION_PATH}/end`) await this.end(session.id);
    else if (path === `${SESSION_PATH}/backup` && session.scope === 'all') {
      return { status: 200, body: await this.#downloads.make() };
    } else if (path === `${SESSION_PATH}/upload` && this.#mayUpload(session)) {
      const params = Upload.safeParse(body);
      if (!params.success) return failure(422, 'params', 'Give the bytes of the file');
      return { status: 200, body: { code: await this.#uploads.begin(params.data.bytes) } };
    } else return failure(404, 'not_found', 'There is no such call');
    return { status: 200, body: {} };
  }
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    ...HEADERS,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(text);
}
