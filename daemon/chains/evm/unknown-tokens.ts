/**
 * Finds unknown tokens that were sent to one of the most urgent addresses, so that money sent by mistake is visible.
 * They have no price and never count, so their receipts are not checked, and the list is short.
 */
import type { Checkpoint, UnknownTransfer } from '../../domain/chain.ts';
import { Unavailable } from '../../domain/errors.ts';
import { safeSymbol } from '../../domain/token-name.ts';
import type { ListedScript, ScriptList } from '../adapter.ts';
import { tipOf } from '../adapter.ts';
import { RpcError } from '../json-rpc.ts';
import type { Log } from './answers.ts';
import { type EvmEndpoint, hexOfScript } from './endpoint.ts';
import type { Token } from './params.ts';
import { amountIn, paddedAddress, TRANSFER, urgent } from './transfers.ts';

export const UNKNOWN_TOKENS_MS = 60_000;
/** Transfers that one look reports. */
const TRANSFERS_MAX = 50;
/** Contracts whose symbol and decimals are remembered. */
const CONTRACTS_MAX = 500;
const DECIMALS_MAX = 36n;
/** The contract that the chain names in events of the coin's own transfers, which have the form of a token's (EIP-7708). */
const COIN = '0xfffffffffffffffffffffffffffffffffffffffe';

type Traits = Pick<UnknownTransfer, 'symbol' | 'decimals'>;

export class UnknownTokens {
  readonly #known: ReadonlySet<string>;
  readonly #list: ScriptList;
  readonly #everyMs: number;
  readonly #traits = new Map<string, Traits>();
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #lookedTo = -1;

  constructor(tokens: readonly Token[], list: ScriptList, everyMs: number) {
    this.#known = new Set([COIN, ...tokens.map(({ contract }) => contract)]);
    this.#list = list;
    this.#everyMs = everyMs;
  }

  /** Transfers in blocks of a checkpoint that were not examined before; empty while no look is due. */
  async look(endpoint: EvmEndpoint, checkpoint: Checkpoint, signal: AbortSignal): Promise<UnknownTransfer[]> {
    if (performance.now() - this.#lookedAtMs < this.#everyMs) return [];
    this.#lookedAtMs = performance.now();
    const to = tipOf(checkpoint).height;
    const from = Math.max(checkpoint[0]?.height ?? to, this.#lookedTo + 1);
    const listed = urgent(this.#list);
    if (from > to || listed.length === 0) return [];
    const topics = [TRANSFER, null, listed.map(({ script }) => paddedAddress(hexOfScript(script)))];
    try {
      const logs = await endpoint.logs({ from, to }, null, topics, signal);
      this.#lookedTo = to;
      return await this.#transfers(endpoint, logs, listed, signal);
    } catch (error) {
      // Some endpoints give no logs without a contract. Payments do not depend on these logs.
      if (error instanceof RpcError || error instanceof Unavailable) return [];
      throw error;
    }
  }

  async #transfers(
    endpoint: EvmEndpoint,
    logs: readonly Log[],
    listed: readonly ListedScript[],
    signal: AbortSignal,
  ): Promise<UnknownTransfer[]> {
    const ids = new Map(listed.map(({ id, script }) => [hexOfScript(script), id]));
    const found: UnknownTransfer[] = [];
    for (const log of logs) {
      const amount = amountIn(log);
      const targetId = amount === null ? undefined : ids.get(amount.recipient);
      if (amount === null || targetId === undefined || amount.units === 0n || this.#known.has(log.contract)) continue;
      if (found.length === TRANSFERS_MAX) break;
      const { contract, txid, height } = log;
      found.push({ targetId, contract, txid, height, units: amount.units, symbol: null, decimals: null });
    }
    await this.#learn(endpoint, new Set(found.map(({ contract }) => contract)), signal);
    return found.map((one) => ({ ...one, ...this.#traits.get(one.contract) }));
  }

  async #learn(endpoint: EvmEndpoint, contracts: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const missing = [...contracts].filter((contract) => !this.#traits.has(contract));
    const answers = await endpoint.tokenTraits(missing, signal);
    if (this.#traits.size + missing.length > CONTRACTS_MAX) this.#traits.clear();
    for (const [i, contract] of missing.entries()) {
      const { symbol = null, decimals = null } = answers[i] ?? {};
      this.#traits.set(contract, {
        symbol: symbol === null ? null : safeSymbol(textOf(symbol)),
        decimals: decimals !== null && decimals <= DECIMALS_MAX ? Number(decimals) : null,
      });
    }
  }
}

const WORD_BYTES = 32;

/** The text that a contract returned (hex with 0x): a string of the ABI, or 32 bytes that end in zeros. */
function textOf(hex: string): string {
  const bytes = Buffer.from(hex.slice(2), 'hex');
  if (bytes.length < 2 * WORD_BYTES) return bytes.toString('utf8').replaceAll('\0', '');
  const length = Math.min(bytes.readUInt32BE(2 * WORD_BYTES - 4), bytes.length - 2 * WORD_BYTES);
  return bytes.toString('utf8', 2 * WORD_BYTES, 2 * WORD_BYTES + length);
}
