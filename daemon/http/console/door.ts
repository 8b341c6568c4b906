/** Decides which requests reach the console: by address, origin and form, before the session is checked. */
import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import type { Config } from '../../config/config.ts';
import { HELLO_PATH, SIGN_IN_PATH } from '../../contract/console-channel.ts';
import { Refused } from '../operator/gate.ts';

const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]'];
const HTTP_PORT = 80;
const BYTES_TYPE = /^application\/octet-stream$/i;
const JSON_TYPE = /^application\/json\s*(;\s*charset=utf-8\s*)?$/i;

const isLoopback = (address: string): boolean => {
  const parsed = ipaddr.isValid(address) ? ipaddr.process(address) : null;
  return parsed?.range() === 'loopback';
};

export class ConsoleDoor {
  /** Where a browser opens the console. */
  readonly url: string;
  readonly #origins: ReadonlySet<string>;
  readonly #hosts: ReadonlySet<string>;
  readonly #trusted: readonly string[];

  constructor({ console: settings, trustedProxies }: Config, port: number) {
    const own = LOOPBACK_NAMES.map((name) => `http://${name}${port === HTTP_PORT ? '' : `:${port}`}`);
    const outside = settings.publicUrl === null ? null : new URL(settings.publicUrl).origin;
    this.url = outside ?? own[0]!;
    // with a public URL the console has no other address, because a session is for one
    this.#origins = new Set(outside === null ? own : [outside]);
    this.#hosts = new Set([...this.#origins].map((origin) => new URL(origin).host));
    this.#trusted = trustedProxies;
  }

  /** Throws `Refused` for a request from another machine that is no trusted proxy, or for another host's name. */
  checkPlace({ headers, socket }: IncomingMessage): void {
    const peer = socket.remoteAddress ?? '';
    if (!isLoopback(peer) && !this.#isTrusted(peer)) {
      throw new Refused(403, 'peer', 'The console is reached through this machine or its trusted proxy only');
    }
    if (!this.#hosts.has((headers.host ?? '').toLowerCase())) {
      throw new Refused(403, 'host', `The console has another address: ${this.url}`);
    }
  }

  /** Throws `Refused` for a call that may come from another page. No form of a page can have either of the two types. */
  checkCall({ method, headers, url = '' }: IncomingMessage): void {
    if (method !== 'POST') throw new Refused(405, 'method.not_allowed', `${method} is not allowed here: use POST`);
    const site = headers['sec-fetch-site'];
    const foreign = !this.#origins.has(headers.origin ?? '') || new URL(headers.origin!).host !== headers.host;
    if (foreign || (site !== undefined && site !== 'same-origin')) {
      throw new Refused(403, 'origin', 'Other web pages have no access here');
    }
    const isBytes = url !== SIGN_IN_PATH && url !== HELLO_PATH;
    if (!(isBytes ? BYTES_TYPE : JSON_TYPE).test(headers['content-type'] ?? '')) {
      const wanted = isBytes ? 'application/octet-stream' : 'application/json';
      throw new Refused(415, 'content_type', `The content type must be ${wanted}`);
    }
  }

  #isTrusted(address: string): boolean {
    if (!ipaddr.isValid(address)) return false;
    const peer = ipaddr.process(address);
    return this.#trusted.some((range) => {
      const [base, bits] = range.includes('/') ? ipaddr.parseCIDR(range) : [ipaddr.process(range), null];
      if (base.kind() !== peer.kind()) return false;
      return bits === null ? base.toString() === peer.toString() : peer.match(base, bits);
    });
  }
}
