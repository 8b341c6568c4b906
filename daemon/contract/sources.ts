/** The operator API's methods about where chains are read from: nodes, and servers of the light client. */
import { z } from 'zod';

const Block = z.object({ height: z.int(), hash: z.string() });

export const ServerShape = z.object({
  name: z.string(),
  /** `dropped`: it was caught at something, and is left alone for a while. */
  state: z.enum(['idle', 'connecting', 'ready', 'waiting', 'dropped']),
  /** Whether it is the one that is asked. */
  asked: z.boolean(),
  software: z.string().nullable(),
  tip: Block.nullable(),
  /** Blocks behind the chain with the most work; null on another branch, or while not connected. */
  behind: z.int().min(0).nullable(),
  latency_ms: z.int().min(0).nullable(),
  /** Addresses that it watches for us. */
  watched: z.int().min(0),
  failures: z.int().min(0),
  error: z.string().nullable(),
});

export const SourceShape = z.object({
  network: z.string(),
  chain: z.string(),
  source: z.string(),
  tip: Block.nullable(),
  tip_age_seconds: z.int().nullable(),
  lagging: z.boolean(),
  error: z.string().nullable(),
  withheld: z.string().nullable(),
  /** How many connected servers have the tip of the chain; null for a source that is one node. */
  agreeing: z.int().min(0).nullable(),
  /** Empty for a source that is one node. */
  servers: z.array(ServerShape),
});

export const SOURCES = {
  'source.list': { params: z.strictObject({}), result: z.object({ sources: z.array(SourceShape) }) },
  /** Looks at every address of a chain that there ever was, in the background; true where that was begun. */
  'source.rescan': {
    params: z.strictObject({ network: z.string().max(20), chain: z.string().max(20) }),
    result: z.object({ begun: z.boolean() }),
  },
} as const;
