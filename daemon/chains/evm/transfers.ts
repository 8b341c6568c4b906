/**
 * Finds payments in tokens: the Transfer events (ERC-20) of the registry's contracts whose recipient is an address of ours.
 * The sender does not matter, since exchanges pay from any address. The event's amount is credited, so that a token's own
 * fee is not.
 *
 * Invariant: a list of logs alone credits nothing. The receipt of the event's transaction must be successful and contain
 * the event at the same index in the same block, and the block's bloom filter must admit it.
 */
import type { BlockId, Credit } from '../../domain/chain.ts';
import { Unavailable } from '../../domain/errors.ts';
import type { ListedScript, ScriptList } from '../adapter.ts';
import { Malformed } from '../endpoints.ts';
import { RpcError } from '../json-rpc.ts';
import { type Pause, slices } from '../slices.ts';
import type { Header, Log, Receipt } from './answers.ts';
import { mayHold } from './bloom.ts';
import { idFor } from './credit-ids.ts';
import { type EvmEndpoint, isLimit } from './endpoint.ts';
import type { Token } from './params.ts';

/** keccak256("Transfer(address,address,uint256)"). */
export const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const ADDRESS_PADDING = `0x${'0'.repeat(24)}`;
const WORD_CHARS = 66;
const LOGS_PER_LOOK = 64;
/** Endpoints refuse longer lists. */
const RECIPIENTS_MAX = 100;
/** Receipts that are held at a time. One transaction may have thousands of events. */
const RECEIPTS_PER_PAGE = 50;
/** Blocks whose events are asked for together. */
const BLOCKS_PER_CALL = 8;

/** An address (hex with 0x) as a topic. */
export const paddedAddress = (address: string): string => `${ADDRESS_PADDING}${address.slice(2)}`;

/** The sender and the recipient (hex with 0x) and the amount of a transfer; null for any other event. */
export function amountIn(
  log: Pick<Log, 'topics' | 'data'>,
): { sender: string; recipient: string; units: bigint } | null {
  if (!isTransfer(log)) return null;
  const [sender, recipient] = log.topics.slice(1).map((topic) => `0x${topic.slice(ADDRESS_PADDING.length)}`);
  return { sender: sender ?? '', recipient: recipient ?? '', units: BigInt(log.data) };
}

/** The most urgent addresses, as many as endpoints accept in a list of recipients. */
export function urgent(list: Pick<ScriptList, 'active'>): ListedScript[] {
  const chosen = new Map<number, ListedScript>();
  for (const page of list.active()) {
    for (const one of page) if (chosen.size < RECIPIENTS_MAX) chosen.set(one.id, one);
    if (chosen.size >= RECIPIENTS_MAX) break;
  }
  return [...chosen.values()];
}

/** An event that pays a target of ours, not yet checked against its receipt. `moved`: an address of the same account sent it. */
export type Incoming = { log: Log; token: Token; targetId: number; moved: boolean };

/** An event by which tokens left an address of ours, not yet checked. */
export type LeavingLog = { log: Log; from: ListedScript };

export type TransferLogs = { incoming: Incoming[]; outgoing: LeavingLog[] };

export const nothingFound = (): TransferLogs => ({ incoming: [], outgoing: [] });

/**
 * Finds transfers to our addresses, and from them; two lookups in the store for each event, whatever the number of
 * addresses.
 */
export class Transfers {
  readonly #tokens: ReadonlyMap<string, Token>;
  readonly #watch: ScriptList;

  constructor(tokens: readonly Token[], watch: ScriptList) {
    this.#tokens = new Map(tokens.map((token) => [token.contract, token]));
    this.#watch = watch;
  }

