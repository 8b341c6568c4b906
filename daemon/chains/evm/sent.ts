/**
 * Finds money that left our addresses. Every transaction of an address uses its next nonce. So for each nonce that an
 * open payment reserved, this finds the transaction that used it: one of ours by its id, any other by counting the
 * address's transactions. Payments that this program did not plan, such as another machine's after a backup, appear in
 * the events of tokens, and in a balance below the books.
 *
 * Invariant: where there are endpoints of several operators, nothing leaves the books and no nonce is used by the word of one: neither an
 * amount, nor a fee, nor a failure. A false debit would explain money that never came, and a false failure would pay
 * twice. A transaction without agreement is kept, and asked about again. One exception: a small payment of ours that succeeded counts
 * while no other operator answers. One that its own block disproves is a lie, whoever agrees.
 */
import { isDeepStrictEqual } from 'node:util';
import type { AssetId } from '../../domain/assets.ts';
import type { BlockId, Checkpoint, Credit, Debit } from '../../domain/chain.ts';
import { type ListedScript, type OpenNonce, type ScriptList, tipOf } from '../adapter.ts';
import { Agreement, type Fact, type NeedsAgreement } from '../agreement.ts';
import type { Endpoints } from '../endpoints.ts';
import { Malformed } from '../endpoints.ts';
import type { BlockProofs } from './block-proofs.ts';
import { type EvmEndpoint, hexOfScript } from './endpoint.ts';
import { MissingSendings, userOf } from './missing-sendings.ts';
import { nothingSent, type Outflow, type Outgoing, type OutgoingReader } from './outgoing.ts';
import { isInReceipt, type LeavingLog, lacksReceipt } from './transfers.ts';

/** Transactions whose receipts are held at a time. */
const OUTGOING_PER_PAGE = 50;
/** How often other operators are asked who used a nonce: some dozens of requests each time, and often nobody has the old states. */
const OTHERS_EVERY_MS = 10 * 60_000;

type View = {
  checkpoint: Checkpoint;
  /** Blocks that left the chain. */
  orphaned: ReadonlySet<string>;
  timeOf: (hash: string) => number | undefined;
};

/** `waiting`: what the asked endpoint has said of this coin, and no other operator has said yet. */
type OutflowSearch = Outflow & { waiting: Debit[] };

type Told = { outgoing: Outgoing; teller: EvmEndpoint };

/** A transaction that waits for the word of another operator, or for the books. */
type Waiting = Fact & Outgoing;

type Parts = {
  native: AssetId;
  reader: OutgoingReader;
  list: ScriptList;
  endpoints: Endpoints<EvmEndpoint>;
  proofs: BlockProofs;
  needsAgreement: NeedsAgreement;
};

