/**
 * Finds money that left our addresses. Every transaction of an address uses its next nonce. So for each nonce that an
 * open payment reserved, this finds the transaction that used it: one of ours by its id, any other by counting the
 * address's transactions. Payments that this program did not plan, such as another machine's after a backup, appear in
 * the events of tokens, and in a balance below the books.
 *
 * Invariants. An amount left only if the receipt is successful; a failed transaction pays its fee and moves nothing. A token
 * may refuse by its answer alone, which no receipt has: then its event is missing, and the transaction failed as well. No
 * endpoint alone can say that a payment failed, or that a stranger's transaction took its place, if there is one of another
 * operator: the payment would be made again. Nor can it call a payment done that another endpoint does not have; a large one waits
 * while no other operator answers.
 */
import { isDeepStrictEqual } from 'node:util';
import type { AssetId } from '../../domain/assets.ts';
import type { BlockId, Checkpoint, Debit, SpendSeen } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import { nonceKey } from '../../domain/spend.ts';
import { type ListedScript, type OpenNonce, type ScriptList, tipOf } from '../adapter.ts';
import type { NeedsAgreement } from '../agreement.ts';
import type { Endpoints } from '../endpoints.ts';
import { checksumAddress } from './address.ts';
import type { Receipt, Sending } from './answers.ts';
import { type EvmEndpoint, hexOfScript } from './endpoint.ts';
import type { Token } from './params.ts';
import { isOneAccount, isTransfer, partiesOf } from './transfers.ts';

/** The maximum number of transactions that one step examines. */
const OUTGOING_MAX = 500;
const SHORT_MAX = 20;
const NONCES_MAX = 20n;

/** The payments that left in a step. */
export type Sent = { spends: SpendSeen[]; debits: Debit[] };

type View = {
  checkpoint: Checkpoint;
  /** Blocks that left the chain. */
  orphaned: ReadonlySet<string>;
  timeOf: (hash: string) => number | undefined;
};

export class SentFinder {
  readonly #native: AssetId;
  readonly #tokens: ReadonlyMap<string, Token>;
  readonly #list: ScriptList;
  readonly #endpoints: Endpoints<EvmEndpoint>;
  readonly #needsAgreement: NeedsAgreement;

  constructor(parts: {
    native: AssetId;
    tokens: readonly Token[];
    list: ScriptList;
    endpoints: Endpoints<EvmEndpoint>;
    needsAgreement: NeedsAgreement;
  }) {
    this.#native = parts.native;
    this.#tokens = new Map(parts.tokens.map((token) => [token.contract, token]));
    this.#list = parts.list;
    this.#endpoints = parts.endpoints;
    this.#needsAgreement = parts.needsAgreement;
  }

