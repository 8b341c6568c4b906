/**
 * Transactions of the sandbox's XMR: each is a line of JSON that states that it is simulated. Its hash is its id, and
 * it needs no signature. It names simulated key images, and spends whole coins. The payer's transactions on XMR, ETH
 * and BSC are written the same way.
 */
import { z } from 'zod';
import { insufficient } from '../chains/accounts.ts';
import { type AssetId, assetOf, type ChainId, findAsset } from '../domain/assets.ts';
import { assert, Rejected } from '../domain/errors.ts';
import { formatUnits, sumOf } from '../domain/money.ts';
import type { Coin, DecodedSpend, PlannedOutput, SandboxPlan, SignedSpend, SpendRequest } from '../domain/spend.ts';
import { scriptAt, unitsMax } from './addresses.ts';
import { addToMempool, hashFor, needRoom } from './consensus.ts';
import { PREMINED, type SandboxWriter } from './rows.ts';

/** The size of a simulated transaction in virtual bytes, so that its fee equals the fee rate. */
export const SIMULATED_VSIZE = 1_000;
const RAW_CHARS_MAX = 200_000;

/** Fees of about the size of the real ones: XMR in piconero, ETH and BNB in wei (21,000 gas). */
const RATES: Partial<Record<ChainId, bigint>> = { XMR: 60_000_000n, ETH: 42_000_000_000_000n, BSC: 2_100_000_000_000n };

export function simulatedRate(chain: ChainId): bigint {
  const rate = RATES[chain];
  assert(rate, `${chain} is simulated`);
  return rate;
}

type Output = { address: string; asset: AssetId; units: bigint };

/** The one way of writing it, so that the same content has the same id. */
export function simulatedRaw(chain: ChainId, inputs: readonly string[], outputs: readonly Output[]): string {
  return JSON.stringify({
    simulated: 'This is no transaction of a real chain',
    chain,
    ...(chain === 'XMR' ? { keyImages: inputs.map(keyImageOf) } : { inputs }),
    outputs: outputs.map(({ address, asset, units }) => ({ address, asset, units: units.toString() })),
  });
}

/**
 * The simulated key image of a coin, and the coin of a key image: each hex digit of the outpoint is subtracted from 15.
 * On the real chain only the wallet can tell which coin a key image belongs to.
 */
const keyImageOf = (outpoint: string): string =>
  outpoint.replace(/^[0-9a-f]+/, (digits) =>
    digits.replace(/./g, (digit) => (15 - Number.parseInt(digit, 16)).toString(16)),
  );

/**
 * The plan of a simulated transaction: the largest coins, as many as are needed. Throws `Rejected` as the real ones do:
 * `spend.insufficient`, `spend.fee_too_high`.
 */
export function planSimulated(request: SpendRequest): SandboxPlan {
  const { chain, accountNo, asset, payouts, requiredInputs, change, coins } = request;
  assert(request.network === 'sandbox', 'only the sandbox simulates');
  assert(payouts.length > 0 || requiredInputs.length > 0, 'something is paid or moved');
  const fee = request.feeRate;
  const sweeps = payouts.some(({ units }) => units === null);
  const paid = payouts.reduce((sum, { units }) => sum + (units ?? 0n), fee);
  const inputs = chosen(coins, requiredInputs, sweeps ? null : paid);
  const left = sumOf(inputs) - paid;
  if (left < 0n || (sweeps && left === 0n)) throw insufficient(asset, sweeps ? 1n - left : -left);
  const outputs = payouts.map(({ units, ...to }): PlannedOutput => ({ kind: 'payout', ...to, units: units ?? left }));
  if (!sweeps && left > 0n) outputs.push({ kind: 'change', ...change, units: left });
  assert(
    requiredInputs.every((required) => inputs.some(({ outpoint }) => outpoint === required)),
    'the required inputs are among the coins',
  );
  if (fee > request.feeMax) {
    const text = `The network fee would be ${formatUnits(fee, assetOf(asset))} ${asset}`;
    throw new Rejected('spend.fee_too_high', text);
  }
  return { kind: 'sandbox', network: 'sandbox', chain, accountNo, asset, inputs, outputs, fee };
}

