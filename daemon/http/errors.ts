/** Errors in the form of the contract. Some endpoints use their own form; all others use this one. */
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { Rejected, TooMany, Unavailable } from '../domain/errors.ts';
import { answersTo, type RejectForm } from '../domain/rejections.ts';
import type { Log } from '../log.ts';

/** The body of each form of the contract. */
const BODIES: Record<RejectForm, (error: Rejected) => Record<string, unknown>> = {
  message: ({ message }) => ({ message }),
  error: ({ message }) => ({ error: message }),
  both: ({ message, code }) => ({ message, error: code }),
  errors: ({ message, field }) => ({ message, errors: { [field ?? 'body']: [message] } }),
};

function presentRejected(error: Rejected): Refusal {
  const [status, form] = answersTo(error.code).api;
  return { status, body: BODIES[form](error) };
}

/** The status of an error that Express threw while it parsed the body or the path. */
function statusOf(error: unknown): number | null {
  const status = (error as { status?: unknown } | null)?.status;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : null;
}

const REQUEST_MESSAGES: Record<number, string> = {
  400: 'The body could not be read as JSON',
  413: 'The body is too large: at most 64 KiB are accepted',
  415: 'The body has an encoding or character set that is not supported',
};

const BAD_PATH = 'The path is not valid: its percent-encoding cannot be decoded';

type Refusal = { status: number; body: Record<string, unknown>; retryAfterSeconds?: number };

/** The answer to a thrown value. A bug becomes a 500 without details, which are logged with the request. */
export function refusalFor(error: unknown, log: Log, request: { method?: string; path: string }): Refusal {
  if (error instanceof Rejected) return presentRejected(error);
  if (error instanceof Unavailable) {
    const { cause, message, retryAfterSeconds } = error;
    if (cause !== undefined) log.error({ error: cause, path: request.path }, 'a request was not served');
    return { status: error instanceof TooMany ? 429 : 503, body: { message }, retryAfterSeconds };
  }
  const status = statusOf(error);
  if (status !== null) {
    const message = error instanceof URIError ? BAD_PATH : (REQUEST_MESSAGES[status] ?? 'The request is not valid');
    return { status, body: { message } };
  }
  log.error({ error, method: request.method, path: request.path }, 'a request failed by a bug');
  return { status: 500, body: { message: 'Internal error' } };
}

/** The last handler: turns every thrown value into an answer. */
export function errorHandler(log: Log) {
  return (error: unknown, request: Request, response: Response, next: NextFunction): void => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const { status, body, retryAfterSeconds } = refusalFor(error, log, request);
    if (retryAfterSeconds !== undefined) response.set('Retry-After', String(retryAfterSeconds));
    response.status(status).json(body);
  };
}

export const notFound: RequestHandler = (_request, response) => {
  response.status(404).json({ message: 'Not found' });
};

/** The answer to another method on a path that exists. */
export function onlyMethods(...methods: string[]): RequestHandler {
  return (request, response) => {
    response
      .status(405)
      .set('Allow', methods.join(', '))
      .json({ message: `${request.method} is not allowed here: use ${methods.join(' or ')}` });
  };
}
