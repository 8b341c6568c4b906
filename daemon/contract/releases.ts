/** The operator API's methods about notices of releases. */
import { z } from 'zod';
import { changes, reads } from './method.ts';
import { Instant, Nothing } from './operator-shapes.ts';

const ReleaseShape = z.object({ version: z.string(), date: z.string(), text: z.string() });

const State = z.object({
  /** Of this service. */
  version: z.string(),
  /** Where notices are asked for; null: this package names no feed and no key of its maker, so there are none. */
  feed: z.string().nullable(),
  /** Whether the operator said yes. */
  wanted: z.boolean(),
  asked_at: Instant.nullable(),
  /** When a feed was last taken. */
  got_at: Instant.nullable(),
  /** Why the last question failed. */
  problem: z.string().nullable(),
  /** When the maker signed the feed that is known. */
  made_at: z.string().nullable(),
  newer: ReleaseShape.nullable(),
  /** A security release that this version lacks. */
  security: ReleaseShape.nullable(),
});

export const RELEASES = {
  'releases.show': reads(Nothing, State),
  /** Says yes or no to asking for them, once a day. A yes asks at once, unless that was done within a day; answers afterwards. */
  'releases.choose': changes(z.strictObject({ wanted: z.boolean() }), State),
} as const;
