/**
 * The interface between the light client and its chain of headers. A server's headers are either connected to known
 * ones by hash, difficulty and proof of work, or refused.
 */
import type { BlockId } from '../../../../domain/chain.ts';

/** Hashes are in displayed byte order. */
export type Header = {
  height: number;
  hash: string;
  previous: string;
  merkleRoot: string;
  timeSeconds: number;
  /** The target in compact form. */
  bits: number;
};

/** A request for `count` headers from `from` upwards. */
export type HeaderRange = { from: number; count: number };

/** The result of connecting a run of headers. */
export type Connected =
  /** The chain has a new tip. `orphaned`: the blocks that left it, ascending; empty unless it was a reorganisation. */
  | { kind: 'extended'; tip: BlockId; added: number; orphaned: BlockId[] }
  /** All of them were known. */
  | { kind: 'known' }
  /**
   * They follow no known block: `from - 1` is on another branch or unknown. Ask the server again from `retryFrom` on:
   * up to the same end or, if that is above the tip, as many as one request allows. The distance triples each time,
   * until the run starts on the chain or is refused.
   */
  | { kind: 'apart'; retryFrom: number }
  /**
   * A valid branch that forks at `forkHeight` without more work than the chain has above it; nothing was changed.
   * `work`: of its headers. `missingWork`: the additional work needed, at least one unit. Connect the same run with
   * more headers at its end, if the server has them.
   */
  | { kind: 'weaker'; forkHeight: number; work: bigint; missingWork: bigint };

/** The number of headers at the beginning of a run that an earlier call verified, and their work. */
export type Verified = { readonly count: number; readonly work: bigint };

export const UNVERIFIED: Verified = { count: 0, work: 0n };

/** Why a run was refused. All but `future`, which a wrong clock here also causes, prove a bad server. */
export type HeaderFault =
  /** No whole number of headers, none, or more than allowed. */
  | 'length'
  /** A header does not link to the one before it. */
  | 'link'
  /** It contradicts a checkpoint, or forks below it. */
  | 'checkpoint'
  /** Another difficulty than the rules require. */
  | 'bits'
  /** The hash is above the target. */
  | 'work'
  /** Not later than the median time of the eleven headers before it. */
  | 'median-time'
  /** More than two hours ahead of this clock. */
  | 'future'
  /** The difficulty fell implausibly low since the checkpoint: the chain was made by the server. */
  | 'easy'
  /** A branch that forks deeper than any that is considered. */
  | 'deep';

/** A server sent headers that cannot be on the chain. */
export class HeaderRejected extends Error {
  readonly fault: HeaderFault;
  /** The height of the first wrong header. */
  readonly height: number;

  constructor(fault: HeaderFault, height: number, message: string) {
    super(`header at ${height}: ${message}`);
    this.name = 'HeaderRejected';
    this.fault = fault;
    this.height = height;
  }
}

/** The chain of headers. Changes wait for each other; reads are synchronous. */
export interface Headers {
  /** The checkpoint. Nothing below it is ever reorganised. */
  readonly base: BlockId;
  /** The tip of the valid chain with the most work; at the beginning `base`. */
  readonly tip: BlockId;
  /** The height of the lowest held header; `base.height + 1` without any. */
  readonly lowest: number;
  /** The work of all headers above `base`. */
  readonly work: bigint;

  /**
   * The next headers to fetch for `prepend`: below the held ones, down to `height`. Without `height`: those that the
   * difficulty rules need before the first `connect`; null if none are missing.
   */
  wantedBelow(height?: number): HeaderRange | null;

  /**
   * Adds older headers, verified by hash from the lowest held one (or the checkpoint) downwards. `bytes`: whole
   * headers, the first at height `from`, the last at `lowest - 1` or higher; held ones are skipped. Throws
   * `HeaderRejected`.
   */
  prepend(bytes: Uint8Array, from: number): Promise<void>;

  /**
   * Adds a server's headers from height `from` upwards, and takes them if they are valid and have the most work.
   * Throws `HeaderRejected`; then nothing was changed. To be called once `wantedBelow()` is null. `verified`: from an
   * earlier call that returned `weaker`, for a run that began with the same headers at the same height.
   */
  connect(bytes: Uint8Array, from: number, verified?: Verified): Promise<Connected>;

  /** The header at a height of the chain; null if it is not held. */
  at(height: number): Header | null;

  /** The hash at a height, also of `base` before its header is held; null if it is unknown. */
  hashAt(height: number): string | null;

  /** The median time (BIP-113) at a held header; null if the ten before it are not all held. */
  medianTimeSeconds(height: number): number | null;

  /**
   * A height such that every block mined since `timeMs` (milliseconds since 1970) lies above it, allowing for miners'
   * clocks; null when older headers must be fetched first to tell.
   */
  heightBefore(timeMs: number): number | null;

  /** Ends it. Waits for a write under way. */
  close(): Promise<void>;
}

/** Headers that one call may add. A server sends 2,016 at once. A longer branch is connected in one run. */
export const HEADERS_PER_CALL_MAX = 20_160;
/** Headers in one request, as protocol 1.4 and later servers all allow. */
export const HEADERS_PER_REQUEST = 2_016;
