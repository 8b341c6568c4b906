/** The operator API's methods about the console. */
import { z } from 'zod';
import { changes, reads } from './method.ts';
import { Id, Instant, Nothing } from './operator-shapes.ts';

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
  'console.open': changes(Nothing, z.object({ url: z.string(), ends_at: Instant }), { scope: 'machine' }),
  'console.list': reads(Nothing, z.object({ sessions: z.array(ConsoleSessionShape) })),
  /** Ends one session, or all of them. */
  'console.end': changes(z.strictObject({ id: Id.optional() }), z.object({ ended: z.int().min(0) })),
} as const;