  /**
   * The uses of reserved nonces up to the tip of a checkpoint, except those that are stored already. One without agreement is
   * left out, and looked for again in the next step.
   */
  async look(endpoint: EvmEndpoint, view: View, signal: AbortSignal): Promise<Sent> {
    const sent: Sent = { spends: [], debits: [] };
    const open = this.#list.openNonces().filter(({ usedIn }) => usedIn === null || view.orphaned.has(usedIn));
    if (open.length === 0) return sent;
    const txids = open.flatMap((one) => one.txids);
    const receipts = await endpoint.receipts(txids, signal);
    const found = new Map(txids.map((txid, i) => [txid, receipts[i] ?? null]));
    const counts = await this.#counts(endpoint, open, signal);
    for (const one of open) {
      const receipt = one.txids.map((txid) => found.get(txid)).find((each) => each !== null && each !== undefined);
      const sending = receipt && (await endpoint.sending(receipt.txid, signal));
      const isOurs = sending?.from === hexOfScript(one.target.script) && sending.nonce === one.nonce;
      if (receipt && sending && isOurs) {
        const unheard = receipt.succeeded && !this.#isLarge(one.target.id, sending);
        if (await this.#isAgreed(endpoint, { receipt, sending }, unheard, signal))
          await this.#take(sent, endpoint, { target: one.target, receipt, sending }, view, signal);
      } else if ((counts.get(one.target.id) ?? 0n) > one.nonce) await this.#search(sent, endpoint, one, view, signal);
    }
    return sent;
  }

  /**
   * Adds the transactions by which tokens left, except those in `sent`. `outgoing`: the senders by transaction. Later steps do
   * not look at these blocks again, so amounts leave the books without agreement; the nonce counts as used only with it.
   */
  async addOutgoing(
    sent: Sent,
    endpoint: EvmEndpoint,
    outgoing: ReadonlyMap<string, ListedScript>,
    view: View,
    signal: AbortSignal,
  ): Promise<void> {
    const known = new Set(sent.debits.map(({ txid }) => txid));
    const txids = [...outgoing.keys()].filter((txid) => !known.has(txid)).slice(0, OUTGOING_MAX);
    for (const [i, receipt] of (await endpoint.receipts(txids, signal)).entries()) {
      const target = outgoing.get(txids[i] ?? '');
      const sending = receipt && (await endpoint.sending(receipt.txid, signal));
      if (!receipt || !sending || !target) continue;
      const agreed = await this.#isAgreed(endpoint, { receipt, sending }, false, signal);
      const taken: Sent = agreed ? sent : { spends: [], debits: sent.debits };
      await this.#take(taken, endpoint, { target, receipt, sending }, view, signal);
    }
  }

  /**
   * Adds the transactions of addresses that hold less than their books, as far as the blocks of the checkpoint have them. An
   * older one stays a difference, which the proof of the books names.
   */
  async addMissing(
    sent: Sent,
    endpoint: EvmEndpoint,
    short: readonly ListedScript[],
    view: View,
    signal: AbortSignal,
  ): Promise<void> {
    const [first, last] = [view.checkpoint[0], view.checkpoint.at(-1)];
    if (!first || !last) return;
    for (const target of short.slice(0, SHORT_MAX)) {
      const address = hexOfScript(target.script);
      const before = await endpoint.nonceAfter(address, first, signal);
      const after = await endpoint.nonceAfter(address, last, signal);
      if (before === null || after === null) continue;
      for (let nonce = before; nonce < after && nonce - before < NONCES_MAX; nonce++) {
        const key = nonceKey(checksumAddress(target.script), nonce);
        const found: Sent = { spends: [], debits: [] };
        await this.#search(found, endpoint, { target, key, nonce, txids: [], usedIn: null }, view, signal);
        if (this.#isNew(sent, found, target, view)) {
          sent.spends.push(...found.spends);
          sent.debits.push(...found.debits);
        }
      }
    }
  }

  /** Whether a transaction is neither in this step already nor stored in a block that is still on the chain. */
  #isNew(sent: Sent, { debits: [first] }: Sent, { id: targetId }: ListedScript, { orphaned }: View): boolean {
    if (!first || sent.debits.some(({ txid }) => txid === first.txid)) return false;
    const stored = this.#list.debitsAt(targetId, this.#native).find(({ id }) => id === first.id);
    return stored === undefined || orphaned.has(stored.block.hash);
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

  /** Finds the transaction that used a nonce in the blocks of the checkpoint. */
  async #search(sent: Sent, endpoint: EvmEndpoint, one: OpenNonce, view: View, signal: AbortSignal): Promise<void> {
    const address = hexOfScript(one.target.script);
    const { checkpoint } = view;
    const isUsedBy = async (at: number): Promise<boolean> => {
      const block = checkpoint[at];
      assert(block, 'a block of the checkpoint');
      return ((await endpoint.nonceAfter(address, block, signal)) ?? 0n) > one.nonce;
    };
    let low = 0;
    let high = checkpoint.length - 1;
    if (!(await isUsedBy(high))) return;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (await isUsedBy(middle)) high = middle;
      else low = middle + 1;
    }
    const block = checkpoint[low];
    const all = block ? await endpoint.sendings(block, signal) : [];
    const sending = all.find(({ from, nonce }) => from === address && nonce === one.nonce);
    const [receipt] = sending ? await endpoint.receipts([sending.txid], signal) : [];
    if (!sending || !receipt || !(await this.#isAgreed(endpoint, { receipt, sending }, false, signal))) return;
    await this.#take(sent, endpoint, { target: one.target, receipt, sending }, view, signal);
  }

  /** Whether a payment is one that two operators must have. */
  #isLarge(targetId: number, { to, value, transfer }: Sending): boolean {
    const token = to === null ? undefined : this.#tokens.get(to);
    const moved =
      token && transfer ? { asset: token.asset, units: transfer.units } : { asset: this.#native, units: value };
    return this.#needsAgreement([{ targetId, ...moved }]);
  }

  /** Whether an endpoint of another operator says the same. `unheard`: the result if no other one answers. */
  async #isAgreed(
    endpoint: EvmEndpoint,
    { receipt, sending }: { receipt: Receipt; sending: Sending },
    unheard: boolean,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (this.#endpoints.operators < 2) return true;
    const agreed = await this.#endpoints.other(
      endpoint,
      async (other) => {
        const [theirs] = await other.receipts([receipt.txid], signal);
        return (
          isDeepStrictEqual(theirs, receipt) && isDeepStrictEqual(await other.sending(receipt.txid, signal), sending)
        );
      },
      signal,
    );
    return agreed ?? unheard;
  }

