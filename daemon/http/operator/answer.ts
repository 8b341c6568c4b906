/** Executes one request to the operator API and returns its answer in the contract's form. */
import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import {
  isMethod,
  type Method,
  OPERATOR,
  OPERATOR_PATH,
  type Parsed,
  type Result,
  rulesOf,
} from '../../contract/operator.ts';
import { PROOF_PATH } from '../../contract/proof.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { answersTo } from '../../domain/rejections.ts';
import type { Context } from './context.ts';
import { type Gate, Refused, readJson } from './gate.ts';
import { METHODS } from './methods.ts';

export type Answer = { status: number; headers?: Record<string, string>; body: unknown };

export const failure = (status: number, code: string, message: string, field?: string): Answer => ({
  status,
  body: { error: { code, message, ...(field === undefined ? {} : { field }) } },
});

/** Never throws. A bug is logged and answered with a 500 without details. */
export async function answer(context: Context, gate: Gate, request: IncomingMessage): Promise<Answer> {
  try {
    if (request.url === PROOF_PATH) return { status: 200, body: { proof: gate.prove(request) } };
    gate.check(request);
    const name = (request.url ?? '').startsWith(OPERATOR_PATH) ? request.url!.slice(OPERATOR_PATH.length) : '';
    if (!isMethod(name)) return failure(404, 'method.unknown', 'There is no such method');
    return await run(context, name, await readJson(request));
  } catch (error) {
    return failed(context, request, error);
  }
}

/** Checks the parameters of a method and calls it. Throws what the method throws. */
export async function run<M extends Method>(context: Context, method: M, body: unknown): Promise<Answer> {
  const params = OPERATOR[method].params.safeParse(body);
  if (!params.success) return wrongParams(params.error);
  // both tables have the same keys: a method's schema yields what its function takes
  const work = METHODS[method] as (context: Context, params: Parsed<M>) => Result<M> | Promise<Result<M>>;
  const result = await context.app.store.urgently(() => work(context, params.data as Parsed<M>));
  if (rulesOf(method).does === 'changes') context.app.log.info({ method }, 'the operator made a change');
  return { status: 200, body: result };
}

function wrongParams(error: z.ZodError): Answer {
  const issue = error.issues[0]!;
  const field = issue.code === 'unrecognized_keys' ? issue.keys[0] : issue.path.join('.');
  const where = field ? `${field}: ` : '';
  return failure(422, 'params', `${where}${wrongBecause(issue)}`, field || undefined);
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** Tells an operator how the value has to be; zod's own messages speak of types and patterns. */
function wrongBecause(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? issue.expected}`;
    case 'too_small':
      if (issue.origin === 'string' && issue.minimum === 1) return 'must not be empty';
      return `at least ${issue.minimum}${issue.origin === 'string' ? ' characters' : ''}`;
    case 'too_big':
      return `at most ${issue.maximum}${issue.origin === 'string' ? ' characters' : ''}`;
    case 'invalid_value':
      return `use ${issue.values.join(', ').replace(/, (?=[^,]*$)/, ' or ')}`;
    case 'unrecognized_keys':
      return 'there is no such parameter';
    default:
      return issue.message;
  }
}

/** The answer to an error of `run`. */
export function failed({ app }: Context, request: IncomingMessage, error: unknown): Answer {
  if (error instanceof Refused) return failure(error.status, error.code, error.message);
  if (error instanceof Rejected) return failure(answersTo(error.code).operator, error.code, error.message, error.field);
  if (error instanceof Unavailable) {
    if (error.cause !== undefined) app.log.error({ error: error.cause }, 'an operator call was not served');
    const trouble = error.cause === undefined ? null : app.store.health().trouble;
    const unavailable = failure(503, 'unavailable', trouble ? `${error.message}: ${trouble.message}` : error.message);
    return { ...unavailable, headers: { 'retry-after': String(error.retryAfterSeconds) } };
  }
  app.log.error({ error, path: request.url }, 'an operator call failed by a bug');
  return failure(500, 'internal', "Internal error: the daemon's log says more");
}
