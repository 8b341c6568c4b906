/**
 * Finds payments in the native coin. Exchanges often pay from inside a contract. No list of transactions and no log has
 * such a transfer. So balances are compared with the stored credits, and blocks are searched for the cause of a
 * difference.
 *
 * Invariant: the credits of an address, less its debits, sum up to its balance. A direct transfer is credited under its
 * transaction's ID; the rest of a block's difference is one credit under that block's hash. Where an endpoint no longer has the
 * state of blocks, direct transfers are searched in them (`dark-blocks.ts`); the rest is dated in the first block whose state it has.
 */
import type { AssetId } from '../../domain/assets.ts';
import type { BlockId, Checkpoint, Credit, Debit } from '../../domain/chain.ts';
import { assert, present } from '../../domain/errors.ts';
import type { ListedScript, ScriptList } from '../adapter.ts';
import { highestId, tipOf } from '../adapter.ts';
import type { Pause } from '../slices.ts';
import { idFor } from './credit-ids.ts';
import { DarkBlocks, type OwnSending } from './dark-blocks.ts';
import { type EvmEndpoint, hexOfScript } from './endpoint.ts';
import { dated, firstAbove } from './located.ts';
import { adoptedTo } from './missing-sendings.ts';
import { txidOf } from './outgoing.ts';
import { isOfAccount } from './transfers.ts';
import { Turns } from './turns.ts';

/**
 * The addresses whose balance one look requests: the most urgent ones, those that this process has not compared yet (a restore or
 * an import adds thousands, which were paid long ago), and some of the others in rotation.
 */
const URGENT_PER_LOOK_MAX = 1_000;
const NEW_PER_LOOK_MAX = 500;
const OTHERS_PER_LOOK = 50;
/** Ids below the newest that count as new at the start: more than one restore adds. The rotation reaches older ones. */
const NEW_AT_START_IDS = 200_000;
/** The differences that one look explains, and for how long. The next looks explain the others. */
const EXPLAINED_PER_LOOK_MAX = 50;
const EXPLAIN_MS = 5_000;
/** The same where one is put off that had no turn lately. Endpoints of BNB Smart Chain keep the state of blocks for a minute. */
const FIRST_MS = 20_000;
/** For how long differences that are put off hold deadlines. */
const LEFT_HOLDS_MS = 600_000;
/** Longer than a look takes. */
const LEFT_AGAIN_MS = 120_000;
const LEFT_KEPT_MAX = 1_000;
/** For how long a look explains that read blocks without state, which another one would read once more. */
const DARK_MS = 60_000;
/** Blocks of one address's difference. */
const BLOCKS_PER_ADDRESS_MAX = 20;
/** More than one look asks for. */
const SHORT_KEPT_MAX = 5_000;
/** Addresses that hold less than their books, whose transactions one step looks for. */
const SHORT_PER_STEP_MAX = 20;
/** Transactions that were not found, or not agreed, are looked for again. */
const SHORT_AGAIN_MS = 600_000;
/** Of an address that is not searched for its balance. */
const UNKNOWN_BALANCE = -1n;

/**
 * `atHead`: the checkpoint ends at the chain's tip. `orphaned`: blocks that left the chain. `debits`: those of this step, which are
 * not stored yet; those that wait for another operator may be among them, if the same endpoint reported them. `held`: credits that are known, and that the store does not have in their blocks yet.
 */
type NativeView = {
  checkpoint: Checkpoint;
  atHead: boolean;
  orphaned: ReadonlySet<string>;
  timeOf: (hash: string) => number | undefined;
  debits: readonly Debit[];
  held: readonly Credit[];
};

/** A credit in a block: its amount in wei, and the block's hash. */
type NativeFact = { units: bigint; hash: string };

/** By the known facts of one address: what it received, and what left it up to a height or by a transaction. */
type Books = {
  credits: ReadonlyMap<string, NativeFact>;
  left: (height: number) => bigint;
  hasLeft: (txid: string) => boolean;
};

/** An address that received more than is known, and its books. `more`: by how much. */
type Difference = { one: ListedScript; more: bigint; books: Books };

/** The credits of a look, the addresses that it left to a later one, and those of which it explained a part or nothing. */
type Explained = { credits: Credit[]; left: ListedScript[]; inPart: ListedScript[] };