export class SentFinder {
  readonly #parts: Parts;
  readonly #agreement: Agreement<EvmEndpoint, Waiting>;
  readonly #missing: MissingSendings;
  readonly #othersNotBefore = new Map<string, number>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#missing = new MissingSendings(parts.native, parts.list);
    this.#agreement = new Agreement(parts.endpoints, () => true, {
      areThere: (other, facts, signal) => haveSame(other, facts, signal),
      isStored: (fact) => this.#isStored(fact),
    });
  }

  /** Whether something waits that may be asked about again. */
  isDue(): boolean {
    return this.#agreement.isDue();
  }

  /**
   * The payments up to the tip of a checkpoint: the uses of reserved nonces, except those that are stored already, and the transactions
   * by which tokens left (`left`). One without agreement is left out, and asked about again in the next step.
   */
  async look(
    endpoint: EvmEndpoint,
    left: readonly LeavingLog[],
    view: View & { isFar: boolean },
    signal: AbortSignal,
  ): Promise<OutflowSearch> {
    // far from the head the checkpoint has one block, and nonces are those of the head
    const sent = view.isFar ? { ...nothingSent(), waiting: [] } : await this.#ofOpenNonces(endpoint, view, signal);
    const known = new Set(sent.debits.map(({ txid }) => txid));
    const waiting: Outgoing[] = [];
    const fresh = left.filter(({ log }) => !known.has(log.txid));
    for (let at = 0; at < fresh.length; at += OUTGOING_PER_PAGE) {
      waiting.push(...(await outgoingOf(endpoint, fresh.slice(at, at + OUTGOING_PER_PAGE), signal)));
    }
    await this.#judge(sent, endpoint, waiting, view, signal);
    for (const debit of this.#waitingFor(endpoint, view)) sent.waiting.push(debit);
    return sent;
  }

  /**
   * Adds the transactions of addresses that hold less than their books, or whose wallet may have sent something before more came, as far as the
   * endpoint has the states of their blocks. Returns the addresses that must be searched again once the books have what was found.
   */
  async addMissing(
    sent: Outflow,
    endpoint: EvmEndpoint,
    short: readonly ListedScript[],
    view: View & { held: readonly Credit[] },
    signal: AbortSignal,
  ): Promise<ListedScript[]> {
    const found: Outgoing[] = [];
    const again: ListedScript[] = [];
    for (const target of short) {
      const missing = await this.#missing.find(endpoint, target, { ...view, debits: sent.debits }, signal);
      for (const one of missing.found) found.push(one);
      if (missing.hasMore) again.push(target);
    }
    if (found.length > 0) await this.#judge(sent, endpoint, found, view, signal);
    return again.filter(({ id }) => sent.debits.some(({ targetId }) => targetId === id));
  }

  /** Adds what is agreed of these transactions, and of those that waited. */
  async #judge(
    sent: Outflow,
    teller: EvmEndpoint,
    outgoing: readonly Outgoing[],
    view: View,
    signal: AbortSignal,
  ): Promise<void> {
    const facts = outgoing.map((one) => this.#factOf(one));
    const known = new Set(sent.debits.map(({ id }) => id));
    for (const fact of await this.#agreement.judge([{ facts, teller }], view.checkpoint, signal)) {
      if (fact.block) await this.#take(sent, known, teller, fact, view, signal);
    }
  }

  /** The debits in blocks up to the tip of a checkpoint that wait for another operator. */
  #waitingFor(endpoint: EvmEndpoint, { checkpoint }: View): Debit[] {
    const { native, reader } = this.#parts;
    const tip = tipOf(checkpoint).height;
    return this.#agreement
      .waitingOf(endpoint)
      .filter(({ receipt }) => receipt.height <= tip)
      .flatMap((one) => reader.taken(one, 0).debits.filter(({ amount }) => amount.asset === native));
  }

  #factOf(one: Outgoing): Waiting {
    const { target, receipt } = one;
    const amount = { asset: this.#parts.native, units: receipt.fee };
    const block: BlockId = { height: receipt.height, hash: receipt.blockHash };
    return { id: `${receipt.txid}:${target.id}`, txid: receipt.txid, targetId: target.id, amount, block, ...one };
  }

  /**
   * Whether the books have everything that an agreed transaction took from its address, and its use of a nonce that a payment reserved. It
   * settles no agreement: they cannot show whether a transaction without amounts failed.
   */
  #isStored({ target, receipt, sending }: Waiting): boolean {
    const { reader, list } = this.#parts;
    const { debits, spends } = reader.taken({ target, receipt, sending }, 0);
    const open = list.openNonces();
    const isUsed = spends.every(({ outpoint }) =>
      open.every(({ key, usedIn }) => key !== outpoint || usedIn === receipt.blockHash),
    );
    return (
      isUsed &&
      debits.every(({ id, amount: { asset, units } }) =>
        list
          .debitsAt(target.id, asset)
          .some((stored) => stored.id === id && stored.units === units && stored.block.hash === receipt.blockHash),
      )
    );
  }

  /** The uses of nonces that open payments reserved. */
  async #ofOpenNonces(endpoint: EvmEndpoint, view: View, signal: AbortSignal): Promise<OutflowSearch> {
    const sent: OutflowSearch = { ...nothingSent(), waiting: [] };
    const waiting = nothingSent();
    const open = this.#parts.list.openNonces().filter(({ usedIn }) => usedIn === null || view.orphaned.has(usedIn));
    if (open.length === 0) return sent;
    const txids = open.flatMap((one) => one.txids);
    const receipts = await endpoint.receipts(txids, signal);
    const found = new Map(txids.map((txid, i) => [txid, receipts[i] ?? null]));
    const counts = await this.#counts(endpoint, open, signal);
    const known = new Set<string>();
    for (const one of open) {
      const receipt = one.txids.map((txid) => found.get(txid)).find((each) => each !== null && each !== undefined);
      const sending = receipt && (await endpoint.sending(receipt.txid, signal));
      const isOurs = sending?.from === hexOfScript(one.target.script) && sending.nonce === one.nonce;
      let told: Told | null = null;
      if (receipt && sending && isOurs) {
        told = { outgoing: { target: one.target, receipt, sending }, teller: endpoint };
      } else if ((counts.get(one.target.id) ?? 0n) > one.nonce) {
        told = await this.#search(endpoint, one, view, signal);
      }
      if (!told) continue;
      const { outgoing, teller } = told;
      if (await this.#isAgreed(teller, outgoing, isOurs && this.#isSmallSuccess(outgoing), signal)) {
        await this.#take(sent, known, endpoint, outgoing, view, signal);
      } else await this.#take(waiting, known, endpoint, outgoing, view, signal);
    }
    sent.waiting = waiting.debits;
    return sent;
  }

  /** How many transactions the senders have sent, by target. */
  async #counts(endpoint: EvmEndpoint, open: readonly OpenNonce[], signal: AbortSignal): Promise<Map<number, bigint>> {
    const senders = new Map<number, ListedScript>(open.map(({ target }) => [target.id, target]));
    const listed = [...senders.values()];
    const counts = await endpoint.nonces(
      listed.map(({ script }) => hexOfScript(script)),
      signal,
    );
    return new Map(listed.map(({ id }, i) => [id, counts[i] ?? 0n]));
  }

  /** The transaction that used a nonce, and who told it; null: none was found. Others are asked where the endpoint lacks old states. */
  async #search(
    endpoint: EvmEndpoint,
    one: OpenNonce,
    { checkpoint }: View,
    signal: AbortSignal,
  ): Promise<Told | null> {
    const told = async (teller: EvmEndpoint): Promise<Told | false> => {
      const outgoing = await userOf(teller, one, checkpoint, signal);
      return outgoing ? { outgoing, teller } : false;
    };
    const own = await told(endpoint);
    if (own) return own;
    const now = performance.now();
    if (now < (this.#othersNotBefore.get(one.key) ?? now)) return null;
    this.#othersNotBefore.set(one.key, now + OTHERS_EVERY_MS);
    return (await this.#parts.endpoints.other(endpoint, told, signal)) || null;
  }

  /** Whether it is a payment that succeeded, and that may count by the word of one operator. */
  #isSmallSuccess(outgoing: Outgoing): boolean {
    const { reader, needsAgreement } = this.#parts;
    return !reader.hasFailed(outgoing) && !needsAgreement(reader.atStake(outgoing));
  }

  /** Whether an endpoint of another operator says the same. `unheard`: the result if no other one answers. */
  async #isAgreed(endpoint: EvmEndpoint, one: Outgoing, unheard: boolean, signal: AbortSignal): Promise<boolean> {
    const { endpoints } = this.#parts;
    if (endpoints.operators < 2) return true;
    const agreed = await endpoints.other(
      endpoint,
      async (other) => (await haveSame(other, [one], signal))[0] === true,
      signal,
    );
    return agreed ?? unheard;
  }

  /** Adds a transaction, unless its block is not on the chain up to the tip. `known`: the ids of debits that `sent` has. */
  async #take(
    sent: Outflow,
    known: Set<string>,
    endpoint: EvmEndpoint,
    outgoing: Outgoing,
    view: View,
    signal: AbortSignal,
  ): Promise<void> {
    const { height, blockHash } = outgoing.receipt;
    if (height > tipOf(view.checkpoint).height) return;
    const [header] = await endpoint.headers([height], signal);
    if (header?.hash !== blockHash) return;
    await this.#parts.proofs.hasSent(endpoint, outgoing, signal);
    const { spends, debits } = this.#parts.reader.taken(outgoing, view.timeOf(blockHash) ?? header.timeMs);
    if (debits.some(({ id }) => known.has(id))) return;
    for (const { id } of debits) known.add(id);
    sent.spends.push(...spends);
    sent.debits.push(...debits);
  }
}

