/** The operator API's methods about the console. */
import { z } from 'zod';
import { changes, reads } from './method.ts';
import { Id, Instant, Nothing, Text } from './operator-shapes.ts';

export const ConsoleSessionShape = z.object({
  id: Id,
  /** The browser, as it names itself. */
  name: z.string(),
  /** `counter`: locked to the counter. */
  scope: z.enum(['all', 'counter']),
  /** It is a till that was paired over the shop's network. */
  till: z.boolean(),
  created_at: Instant,
  used_at: Instant,
});

export const CONSOLE = {
  /** Opens the console's listener and makes a sign-in link, which works once. */
  'console.open': changes(Nothing, z.object({ url: z.string(), ends_at: Instant }), { scope: 'machine' }),
  'console.list': reads(Nothing, z.object({ sessions: z.array(ConsoleSessionShape) })),
  /** Ends one session, or all of them. */
  'console.end': changes(z.strictObject({ id: Id.optional() }), z.object({ ended: z.int().min(0) })),
  /**
   * Opens the till's listener and makes a link that pairs one till with the counter of a business. `urls`: the same link by each address
   * of this machine in a local network, the likeliest first. `code`: to be typed where no camera can read the link. Throws `Rejected`:
   * `till.listen`, `till.no_network`.
   */
  'till.pair': changes(
    z.strictObject({ business: Text }),
    z.object({ urls: z.array(z.string()), code: z.string(), ends_at: Instant }),
  ),
} as const;
