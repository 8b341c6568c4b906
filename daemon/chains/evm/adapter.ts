/**
 * The chain source of Ethereum and BNB Smart Chain: JSON-RPC endpoints, of which one is asked at a time. Tokens are found
 * by their events, the native coin by balances. The mempool is not read: a payment is seen in its block.
 *
 * Invariant: all facts of an update come from one endpoint and one chain, and every block that it names links to the
 * checkpoint.
 */
import type { AssetId, Network } from '../../domain/assets.ts';
import type {
  AccountKey,
  BlockId,
  Branch,
  ChainUpdate,
  Checkpoint,
  Credit,
  DerivedAddress,
  SourceHealth,
  SourceServer,
} from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import { type EvmChain, NATIVE_COIN } from '../../domain/evm.ts';
import { type ChainAdapter, type ScriptList, tipOf } from '../adapter.ts';
import { Agreement, type NeedsAgreement, type Told } from '../agreement.ts';
import { Endpoints, Malformed } from '../endpoints.ts';
import { changed, checkpointAt, commonBlocks, contiguousEnd, idOf } from '../follow.ts';
import { childPublicKey } from '../hd.ts';
import { Poller } from '../poller.ts';
import { slices } from '../slices.ts';
import { addressOfKey, isValidAddress } from './address.ts';
import type { Header } from './answers.ts';
import { EvmEndpoint, hexOfScript } from './endpoint.ts';
import { NativeCoin } from './native.ts';
import { HEAD_AGE_MS_MAX, POLL_MS, tokensOf } from './params.ts';
import { SECOND_LOOK_MS, SecondLook } from './second-look.ts';
import { checkpointAfter, type Step, stepAbove } from './step.ts';
import { confirmed, type Incoming, isTooMuch, Transfers } from './transfers.ts';

export type EvmOptions = {
  chain: EvmChain;
  network: Network;
  /** In the order in which they are asked; at least one. */
  urls: readonly string[];
  /** Of tokens on networks that are not mainnet. */
  contracts: Readonly<Partial<Record<AssetId, string>>>;
  list: ScriptList;
  needsAgreement: NeedsAgreement;
  log: (message: string) => void;
  /** Called when an endpoint gave a false answer. `server`: the endpoint's address. */
  alert: (server: string, message: string) => void;
  pollMs?: number;
  secondLookMs?: number;
};

/** Blocks per request for logs during catch-up. The number then adapts to the endpoint's limit. */
const RANGE_START = 500;
const RANGE_MAX = 5_000;
const LOCAL_POLL_MS = 500;

export class EvmAdapter implements ChainAdapter {
  readonly network: Network;
  readonly chain: EvmChain;
  readonly assets: readonly AssetId[];
  readonly #setting: string;
  readonly #endpoints: Endpoints<EvmEndpoint>;
  readonly #transfers: Transfers;
  readonly #native: NativeCoin;
  readonly #agreement: Agreement<EvmEndpoint>;
  readonly #secondLook: SecondLook;
  readonly #poller: Poller;
  #range = RANGE_START;
  /**
   * Whether the checkpoint's blocks were read again since the start, because credits without agreement are kept in memory
   * only.
   */
  #isReread = false;
  #syncing = false;
  /** The head that the last sync reached; null when the sync stopped before its end. */
  #handled: string | null = null;
  #behind = false;
  #head: Header | null = null;
  #error: string | null = null;

  /** Throws `Rejected` when a URL is malformed. */
  constructor(options: EvmOptions) {
    const { chain, network, urls, contracts, list, alert, needsAgreement } = options;
    this.network = network;
    this.chain = chain;
    this.#setting = `[networks.${network}.${chain}] rpc`;
    const tokens = tokensOf(network, chain, contracts);
    this.assets = [NATIVE_COIN[chain], ...tokens.map(({ asset }) => asset)];
    const open = (url: string) => new EvmEndpoint({ url, label: this.#setting, network, chain, tokens });
    this.#endpoints = new Endpoints(this.#setting, urls, open, alert);
    this.#transfers = new Transfers(tokens, list);
    this.#native = new NativeCoin(NATIVE_COIN[chain], list);
    this.#agreement = new Agreement(this.#endpoints, needsAgreement, (endpoint, credit, signal) =>
      isThere(endpoint, credit, list, signal),
    );
    const parts = { endpoints: this.#endpoints, list, transfers: this.#transfers, native: this.#native };
    const everyMs = options.secondLookMs ?? SECOND_LOOK_MS;
    this.#secondLook = new SecondLook({ ...parts, everyMs });
    const pollMs = options.pollMs ?? (network === 'regtest' ? LOCAL_POLL_MS : POLL_MS[chain]);
    this.#poller = new Poller(pollMs, (signal) => this.#hasNews(signal));
  }

  async deriveAddress(account: AccountKey, branch: Branch, index: number): Promise<DerivedAddress> {
    return addressOfKey(childPublicKey(account, branch, index));
  }

  isValidAddress(text: string): boolean {
    return isValidAddress(text);
  }

  async begin(birthday: number | null, signal: AbortSignal): Promise<Checkpoint> {
    this.#poller.start();
    return this.#recording(signal, async () => {
      const checkpoint = await this.#endpoints.first((endpoint) => checkpointAt(endpoint, birthday, signal), signal);
      assert(checkpoint, 'an endpoint answers or throws');
      return checkpoint;
    });
  }

