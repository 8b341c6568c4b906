/**
 * What the light client and its header chain say to each other. A server is believed nothing: what it sends is either
 * connected to what is known by hash, difficulty and proof of work, or refused.
 */
import type { BlockId } from '../../../../domain/chain.ts';

/** A header as its fields are used here. Hashes are written as nodes print them. */
export type Header = {
  height: number;
  hash: string;
  previous: string;
  merkleRoot: string;
  timeSeconds: number;
  /** The target in its compact form, as in the header. */
  bits: number;
};

/** Heights to ask a server for: `count` headers from `from` upwards. */
export type HeaderRange = { from: number; count: number };

/** What became of a run of headers that a server sent. */
export type Connected =
  /** The chain has a new tip. `orphaned`: the blocks that left it, ascending; empty unless it was a reorganisation. */
  | { kind: 'extended'; tip: BlockId; added: number; orphaned: BlockId[] }
  /** All of them were known. */
  | { kind: 'known' }
  /**
   * They do not follow a block that is known: `from - 1` is of another branch, or not known yet. Ask the server again
   * from `retryFrom` on: up to the same end, or, if that is above the tip, as far as one request goes. It lies three times
   * as far back each time, until the run begins on the chain or is refused.
   */
  | { kind: 'apart'; retryFrom: number }
  /**
   * A valid branch that follows the block at `forkHeight` and has no more work than the chain has above it; nothing was
   * changed. Its headers stand for `work`; `missingWork` more is needed, at least one unit: connect the same run with more
   * headers at its end, if the server has more.
   */
  | { kind: 'weaker'; forkHeight: number; work: bigint; missingWork: bigint };

/** How many headers at the beginning of a run an earlier call found valid, and the work that they stand for. */
export type Verified = { readonly count: number; readonly work: bigint };

export const UNVERIFIED: Verified = { count: 0, work: 0n };

/** Why a run of headers was refused. All but `future`, which a wrong clock of our own also causes, prove a bad server. */
export type HeaderFault =
  /** Not a whole number of headers, none, or more than may be sent at once. */
  | 'length'
  /** A header does not name the one before it. */
  | 'link'
  /** It contradicts a checkpoint, or parts from the chain below it. */
  | 'checkpoint'
  /** Another difficulty than the rules ask for. */
  | 'bits'
  /** The hash is above the target. */
  | 'work'
  /** Not later than the median time of the eleven headers before it. */
  | 'median-time'
  /** More than two hours ahead of our clock. */
  | 'future'
  /** The difficulty fell below anything plausible since the checkpoint: a chain made by whoever sent it. */
  | 'easy'
  /** A branch that parts deeper from the chain than any that is considered. */
  | 'deep';

/** A server sent headers that cannot be of the chain. */
export class HeaderRejected extends Error {
  readonly fault: HeaderFault;
  /** Of the first header at fault. */
  readonly height: number;

  constructor(fault: HeaderFault, height: number, message: string) {
    super(`header at ${height}: ${message}`);
    this.name = 'HeaderRejected';
    this.fault = fault;
    this.height = height;
  }
}

/** The chain of headers of one ledger. One writer: calls that change it wait for each other. Reads are synchronous. */
export interface Headers {
  /** The checkpoint that everything hangs on: nothing below it is ever reorganised. */
  readonly base: BlockId;
  /** The tip of the valid chain with the most work; `base` at the beginning. */
  readonly tip: BlockId;
  /** The height of the lowest header held; `base.height + 1` when there is none yet. */
  readonly lowest: number;
  /** The work of all headers above `base`. */
  readonly work: bigint;

  /**
   * What to fetch next and give to `prepend`: headers below those held, down to `height`. Without `height`: those that
   * the difficulty rules need before `connect` may be called; null when nothing more is needed.
   */
  wantedBelow(height?: number): HeaderRange | null;

  /**
   * Takes older headers, verified by hash from the lowest one held (or the checkpoint) downwards: `bytes` holds whole
   * headers, the first at height `from`, the last at `lowest - 1` or higher; what is held already is passed over. Throws
   * `HeaderRejected`.
   */
  prepend(bytes: Uint8Array, from: number): Promise<void>;

  /**
   * Takes headers that a server has on its chain from height `from` upwards, and follows them if they are valid and
   * have the most work. Throws `HeaderRejected`; then nothing was changed. Call once `wantedBelow()` is null. `verified`:
   * what an earlier call that ended in `weaker` found of a run that began with the same headers at the same height.
   */
  connect(bytes: Uint8Array, from: number, verified?: Verified): Promise<Connected>;

  /** The header at a height of the chain, or null when it is not held. */
  at(height: number): Header | null;

  /** The hash at a height: also of `base` while its header is not held yet. Null when it is not known. */
  hashAt(height: number): string | null;

  /** The median time (BIP-113) of a held header and the ten before it, or null where they are not all held. */
  medianTimeSeconds(height: number): number | null;

  /**
   * A height such that every block mined since `timeMs` (milliseconds since 1970) lies above it, allowing for miners'
   * clocks; null when older headers must be fetched first to tell.
   */
  heightBefore(timeMs: number): number | null;

  /** Ends it. Waits for a write under way. */
  close(): Promise<void>;
}

/** Headers that one call may bring: what a server sends at once is 2,016. A longer branch is connected in one run. */
export const HEADERS_PER_CALL_MAX = 20_160;
/** Headers in one request, as protocol 1.4 and later servers all allow. */
export const HEADERS_PER_REQUEST = 2_016;
