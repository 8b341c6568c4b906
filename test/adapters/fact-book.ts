/**
 * What a store makes of an adapter's updates, in memory and by the rules alone: compare-and-set on the checkpoint; a
 * credit in a block is undone only by that block leaving; an unconfirmed fact goes only when a complete view of the
 * mempool does not mention it. Tests assert on what it says then, not on how an adapter came to tell it.
 */
import { expect } from 'vitest';
import {
  type ChainAdapter,
  type ListedScript,
  type MeantCredit,
  type OpenNonce,
  type ScriptList,
  type StoredCoin,
  type StoredDebit,
  tipOf,
} from '../../daemon/chains/adapter.ts';
import type { AssetId } from '../../daemon/domain/assets.ts';
import type {
  BlockId,
  ChainUpdate,
  Checkpoint,
  Credit,
  Debit,
  DerivedAddress,
  SpendSeen,
} from '../../daemon/domain/chain.ts';
import { Unavailable } from '../../daemon/domain/errors.ts';

const CATCH_UP_MS = 20_000;
const BEGIN_MS = 60_000;
const AGAIN_MS = 50;

/**
 * Where a chain begins: the program asks again, too, while a source is not ready, as a server whose headers are still being fetched.
 * How long that takes is the machine's.
 */
export async function beginning(adapter: ChainAdapter, birthday: number | null = null): Promise<Checkpoint> {
  const signal = AbortSignal.timeout(BEGIN_MS);
  for (;;) {
    try {
      return await adapter.begin(birthday, signal);
    } catch (error) {
      if (!(error instanceof Unavailable) || signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

export class FactBook implements ScriptList {
  checkpoint: Checkpoint = [];
  readonly credits = new Map<string, Credit>();
  readonly spends = new Map<string, SpendSeen>();
  readonly debits = new Map<string, Debit>();
  /** The nonces that a test reserved. */
  readonly nonces: OpenNonce[] = [];
  readonly #targets = new Map<string, number>();
  readonly #scripts: ListedScript[] = [];
  #ahead: string[] = [];
  /** By the id without a number behind. */
  readonly #meant = new Map<string, MeantCredit[]>();

  watch(target: DerivedAddress): number {
    const id = this.#targets.size + 1;
    this.#targets.set(Buffer.from(target.script).toString('hex'), id);
    this.#scripts.push({ id, script: target.script });
    return id;
  }

  targetIdOf(script: Uint8Array): number | undefined {
    return this.#targets.get(Buffer.from(script).toString('hex'));
  }

  hadMoney(targetId: number): boolean {
    return [...this.credits.values()].some((credit) => credit.targetId === targetId);
  }

  /** All targets of a book are of one account. */
  accountOf(targetId: number): number | undefined {
    return targetId <= this.#targets.size ? 1 : undefined;
  }

  unitsAt(targetId: number, asset: AssetId): bigint {
    const of = (list: Iterable<Credit | Debit>): bigint =>
      [...list]
        .filter((one) => one.targetId === targetId && one.amount.asset === asset && one.block !== null)
        .reduce((sum, { amount }) => sum + amount.units, 0n);
    return of(this.credits.values()) - of(this.debits.values());
  }

  debitsAt(targetId: number, asset: AssetId): StoredDebit[] {
    return [...this.debits.values()].flatMap(({ id, block, amount, ...debit }) =>
      debit.targetId === targetId && amount.asset === asset && block ? [{ id, block, units: amount.units }] : [],
    );
  }

  openNonces(): OpenNonce[] {
    return this.nonces.map((one) => {
      const use = [...this.spends.values()].find(({ outpoint, block }) => outpoint === one.key && block !== null);
      return { ...one, usedIn: use?.block?.hash ?? null };
    });
  }

  isOurCoin(outpoint: string): boolean {
    return this.credits.has(outpoint);
  }

  stamp(): string {
    return String(this.#scripts.length);
  }

  active(): Iterable<ListedScript[]> {
    return [[...this.#scripts]];
  }

  page(after: number, limit: number): ListedScript[] {
    return this.#scripts.slice(after, after + limit);
  }

  inBlock(hash: string): ListedScript[] {
    const ids = new Set<number>();
    for (const credit of this.credits.values()) {
      const spent = [...this.spends.values()].some(
        (spend) => spend.outpoint === credit.id && spend.block?.hash === hash,
      );
      if (spent || credit.block?.hash === hash) ids.add(credit.targetId);
    }
    return this.#scripts.filter(({ id }) => ids.has(id));
  }

  coinsOf(targetId: number): StoredCoin[] {
    const ids = [...this.credits.values()].filter((credit) => credit.targetId === targetId).map(({ id }) => id);
    return ids.flatMap((id) => this.coin(id) ?? []);
  }

  coin(outpoint: string): StoredCoin | undefined {
    const credit = this.credits.get(outpoint);
    if (!credit) return undefined;
    const spend = [...this.spends.values()].find((one) => one.outpoint === outpoint);
    return {
      targetId: credit.targetId,
      outpoint,
      txid: credit.txid,
      asset: credit.amount.asset,
      units: credit.amount.units,
      blockHeight: credit.block?.height ?? null,
      blockHash: credit.block?.hash ?? null,
      locked: credit.locked ?? false,
      spentTxid: spend?.txid ?? null,
      spentBlockHeight: spend?.block?.height ?? null,
      spentBlockHash: spend?.block?.hash ?? null,
    };
  }

  underId(id: string): MeantCredit[] {
    return (this.#meant.get(id) ?? []).map((one) => ({ ...one, block: this.credits.get(one.id)?.block ?? null }));
  }

  /** What an id means never changes. */
  #keepMeaning({ id, targetId, amount, moved = false }: MeantCredit): void {
    const [first, place] = id.split(':');
    const origin = `${first}:${place}`;
    const under = this.underId(origin);
    const known = under.find((one) => one.id === id);
    const isSame =
      known?.targetId === targetId &&
      known.amount.asset === amount.asset &&
      known.amount.units === amount.units &&
      known.moved === moved;
    // there may be thousands
    if (known && !isSame) expect(known).toMatchObject({ id, targetId, amount, moved });
    if (!known) this.#meant.set(origin, [...under, { id, targetId, amount, moved, block: null }]);
  }

  pending(): StoredCoin[][] {
    const all = [...this.credits.keys()].flatMap((id) => this.coin(id) ?? []);
    return [all.filter((one) => !one.blockHash || (one.spentTxid && !one.spentBlockHash))];
  }

  ahead(): string[] {
    return this.#ahead;
  }

  get tip(): BlockId {
    return tipOf(this.checkpoint);
  }

  /** The last `blocks` are to leave by an update that is broken off before it has undone a fact of theirs. */
  breakOff(blocks: number): void {
    this.#ahead = this.checkpoint.splice(-blocks).map(({ hash }) => hash);
  }

  apply(update: ChainUpdate): void {
    expect(update.since).toEqual(this.tip);
    this.#checkCheckpoint(update);
    const gone = new Set([...update.orphaned.map(({ hash }) => hash), ...this.#ahead]);
    for (const { hash } of update.checkpoint) gone.delete(hash);
    this.#ahead = [];
    for (const fact of [...this.credits.values(), ...this.spends.values(), ...this.debits.values()]) {
      if (fact.block && gone.has(fact.block.hash)) fact.block = null;
    }
    for (const credit of update.credits) {
      this.#keepMeaning(credit);
      this.credits.set(credit.id, structuredClone(credit));
    }
    for (const debit of update.debits ?? []) this.debits.set(debit.id, structuredClone(debit));
    for (const spend of update.spends) this.spends.set(`${spend.outpoint}>${spend.txid}`, structuredClone(spend));
    this.checkpoint = update.checkpoint;
    if (update.mempool === 'unknown') return;
    const told = new Set([
      ...update.credits.map(({ id }) => id),
      ...update.spends.map(({ outpoint, txid }) => `${outpoint}>${txid}`),
    ]);
    for (const [id, credit] of this.credits) if (!credit.block && !told.has(id)) this.credits.delete(id);
    for (const [id, debit] of this.debits) if (!debit.block) this.debits.delete(id);
    for (const [id, spend] of this.spends) if (!spend.block && !told.has(id)) this.spends.delete(id);
  }

  /** Rules that every update keeps by itself. */
  #checkCheckpoint({ checkpoint, orphaned, credits, spends }: ChainUpdate): void {
    expect(checkpoint.length).toBeGreaterThan(0);
    expect(checkpoint.length).toBeLessThanOrEqual(120);
    const heights = checkpoint.map(({ height }) => height);
    expect(heights).toEqual(heights.map((_, i) => (heights[0] ?? 0) + i));
    const kept = new Map(checkpoint.map(({ height, hash }) => [height, hash]));
    for (const { height, hash } of orphaned) expect(kept.get(height)).not.toBe(hash);
    const ids = [...credits.map(({ id }) => id), ...spends.map(({ outpoint, txid }) => `${outpoint}>${txid}`)];
    expect(new Set(ids).size).toBe(ids.length);
    for (const { block } of [...credits, ...spends]) {
      if (block && block.height >= (heights[0] ?? 0)) expect(kept.get(block.height)).toBe(block.hash);
    }
  }

  /** Syncs until the adapter's view is complete, `ms` at most. Returns the updates that it took. */
  async catchUp(
    adapter: ChainAdapter,
    signal: AbortSignal = AbortSignal.timeout(25_000),
    ms: number = CATCH_UP_MS,
  ): Promise<ChainUpdate[]> {
    const updates: ChainUpdate[] = [];
    const until = performance.now() + ms;
    while (performance.now() < until) {
      const update = await adapter.sync(this.checkpoint, signal);
      if (update) {
        this.apply(update);
        updates.push(update);
        if (update.mempool === 'complete') return updates;
      }
      // Between two looks at a mempool an adapter may want to rest.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`no complete view in ${ms} ms`);
  }

  /** What a target was paid: units, and the height of the block or null, in a fixed order. */
  paid(targetId: number): { units: bigint; height: number | null }[] {
    return [...this.credits.values()]
      .filter((credit) => credit.targetId === targetId)
      .map((credit) => ({ units: credit.amount.units, height: credit.block?.height ?? null }))
      .sort((a, b) => (a.units < b.units ? -1 : Number(a.units > b.units)));
  }

  creditOf(targetId: number): Credit {
    const [first, ...more] = [...this.credits.values()].filter((credit) => credit.targetId === targetId);
    expect(more).toEqual([]);
    if (!first) throw new Error(`nothing was paid to target ${targetId}`);
    return first;
  }

  /** The transactions that spend an outpoint, with their block's height. */
  spentBy(outpoint: string): { txid: string; height: number | null }[] {
    return [...this.spends.values()]
      .filter((spend) => spend.outpoint === outpoint)
      .map(({ txid, block }) => ({ txid, height: block?.height ?? null }));
  }
}