  /** The events that pay us from one height to another. Throws `RpcError` when the range is too large for the endpoint. */
  async find(
    endpoint: EvmEndpoint,
    range: { from: number; to: number },
    pause: Pause,
    signal: AbortSignal,
  ): Promise<TransferLogs> {
    const contracts = [...this.#tokens.keys()];
    const found = nothingFound();
    if (contracts.length === 0) return found;
    await this.#sort(await endpoint.logs(range, contracts, [TRANSFER], signal), found, pause);
    return found;
  }

  /** The same in blocks by their hashes: an endpoint without one answers with an error. */
  async findIn(
    endpoint: EvmEndpoint,
    blocks: readonly BlockId[],
    pause: Pause,
    signal: AbortSignal,
  ): Promise<TransferLogs> {
    const contracts = [...this.#tokens.keys()];
    const found = nothingFound();
    if (contracts.length === 0) return found;
    for (let at = 0; at < blocks.length; at += BLOCKS_PER_CALL) {
      const logs = await endpoint.logsIn(blocks.slice(at, at + BLOCKS_PER_CALL), contracts, TRANSFER, signal);
      await this.#sort(logs, found, pause);
    }
    return found;
  }

  /** The events that pay these addresses (hex with 0x) in a range of blocks. */
  async findFor(
    endpoint: EvmEndpoint,
    range: { from: number; to: number },
    recipients: readonly string[],
    signal: AbortSignal,
  ): Promise<Incoming[]> {
    const contracts = [...this.#tokens.keys()];
    // an empty list of recipients would stand for all
    if (contracts.length === 0 || recipients.length === 0) return [];
    const topics = [TRANSFER, null, recipients.map(paddedAddress)];
    const found = nothingFound();
    await this.#sort(await endpoint.logs(range, contracts, topics, signal), found, slices());
    return found.incoming;
  }

  async #sort(logs: readonly Log[], found: TransferLogs, pause: Pause): Promise<void> {
    for (const [i, log] of logs.entries()) {
      this.#sortOne(log, found);
      const wait = i % LOGS_PER_LOOK === 0 ? pause() : undefined;
      if (wait) await wait;
    }
  }

  #sortOne(log: Log, { incoming, outgoing }: TransferLogs): void {
    const token = this.#tokens.get(log.contract);
    // Some endpoints do not filter, and also return other contracts and events. Anybody can make a transfer of 0 in our
    // name.
    if (!token || !isTransfer(log) || BigInt(log.data) === 0n) return;
    const [sender, recipient] = partiesOf(log);
    const [from, targetId] = [this.#watch.targetIdOf(sender), this.#watch.targetIdOf(recipient)];
    if (from !== undefined) outgoing.push({ log, from: { id: from, script: sender } });
    if (targetId === undefined) return;
    const moved = from !== undefined && isOneAccount(this.#watch, from, targetId);
    incoming.push({ log, token, targetId, moved });
  }
}

/** The sender and the recipient of a transfer: the last 20 bytes of its topics. */
export function partiesOf({ topics }: Log): [sender: Uint8Array, recipient: Uint8Array] {
  const [, sender = '', recipient = ''] = topics;
  const scriptOf = (topic: string): Uint8Array => Buffer.from(topic.slice(ADDRESS_PADDING.length), 'hex');
  return [scriptOf(sender), scriptOf(recipient)];
}

/** Whether two targets are addresses of one account. */
export function isOneAccount(list: Pick<ScriptList, 'accountOf'>, a: number, b: number): boolean {
  const account = list.accountOf(a);
  return account !== undefined && account === list.accountOf(b);
}

/** Whether an address (hex with 0x; null: nobody) is one of a target's account. */
export function isOfAccount(
  list: Pick<ScriptList, 'accountOf' | 'targetIdOf'>,
  address: string | null,
  targetId: number,
): boolean {
  const own = address === null ? undefined : list.targetIdOf(Buffer.from(address.slice(2), 'hex'));
  return own !== undefined && isOneAccount(list, own, targetId);
}

export const isTransfer = ({ topics, data }: Pick<Log, 'topics' | 'data'>): boolean =>
  topics.length === 3 &&
  topics[0] === TRANSFER &&
  topics[2]?.startsWith(ADDRESS_PADDING) === true &&
  data.length === WORD_CHARS;

/** `headers`: of the blocks that hold events, by hash. `proved`: receipts that are known. */
type Known = {
  list: Pick<ScriptList, 'underId'>;
  headers: ReadonlyMap<string, Header>;
  proved?: ReadonlyMap<string, Receipt>;
};

/** The credits of events that their receipts confirm. Throws `Malformed` when the endpoint contradicts itself. */
export async function confirmed(
  endpoint: EvmEndpoint,
  incoming: readonly Incoming[],
  { list, headers, proved = new Map<string, Receipt>() }: Known,
  pause: Pause,
  signal: AbortSignal,
): Promise<Credit[]> {
  const byTx = new Map<string, Incoming[]>();
  for (const one of incoming) byTx.set(one.log.txid, [...(byTx.get(one.log.txid) ?? []), one]);
  const txids = [...byTx.keys()];
  const credits: Credit[] = [];
  for (let at = 0; at < txids.length; at += RECEIPTS_PER_PAGE) {
    const page = txids.slice(at, at + RECEIPTS_PER_PAGE);
    const unknown = page.filter((txid) => !proved.has(txid));
    const told = await endpoint.receipts(unknown, signal);
    for (const txid of page) {
      const receipt = proved.get(txid) ?? told[unknown.indexOf(txid)];
      const places = placesOf(receipt);
      for (const one of byTx.get(txid) ?? []) {
        const credit = creditOf(one, receipt, places, headers);
        credits.push({ ...credit, id: idFor(list, credit) });
        const wait = pause();
        if (wait) await wait;
      }
    }
  }
  return credits;
}

/** It is no contradiction: one of several servers behind the endpoint may not have the block yet. */
export const lacksReceipt = (): Unavailable => new Unavailable('the endpoint lacks the receipt of a log', 1);

const placesOf = (receipt: Receipt | null | undefined): Map<number, number> =>
  new Map(receipt?.logs.map((log, place) => [log.index, place]));

/**
 * The credit of an event. Its id contains the event's place within its transaction, which stays the same when another
 * block includes the transaction. Place 0 is the native coin's.
 */
function creditOf(
  { log, token, targetId, moved }: Incoming,
  receipt: Receipt | null | undefined,
  places: ReadonlyMap<number, number>,
  headers: ReadonlyMap<string, Header>,
): Credit {
  const header = headers.get(log.blockHash);
  const place = places.get(log.index);
  if (!receipt) throw lacksReceipt();
  if (!isAt(log, receipt, place)) throw new Malformed('a log that its receipt does not have');
  if (receipt.blockHash !== log.blockHash) throw new Malformed('a receipt of another block than the log');
  if (!header || header.height !== log.height) throw new Malformed('a log of a block that is not on its chain');
  if (!mayHold(header.bloom, [log.contract, ...log.topics])) throw new Malformed('a log that its block does not admit');
  return {
    id: `${log.txid}:${(place ?? 0) + 1}`,
    txid: log.txid,
    targetId,
    amount: { asset: token.asset, units: BigInt(log.data) },
    block: { height: header.height, hash: header.hash },
    blockTime: header.timeMs,
    inputs: [],
    replaceable: true,
    ...(moved && { moved }),
  };
}

/** Whether a receipt is of a success, and has a log at a place. */
function isAt(log: Log, { succeeded, logs }: Receipt, place: number | undefined): boolean {
  const twin = place === undefined ? undefined : logs[place];
  if (!succeeded || !twin) return false;
  const isSame = twin.contract === log.contract && twin.data === log.data && twin.txid === log.txid;
  return isSame && twin.topics.join() === log.topics.join();
}

/** Whether a receipt is of a success in the block of a log, and has it. */
export const isInReceipt = (log: Log, receipt: Receipt): boolean =>
  receipt.blockHash === log.blockHash && isAt(log, receipt, placesOf(receipt).get(log.index));

/** Whether the endpoint may answer a smaller request after this error. */
export const isTooMuch = (error: unknown): boolean =>
  error instanceof RpcError && (isLimit(error) || error.code !== -32_601);
