/** The operator API's methods about the console, and what its pages and its listener agree on. */
import { z } from 'zod';
import { Id, Instant, method, Nothing } from './operator-shapes.ts';

/** The request header with the half of a session that pages keep. */
export const KEY_HEADER = 'countinghouse-key';
export const CALL_PATH = '/call/';
export const SESSION_PATH = '/session';
/** Before the code of an upload and the place of a piece in it, in bytes: the only calls that are not JSON. */
export const UPLOAD_PATH = '/session/upload/';

export const ConsoleSessionShape = z.object({
  id: Id,
  /** The browser, as it names itself. */
  name: z.string(),
  /** `counter`: locked to the counter. */
  scope: z.enum(['all', 'counter']),
  created_at: Instant,
  used_at: Instant,
});

export const CONSOLE = {
  /** Opens the console's listener and makes a sign-in link, which works once. */
  'console.open': method(Nothing, z.object({ url: z.string(), ends_at: Instant })),
  'console.list': method(Nothing, z.object({ sessions: z.array(ConsoleSessionShape) })),
  /** Ends one session, or all of them. */
  'console.end': method(z.strictObject({ id: Id.optional() }), z.object({ ended: z.int().min(0) })),
} as const;
