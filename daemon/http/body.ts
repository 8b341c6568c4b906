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

const hasBody = (request: Request): boolean =>
  request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;

function checkObject(value: unknown): void {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject) throw new Rejected('body.object', 'The body must be a JSON object');
}

/** Without a byte order mark. */
const utf8 = new TextDecoder();

/** Reads a body in UTF-8 as `jsonBody` does. Throws `Rejected`. */
export function readJson(body: Buffer): unknown {
  checkText(body);
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(body), reviver);
  } catch {
    throw new Rejected('body.json', 'The body could not be read as JSON');
  }
  checkObject(value);
  return value;
}

function checkBody(request: Request, response: Response, next: NextFunction): void {
  if (request.body === undefined) {
    if (hasBody(request)) {
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
