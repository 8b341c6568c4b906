/**
 * Who may speak to the operator API: a program that can read the token in the data directory, and never a web page.
 *
 * Four checks keep pages out. A browser sends the page's host, also after DNS rebinding (CVE-2018-5702), so only our
 * own loopback names pass. It sends an Origin with every POST, and only our own passes. It cannot send JSON to another
 * origin without a preflight, and no preflight is ever allowed. And a page does not know the token.
 */
import { isUtf8 } from 'node:buffer';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { BODY_BYTES_MAX, type OperatorFile } from '../../contract/operator.ts';
import { CHALLENGE_HEADER, isChallenge, proofOf } from '../../contract/proof.ts';

/** A request that is refused for a reason in HTTP itself. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'Refused';
    this.status = status;
    this.code = code;
  }
}

const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]'];
const HTTP_PORT = 80;

/** Digests have equal length, so that the time of a comparison says nothing about the token. */
const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();

export class Gate {
  readonly #hosts: ReadonlySet<string>;
  readonly #token: Buffer;
  readonly #file: OperatorFile;

  /** `port`: on loopback; null on a unix socket, which browsers cannot reach. `file`: has the address for callers. */
  constructor(port: number | null, file: OperatorFile) {
    this.#file = file;
    this.#hosts = new Set(
      LOOPBACK_NAMES.flatMap((name) => [
        ...(port === null ? [] : [`${name}:${port}`]),
        ...(port === null || port === HTTP_PORT ? [name] : []),
      ]),
    );
    this.#token = digest(`Bearer ${file.token}`);
  }

  /** The proof that this daemon wrote the file; callers ask for it before they send the token. Throws `Refused`. */
  prove({ headers, method }: IncomingMessage): string {
    this.#checkPlace(headers);
    const challenge = headers[CHALLENGE_HEADER];
    if (method !== 'GET' || !isChallenge(challenge)) {
      throw new Refused(400, 'challenge', `Send 32 random bytes as base64url in ${CHALLENGE_HEADER}, with GET`);
    }
    return proofOf(this.#file, challenge);
  }

  #checkPlace(headers: IncomingHttpHeaders): void {
    if (!this.#hosts.has((headers.host ?? '').toLowerCase())) {
      throw new Refused(403, 'host', 'Requests must be sent to a loopback address by its own name and port');
    }
    if (headers.origin !== undefined && !this.#isOurs(headers.origin)) {
      throw new Refused(403, 'origin', 'Web pages have no access here');
    }
  }

  /** Checks the headers of a request. Throws `Refused`. */
  check({ headers, method }: IncomingMessage): void {
    this.#checkPlace(headers);
    if (!timingSafeEqual(digest(headers.authorization ?? ''), this.#token)) {
      throw new Refused(
        401,
        'token',
        'The token is missing or wrong: it stands in operator.json of the data directory',
      );
    }
    if (method !== 'POST') throw new Refused(405, 'method.not_allowed', `${method} is not allowed here: use POST`);
    if (!/^application\/json\s*(;\s*charset=utf-8\s*)?$/i.test(headers['content-type'] ?? '')) {
      throw new Refused(415, 'content_type', 'The content type must be application/json');
    }
  }

  #isOurs(origin: string): boolean {
    return origin.startsWith('http://') && this.#hosts.has(origin.slice('http://'.length));
  }
}

/** The JSON value of a request's body; `{}` without a body. Throws `Refused`. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = await readBody(request);
  // decoding would replace what is no text, and so make different words equal
  if (!isUtf8(body)) throw new Refused(400, 'body.encoding', 'The body is not valid UTF-8');
  return jsonOf(body.toString('utf8'));
}

/** The JSON value of a text; `{}` for an empty one. Throws `Refused`. */
export function jsonOf(text: string): unknown {
  if (text === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    throw new Refused(400, 'body.json', 'The body is not valid JSON');
  }
}

/** The bytes of a request's body. Throws `Refused`. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes > BODY_BYTES_MAX) {
        throw new Refused(413, 'body.too_large', `The body is too large: at most ${BODY_BYTES_MAX} bytes are accepted`);
      }
      parts.push(part);
    }
  } finally {
    // the rest of an oversized body is read and dropped, because the connection's next request follows it
    request.resume();
  }
  return Buffer.concat(parts);
}