  async sync(since: Checkpoint, signal: AbortSignal): Promise<ChainUpdate | null> {
    signal.throwIfAborted();
    assert(!this.#syncing, 'one sync at a time');
    this.#poller.start();
    this.#syncing = true;
    this.#handled = null;
    try {
      const update = await this.#recording(signal, () =>
        this.#endpoints.first((endpoint) => this.#step(endpoint, since, signal), signal),
      );
      this.#behind = update === undefined;
      return update ?? null;
    } finally {
      this.#syncing = false;
    }
  }

  onHint(wake: () => void): void {
    this.#poller.onNews(wake);
    this.#poller.start();
  }

  health(): SourceHealth {
    const head = this.#head;
    const tipAgeMs = head && this.#ageOf(head);
    return {
      source: this.#endpoints.asked.name,
      tip: head && idOf(head),
      tipAgeMs,
      lagging: this.#behind || (head !== null && !this.#isFresh(head)),
      error: this.#error,
    };
  }

  servers(): SourceServer[] {
    const tip = this.#head && idOf(this.#head);
    return this.#endpoints.servers().map(({ name, asked, failures, error, waiting }) => ({
      ...{ name, asked, failures, error },
      state: waiting ? 'waiting' : asked ? 'ready' : 'idle',
      software: null,
      tip: asked ? tip : null,
      behind: null,
      latencyMs: null,
      watched: 0,
    }));
  }

  async close(): Promise<void> {
    await this.#poller.stop();
    this.#endpoints.close();
  }

  /** One step with one endpoint; undefined when the endpoint is behind the checkpoint. */
  async #step(endpoint: EvmEndpoint, since: Checkpoint, signal: AbortSignal): Promise<ChainUpdate | undefined> {
    const head = await endpoint.head(signal);
    this.#head = head;
    const known = contiguousEnd(since);
    const common = await commonBlocks(endpoint, known, head, signal);
    if (common === null) return undefined;
    const kept = known.slice(0, common);
    const orphaned = known.slice(common);
    const step = await stepAbove(endpoint, tipOf(kept), head, this.#range, signal);
    const checkpoint = checkpointAfter(kept, step);
    const tip = tipOf(checkpoint);
    const atHead = step.to >= head.height;
    const from = this.#isReread ? step.from : (kept[0]?.height ?? 0);
    const credits = await this.#tokens(endpoint, { ...step, from }, signal);
    // The search for a difference covers the checkpoint's blocks, so each step that has all of them can run it.
    const coins = step.isFar ? [] : await this.#coins(endpoint, checkpoint, orphaned, step, signal);
    if (coins === null && atHead) throw new Malformed('no balance after its own newest block');
    credits.push(...(coins ?? []));
    const told: Told<EvmEndpoint>[] = [{ credits, teller: endpoint }];
    const omitted = atHead ? await this.#secondLook.look(endpoint, checkpoint, credits, signal) : null;
    if (omitted) told.push(omitted);
    const [still] = await endpoint.headers([tip.height], signal);
    if (still?.hash !== tip.hash) throw changed();
    this.#isReread = true;
    if (atHead) this.#handled = tip.hash;
    return {
      since: tipOf(since),
      checkpoint,
      orphaned,
      targets: 'all',
      mempool: atHead && this.#isFresh(head) ? 'complete' : 'unknown',
      credits: await this.#agreement.judge(told, checkpoint, signal),
      spends: [],
      ...(this.network !== 'regtest' && { tipMedianTime: step.headers.at(-1)?.timeMs ?? still.timeMs }),
      more: !atHead,
    };
  }

  async #tokens(endpoint: EvmEndpoint, step: Step, signal: AbortSignal): Promise<Credit[]> {
    const pause = slices();
    const incoming = await this.#incoming(endpoint, step, signal);
    const headers = new Map(step.headers.map((header) => [header.hash, header]));
    const missing = [...new Set(incoming.map(({ log }) => log.height))].filter(
      (height) => !step.headers.some((header) => header.height === height),
    );
    for (const header of await endpoint.headers(missing, signal)) if (header) headers.set(header.hash, header);
    return confirmed(endpoint, incoming, headers, pause, signal);
  }

  /** The transfers to our addresses in the blocks of a step, read in ranges as wide as the endpoint allows. */
  async #incoming(endpoint: EvmEndpoint, step: Step, signal: AbortSignal): Promise<Incoming[]> {
    const pause = slices();
    const blocks = step.isFar ? [] : step.headers.map(idOf);
    const incoming: Incoming[] = [];
    for (let from = step.from; from <= step.to; ) {
      const to = Math.min(step.to, from + this.#range - 1);
      const isLast = to === step.to;
      try {
        const found = await this.#transfers.find(endpoint, { from, to }, isLast ? blocks : [], pause, signal);
        for (const one of found) incoming.push(one);
        from = to + 1;
        this.#range = Math.min(this.#range + Math.ceil(this.#range / 10), RANGE_MAX);
      } catch (error) {
        if (!isTooMuch(error) || to === from) throw error;
        this.#range = Math.max(1, Math.floor((to - from + 1) / 2));
      }
    }
    return incoming;
  }

  #coins(
    endpoint: EvmEndpoint,
    checkpoint: Checkpoint,
    orphaned: readonly BlockId[],
    step: Step,
    signal: AbortSignal,
  ): Promise<Credit[] | null> {
    const times = new Map(step.headers.map(({ hash, timeMs }) => [hash, timeMs]));
    const view = {
      checkpoint,
      orphaned: new Set(orphaned.map(({ hash }) => hash)),
      timeOf: (hash: string) => times.get(hash),
    };
    return this.#native.look(endpoint, view, slices(), signal);
  }

  #ageOf(header: Header): number {
    return Math.max(0, Date.now() - header.timeMs);
  }

  /** Whether a head is young enough to be the network's newest. Test chains have no regular blocks. */
  #isFresh(header: Header): boolean {
    return this.network === 'regtest' || this.#ageOf(header) <= HEAD_AGE_MS_MAX[this.chain];
  }

  async #hasNews(signal: AbortSignal): Promise<boolean> {
    const head = await this.#recording(signal, () =>
      this.#endpoints.first((endpoint) => endpoint.head(signal), signal),
    );
    if (this.#syncing || !head) return false;
    return this.#handled !== head.hash || this.#agreement.isDue() || this.#secondLook.isDue();
  }

  /** Runs a use of the endpoints and keeps its result for `health`. */
  async #recording<T>(signal: AbortSignal, use: () => Promise<T>): Promise<T> {
    try {
      const result = await use();
      this.#error = null;
      return result;
    } catch (error) {
      if (!signal.aborted) {
        this.#error = error instanceof Error ? error.message : String(error);
        this.#handled = null;
      }
      throw error;
    }
  }
}

/** Whether an endpoint has the credit's block on its chain, with its transaction in it. */
async function isThere(
  endpoint: EvmEndpoint,
  { targetId, block, txid, id, amount }: Credit,
  list: ScriptList,
  signal: AbortSignal,
): Promise<boolean> {
  if (!block) return false;
  const [header] = await endpoint.headers([block.height], signal);
  if (header?.hash !== block.hash) return false;
  // A payment from inside a contract has no transaction of its own. The balance after its block proves it.
  if (txid === block.hash) {
    const script = list.page(targetId - 1, 1)[0]?.script;
    const [balance] = script ? await endpoint.balances([hexOfScript(script)], block, signal) : [];
    return (balance ?? 0n) >= amount.units;
  }
  const [receipt] = await endpoint.receipts([txid], signal);
  const place = Number(id.slice(id.indexOf(':') + 1));
  return receipt?.succeeded === true && receipt.blockHash === block.hash && place <= receipt.logs.length;
}
