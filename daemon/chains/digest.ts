/** HTTP digest authentication (RFC 7616, with MD5 as monerod offers it): answers a server's challenge. */
import { createHash, randomBytes } from 'node:crypto';

const PART = /(\w+)=(?:"([^"]*)"|([^\s,]+))/g;

const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

/** A server's challenge and how often it was answered: the count is part of each answer. */
export type Challenge = { realm: string; nonce: string; opaque: string | null; count: number };

/** The first challenge of `WWW-Authenticate` headers that asks for MD5 with `qop=auth`, or null. */
export function challengeOf(headers: string | undefined): Challenge | null {
  for (const header of headers?.split(/,\s*(?=digest )/i) ?? []) {
    const challenge = readChallenge(header);
    if (challenge) return challenge;
  }
  return null;
}

function readChallenge(header: string): Challenge | null {
  if (!/^digest /i.test(header)) return null;
  const parts = new Map(
    [...header.matchAll(PART)].map(([, name, quoted, plain]) => [name?.toLowerCase(), quoted ?? plain]),
  );
  const [realm, nonce, qop] = [parts.get('realm'), parts.get('nonce'), parts.get('qop')];
  const algorithm = parts.get('algorithm') ?? 'MD5';
  if (realm === undefined || nonce === undefined || algorithm.toUpperCase() !== 'MD5') return null;
  if (!qop?.split(',').some((one) => one.trim() === 'auth')) return null;
  return { realm, nonce, opaque: parts.get('opaque') ?? null, count: 0 };
}

/** The `Authorization` header of one request. Counts the challenge up. */
export function answerTo(
  challenge: Challenge,
  login: { user: string; password: string },
  method: string,
  path: string,
): string {
  const { realm, nonce, opaque } = challenge;
  const count = (++challenge.count).toString(16).padStart(8, '0');
  const cnonce = randomBytes(8).toString('hex');
  const secret = md5(`${login.user}:${realm}:${login.password}`);
  const response = md5(`${secret}:${nonce}:${count}:${cnonce}:auth:${md5(`${method}:${path}`)}`);
  const fields = [
    `username="${login.user}"`,
    `realm="${realm}"`,
    `nonce="${nonce}"`,
    `uri="${path}"`,
    'algorithm=MD5',
    'qop=auth',
    `nc=${count}`,
    `cnonce="${cnonce}"`,
    `response="${response}"`,
    ...(opaque === null ? [] : [`opaque="${opaque}"`]),
  ];
  return `Digest ${fields.join(', ')}`;
}