  /** Adds a transaction, unless its block is not on the chain up to the tip. */
  async #take(
    sent: Sent,
    endpoint: EvmEndpoint,
    { target, receipt, sending }: { target: ListedScript; receipt: Receipt; sending: Sending },
    view: View,
    signal: AbortSignal,
  ): Promise<void> {
    // an address can allow somebody else to move its tokens
    const isSender = sending.from === hexOfScript(target.script);
    if (receipt.height > tipOf(view.checkpoint).height) return;
    const [header] = await endpoint.headers([receipt.height], signal);
    if (header?.hash !== receipt.blockHash) return;
    const block: BlockId = { height: header.height, hash: header.hash };
    const blockTime = view.timeOf(block.hash) ?? header.timeMs;
    const { txid } = receipt;
    const asked = isSender ? this.#askedOf(sending) : null;
    if (isSender) {
      const outpoint = nonceKey(checksumAddress(target.script), sending.nonce);
      const failed = !receipt.succeeded || (asked !== null && arrivedOf(receipt, target, asked) === 0n);
      sent.spends.push({ outpoint, txid, block, blockTime, ...(failed && { failed }) });
    }
    const debit = (place: string, kind: Debit['kind'], asset: AssetId, units: bigint): void => {
      if (units === 0n) return;
      const amount = { asset, units };
      sent.debits.push({ id: `${txid}:${place}`, txid, targetId: target.id, kind, amount, block, blockTime });
    };
    if (isSender) debit('fee', 'fee', this.#native, receipt.fee);
    if (!receipt.succeeded) return;
    const kindTo = (recipient: Uint8Array): Debit['kind'] => {
      const to = this.#list.targetIdOf(recipient);
      return to !== undefined && isOneAccount(this.#list, target.id, to) ? 'moved' : 'paid';
    };
    if (isSender && sending.to !== null) debit('0', kindTo(bytesOf(sending.to)), this.#native, sending.value);
    for (const [place, log] of receipt.logs.entries()) {
      const token = this.#tokens.get(log.contract);
      if (!token || !isTransfer(log)) continue;
      const [sender, recipient] = partiesOf(log);
      if (!isSame(sender, target.script)) continue;
      // a token may keep a part of what it was asked to transfer
      const isKept = asked !== null && log.contract === asked.contract && !isSame(recipient, asked.to);
      const kind = kindTo(recipient);
      debit(`${place + 1}`, isKept && kind === 'paid' ? 'fee' : kind, token.asset, BigInt(log.data));
    }
  }

  /** The transfer of a known token that a transaction asks for; null: none. */
  #askedOf({ to, transfer }: Sending): Asked | null {
    const isKnown = to !== null && this.#tokens.has(to);
    return isKnown && transfer && transfer.units > 0n ? { contract: to, to: transfer.to } : null;
  }
}

type Asked = { contract: string; to: Uint8Array };

/** The units that a recipient got of a token, by the events of a receipt. */
function arrivedOf({ logs }: Receipt, from: ListedScript, { contract, to }: Asked): bigint {
  return logs.reduce((sum, log) => {
    if (log.contract !== contract || !isTransfer(log)) return sum;
    const [sender, recipient] = partiesOf(log);
    return isSame(sender, from.script) && isSame(recipient, to) ? sum + BigInt(log.data) : sum;
  }, 0n);
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.slice(2), 'hex'));
