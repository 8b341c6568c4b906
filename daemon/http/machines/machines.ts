/**
 * The connections of the signing machine at home, which it opens itself to the console's listener.
 *
 * Invariants: nothing that a machine says is used before it has proved its key. It has one connection to sign over: a newer one
 * takes the place of an older one whose end was not noticed, and is turned away where that one is alive, because a copy of the
 * machine's folder has a record of its own. A stranger costs a greeting, a few of them at a time, and takes none of the machine's.
 */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import { Channel as Boxes, boxText, jsonBytes, newPair, publicText, textOf } from '../../contract/console-channel.ts';
import {
  About,
  CALL_BYTES_MAX,
  Greeting,
  lineOrigin,
  MACHINE_HEADER,
  MACHINE_PATH,
  MachineCall,
  type Welcome,
} from '../../contract/signing-machine.ts';
import { Rejected } from '../../domain/errors.ts';
import { say } from '../../kit/async.ts';
import { Inbox, SOCKET_OPTIONS, sealedStream } from '../../kit/sealed-stream.ts';
import type { Log } from '../../log.ts';
import type { Channel, Home } from '../../wallet/signer/channel.ts';
import { TokenBuckets } from '../limits.ts';
import type { Answer } from '../operator/answer.ts';
import { type Machine, Roll } from './roll.ts';

export const MACHINE_FILE = 'signing-machine.json';

const GREETINGS_PER_MINUTE = 60;
const GREETING_MS = 10_000;
/** Connections that have not greeted yet: of strangers, and as many of whoever knows the machine's key. */
const GREETING_MAX = 20;
const CALLERS_MAX = 20;
/** The machine sends a sign of life twice as often. */
const SILENT_MS = 75_000;
/** A connection that is alive answers within this time. */
const ALIVE_MS = 5_000;

export type Answering = (method: string, params: unknown) => Promise<Answer>;

export type MachinesOptions = {
  dataDir: string;
  now: () => number;
  log: Pick<Log, 'info' | 'warn'>;
  /** Called when the machine is connected, so that what waited for it goes on. */
  onConnected: () => void;
  /** Makes the signer's connection of a stream. */
  channel: (stream: Duplex) => Channel;
  /** Reads lines of limited length. */
  lines: (stream: Duplex, bytesMax: number) => AsyncIterable<string>;
  /** Creates a private file, unless it is there: a machine opens several connections at once, and each may be the first. */
  writeOnce: (file: string, contents: string) => Promise<boolean>;
};

export class Machines implements Home {
  readonly #options: MachinesOptions;
  readonly #roll: Roll;
  readonly #server = new WebSocketServer({ noServer: true, clientTracking: false, ...SOCKET_OPTIONS });
  readonly #greetings: TokenBuckets;
  readonly #callers = new Set<Duplex>();
  readonly #greeting = { stranger: 0, machine: 0 };
  #signer: { socket: WebSocket; stream: Duplex; since: number; channel: Channel | null } | null = null;

  constructor(options: MachinesOptions) {
    this.#options = options;
    this.#roll = new Roll(join(options.dataDir, MACHINE_FILE), options.now);
    const perMinute = GREETINGS_PER_MINUTE;
    this.#greetings = new TokenBuckets({ perMinute, burst: perMinute, now: options.now, bucketsMax: 2 });
  }

  /** See `Roll.invite`. */
  invite = () => this.#roll.invite();

  machine(): Machine | null {
    return this.#roll.machine;
  }

  /** Since when the machine is connected, milliseconds since 1970; null while it is away. */
  get connectedSince(): number | null {
    return this.#signer?.since ?? null;
  }

  connect(): Channel | null {
    const signer = this.#signer;
    if (!signer) return null;
    signer.channel ??= this.#options.channel(signer.stream);
    return signer.channel;
  }

  /** Throws as `Roll.remove`. */
  async remove(name: string): Promise<void> {
    const machine = this.machine();
    try {
      await this.#roll.remove(name);
    } finally {
      // also where a power cut could bring it back
      if (this.machine() !== machine) this.#hangUp();
    }
  }

