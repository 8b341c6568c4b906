/**
 * The chain source of Ethereum and BNB Smart Chain: JSON-RPC endpoints, of which one is asked at a time. Tokens are
 * found by their events, the native coin by balances. The mempool is not read: a payment is seen in its block.
 */
import type { AssetId, Network } from '../../domain/assets.ts';
import type { AccountKey, BlockId, Branch, Checkpoint, Credit, DerivedAddress } from '../../domain/chain.ts';
import { Unavailable } from '../../domain/errors.ts';
import { type EvmChain, NATIVE_COIN } from '../../domain/evm.ts';
import { type ScriptList, tipOf } from '../adapter.ts';
import type { NeedsAgreement } from '../agreement.ts';
import { EndpointAdapter, type StepRead, type StepStart } from '../endpoint-adapter.ts';
import { slices } from '../slices.ts';
import { EvmAbsence } from './absence.ts';
import { addressAt, isValidAddress } from './address.ts';
import { Agreed } from './agreed.ts';
import type { Header } from './answers.ts';
import { EvmBalances } from './balances.ts';
import { BlockProofs } from './block-proofs.ts';
import { originOf } from './credit-ids.ts';
import { EvmEndpoint } from './endpoint.ts';
import { Finality } from './finality.ts';
import { Heads } from './heads.ts';
import { isInside, NativeCoin } from './native.ts';
import { OutgoingReader } from './outgoing.ts';
import {
  ABSENCE_AHEAD,
  ABSENCE_LAG,
  ARRIVAL_MS,
  ASKED_BY_HASH,
  BLOCK_MS,
  FINALITY_MS,
  HEAD_AGE_MS_MAX,
  POLL_MS,
  SECOND_LOOK_MS,
  TOLD_MS,
  type Token,
  tokensOf,
} from './params.ts';
import { SecondLook } from './second-look.ts';
import { SentFinder } from './sent.ts';
import { EvmSource } from './spend/source.ts';
import { EvmSpending } from './spend/spending.ts';
import { checkpointAfter, newestOf, type Step, stepAbove } from './step.ts';
import { confirmed, type Incoming, isTooMuch, nothingFound, type TransferLogs, Transfers } from './transfers.ts';
import { TrueHeaders } from './true-headers.ts';
import { UNKNOWN_TOKENS_MS, UnknownTokens } from './unknown-tokens.ts';
import { sortedUrls } from './urls.ts';
import { EvmWitnesses } from './witnesses.ts';

type EvmOptions = {
  chain: EvmChain;
  network: Network;
  /** In the order in which they are asked; at least one. WebSockets among them only give hints. */
  urls: readonly string[];
  /** The contracts of tokens on networks other than mainnet. */
  contracts: Readonly<Partial<Record<AssetId, string>>>;
  list: ScriptList;
  needsAgreement: NeedsAgreement;
  log: (message: string) => void;
  /** Called when an endpoint gave a false answer. `server`: the endpoint's address. */
  alert: (server: string, message: string) => void;
  /** Whether payments are configured that count only in a final block. */
  wantsFinality: boolean;
  pollMs?: number;
  /** The time between two blocks at least. */
  blockMs?: number;
  secondLookMs?: number;
  finalityMs?: number;
  unknownTokensMs?: number;
};

/** The zero address, and the addresses that chains reserve for their own contracts. */
const PRECOMPILES_MAX = 0xffffn;

/** Blocks per request for logs during catch-up. The number then adapts to the endpoint's limit. */
const RANGE_START = 500;
const RANGE_MAX = 5_000;
const LOCAL_POLL_MS = 500;
/** The maximum number of open WebSockets. */
const SOCKETS_MAX = 2;

export class EvmAdapter extends EndpointAdapter<EvmEndpoint, Header> {
  readonly chain: EvmChain;
  readonly accountBased = true;
  readonly assets: readonly AssetId[];
  readonly balances: EvmBalances;
  readonly spending: EvmSpending;
  readonly witnesses: EvmWitnesses;
  /** Absent with endpoints of one operator only. */
  readonly absence?: EvmAbsence;
  readonly #list: ScriptList;
  readonly #tokens: readonly Token[];
  readonly #agreed: Agreed;
  readonly #trueHeaders: TrueHeaders;
  readonly #proofs: BlockProofs;
  readonly #transfers: Transfers;
  readonly #native: NativeCoin;
  readonly #sent: SentFinder;
  readonly #secondLook: SecondLook;
  readonly #finality: Finality | null;
  readonly #unknown: UnknownTokens;
  readonly #heads: readonly Heads[];
  readonly #blockMs: number;
  /** Blocks per request for events, by endpoint: what one refuses says nothing about another one. */
  readonly #ranges = new WeakMap<EvmEndpoint, number>();
  #newest: Header | null = null;
  /** Credits of the present step in blocks below the checkpoint: these prove them, and nothing links them to the chain. */
  #unlinked: ReadonlySet<string> = new Set();