export class NativeCoin {
  readonly #asset: AssetId;
  readonly #list: ScriptList;
  /** The height up to which balances were compared, by this process or by the one before; null: no step was read yet. */
  #comparedTo: number | null = null;
  /** The position of the round through all addresses. */
  #turn = 0;
  /** The highest id whose balance was compared; null: none yet. */
  #compared: number | null = null;
  /** The last look left new addresses to the next one. */
  #hasMore = false;
  /** The endpoint and the block of the last look that found nothing and left nothing. */
  #settled: { endpoint: EvmEndpoint; hash: string } | null = null;
  readonly #short: ListedScript[] = [];
  readonly #shortAt = new Map<number, { balance: bigint; atMs: number }>();
  /** The last look left a difference to the next one. */
  #isPostponed = false;
  readonly #turns = new Turns();
  /** The addresses whose differences the last look left to the next one. */
  #left: readonly ListedScript[] = [];
  /** The ids of those, and of those that it put off for another reason: it told nothing of them. */
  #untold: ReadonlySet<number> = new Set();
  /** The ids of the addresses whose balances it asked for. */
  #asked: ReadonlySet<number> = new Set();
  /** Since when each look left an address of which nothing was told; null: the last one left none. */
  #leftFirstAtMs: number | null = null;
  #notedAtMs = Number.NEGATIVE_INFINITY;

  constructor(asset: AssetId, list: ScriptList) {
    this.#asset = asset;
    this.#list = list;
  }

  /** Called before each step. `height`: of the oldest block that is read anew. `isReorganised`: blocks above it left the chain. */
  begin(height: number, isReorganised: boolean): void {
    this.#comparedTo ??= height;
    if (!isReorganised) return;
    this.#comparedTo = Math.min(this.#comparedTo, height);
    this.#turns.reorganised(height);
  }

