/** Reads JSON bodies with exact numbers, and rejects bodies that are no JSON objects. */
import { isUtf8 } from 'node:buffer';
import express, { type NextFunction, type Request, type Response } from 'express';
import { Rejected } from '../domain/errors.ts';

const BODY_BYTES_MAX = 65_536;

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
function checkText(_request: unknown, _response: unknown, body: Buffer, charset: string): void {
  if (charset === 'utf-8' && !isUtf8(body)) throw new Rejected('body.encoding', 'The body is not valid UTF-8');
}

const parse = express.json({
  strict: false,
  verify: checkText,
  limit: BODY_BYTES_MAX,
  type: 'application/json',
  reviver: reviver as (key: string, value: unknown) => unknown,
});

const hasBody = (request: Request): boolean =>
  request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;

function checkBody(request: Request, response: Response, next: NextFunction): void {
  if (request.body === undefined) {
    if (hasBody(request)) {
      response.status(415).json({ message: 'The Content-Type must be application/json' });
      return;
    }
    request.body = {};
  } else if (typeof request.body !== 'object' || request.body === null || Array.isArray(request.body)) {
    response.status(400).json({ message: 'The body must be a JSON object' });
    return;
  }
  next();
}

/** Middleware that sets `request.body` to a plain object, empty without a body. */
export const jsonBody = [parse, checkBody];
