/**
 * A page's side of the console: signs in, opens a channel to the service, and sends calls through it. It runs in a browser and,
 * for tests, in Node.
 *
 * Invariant: a call is sent only once the other side has proved to be the service of this session, and only as a box that nobody else
 * can open. The answer of an unknown program counts as silence.
 */
import {
  type Bytes,
  boxOf,
  CHANNEL_HEADER,
  Channel,
  HELLO_PATH,
  jsonBytes,
  linkName,
  newPair,
  pageProof,
  publicText,
  randomText,
  SIGN_IN_PATH,
  serviceProof,
  textOf,
} from './console-channel.ts';

const NO_CHANNEL = 401;

/** A session as a browser keeps it. `page`, `service`: the public keys. */
export type Login = { privateKey: CryptoKey; page: string; service: string };
export type LoginStore = { read(): Promise<Login | null>; write(login: Login | null): Promise<void> };
export type Answer = { status: number; body: unknown };

/** The service has ended the session, or there is none. */
export class SessionEnded extends Error {}
/** Another program answers, or the service has lost its sessions. It was told nothing. */
export class NotTheService extends Error {}
/** The link was used before or is too old. */
export class LinkEnded extends Error {}

type Place = {
  /** Of the page. */
  origin: string;
  fetch(path: string, init: RequestInit): Promise<Response>;
  store: LoginStore;
};

/** `replaced`: the channel before it, and whether the service still had that one. */
type Opened = { channel: Channel; name: string; last: number; replaced: { by: string; known: boolean } | null };

export class ConsoleClient {
  readonly #place: Place;
  #opened: Promise<Opened> | null = null;

  constructor(place: Place) {
    this.#place = place;
  }

  /** Exchanges the code of a sign-in link for a session. Throws `LinkEnded`, `NotTheService`, or the error of `fetch`. */
  async signIn(code: string): Promise<void> {
    const { origin, store } = this.#place;
    const pair = await newPair(false);
    const asked = { origin, page: await publicText(pair), nonce: randomText() };
    const { page, nonce } = asked;
    const sent = { link: await linkName(code), page, nonce, proof: await pageProof(code, asked) };
    const response = await this.#post(SIGN_IN_PATH, sent);
    if (!response.ok) throw new LinkEnded();
    const { service = '', proof } = (await response.json()) as { service?: string; proof?: string };
    if (proof !== (await serviceProof(code, asked, service))) throw new NotTheService();
    await store.write({ privateKey: pair.privateKey, page, service });
    this.#opened = null;
  }

  /** Sends one call. Throws `SessionEnded`, `NotTheService`, or the error of `fetch`. */
  async ask(path: string, body: Bytes, signal?: AbortSignal): Promise<Answer> {
    const opened = await this.#open(null);
    const answer = await this.#send(opened, path, body, signal);
    if (answer !== null) return answer;
    // the service was started anew, or has ended the session: the call was not carried out
    const next = await this.#open(opened);
    const isNew = next.replaced?.by === opened.name && !next.replaced.known;
    const again = isNew ? await this.#send(next, path, body, signal) : null;
    if (again === null) throw new NotTheService();
    return again;
  }

  /** Forgets the session. */
  async forget(): Promise<void> {
    this.#opened = null;
    await this.#place.store.write(null);
  }

  /** The open channel; a new one in place of `old`, or if there is none. */
  async #open(old: Opened | null): Promise<Opened> {
    const before = this.#opened;
    if (before !== null && (await before) !== old) return before;
    // another call may have begun a new one meanwhile
    if (this.#opened !== before && this.#opened !== null) return this.#opened;
    const begun = this.#begin(old);
    this.#opened = begun;
    begun.catch(() => {
      if (this.#opened === begun) this.#opened = before;
    });
    return begun;
  }

  async #begin(old: Opened | null): Promise<Opened> {
    const { origin, store } = this.#place;
    const login = await store.read();
    if (!login) throw new SessionEnded();
    const { page, service, privateKey } = login;
    const nonce = randomText();
    const response = await this.#post(HELLO_PATH, { page, nonce, before: old?.name ?? null });
    const { key: ephemeral, box } = (await response.json()) as { key?: string; box?: string };
    if (!response.ok || !ephemeral || !box) throw new NotTheService();
    let channel: Channel;
    let said: Bytes | null;
    try {
      channel = await Channel.ofPage(privateKey, { origin, page, service, ephemeral, nonce });
      said = await channel.open(HELLO_PATH, 0, boxOf(box));
    } catch {
      throw new NotTheService();
    }
    if (said === null) throw new NotTheService();
    const { name, known } = JSON.parse(textOf(said)) as { name: string | null; known: boolean };
    if (name === null) throw new SessionEnded();
    return { channel, name, last: 0, replaced: old && { by: old.name, known } };
  }

  /** Null: the other side says that it has no such channel. */
  async #send(opened: Opened, path: string, body: Bytes, signal?: AbortSignal): Promise<Answer | null> {
    const { channel, name } = opened;
    const number = ++opened.last;
    const response = await this.#place.fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream', [CHANNEL_HEADER]: `${name}.${number}` },
      body: await channel.seal(path, number, body),
      ...(signal ? { signal } : {}),
    });
    const box = new Uint8Array(await response.arrayBuffer());
    const plain = await channel.open(path, number, box);
    if (plain !== null) return JSON.parse(textOf(plain)) as Answer;
    if (response.status === NO_CHANNEL) return null;
    throw new NotTheService();
  }

  #post(path: string, body: object): Promise<Response> {
    const headers = { 'content-type': 'application/json' };
    return this.#place.fetch(path, { method: 'POST', headers, body: jsonBytes(body) });
  }
}