  /**
   * Credits of this coin that balances show at the tip of a checkpoint and the store does not know; null when the endpoint
   * no longer has that block's state.
   */
  async look(
    endpoint: EvmEndpoint,
    view: NativeView,
    pause: Pause,
    signal: AbortSignal,
    only?: readonly ListedScript[],
  ): Promise<Credit[] | null> {
    const beganAtMs = performance.now();
    const fresh = only || !view.atHead ? [] : this.#fresh();
    const tip = tipOf(view.checkpoint);
    const holders = only ? [] : (this.#list.holders?.(this.#asset) ?? []);
    const isSame = !only && this.#isSettled(endpoint, tip, view);
    const listed = only ?? (isSame ? fresh : this.#chosen([...holders, ...fresh, ...this.#left]));
    if (!only) {
      this.#asked = new Set([...(isSame ? this.#asked : []), ...listed.map(({ id }) => id)]);
      this.#isPostponed = false;
      this.#untold = new Set();
    }
    if (listed.length === 0) return [];
    const balances = await endpoint.balances(
      listed.map(({ script }) => hexOfScript(script)),
      tip,
      signal,
    );
    if (balances.includes(null)) return null;
    const movable = new Set(holders.flatMap(({ id, isOutside }) => (isOutside ? [id] : [])));
    const addresses = new Set(listed.map(({ script }) => hexOfScript(script)));
    const dark = new DarkBlocks({ endpoint, checkpoint: view.checkpoint, addresses, pause, signal });
    const open: Difference[] = [];
    const waiting: ListedScript[] = [];
    for (const [i, one] of listed.entries()) {
      const wait = pause();
      if (wait) await wait;
      const balance = present(balances[i], 'balance of a listed address');
      if (this.#isAsStored(one.id, balance, view)) continue;
      const out = this.#leftBy(one.id, view);
      const came = balance + out.left(tip.height);
      const most = this.#known(one.id, view);
      const isLess = came < sumOf(most);
      const known = isLess ? await this.#vouchedFor(endpoint, one, out, view, signal) : most;
      if (came < sumOf(known)) this.#note(one, balance);
      if (came <= sumOf(known)) continue;
      // its wallet may have sent something before this came, or out of what waits for another operator, which is looked for first
      const isLookedFor = this.#short.some(({ id }) => id === one.id);
      // each crumb makes another balance
      const isPostponed =
        (isLess || movable.has(one.id)) &&
        (isLookedFor || (this.#note(one, balance) && !this.#turns.hasWaited(one.id)));
      if (isPostponed) waiting.push(one);
      else open.push({ one, more: came - sumOf(known), books: { credits: known, ...out } });
    }
    if (waiting.length > 0) this.#isPostponed = true;
    const explained = await this.#explainInTurn(endpoint, open, dark, signal, !only);
    if (explained === null) return null;
    const { credits, left, inPart } = explained;
    waiting.push(...left, ...inPart);
    if (!only) this.#noteLeft(explained, waiting, beganAtMs);
    // without progress it waits for the next block, as the rest of one that was explained in part
    if (!only && left.length > 0 && credits.length > 0) this.#isPostponed = true;
    await dated(credits, endpoint, view, signal);
    if (!only) this.#noteCompared(listed, waiting, tip.height);
    const last = fresh.at(-1);
    if (last) this.#compared = this.#comparedUpTo(last.id, waiting);
    if (!only && view.atHead) this.#hasMore = last !== undefined && this.#fresh().length > 0;
    const isSettled = open.length === 0 && !this.#isPostponed;
    if (!only) this.#settled = isSettled ? { endpoint, hash: tip.hash } : null;
    return credits;
  }

  /** Whether the last look told nothing of an address: it left the difference to a later one, or did not ask about it. */
  isUntold(targetId: number): boolean {
    return this.#untold.has(targetId) || !this.#asked.has(targetId);
  }

  /**
   * Whether it left one that had no turn lately, or found nothing of one: a payment may be there of which nothing was told.
   * After some minutes it is so by somebody's crumbs, which hold no deadline for longer.
   */
  get hasLeftFirst(): boolean {
    return this.#leftFirstAtMs !== null && performance.now() - this.#leftFirstAtMs < LEFT_HOLDS_MS;
  }

  #noteLeft({ credits, left, inPart }: Explained, waiting: readonly ListedScript[], beganAtMs: number): void {
    const told = new Set(credits.map(({ targetId }) => targetId));
    this.#left = [...left, ...inPart].slice(0, LEFT_KEPT_MAX);
    this.#untold = new Set(waiting.map(({ id }) => id));
    const isSilent = inPart.some(({ id }) => !told.has(id));
    const hasFirst = isSilent || left.some(({ id }) => !this.#turns.wasTried(id));
    const now = performance.now();
    // looks that failed for a while explained nothing; a look itself may take as long
    const isBegun = this.#leftFirstAtMs === null || beganAtMs - this.#notedAtMs > LEFT_AGAIN_MS;
    if (!hasFirst) this.#leftFirstAtMs = null;
    else if (isBegun) this.#leftFirstAtMs = now;
    this.#notedAtMs = now;
  }

  /** Has transactions of an address of ours looked for, of which blocks have more than the books. */
  suspect(script: Uint8Array): void {
    const id = this.#list.targetIdOf(script);
    if (id !== undefined) this.#note({ id, script }, UNKNOWN_BALANCE);
  }

  /** Addresses that hold less than their books. Each is returned once for each balance, and again after a while. */
  takeShort(): ListedScript[] {
    return this.#short.splice(0, SHORT_PER_STEP_MAX);
  }

  /** Returns addresses once more, of which the next step finds more. */
  takeAgain(short: readonly ListedScript[]): void {
    this.#short.unshift(...short);
  }

  /** Whether the same question would get the same answer. */
  #isSettled(endpoint: EvmEndpoint, { hash }: BlockId, { atHead, orphaned, debits }: NativeView): boolean {
    const isSame = this.#settled?.endpoint === endpoint && this.#settled.hash === hash;
    return isSame && atHead && orphaned.size === 0 && debits.length === 0;
  }

  /** False if it was noted with this balance lately. */
  #note(one: ListedScript, balance: bigint): boolean {
    const noted = this.#shortAt.get(one.id);
    const atMs = performance.now();
    if (noted?.balance === balance && atMs - noted.atMs < SHORT_AGAIN_MS) return false;
    if (this.#shortAt.size >= SHORT_KEPT_MAX) this.#shortAt.clear();
    this.#shortAt.set(one.id, { balance, atMs });
    this.#short.push(one);
    return true;
  }

  /** Whether something does not wait for the next block: a difference that is still to be explained, or very many new addresses. */
  isDue(): boolean {
    const isWaiting = this.#hasMore || this.#isPostponed || this.#short.length > 0;
    return isWaiting || this.#fresh().length === NEW_PER_LOOK_MAX;
  }

  #fresh(): ListedScript[] {
    this.#compared ??= Math.max(0, highestId(this.#list) - NEW_AT_START_IDS);
    return this.#list.page(this.#compared, NEW_PER_LOOK_MAX);
  }

  /** The urgent addresses, those that come first, and the next ones by turns. */
  #chosen(first: readonly ListedScript[]): ListedScript[] {
    const chosen = new Map<number, ListedScript>();
    for (const page of this.#list.active()) {
      for (const one of page) if (chosen.size < URGENT_PER_LOOK_MAX) chosen.set(one.id, one);
      if (chosen.size >= URGENT_PER_LOOK_MAX) break;
    }
    const others = this.#list.page(this.#turn, OTHERS_PER_LOOK);
    for (const one of [...first, ...others]) chosen.set(one.id, one);
    this.#turn = others.length < OTHERS_PER_LOOK ? 0 : others.at(-1)!.id;
    return [...chosen.values()];
  }

  /** Whether a balance equals the stored one, and no new fact changes it. */
  #isAsStored(targetId: number, balance: bigint, { orphaned, debits }: NativeView): boolean {
    if (orphaned.size > 0 || debits.some((debit) => debit.targetId === targetId)) return false;
    return balance === this.#list.unitsAt(targetId, this.#asset);
  }

  /** All that an address received by the known facts in blocks, by id. */
  #known(targetId: number, { orphaned, held }: NativeView): Map<string, NativeFact> {
    const known = new Map<string, NativeFact>();
    for (const { id, block, amount, ...credit } of held) {
      const isHere = block !== null && !orphaned.has(block.hash);
      if (isHere && credit.targetId === targetId && amount.asset === this.#asset)
        known.set(id, { units: amount.units, hash: block.hash });
    }
    for (const { outpoint, asset, units, blockHash: hash } of this.#list.coinsOf(targetId)) {
      if (hash !== null && !orphaned.has(hash) && asset === this.#asset) known.set(outpoint, { units, hash });
    }
    return known;
  }

  /**
   * The credits of an address by the known facts, where an endpoint has less than they and what waits make up together. Of what waits it
   * vouches for payments from before the checkpoint alone, as far as the balance in the checkpoint's first block leaves room, direct
   * transfers first. A search in the checkpoint would not find those again: it would take that first block for theirs.
   */
  async #vouchedFor(
    endpoint: EvmEndpoint,
    { id: targetId, script }: ListedScript,
    { left }: Pick<Books, 'left'>,
    view: NativeView,
    signal: AbortSignal,
  ): Promise<Map<string, NativeFact>> {
    const [first] = view.checkpoint;
    assert(first, 'a checkpoint has a block');
    const known = this.#known(targetId, { ...view, held: [] });
    const older = view.held
      .filter(({ block }) => block !== null && block.height < first.height)
      .sort((a, b) => Number(isInside(a)) - Number(isInside(b)));
    const waiting = [...this.#known(targetId, { ...view, held: older })].filter(([id]) => !known.has(id));
    if (waiting.length === 0) return known;
    const [balance] = await endpoint.balances([hexOfScript(script)], first, signal);
    let room = (balance ?? 0n) + left(first.height);
    for (const { outpoint, asset, units, blockHeight } of this.#list.coinsOf(targetId)) {
      const isThere = blockHeight !== null && blockHeight <= first.height && asset === this.#asset;
      if (isThere && known.has(outpoint)) room -= units;
    }
    for (const [id, one] of waiting) {
      if (one.units > room) continue;
      room -= one.units;
      known.set(id, one);
    }
    return known;
  }

  /** The amount that left an address up to a height, in wei, and by which transactions. */
  #leftBy(targetId: number, { orphaned, debits }: NativeView): Omit<Books, 'credits'> {
    const stored = this.#list.debitsAt(targetId, this.#asset).filter(({ block }) => !orphaned.has(block.hash));
    const txids = new Set(stored.map(({ id }) => txidOf(id)));
    // an adopted balance contains what left before it, and gives it up once that is stored
    const adopted = adoptedTo(stored);
    // one that waits may be told twice: as the use of a reserved nonce, and by the search for what is missing
    const all = new Map(stored.map(({ id, block, units }) => [id, { block, units }]));
    for (const { id, block, amount, ...debit } of debits) {
      if (debit.targetId !== targetId || amount.asset !== this.#asset || !block) continue;
      txids.add(txidOf(id));
      if (block.height > adopted && !all.has(id)) all.set(id, { block, units: amount.units });
    }
    return {
      left: (height) =>
        [...all.values()].reduce((sum, { block, units }) => sum + (block.height <= height ? units : 0n), 0n),
      hasLeft: (txid) => txids.has(txid),
    };
  }

  /** The highest id after a look at the new addresses up to one: the next look begins with the first of them that waits. */
  #comparedUpTo(last: number, waiting: readonly ListedScript[]): number {
    const before = this.#compared ?? 0;
    return waiting.reduce((least, { id }) => (id > before ? Math.min(least, id - 1) : least), last);
  }

  /** Notes up to where addresses were compared. */
  #noteCompared(listed: readonly ListedScript[], waiting: readonly ListedScript[], height: number): void {
    const ids = new Set(waiting.map(({ id }) => id));
    for (const { id } of listed) {
      if (ids.has(id)) this.#turns.left(id, this.#comparedTo);
      else this.#turns.done(id);
    }
    this.#comparedTo = Math.max(height, this.#comparedTo ?? 0);
  }

