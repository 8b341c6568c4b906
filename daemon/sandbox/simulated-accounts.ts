/**
 * Transactions of the sandbox's ETH and BSC: each is a line of JSON that states that it is simulated. Its hash is its
 * id, and it needs no signature. It has a sender with a nonce, at most one transfer, and a fee in the chain's own coin,
 * as on the real chains.
 *
 * Money at an address is kept as outputs. A transaction takes as many as it needs, and leaves the rest as another
 * output of the sender's, which is no transfer. A nonce is an output too: the transaction that uses it makes the next
 * one, so that replacements, reorganisations and evictions follow the same rules as on the other chains.
 */
import { z } from 'zod';
import { type AssetId, type ChainId, nativeAsset } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import { type DecodedOutput, nonceKey, type SandboxAccountPlan, type SignedSpend } from '../domain/spend.ts';
import { scriptAt } from './addresses.ts';
import { evict, hashFor, needRoom, withDescendants } from './consensus.ts';
import { PREMINED, type SandboxOutput, type SandboxReader, type SandboxWriter } from './rows.ts';
import { parseJson, SIMULATED_VSIZE, transferOf } from './simulated.ts';

const RAW_CHARS_MAX = 2_000;
/** A transfer of a token to this address fails, as on the real chains. */
export const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
/** Nodes replace a transaction by one with the same nonce that pays at least a tenth more. */
const REPLACEMENT_PERCENT = 110n;

export const isAccountChain = (chain: ChainId): boolean => chain === 'ETH' || chain === 'BSC';

type AccountTransaction = {
  txid: string;
  /** The address of the sender, as its nonce keys contain it. */
  from: string;
  fromScript: Uint8Array;
  nonce: bigint;
  /** Null: it only uses the nonce. */
  transfer: DecodedOutput | null;
  fee: bigint;
};

type TransferText = {
  from: string;
  nonce: bigint;
  to: { address: string; asset: AssetId; units: bigint } | null;
  fee: bigint;
};

/** The one way of writing it, so that the same content has the same id. */
function written(chain: ChainId, { from, nonce, to, fee }: TransferText): string {
  return JSON.stringify({
    simulated: 'This is no transaction of a real chain',
    chain,
    from,
    nonce: nonce.toString(),
    to: to && { address: to.address, asset: to.asset, units: to.units.toString() },
    fee: fee.toString(),
  });
}

/** The transaction of a plan, as it is broadcast. */
export function accountSpend({ chain, sender, nonce, outputs, fee, asset }: SandboxAccountPlan): SignedSpend {
  const [output] = outputs;
  const to = output ? { address: output.address, asset, units: output.units } : null;
  const raw = written(chain, { from: sender, nonce, to, fee });
  return { txid: hashFor(chain, raw), raw, fee, size: SIMULATED_VSIZE };
}

const units = z.string().regex(/^(?:0|[1-9]\d{0,77})$/);
const shape = z.object({
  chain: z.string(),
  from: z.string().max(200),
  nonce: units,
  to: z.object({ address: z.string().max(200), asset: z.string(), units }).nullable(),
  fee: units,
});

/** Throws `Rejected('spend.malformed')`. */
export function decodeAccount(chain: ChainId, raw: string): AccountTransaction {
  const malformed = (): Rejected => new Rejected('spend.malformed', `This is no simulated transaction of ${chain}`);
  const parsed = shape.safeParse(raw.length > RAW_CHARS_MAX ? null : parseJson(raw));
  if (!parsed.success || parsed.data.chain !== chain) throw malformed();
  const { from, to } = parsed.data;
  const [nonce, fee] = [BigInt(parsed.data.nonce), BigInt(parsed.data.fee)];
  const fromScript = scriptAt(chain, from);
  if (!fromScript) throw malformed();
  const transfer = to && transferOf(chain, to);
  if (to && !transfer) throw malformed();
  if (written(chain, { from, nonce, to: transfer && { ...transfer, address: to.address }, fee }) !== raw) {
    throw malformed();
  }
  return { txid: hashFor(chain, raw), from, fromScript, nonce, transfer, fee };
}

const NONCE = 'nonce:';
const REST = ':rest:';
export const isNonceOutput = (outpoint: string): boolean => outpoint.startsWith(NONCE);
export const isRest = (outpoint: string): boolean => outpoint.includes(REST);