  close(): void {
    this.#hangUp();
    this.#server.close();
  }

  #hangUp(): void {
    this.#signer?.stream.destroy();
    for (const caller of this.#callers) caller.destroy();
  }

  /** Takes a connection over whose place was checked. `call`: answers the operator API. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, call: Answering): void {
    const isOurs = request.url === MACHINE_PATH && request.headers.origin === undefined;
    const who = this.#roll.find(`${request.headers[MACHINE_HEADER]}`) === null ? 'stranger' : 'machine';
    const mayEnter = isOurs && this.#greeting[who] < GREETING_MAX && this.#greetings.takeFrom(who).ok;
    if (!mayEnter) {
      const status = isOurs ? '429 Too Many Requests' : '404 Not Found';
      socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      const inbox = new Inbox(webSocket);
      this.#greeting[who] += 1;
      this.#greet(inbox, call)
        .catch((error: unknown) => {
          this.#options.log.warn({ error }, 'a signing machine could not be served');
          // it would take this for a connection, and wait
          webSocket.terminate();
        })
        .finally(() => {
          this.#greeting[who] -= 1;
        });
    });
  }

  /** Ends the socket unless a machine proves itself in time. */
  async #greet(inbox: Inbox, call: Answering): Promise<void> {
    const first = await inbox.next(GREETING_MS);
    const greeting = Greeting.safeParse(first && !first.isBinary ? jsonOf(first.data) : null);
    if (!greeting.success) {
      const message = 'The server does not understand this computer: both must be of the same release';
      tell(inbox, { is: 'refused', code: 'signer.server', message });
    } else if (greeting.data.do === 'join') await this.#join(inbox, greeting.data);
    else if (await this.#open(inbox, greeting.data, call)) return;
    inbox.socket.close();
  }

