/** The operator API's methods about chain sources: nodes, and servers of the light client. */
import { z } from 'zod';
import { SERVER_STATES } from '../domain/chain.ts';
import { changes, reads } from './method.ts';
import { Nothing } from './operator-shapes.ts';

const Block = z.object({ height: z.int(), hash: z.string() });

const ServerShape = z.object({
  name: z.string(),
  state: z.enum(SERVER_STATES),
  /** Whether requests go to this server. */
  asked: z.boolean(),
  software: z.string().nullable(),
  tip: Block.nullable(),
  /** Blocks behind the chain with the most work; null on another branch or while not connected. */
  behind: z.int().min(0).nullable(),
  latency_ms: z.int().min(0).nullable(),
  /** Addresses subscribed on it. */
  watched: z.int().min(0),
  failures: z.int().min(0),
  error: z.string().nullable(),
});

const SourceShape = z.object({
  network: z.string(),
  chain: z.string(),
  source: z.string(),
  tip: Block.nullable(),
  tip_age_seconds: z.int().nullable(),
  lagging: z.boolean(),
  error: z.string().nullable(),
  withheld: z.string().nullable(),
  /** Whether servers of one operator alone have answered for minutes, where those of several are named. */
  unchecked: z.boolean(),
  /** How much is done while every address is searched again; null: no search is running. */
  rescan_percent: z.int().min(0).max(100).nullable(),
  /** Connected servers that have the tip of the chain; null if the source is a node. */
  agreeing: z.int().min(0).nullable(),
  /** Empty if the source is a node. */
  servers: z.array(ServerShape),
});

export const SOURCES = {
  'source.list': reads(Nothing, z.object({ sources: z.array(SourceShape) })),
  /** Searches every address of a chain in the background. A node is asked for all blocks since the accounts' birthdays. */
  'source.rescan': changes(
    z.strictObject({ network: z.string().max(20), chain: z.string().max(20) }),
    z.object({ begun: z.boolean() }),
  ),
} as const;