/** The required inputs and the largest others until `need` is reached; all of them when it is null. */
function chosen(coins: readonly Coin[], requiredInputs: readonly string[], need: bigint | null): Coin[] {
  const inputs = coins.filter(({ outpoint }) => requiredInputs.includes(outpoint));
  const others = coins
    .filter(({ outpoint }) => !requiredInputs.includes(outpoint))
    .sort((a, b) => (a.units === b.units ? (a.outpoint < b.outpoint ? -1 : 1) : a.units > b.units ? -1 : 1));
  let sum = sumOf(inputs);
  for (const coin of others) {
    if (need !== null && sum >= need && (inputs.length > 0 || need === 0n)) break;
    inputs.push(coin);
    sum += coin.units;
  }
  return inputs;
}

/** The transaction of a plan, as it is broadcast. */
export function simulatedSpend(plan: SandboxPlan): SignedSpend {
  const outputs = plan.outputs.map(({ address, units }) => ({ address, asset: plan.asset, units }));
  const raw = simulatedRaw(
    plan.chain,
    plan.inputs.map(({ outpoint }) => outpoint),
    outputs,
  );
  return { txid: hashFor(plan.chain, raw), raw, fee: plan.fee, size: SIMULATED_VSIZE };
}

const shape = z.object({
  chain: z.string(),
  keyImages: z.array(z.string().max(200)).min(1).max(1_000),
  outputs: z.array(
    z.object({ address: z.string().max(200), asset: z.string(), units: z.string().regex(/^\d{1,78}$/) }),
  ),
});

/** Decodes a simulated transaction. Throws `Rejected('spend.malformed')`. */
export function decodeSimulated(chain: ChainId, raw: string): DecodedSpend {
  const malformed = (): Rejected => new Rejected('spend.malformed', `This is no simulated transaction of ${chain}`);
  const parsed = shape.safeParse(raw.length > RAW_CHARS_MAX ? null : parseJson(raw));
  if (!parsed.success || parsed.data.chain !== chain) throw malformed();
  const inputs = parsed.data.keyImages.map(keyImageOf);
  const outputs = parsed.data.outputs.map((output) => {
    const paid = transferOf(chain, output);
    if (!paid) throw malformed();
    return paid;
  });
  if (simulatedRaw(chain, inputs, outputs) !== raw || new Set(inputs).size !== inputs.length) throw malformed();
  return {
    txid: hashFor(chain, raw),
    inputs: inputs.map((outpoint) => ({ outpoint, sequence: 0 })),
    outputs,
    lockTime: 0,
    vsize: SIMULATED_VSIZE,
  };
}

/** Null: it is no output of this chain. */
export function transferOf(
  chain: ChainId,
  to: { address: string; asset: string; units: string },
): (Output & { script: Uint8Array }) | null {
  const script = scriptAt(chain, to.address);
  const asset = findAsset(to.asset)?.symbol;
  const amount = BigInt(to.units);
  if (!script || !asset || assetOf(asset).chain !== chain || amount <= 0n || amount > unitsMax(asset)) return null;
  return { address: to.address, script, asset, units: amount };
}

/** Null if the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Adds a simulated transaction to the mempool by Monero's rules: its coins exist, no other transaction has their key
 * images, not even an unconfirmed one, and its outputs are worth at most its inputs. A known transaction is no error.
 */
export function acceptSimulated(tx: SandboxWriter, chain: ChainId, raw: string, now: number): string {
  const { txid, inputs, outputs } = decodeSimulated(chain, raw);
  if (tx.transaction(chain, txid)) return txid;
  needRoom(tx, chain);
  const coins = inputs.map(({ outpoint }) => {
    const coin = tx.output(chain, outpoint);
    if (!coin || coin.transactionId === PREMINED) {
      throw new Rejected('broadcast.unknown_input', `There is no coin with the key image ${keyImageOf(outpoint)}`);
    }
    return coin;
  });
  if (sumOf(outputs) > sumOf(coins)) {
    throw new Rejected('broadcast.outputs_exceed_inputs', 'The outputs are more than the inputs');
  }
  if (coins.some(({ spentBy }) => spentBy !== null)) {
    throw new Rejected('broadcast.conflict', 'Another transaction has one of its key images');
  }
  addToMempool(tx, chain, { txid, raw, inputs: inputs.map(({ outpoint }) => outpoint), outputs }, now);
  return txid;
}
