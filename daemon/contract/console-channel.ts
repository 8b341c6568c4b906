/**
 * How a page of the console and the service know each other, and how what they say is kept from others. Both run this code. It
 * uses WebCrypto; a till's page without TLS, to which browsers do not give it, brings the same functions (`bringCrypto`).
 *
 * Each side has a key pair (ECDH, P-256). The page's private key cannot be read by any script, and never leaves its browser. The
 * code of a sign-in link authenticates the exchange of the public keys, and is not sent itself. For each channel the service
 * makes one more pair. The channel's key comes from both shared secrets, so only the page of the session can use the channel, and only
 * the service of that page can have opened it.
 *
 * Invariant: requests and answers are encrypted and authenticated (AES-256-GCM) with the path, and each number is used once in each
 * direction. Keys are bound to the page's origin, so that a program on another port cannot pass messages on.
 */
/** The request header with a channel's name and a request's number: `name.number`. */
export const CHANNEL_HEADER = 'countinghouse-channel';
export const CALL_PATH = '/call/';
export const SESSION_PATH = '/session';
/** Both are JSON in the clear; every other call goes through a channel. */
export const SIGN_IN_PATH = `${SESSION_PATH}/sign-in`;
export const HELLO_PATH = `${SESSION_PATH}/hello`;
/** Before the code of an upload and the place of a piece in it, in bytes. */
export const UPLOAD_PATH = `${SESSION_PATH}/upload/`;

export type Bytes = Uint8Array<ArrayBuffer>;
export type Pair = { publicKey: CryptoKey; privateKey: CryptoKey };
type Side = 'page' | 'service';

const CURVE = { name: 'ECDH', namedCurve: 'P-256' };
const SECRET_BITS = 256;
const NONCE_BYTES = 12;
/** The place of the number in a nonce, as 8 bytes. The first byte is the direction's. */
const NUMBER_AT = 4;
const RANDOM_BYTES = 32;
const DIRECTIONS: Readonly<Record<Side, number>> = { page: 1, service: 2 };

/** The part of WebCrypto that is used here. */
export type Subtle = Pick<
  SubtleCrypto,
  'decrypt' | 'deriveBits' | 'deriveKey' | 'encrypt' | 'exportKey' | 'generateKey' | 'importKey' | 'sign'
>;
let brought: Subtle | null = null;

/** For a page without WebCrypto. To be called before any other function. */
export const bringCrypto = (subtle: Subtle): void => {
  brought = subtle;
};
const subtle = (): Subtle => brought ?? crypto.subtle;

const encode = (text: string): Bytes => new TextEncoder().encode(text);
export const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
export const jsonBytes = (value: unknown): Bytes => encode(JSON.stringify(value));
/** Without padding (RFC 4648, section 5). Of some hundred bytes at the most. */
const base64url = (bytes: ArrayBuffer | Uint8Array): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
/** Throws for a text that is none. */
const bytesOf = (text: string): Bytes =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
export const randomText = (bytes = RANDOM_BYTES): string => base64url(crypto.getRandomValues(new Uint8Array(bytes)));

/** `extractable`: whether the private key can be stored outside of the browser's own storage. */
export const newPair = (extractable: boolean): Promise<Pair> =>
  subtle().generateKey(CURVE, extractable, ['deriveBits']) as Promise<Pair>;

export const publicText = async ({ publicKey }: Pick<Pair, 'publicKey'>): Promise<string> =>
  base64url(await subtle().exportKey('raw', publicKey));

/** Throws for a text that is no point of the curve. */
async function shared(own: CryptoKey, other: string): Promise<Bytes> {
  const key = await subtle().importKey('raw', bytesOf(other), CURVE, false, []);
  return new Uint8Array(await subtle().deriveBits({ name: 'ECDH', public: key }, own, SECRET_BITS));
}

async function mac(code: string, said: readonly string[]): Promise<string> {
  const use = { name: 'HMAC', hash: 'SHA-256' };
  const key = await subtle().importKey('raw', encode(code), use, false, ['sign']);
  return base64url(await subtle().sign(use, key, encode(['countinghouse console v1', ...said].join('\n'))));
}

/** By which the service finds a sign-in link without being told its code. */
export const linkName = (code: string): Promise<string> => mac(code, ['link']);

type SignIn = { origin: string; page: string; nonce: string };

/** A page's proof that it has a link's code, and that this public key is its own. */
export const pageProof = (code: string, { origin, page, nonce }: SignIn): Promise<string> =>
  mac(code, ['page', origin, page, nonce]);

/** The service's proof in turn. `service`: its public key. */
export const serviceProof = (code: string, { origin, page, nonce }: SignIn, service: string): Promise<string> =>
  mac(code, ['service', origin, page, nonce, service]);

/** All that a channel's key depends on besides the secrets: public keys, the page's random text, and its origin. */
type Hello = { origin: string; page: string; service: string; ephemeral: string; nonce: string };

export class Channel {
  readonly #key: CryptoKey;
  readonly #side: Side;

  private constructor(key: CryptoKey, side: Side) {
    this.#key = key;
    this.#side = side;
  }

  /** The page's end of a channel. Throws if one of the keys is none. */
  static async ofPage(own: CryptoKey, hello: Hello): Promise<Channel> {
    return Channel.#make('page', [await shared(own, hello.service), await shared(own, hello.ephemeral)], hello);
  }

  /** The service's end of it. Throws if the page's key is none. */
  static async ofService(own: { service: CryptoKey; ephemeral: CryptoKey }, hello: Hello): Promise<Channel> {
    return Channel.#make(
      'service',
      [await shared(own.service, hello.page), await shared(own.ephemeral, hello.page)],
      hello,
    );
  }

  static async #make(side: Side, [first, second]: [Bytes, Bytes], hello: Hello): Promise<Channel> {
    const secret = new Uint8Array([...first, ...second]);
    const material = await subtle().importKey('raw', secret, 'HKDF', false, ['deriveKey']);
    const { origin, page, service, ephemeral, nonce } = hello;
    const info = encode(['countinghouse console channel v1', origin, page, service, ephemeral, nonce].join('\n'));
    const how = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info };
    const what = { name: 'AES-GCM', length: SECRET_BITS };
    return new Channel(await subtle().deriveKey(how, material, what, false, ['encrypt', 'decrypt']), side);
  }

  /** `number`: of the request, never used before by this side. */
  async seal(path: string, number: number, plain: Bytes): Promise<Bytes> {
    return new Uint8Array(await subtle().encrypt(this.#how(this.#side, path, number), this.#key, plain));
  }

  /** Null for a box that the other side has not made for this path and this number. */
  async open(path: string, number: number, box: Bytes): Promise<Bytes | null> {
    const other = this.#side === 'page' ? 'service' : 'page';
    return subtle()
      .decrypt(this.#how(other, path, number), this.#key, box)
      .then(
        (plain) => new Uint8Array(plain),
        () => null,
      );
  }

  #how(from: Side, path: string, number: number) {
    const iv = new Uint8Array(NONCE_BYTES);
    iv[0] = DIRECTIONS[from];
    new DataView(iv.buffer).setBigUint64(NUMBER_AT, BigInt(number));
    return { name: 'AES-GCM', iv, additionalData: encode(path) };
  }
}

export const boxText = (box: Bytes): string => base64url(box);
/** Throws for a text that is none. */
export const boxOf = (text: string): Bytes => bytesOf(text);