/** The transactions of events by which tokens left. Throws `Malformed` if the endpoint contradicts itself. */
async function outgoingOf(
  endpoint: EvmEndpoint,
  left: readonly LeavingLog[],
  signal: AbortSignal,
): Promise<Outgoing[]> {
  const txids = [...new Set(left.map(({ log }) => log.txid))];
  const receipts = await endpoint.receipts(txids, signal);
  const sendings = await endpoint.sendingsOf(txids, signal);
  const found = new Map<string, Outgoing>();
  for (const { log, from } of left) {
    const at = txids.indexOf(log.txid);
    const [receipt, sending] = [receipts[at], sendings[at]];
    if (!receipt || !sending) throw lacksReceipt();
    if (!isInReceipt(log, receipt)) throw new Malformed('a log that its receipt does not have');
    found.set(`${log.txid}:${from.id}`, { target: from, receipt, sending });
  }
  return [...found.values()];
}

/** For each transaction whether another endpoint has the same one, with the same receipt in the same block. */
async function haveSame(other: EvmEndpoint, facts: readonly Outgoing[], signal: AbortSignal): Promise<boolean[]> {
  const txids = facts.map(({ receipt }) => receipt.txid);
  const receipts = await other.receipts(txids, signal);
  const sendings = await other.sendingsOf(txids, signal);
  return facts.map(
    ({ receipt, sending }, i) => isDeepStrictEqual(receipts[i], receipt) && isDeepStrictEqual(sendings[i], sending),
  );
}