  /** Throws `Rejected` when a URL is malformed. */
  constructor(options: EvmOptions) {
    const { chain, network, urls, contracts, list, alert, needsAgreement, log } = options;
    const setting = `[networks.${network}.${chain}] rpc`;
    const { asked, sockets } = sortedUrls(urls);
    const tokens = tokensOf(network, chain, contracts);
    const reader = new OutgoingReader(NATIVE_COIN[chain], tokens, list);
    const agreed = new Agreed(tokens, list, reader);
    super({
      network,
      setting,
      urls: asked,
      list,
      alert,
      needsAgreement,
      open: (url) => new EvmEndpoint({ url, label: setting, network, chain, tokens }),
      areThere: (...asked) => agreed.areThereSoon(...asked),
      pollMs: options.pollMs ?? (network === 'regtest' ? LOCAL_POLL_MS : POLL_MS[chain]),
      headAgeMsMax: HEAD_AGE_MS_MAX[chain],
    });
    this.chain = chain;
    this.#blockMs = options.blockMs ?? (network === 'regtest' ? 0 : BLOCK_MS[chain]);
    this.#list = list;
    this.#tokens = tokens;
    this.#agreed = agreed;
    this.#trueHeaders = new TrueHeaders(this.endpoints);
    this.#proofs = new BlockProofs({ endpoints: this.endpoints, list, tokens, log });
    this.#heads = sockets.slice(0, SOCKETS_MAX).map((url) => new Heads(url, () => this.hurry()));
    this.assets = [NATIVE_COIN[chain], ...tokens.map(({ asset }) => asset)];
    const native = NATIVE_COIN[chain];
    const hasMore: SecondLook['pin'] = (script, held) => this.#secondLook.pin(script, held);
    this.balances = new EvmBalances({ endpoints: this.endpoints, network, chain, list, tokens, hasMore });
    this.witnesses = new EvmWitnesses({ endpoints: this.endpoints, list, reader, agreed, native, tokens });
    this.#transfers = new Transfers(tokens, list);
    this.#native = new NativeCoin(NATIVE_COIN[chain], list);
    this.#sent = new SentFinder({
      native: NATIVE_COIN[chain],
      reader,
      list,
      endpoints: this.endpoints,
      proofs: this.#proofs,
      needsAgreement,
    });
    const suspect = (script: Uint8Array): void => this.#native.suspect(script);
    this.spending = new EvmSpending({ chain, network, tokens, suspect }, new EvmSource(this.endpoints));
    this.#secondLook = new SecondLook({
      endpoints: this.endpoints,
      list,
      transfers: this.#transfers,
      native: this.#native,
      trueHeaders: this.#trueHeaders,
      proofs: this.#proofs,
      everyMs: options.secondLookMs ?? SECOND_LOOK_MS[chain],
    });
    if (this.endpoints.operators > 1) {
      this.absence = new EvmAbsence({
        endpoints: this.endpoints,
        list,
        native,
        tokens,
        lag: ABSENCE_LAG[chain],
        ahead: ABSENCE_AHEAD[chain],
        hasMore,
      });
    }
    const unknownTokensMs = options.unknownTokensMs ?? (network === 'regtest' ? 0 : UNKNOWN_TOKENS_MS);
    this.#unknown = new UnknownTokens(tokens, list, unknownTokensMs);
    const finalityMs = options.finalityMs ?? (network === 'regtest' ? 0 : FINALITY_MS[chain]);
    this.#finality = options.wantsFinality ? new Finality(this.endpoints, finalityMs) : null;
  }

  async deriveAddress(account: AccountKey, branch: Branch, index: number): Promise<DerivedAddress> {
    return addressAt(account, branch, index);
  }

  isValidAddress(text: string): boolean {
    return isValidAddress(text);
  }

  /** Many tokens have burnt what was sent to their own contract, whose address is copied by mistake, or to the zero address. */
  whyUnpayable(address: string): string | null {
    const at = address.toLowerCase();
    if (BigInt(at) <= PRECOMPILES_MAX) return 'nobody has its key, so that the money would be lost';
    const token = this.#tokens.find(({ contract }) => contract === at);
    return token ? `it is the contract of ${token.asset} itself, where the money would be lost` : null;
  }

  areUsed(scripts: readonly Uint8Array[], signal: AbortSignal): Promise<boolean[]> {
    return this.balances.areUsed(scripts, signal);
  }

  override onHint(wake: () => void): void {
    super.onHint(wake);
    for (const heads of this.#heads) heads.start();
  }

  override async close(): Promise<void> {
    for (const heads of this.#heads) heads.close();
    await super.close();
  }

  protected async read(
    endpoint: EvmEndpoint,
    { head, kept, orphaned, again, pending }: StepStart<Header>,
    signal: AbortSignal,
  ): Promise<StepRead<EvmEndpoint>> {
    this.#newest = head;
    this.#proofs.begin();
    this.#secondLook.begin(tipOf(kept).height);
    this.#native.begin((again[0] ?? tipOf(kept)).height, orphaned.length > 0);
    const step = await stepAbove(endpoint, tipOf(kept), head, this.#rangeOf(endpoint), signal);
    const checkpoint = checkpointAfter(kept, step);
    const atHead = step.to >= head.height;
    const from = again[0]?.height ?? step.from;
    const newest = newestOf(step, head, ASKED_BY_HASH[this.chain]);
    const found = await this.#found(endpoint, { from, to: step.to }, newest, signal);
    const credits = await this.#credits(endpoint, step, found.incoming, signal);
    const told = new Set(credits.map(({ id }) => id));
    const unread = pending.filter(({ outpoint }) => !told.has(outpoint));
    const recovered = await this.#agreed.recovered(endpoint, unread, tipOf(checkpoint).height, signal);
    const linkedFrom = kept[0]?.height ?? 0;
    this.#unlinked = new Set(recovered.filter(({ block }) => block && block.height < linkedFrom).map(({ id }) => id));
    credits.push(...recovered);
    const held = [...this.held(), ...credits];
    const view = viewOf(checkpoint, orphaned, step);
    const { waiting, ...sent } = await this.#sent.look(
      endpoint,
      found.outgoing,
      { ...view, isFar: step.isFar },
      signal,
    );
    // The search for a difference covers the checkpoint's blocks, so each step that has all of them can run it.
    const coins = step.isFar
      ? []
      : await this.#native.look(
          endpoint,
          { ...view, atHead, held, debits: [...sent.debits, ...waiting] },
          slices(),
          signal,
        );
    const left = await this.#sent.addMissing(sent, endpoint, this.#native.takeShort(), { ...view, held }, signal);
    this.#native.takeAgain(left);
    if (coins === null && atHead) throw new Unavailable('the endpoint does not have the state of its newest block', 1);
    credits.push(...(coins ?? []));
    // a balance explains itself at each look, so that one wrong explanation does not keep the right one away
    const explained = new Map((coins ?? []).map((one) => [one.targetId, new Set<string>()]));
    for (const { targetId, id } of coins ?? []) explained.get(targetId)?.add(id);
    this.replace(({ targetId, id, amount }) => {
      const ids = amount.asset === this.assets[0] ? explained.get(targetId) : undefined;
      return ids !== undefined && !ids.has(id);
    });
    await this.#trueHeaders.check(endpoint, [...credits, ...sent.debits, ...sent.spends], step.headers, signal);
    await this.#proofs.check(endpoint, credits, signal);
    const known = { credits, held: [...held, ...credits], debits: sent.debits };
    const omitted = atHead ? await this.#secondLook.look(endpoint, checkpoint, known, signal) : null;
    const groups = [{ facts: credits, teller: endpoint }, ...(omitted ? [omitted] : [])];
    // what a block proves of a place proves wrong what somebody else told of it
    const proved = groups.flatMap(({ facts }) => facts).filter((one) => !isInside(one) && this.isProved(one));
    const origins = new Map(proved.map(({ id }) => [originOf(id), id]));
    this.replace(({ id }) => (origins.get(originOf(id)) ?? id) !== id);
    const finalized = atHead && this.#finality ? await this.#finality.height(endpoint, checkpoint, signal) : null;
    const unknownTransfers = atHead ? await this.#unknown.look(endpoint, checkpoint, signal) : [];
    // a view without payments that are known to lack is not complete; a look that made no progress waits for the next block
    const isPartial = this.#native.hasLeftFirst;
    const isDone = left.length === 0 && !(isPartial && this.#native.isDue());
    const handled = atHead && isDone ? tipOf(checkpoint).hash : null;
    if (atHead) this.absence?.noteRead(checkpoint);
    const byHash = !step.isFar && again.length === 0 && step.headers.length === newest.length;
    return { checkpoint, byHash, told: groups, handled, isPartial, finalized, unknownTransfers, ...sent };
  }

  protected async mark(endpoint: EvmEndpoint, signal: AbortSignal): Promise<string> {
    this.#newest = await this.headOf(endpoint, signal);
    return this.#newest.hash;
  }

  /** Until the next slot there is no block. A clock that is wrong makes this shorter, never longer than a slot. */
  protected override isNewest({ timeMs }: Header, toldMs: number): boolean {
    const ageMs = Date.now() - timeMs;
    return (ageMs >= 0 && ageMs < this.#blockMs) || (this.#blockMs > 0 && toldMs < TOLD_MS[this.chain]);
  }

  /** A block of the next slot comes some time after its beginning. */
  protected override quietMs(): number {
    const newest = this.#newest;
    const waitMs = this.#blockMs + (this.#blockMs > 0 ? ARRIVAL_MS[this.chain] : 0);
    const ageMs = Date.now() - (newest?.timeMs ?? 0);
    return ageMs >= 0 && ageMs < waitMs ? waitMs - ageMs : 0;
  }

  protected override isProved(credit: Credit): boolean {
    return !this.#unlinked.has(credit.id) && this.#proofs.isProved(credit);
  }

  protected override isDue(): boolean {
    return this.#secondLook.isDue() || this.#native.isDue() || this.#sent.isDue();
  }

  async #credits(
    endpoint: EvmEndpoint,
    step: Step,
    incoming: readonly Incoming[],
    signal: AbortSignal,
  ): Promise<Credit[]> {
    const headers = new Map(step.headers.map((header) => [header.hash, header]));
    const missing = [...new Set(incoming.map(({ log }) => log.height))].filter(
      (height) => !step.headers.some((header) => header.height === height),
    );
    for (const header of await endpoint.headers(missing, signal)) if (header) headers.set(header.hash, header);
    const proved = await this.#proofs.receipts(endpoint, incoming, signal);
    const known = { list: this.#list, headers, proved };
    const credits = await confirmed(endpoint, incoming, known, slices(), signal);
    this.#proofs.keep(credits, proved);
    return credits;
  }

  #rangeOf(endpoint: EvmEndpoint): number {
    return this.#ranges.get(endpoint) ?? RANGE_START;
  }

  /**
   * The transfers to and from our addresses from one height to another, read in ranges as wide as the endpoint allows; in the newest
   * blocks by their hashes.
   */
  async #found(
    endpoint: EvmEndpoint,
    range: { from: number; to: number },
    newest: readonly BlockId[],
    signal: AbortSignal,
  ): Promise<TransferLogs> {
    const pause = slices();
    const all = nothingFound();
    const add = ({ incoming, outgoing }: TransferLogs): void => {
      for (const one of incoming) all.incoming.push(one);
      for (const one of outgoing) all.outgoing.push(one);
    };
    const last = (newest[0]?.height ?? range.to + 1) - 1;
    for (let { from } = range; from <= last; ) {
      const width = this.#rangeOf(endpoint);
      const to = Math.min(last, from + width - 1);
      try {
        add(await this.#transfers.find(endpoint, { from, to }, pause, signal));
        from = to + 1;
        this.#ranges.set(endpoint, Math.min(width + Math.ceil(width / 10), RANGE_MAX));
      } catch (error) {
        if (!isTooMuch(error) || to === from) throw error;
        this.#ranges.set(endpoint, Math.max(1, Math.floor((to - from + 1) / 2)));
      }
    }
    add(await this.#transfers.findIn(endpoint, newest, pause, signal));
    return all;
  }
}

/** A step in the form that the finders of balances and of sent money need. */
function viewOf(checkpoint: Checkpoint, orphaned: readonly string[], { headers }: Step) {
  const times = new Map(headers.map(({ hash, timeMs }) => [hash, timeMs]));
  const here = new Set(checkpoint.map(({ hash }) => hash));
  return {
    checkpoint,
    orphaned: new Set(orphaned.filter((hash) => !here.has(hash))),
    timeOf: (hash: string) => times.get(hash),
  };
}