  async #join(inbox: Inbox, greeting: Extract<Greeting, { do: 'join' }>): Promise<void> {
    try {
      tell(inbox, { is: 'joined', ...(await this.#roll.join(greeting)) });
      this.#options.log.info({ machine: greeting.name }, 'a computer was connected, which signs from now on');
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
      this.#options.log.warn({ code: error.code }, 'a computer was not let in as the one that signs');
      tell(inbox, { is: 'refused', code: error.code, message: error.message });
    }
  }

  /** Whether the other side is the machine, which has the socket then. */
  async #open(inbox: Inbox, { machine: page, role, nonce }: Greets, call: Answering): Promise<boolean> {
    const [{ privateKey, said: service }, pair] = await Promise.all([this.#roll.key(), newPair(false)]);
    const ephemeral = await publicText(pair);
    const hello = { origin: lineOrigin(role), page, service, ephemeral, nonce };
    const boxes = await Boxes.ofService({ service: privateKey, ephemeral: pair.privateKey }, hello).catch(() => null);
    if (!boxes) return false;
    const isFound = this.#roll.find(page) !== null;
    const former = this.#signer;
    const twice = isFound && role === 'signer' && former !== null && (await answers(former.socket));
    const known = jsonBytes({ known: isFound, twice });
    tell(inbox, { is: 'greeted', key: ephemeral, box: boxText(await boxes.seal(MACHINE_PATH, 0, known)) });
    if (twice) {
      this.#options.log.warn({ machine: this.machine()?.name }, 'a second computer with its key was turned away');
      return false;
    }
    const answer = await inbox.next(GREETING_MS);
    const plain = answer?.isBinary ? await boxes.open(MACHINE_PATH, 1, new Uint8Array(answer.data)) : null;
    const about = About.safeParse(plain && jsonOf(textOf(plain)));
    if (!about.success || !this.#roll.find(page)) return false;
    await this.#seen(about.data.fingerprint);
    await this.#keepBackupKey(about.data);
    // it may have been removed meanwhile; from here on `remove` finds its connection
    if (!this.#roll.find(page)) throw new Error('the computer was removed while it connected');
    // a copy of it, of which nobody has looked whether it is alive
    if (role === 'signer' && this.#signer !== null && this.#signer !== former) return false;
    const stream = sealedStream(inbox, boxes, 2);
    watchLife(inbox, stream);
    if (role === 'operator') void this.#serveOperator(stream, call);
    else this.#serveSigner(inbox.socket, stream);
    return true;
  }

  #serveSigner(socket: WebSocket, stream: Duplex): void {
    const { log, now, onConnected } = this.#options;
    const former = this.#signer;
    this.#signer = { socket, stream, since: now(), channel: null };
    former?.stream.destroy();
    const name = this.machine()?.name;
    stream.once('close', () => {
      if (this.#signer?.stream !== stream) return;
      this.#signer = null;
      log.info({ machine: name }, 'the signing machine has gone away');
      void this.#seen();
    });
    // before the first request nobody reads the stream, which would not end
    socket.once('close', () => {
      if (this.#signer?.stream === stream && this.#signer.channel === null) stream.destroy();
    });
    log.info({ machine: name }, 'the signing machine is connected');
    onConnected();
  }

  /** The operator's own calls are to get through, though the disk is full. */
  async #seen(fingerprint: string | null = null): Promise<void> {
    await this.#roll
      .seen(fingerprint)
      .catch((error: unknown) => this.#options.log.warn({ error }, 'when it was seen could not be stored'));
  }

  async #serveOperator(stream: Duplex, call: Answering): Promise<void> {
    if (this.#callers.size >= CALLERS_MAX) {
      stream.destroy();
      return;
    }
    this.#callers.add(stream);
    stream.once('close', () => this.#callers.delete(stream));
    try {
      for await (const line of this.#options.lines(stream, CALL_BYTES_MAX)) {
        const { method, params } = MachineCall.parse(JSON.parse(line));
        const { status, body } = await call(method, params);
        if (!stream.writable) return;
        await say(stream, `${JSON.stringify({ status, body })}\n`);
      }
    } catch {
      // it said what is no call
      stream.destroy();
    }
  }

  /** Backups are encrypted to a key of the words, which are at home: its public part is kept here. */
  async #keepBackupKey({ fingerprint, backupKey }: About): Promise<void> {
    if (fingerprint === null || backupKey === null) return;
    const key = BackupKeyFile.safeParse(jsonOf(backupKey));
    if (!key.success || key.data.fingerprint !== fingerprint) return;
    const folder = join(this.#options.dataDir, 'vault');
    const file = join(folder, `backup-key-${fingerprint}.json`);
    if (existsSync(file)) return;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await this.#options.writeOnce(file, `${JSON.stringify(key.data)}\n`);
  }
}

type Greets = Extract<Greeting, { do: 'greet' }>;

/** As in wallet/backup-key.ts. */
const BackupKeyFile = z.strictObject({ fingerprint: z.string(), public_key: z.base64().length(44) });

function tell({ socket }: Inbox, welcome: Welcome): void {
  socket.send(JSON.stringify(welcome));
}

/** The JSON in a text; null if it is none. */
function jsonOf(text: string | Buffer): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    return null;
  }
}

/** Whether the other end of a socket is alive. */
function answers(socket: WebSocket): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ALIVE_MS);
  const alive = (): void => resolve(true);
  const over = (): void => resolve(false);
  // one that signs sees no question, and gives signs of life by itself
  socket.once('pong', alive).once('ping', alive).once('close', over);
  if (socket.readyState === socket.OPEN) socket.ping();
  else over();
  return promise.finally(() => {
    clearTimeout(timer);
    socket.off('pong', alive).off('ping', alive).off('close', over);
  });
}

/** Ends a connection over which nothing comes any more: a computer that fell asleep says no goodbye. */
function watchLife({ socket }: Inbox, stream: Duplex): void {
  const timer = setTimeout(() => stream.destroy(), SILENT_MS);
  timer.unref();
  const isAlive = () => timer.refresh();
  socket.on('ping', isAlive);
  socket.on('message', isAlive);
  socket.once('close', () => clearTimeout(timer));
}
