/** Reads JSON bodies with exact numbers, and rejects bodies that are no JSON objects. */
import { isUtf8 } from 'node:buffer';
import express, { type NextFunction, type Request, type Response } from 'express';
import { Rejected } from '../domain/errors.ts';

export const BODY_BYTES_MAX = 65_536;

/** A number as JSON text, because money must not become a floating-point number. */
export class JsonNumber {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
}

/** The fields whose numbers are kept exact. */
const EXACT_FIELD = 'amount';

function reviver(key: string, value: unknown, context?: { source?: string }): unknown {
  if (key !== EXACT_FIELD || typeof value !== 'number') return value;
  return new JsonNumber(context?.source ?? String(value));
}

/** Throws `Rejected`: decoding would replace what is no text, and so make different order numbers equal. */
function checkText(body: Buffer): void {
  if (!isUtf8(body)) throw new Rejected('body.encoding', 'The body is not valid UTF-8');
}

const parse = express.json({
  strict: false,
  verify: (_request, _response, body, charset) => {
    if (charset === 'utf-8') checkText(body);
  },
  limit: BODY_BYTES_MAX,
  type: 'application/json',
  reviver: reviver as (key: string, value: unknown) => unknown,
});

/** Whether a request that nobody has read has a byte of a body. Drops it. */
function hasBody(request: Request): Promise<boolean> | boolean {
  const { headers } = request;
  if (headers['transfer-encoding'] === undefined) return Number(headers['content-length'] ?? 0) > 0;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  request.once('data', () => resolve(true));
  request.once('end', () => resolve(false));
  // broken off: nothing that the body would have asked for may be done
  request.once('error', () => resolve(true));
  return promise;
}

function checkObject(value: unknown): void {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject) throw new Rejected('body.object', 'The body must be a JSON object');
}

/** Without a byte order mark. */
const utf8 = new TextDecoder();

/** Reads a body in UTF-8 as `jsonBody` does. Throws `Rejected`. */
export function readJson(body: Buffer): unknown {
  checkText(body);
  const text = utf8.decode(body);
  if (text === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text, reviver);
  } catch {
    throw new Rejected('body.json', 'The body could not be read as JSON');
  }
  checkObject(value);
  return value;
}

async function checkBody(request: Request, response: Response, next: NextFunction): Promise<void> {
  if (request.body === undefined) {
    if (await hasBody(request)) {
      response.status(415).json({ message: 'The Content-Type must be application/json' });
      return;
    }
    request.body = {};
  } else {
    checkObject(request.body);
  }
  next();
}

/** Middleware that sets `request.body` to a plain object, empty without a body. */
export const jsonBody = [parse, checkBody];
