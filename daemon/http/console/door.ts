/** Decides which requests reach the console or the till: by address, origin and form, before the session. */
import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import type { Config } from '../../config/config.ts';
import { HELLO_PATH, SIGN_IN_PATH } from '../../contract/console-channel.ts';
import { isLocalAddress, ownAddresses } from '../../kit/own-network.ts';
import { Refused } from '../operator/gate.ts';
import { type Trust, trustIn } from './proxies.ts';

const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]'];
const EVERY_ADDRESS = ['0.0.0.0', '::'];
const HTTP_PORT = 80;
const BYTES_TYPE = /^application\/octet-stream$/i;
const JSON_TYPE = /^application\/json\s*(;\s*charset=utf-8\s*)?$/i;

const isLoopback = (address: string): boolean => {
  const parsed = ipaddr.isValid(address) ? ipaddr.process(address) : null;
  return parsed?.range() === 'loopback';
};

export type Door = {
  /** Where a browser opens it. */
  readonly url: string;
  /** Throws `Refused` for a request from a place that may not ask here, or for another host's name. */
  checkPlace(request: IncomingMessage): void;
  /** Throws `Refused` for a call that may come from another page. */
  checkCall(request: IncomingMessage): void;
};

/** No form of a page can have either of the two content types. */
function checkForm({ method, headers, url = '' }: IncomingMessage, isOwn: (origin: string) => boolean): void {
  if (method !== 'POST') throw new Refused(405, 'method.not_allowed', `${method} is not allowed here: use POST`);
  const { origin = '', 'sec-fetch-site': site } = headers;
  const foreign = !isOwn(origin) || new URL(origin).host !== headers.host;
  if (foreign || (site !== undefined && site !== 'same-origin')) {
    throw new Refused(403, 'origin', 'Other web pages have no access here');
  }
  const isBytes = url !== SIGN_IN_PATH && url !== HELLO_PATH;
  if (!(isBytes ? BYTES_TYPE : JSON_TYPE).test(headers['content-type'] ?? '')) {
    const wanted = isBytes ? 'application/octet-stream' : 'application/json';
    throw new Refused(415, 'content_type', `The content type must be ${wanted}`);
  }
}

/**
 * The till's listener, for devices of the shop's network, without TLS. Only addresses that the internet does not route may ask, and
 * only by an address as a number: a name could be another site's, which points it here (DNS rebinding).
 */
export class TillDoor implements Door {
  readonly #host: string;
  readonly #port: number;

  /** `host`: the address on which it listens. */
  constructor(host: string, port: number) {
    this.#host = host;
    this.#port = port;
  }

  get url(): string {
    return this.urls()[0] ?? `http://${LOOPBACK_NAMES[0]}:${this.#port}`;
  }

  /** By each address of this machine, the likeliest first. */
  urls(): string[] {
    const hosts = EVERY_ADDRESS.includes(this.#host) ? ownAddresses() : [this.#host];
    const port = this.#port === HTTP_PORT ? '' : `:${this.#port}`;
    return hosts.map((host) => `http://${host.includes(':') ? `[${host}]` : host}${port}`);
  }

  checkPlace({ headers, socket }: IncomingMessage): void {
    if (!isLocalAddress(socket.remoteAddress ?? '')) {
      throw new Refused(403, 'peer', 'A till is on the same network');
    }
    if (!this.#isOwn(`http://${headers.host ?? ''}`)) {
      throw new Refused(403, 'host', `The till has another address: ${this.url}`);
    }
  }

  checkCall(request: IncomingMessage): void {
    checkForm(request, (origin) => this.#isOwn(origin));
  }

  #isOwn(origin: string): boolean {
    if (!URL.canParse(origin)) return false;
    const { protocol, hostname, pathname } = new URL(origin);
    return protocol === 'http:' && pathname === '/' && isLocalAddress(hostname.replace(/^\[|\]$/g, ''));
  }
}

export class ConsoleDoor implements Door {
  /** Where a browser opens the console. */
  readonly url: string;
  readonly #origins: ReadonlySet<string>;
  readonly #hosts: ReadonlySet<string>;
  readonly #isTrusted: Trust;

  constructor({ console: settings, trustedProxies }: Config, port: number) {
    const { host } = settings;
    const names = [host.includes(':') ? `[${host}]` : host, ...LOOPBACK_NAMES];
    const own = names.map((name) => `http://${name}${port === HTTP_PORT ? '' : `:${port}`}`);
    const outside = settings.publicUrl === null ? null : new URL(settings.publicUrl).origin;
    this.url = outside ?? own[0]!;
    // with a public URL the console has no other address, because a session is for one
    this.#origins = new Set(outside === null ? own : [outside]);
    this.#hosts = new Set([...this.#origins].map((origin) => new URL(origin).host));
    this.#isTrusted = trustIn(trustedProxies);
  }

  checkPlace(request: IncomingMessage): void {
    this.checkPeer(request);
    const { headers } = request;
    if (!this.#hosts.has((headers.host ?? '').toLowerCase())) {
      throw new Refused(403, 'host', `The console has another address: ${this.url}`);
    }
  }

  /**
   * Another machine may ask if it is a trusted proxy. Alone for a connection of no browser, which may know this listener by the name of a
   * tunnel or an onion service. Throws `Refused`.
   */
  checkPeer({ socket }: IncomingMessage): void {
    const peer = socket.remoteAddress ?? '';
    if (isLoopback(peer) || this.#isTrusted(peer, 0)) return;
    throw new Refused(403, 'peer', 'The console is reached through this machine or its trusted proxy only');
  }

  checkCall(request: IncomingMessage): void {
    checkForm(request, (origin) => this.#origins.has(origin));
  }
}