/** How many transactions of an address blocks contain. */
export function nonceInBlocks(rows: SandboxReader, chain: ChainId, address: string): bigint {
  const confirmed = noncesOf(rows, chain, address).filter(
    ({ transactionId }) => transactionId === PREMINED || rows.transactionById(transactionId)?.height != null,
  );
  return confirmed.map(({ outpoint }) => BigInt(outpoint.slice(outpoint.lastIndexOf(':') + 1))).reduce(larger, 0n);
}

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

const noncesOf = (rows: SandboxReader, chain: ChainId, address: string): SandboxOutput[] =>
  rows.outputsBetween(chain, `${NONCE}${address}:`, `${NONCE}${address};`);

/**
 * Adds a transaction to the mempool by the rules of the real chains: its nonce is the sender's next one, or that of an
 * unconfirmed transaction that paid less; the sender has the amount and the fee. A known transaction is no error.
 */
export function acceptAccount(tx: SandboxWriter, chain: ChainId, raw: string, now: number): string {
  const sent = decodeAccount(chain, raw);
  const { txid, from, nonce, fromScript: script, transfer, fee } = sent;
  if (tx.transaction(chain, txid)) return txid;
  needRoom(tx, chain);
  const key = nonceKey(from, nonce);
  const native = nativeAsset(chain).symbol;
  if (nonce === 0n && noncesOf(tx, chain, from).length === 0) tx.addOutput(chain, firstNonce(key, script, native));
  replace(tx, chain, { key, fee, native, script });
  const needs = new Map<AssetId, bigint>([[native, fee]]);
  // as token contracts do: only the fee is paid then
  const fails = transfer !== null && transfer.asset !== native && transfer.address === ZERO_ADDRESS;
  if (transfer && !fails) needs.set(transfer.asset, (needs.get(transfer.asset) ?? 0n) + transfer.units);
  const id = tx.addTransaction(chain, { txid, raw, inputs: [key], createdAt: now });
  const add = (outpoint: string, output: Pick<SandboxOutput, 'script' | 'asset' | 'units'>): void =>
    tx.addOutput(chain, { ...output, outpoint, transactionId: id, spentBy: null });
  for (const [asset, needed] of needs) {
    const left = take(tx, chain, { id, script, asset, needed });
    if (left > 0n) add(`${txid}${REST}${asset}`, { script, asset, units: left });
  }
  if (transfer && !fails) add(`${txid}:0`, transfer);
  tx.setSpentBy(chain, key, id);
  add(nonceKey(from, nonce + 1n), { script, asset: native, units: 0n });
  return txid;
}

const firstNonce = (outpoint: string, script: Uint8Array, asset: AssetId): SandboxOutput => ({
  outpoint,
  script,
  asset,
  units: 0n,
  transactionId: PREMINED,
  spentBy: null,
});

/** Evicts the unconfirmed transaction with the same nonce, and those with later ones. */
function replace(
  tx: SandboxWriter,
  chain: ChainId,
  { key, fee, native, script }: { key: string; fee: bigint; native: AssetId; script: Uint8Array },
): void {
  const coin = tx.output(chain, key);
  if (!coin) throw new Rejected('broadcast.unknown_input', 'Its nonce is not the next one of its sender');
  if (coin.spentBy === null) return;
  const rival = tx.transactionById(coin.spentBy);
  const raw = rival?.height === null ? rival.raw : null;
  if (raw === null || fee * 100n < decodeAccount(chain, raw).fee * REPLACEMENT_PERCENT) {
    const why = raw === null ? 'Its nonce was used in a block' : 'To replace, it must pay a tenth more';
    throw new Rejected('broadcast.conflict', why);
  }
  for (const id of [...withDescendants(tx, coin.spentBy)].reverse()) if (tx.transactionById(id)) evict(tx, chain, id);
  if (!tx.output(chain, key)) tx.addOutput(chain, firstNonce(key, script, native));
}

/** Spends outputs of an address until they suffice. Returns what is left of them. */
function take(
  tx: SandboxWriter,
  chain: ChainId,
  { id, script, asset, needed }: { id: number; script: Uint8Array; asset: AssetId; needed: bigint },
): bigint {
  let sum = 0n;
  for (const coin of tx.unspentAt(chain, script)) {
    if (sum >= needed) break;
    if (coin.asset !== asset || coin.units === 0n) continue;
    // money from others counts once it is in a block
    const isConfirmed = tx.transactionById(coin.transactionId)?.height != null;
    if (!isConfirmed && !isRest(coin.outpoint)) continue;
    tx.setSpentBy(chain, coin.outpoint, id);
    sum += coin.units;
  }
  if (sum >= needed) return sum - needed;
  throw new Rejected('broadcast.outputs_exceed_inputs', `The sender has less ${asset} than it sends`);
}
