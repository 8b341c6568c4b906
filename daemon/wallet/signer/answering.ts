/**
 * Answers one line of the signer's protocol.
 *
 * Invariant: no answer and no error carries a secret. An invalid line is answered to the sender of that line.
 */
import { z } from 'zod';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { folderFault } from '../files.ts';
import { type Answer, Request } from './wire.ts';

const STACK_FRAMES_MAX = 8;

const Numbered = z.object({ id: z.int().min(0) });

/** Never throws. `carryOut` returns a result that JSON can represent. `unknown`: the error for a request of no known form. */
export async function answerLine(
  line: string,
  carryOut: (request: Request) => Promise<unknown>,
  unknown?: () => Error,
): Promise<Answer> {
  let id = 0;
  try {
    const asked: unknown = JSON.parse(line);
    // read first, so that every later error carries the number of its request
    id = Numbered.parse(asked).id;
    const request = Request.safeParse(asked);
    if (!request.success) throw unknown?.() ?? request.error;
    return { id, end: 'ok', result: await carryOut(request.data) };
  } catch (thrown) {
    const error = folderFault(thrown);
    if (error instanceof Rejected) {
      const { code, message, field } = error;
      return { id, end: 'rejected', code, message, ...(field === undefined ? {} : { field }) };
    }
    if (error instanceof Unavailable) {
      const { message, retryAfterSeconds: seconds } = error;
      return { id, end: 'unavailable', message, retryAfterSeconds: seconds };
    }
    return { id, end: 'bug', message: whereOf(error) };
  }
}

/** Where an unexpected error came from. Its message is not passed on, because it may quote a secret. */
function whereOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no error';
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  const { code } = error as { code?: unknown };
  return [error.name, ...(typeof code === 'string' ? [code] : []), ...frames.slice(0, STACK_FRAMES_MAX)].join('\n');
}