  /**
   * The credits of as many addresses as one look explains, and the others. An address that had no turn lately is put off only after
   * FIRST_MS: until it is explained, its invoice may end. `inPart`: those whose rest waits, too.
   * `isOwn`: a look that takes turns, not the second one of another operator. Null: the endpoint has no state of the tip for single questions.
   */
  async #explainInTurn(
    endpoint: EvmEndpoint,
    open: readonly Difference[],
    dark: DarkBlocks,
    signal: AbortSignal,
    isOwn: boolean,
  ): Promise<Explained | null> {
    const began = performance.now();
    if (isOwn) this.#turns.begin();
    const left = this.#turns.inOrder(open);
    const inPart: ListedScript[] = [];
    const credits: Credit[] = [];
    for (let explained = 0; explained < EXPLAINED_PER_LOOK_MAX; explained++) {
      const [next] = left;
      if (!next) break;
      const usualMs = this.#turns.wasTried(next.one.id) ? EXPLAIN_MS : FIRST_MS;
      if (explained > 0 && performance.now() - began >= (dark.hasRead ? DARK_MS : usualMs)) break;
      const found = await this.#explain(endpoint, next.one, next.books, dark, signal);
      if (found === null && explained === 0) return null;
      if (found === null) break;
      left.shift();
      if (isOwn) this.#turns.tried(next.one.id);
      for (const credit of found.credits) credits.push(credit);
      if (!found.isWhole) inPart.push(next.one);
    }
    return { credits, left: left.map(({ one }) => one), inPart };
  }

  /**
   * The credits that explain the difference between the stored balance and the endpoint's, oldest first; null: the endpoint has lost the
   * state of the tip meanwhile. `isWhole`: they explain all of it. The endpoint may lose the state in between, or there are too many blocks.
   */
  async #explain(
    endpoint: EvmEndpoint,
    one: ListedScript,
    books: Books,
    dark: DarkBlocks,
    signal: AbortSignal,
  ): Promise<{ credits: Credit[]; isWhole: boolean } | null> {
    const { checkpoint } = dark;
    const address = hexOfScript(one.script);
    // the total received up to a block, which never falls from one block to the next; null: the endpoint does not have that state
    const cameBy = async (block: BlockId): Promise<bigint | null> => {
      const [balance] = await endpoint.balances([address], block, signal);
      return balance === null || balance === undefined ? null : balance + books.left(block.height);
    };
    const all = await cameBy(tipOf(checkpoint));
    if (all === null) return null;
    const credits: Credit[] = [];
    let from = 0;
    let held = sumOf(books.credits);
    while (held < all && credits.length < BLOCKS_PER_ADDRESS_MAX && from < checkpoint.length) {
      const found = await firstAbove(cameBy, held, checkpoint, from);
      if (!found) break;
      const block = checkpoint[found.at];
      assert(block, 'the tip has the balance');
      const units = found.came - held;
      const comparedTo = this.#turns.comparedTo(one.id) ?? this.#comparedTo ?? block.height;
      const compared = Math.min(comparedTo + 1, checkpoint[0]?.height ?? block.height);
      const darkFrom = found.after < 0 ? compared : (checkpoint[found.after]?.height ?? block.height) + 1;
      const isKnown = (sending: OwnSending): boolean =>
        books.credits.get(this.#directId(one.id, sending))?.hash === sending.block.hash;
      const own = await dark.sendings(address, { from: darkFrom, to: block.height - 1 }, units, isKnown);
      own.push(...(await dark.inBlock(block)));
      credits.push(...(await this.#inBlock(endpoint, one, block, own, { ...books, units }, signal)));
      held = found.came;
      from = found.at + 1;
    }
    return { credits, isWhole: held >= all };
  }

  /**
   * The credits that make up a difference of so many units, which a block shows, and that the books do not have. `sendings`: the
   * transactions of that block and of those before it that may have brought it. A sending of the address hides as much of what came,
   * until another operator has confirmed it: so the endpoint's own word counts for it here.
   */
  async #inBlock(
    endpoint: EvmEndpoint,
    { id, script }: ListedScript,
    block: BlockId,
    sendings: readonly OwnSending[],
    { credits: known, hasLeft, units }: Books & { units: bigint },
    signal: AbortSignal,
  ): Promise<Credit[]> {
    const address = hexOfScript(script);
    const own = sendings.filter(({ from, to, value }) => from === address || (to === address && value > 0n));
    const receipts = await endpoint.receipts(
      own.map(({ txid }) => txid),
      signal,
    );
    const isKnown = (outpoint: string, { hash }: BlockId): boolean => known.get(outpoint)?.hash === hash;
    const base = { targetId: id, inputs: [], replaceable: true };
    const direct: Credit[] = [];
    let rest = units;
    for (const [i, sending] of own.entries()) {
      const { txid, from, to, value, block: at } = sending;
      const receipt = receipts[i];
      // without it nobody can tell what was sent from inside a contract
      if (receipt?.blockHash !== at.hash) return [];
      const moves = receipt.succeeded ? value : 0n;
      if (from === address && !hasLeft(txid)) rest += moves + receipt.fee;
      const directId = this.#directId(id, sending);
      if (to !== address || moves === 0n || isKnown(directId, at)) continue;
      const moved = isOfAccount(this.#list, from, id);
      const amount = { asset: this.#asset, units: moves };
      direct.push({ ...base, id: directId, txid, block: at, amount, ...(moved && { moved }) });
    }
    const credits: Credit[] = [];
    for (const credit of direct) {
      if (credit.amount.units > rest) continue;
      rest -= credit.amount.units;
      credits.push(credit);
    }
    if (rest > 0n) {
      const viaTxid = await endpoint.payerInside(address, block, rest, signal);
      const amount = { asset: this.#asset, units: rest };
      // a part that an endpoint left out at first has an id of its own
      const inside = idFor(this.#list, { id: `${block.hash}:${id}`, targetId: id, amount, block }, (one) =>
        isKnown(one, block),
      );
      credits.push({ ...base, id: inside, txid: block.hash, block, ...(viaTxid !== null && { viaTxid }), amount });
    }
    return credits;
  }

  #directId(targetId: number, { txid, from, value: units, block }: OwnSending): string {
    const moved = isOfAccount(this.#list, from, targetId);
    return idFor(this.#list, { id: `${txid}:0`, targetId, amount: { asset: this.#asset, units }, moved, block });
  }
}

/** Whether a contract sent it from inside: then it has no transaction of its own, and its block's id stands for one. */
export const isInside = ({ txid, block }: Credit): boolean => txid === block?.hash;

const sumOf = (known: ReadonlyMap<string, NativeFact>): bigint =>
  [...known.values()].reduce((sum, { units }) => sum + units, 0n);
