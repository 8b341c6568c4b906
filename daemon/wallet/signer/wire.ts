/**
 * The encoding of orders and answers between daemon and signer: one line of JSON each, amounts as decimals, bytes as
 * hex. The signer checks everything here first: limits, canonical spellings, no unknown fields.
 */
import { hex as hexOf } from '@scure/base';
import { z } from 'zod';
import { CHAINS, type ChainId, NETWORKS } from '../../domain/assets.ts';
import { assert, Unavailable } from '../../domain/errors.ts';
import { TANKS_MAX } from '../../domain/evm.ts';
import type { Coin, EvmPlan, MoneroPlan, PlannedOutput, SignedSpend, UtxoPlan } from '../../domain/spend.ts';
import {
  ADDRESS_SELF,
  type ImagesRequest,
  isEvmOrder,
  isMoneroOrder,
  isUtxoOrder,
  type RealOrder,
  type SignOrder,
} from './port.ts';

export type UtxoChain = 'BTC' | 'LTC' | 'BCH';
export const isUtxo = (chain: ChainId): chain is UtxoChain => chain === 'BTC' || chain === 'LTC' || chain === 'BCH';

/** The longest line: an order with every previous transaction. */
export const LINE_BYTES_MAX = 64 * 1024 * 1024;

const RESTART_SECONDS = 60;
const LIST_MAX = 2_000;
const GRANT_ADDRESSES_MAX = 1_000;
const SCRIPT_BYTES_MAX = 100;

const Units = z.string().regex(/^(?:0|[1-9]\d{0,29})$/);
const Whole = z.int().min(0);
const U32 = Whole.max(0xffffffff);
const Index = Whole.max(2 ** 31 - 1);
/** One spelling only, so that two different texts never name the same coin. */
const Outpoint = z.string().regex(/^[0-9a-f]{64}:(?:0|[1-9]\d{0,9})$/);
const Script = z
  .string()
  .regex(/^(?:[0-9a-f]{2})+$/)
  .max(2 * SCRIPT_BYTES_MAX);
/** Printable ASCII without spaces: no controls and no look-alike characters. */
const Text = z.string().regex(/^[\x21-\x7e]{1,200}$/);
const Asset = z.enum(['BTC', 'BCH', 'LTC', 'XMR', 'ETH', 'BNB', 'USDT_ERC20', 'USDT_BEP20', 'XAUT', 'PAXG']);

export const IntentShape = z.strictObject({
  uuid: Text,
  network: z.enum(NETWORKS),
  accountNo: Index,
  chain: z.enum(CHAINS),
  asset: Asset,
  address: z.union([Text, z.literal(ADDRESS_SELF)]),
  units: Units,
  sweep: z.boolean().default(false),
  coins: z.array(Outpoint).min(1).max(LIST_MAX).nullable().default(null),
  feeMax: Units,
  feeAsset: Asset.optional(),
});

const ApprovalShape = z.discriminatedUnion('by', [
  z.strictObject({ by: z.literal('operator'), until: Whole, mac: z.string().max(64) }),
  z.strictObject({ by: z.literal('policy') }),
  z.strictObject({ by: z.literal('gas') }),
  z.strictObject({ by: z.literal('forward'), asset: Asset.optional() }),
]);

const Branch = z.union([z.literal(0), z.literal(1)]);
const coin = {
  outpoint: Outpoint,
  units: Units,
  script: Script,
  branch: Branch,
  index: Index,
  confirmations: Whole,
};
const Input = z.strictObject({ ...coin, sequence: U32 });
/** The maximum number of outputs in a ring. */
const RING_MAX = 100;
const MoneroInput = z.strictObject({ ...coin, decoys: z.array(Whole).max(RING_MAX) });

const output = { address: Text, script: Script, units: Units };
const Output = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('payout'), ...output }),
  z.strictObject({ kind: z.literal('change'), ...output, index: Index }),
]);

const UtxoPlanShape = z.strictObject({
  kind: z.literal('utxo'),
  network: z.enum(['mainnet', 'testnet', 'regtest']),
  chain: z.enum(['BTC', 'LTC', 'BCH']),
  accountNo: Index,
  version: U32,
  lockTime: U32,
  inputs: z.array(Input).min(1).max(LIST_MAX),
  outputs: z.array(Output).min(1).max(LIST_MAX),
  fee: Units,
  vsize: Whole,
});

/** One spelling only. */
const LowerAddress = z.string().regex(/^0x[0-9a-f]{40}$/);
const RealNetwork = z.enum(['mainnet', 'testnet', 'regtest']);
const EvmChainShape = z.enum(['ETH', 'BSC']);

const EvmPlanShape = z.strictObject({
  kind: z.literal('evm'),
  network: RealNetwork,
  chain: EvmChainShape,
  accountNo: Index,
  asset: Asset,
  contract: LowerAddress.nullable(),
  sender: z.strictObject({ branch: Branch, index: Index, address: Text }),
  nonce: Units,
  gasLimit: Units,
  maxFeePerGas: Units,
  maxPriorityFeePerGas: Units,
  outputs: z
    .array(
      z.discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('payout'), ...output }),
        z.strictObject({ kind: z.literal('change'), ...output, index: Index, branch: Branch }),
      ]),
    )
    .length(1),
  fee: Units,
});

const MoneroPlanShape = z.strictObject({
  kind: z.literal('monero'),
  network: RealNetwork,
  chain: z.literal('XMR'),
  accountNo: Index,
  inputs: z.array(MoneroInput).min(1).max(LIST_MAX),
  outputs: z.array(Output).min(1).max(LIST_MAX),
  fee: Units,
  weight: Whole,
});

const Hex = z.string().regex(/^(?:[0-9a-f]{2})+$/);
const Key = z.string().regex(/^[0-9a-f]{64}$/);
const RingMemberShape = z.strictObject({ index: Whole, key: Key, commitment: Key });
const orderFields = {
  purpose: z.enum(['pay', 'cancel']),
  withdrawals: z
    .array(z.strictObject({ intent: IntentShape, approval: ApprovalShape }))
    .min(1)
    .max(LIST_MAX),
};
/** One strict shape for each family that can be signed. */
const OrderShape = z.union([
  z.strictObject({ ...orderFields, plan: UtxoPlanShape, previous: z.record(Key, Hex) }),
  z.strictObject({ ...orderFields, plan: EvmPlanShape }),
  z.strictObject({
    ...orderFields,
    plan: MoneroPlanShape,
    previous: z.record(Key, Hex),
    rings: z.array(z.array(RingMemberShape).max(RING_MAX)).max(LIST_MAX),
  }),
]);

const ImagesShape = z.strictObject({
  network: RealNetwork,
  accountNo: Index,
  outputs: z
    .array(z.strictObject({ outpoint: Outpoint, units: Units, branch: Branch, index: Index, previous: Hex }))
    .max(LIST_MAX),
});

export const EpochShape = z.string().regex(/^[0-9a-f]{32}$/);

export const GrantShape = z.strictObject({
  network: z.enum(['mainnet', 'testnet', 'regtest']),
  accountNo: Index,
  asset: Asset,
  perWithdrawal: Units,
  perDay: Units,
  addresses: z.array(Text).max(GRANT_ADDRESSES_MAX).nullable(),
  issuedAt: Whole,
});

export const GasGrantShape = z.strictObject({
  kind: z.literal('gas'),
  network: RealNetwork,
  accountNo: Index,
  chain: EvmChainShape,
  feeMax: Units,
  until: Whole,
  tank: z
    .int()
    .min(0)
    .max(TANKS_MAX - 1)
    .optional(),
  issuedAt: Whole,
});

/** A whole. */
const PPM_MAX = 1_000_000;

export const ForwardGrantShape = z.strictObject({
  kind: z.literal('forward'),
  network: RealNetwork,
  accountNo: Index,
  asset: Asset,
  address: Text,
  from: Index.optional(),
  feeSharePpm: Whole.max(PPM_MAX).nullable(),
  feeMax: Units.nullable(),
  feeDay: Units,
  issuedAt: Whole,
});

export const AnyGrantShape = z.union([GrantShape, GasGrantShape, ForwardGrantShape]);

/** The operator's request for MACs. A sealed one also has the passphrase. */
export const AuthorizationShape = z.strictObject({
  approvals: z
    .array(z.strictObject({ purpose: z.enum(['pay', 'cancel', 'raise']), intent: IntentShape, until: Whole }))
    .max(LIST_MAX),
  change: z
    .strictObject({
      chain: z.enum(['BTC', 'LTC', 'BCH', 'ETH', 'BSC', 'XMR']),
      network: RealNetwork,
      accountNo: Index,
      index: Index,
      to: Script,
    })
    .nullable(),
  grants: z.array(AnyGrantShape).max(LIST_MAX),
});

export const SealedShape = z.strictObject({
  key: z.base64().max(64),
  nonce: z.base64().max(32),
  box: z.base64().max(98_304),
});

/** Set by a separate signer's service alone: whose wrong passphrases they are. */
const By = z.literal('operator').optional();

/** A request of the daemon, one per line. */
export const Request = z.discriminatedUnion('call', [
  z.strictObject({ id: Whole, call: z.literal('status') }),
  z.strictObject({ id: Whole, call: z.literal('sealKey') }),
  z.strictObject({ id: Whole, call: z.literal('unlock'), sealed: SealedShape, by: By }),
  z.strictObject({ id: Whole, call: z.literal('lock') }),
  z.strictObject({ id: Whole, call: z.literal('change'), sealed: SealedShape, by: By }),
  z.strictObject({ id: Whole, call: z.literal('authorize'), sealed: SealedShape, by: By }),
  z.strictObject({ id: Whole, call: z.literal('custody'), sealed: SealedShape }),
  z.strictObject({ id: Whole, call: z.literal('sign'), order: OrderShape }),
  z.strictObject({ id: Whole, call: z.literal('images'), images: ImagesShape }),
  z.strictObject({
    id: Whole,
    call: z.literal('grant'),
    grant: AnyGrantShape,
    mac: z.string().max(64),
  }),
  z.strictObject({ id: Whole, call: z.literal('revoke'), next: EpochShape, mac: z.string().max(64) }),
  z.strictObject({ id: Whole, call: z.literal('end') }),
]);
export type Request = z.infer<typeof Request>;

/** A service and its separate signer do not understand each other. `Rejected` would end a withdrawal, this lets it wait. */
export const otherRelease = (): Unavailable =>
  new Unavailable(
    'The separate signer is of another release than the service: `countinghouse service install` starts both anew',
    RESTART_SECONDS,
  );

/** An answer of the signer. `rejected` and `unavailable` become the errors of the same names again. */

export const Answer = z.discriminatedUnion('end', [
  z.object({ id: Whole, end: z.literal('ok'), result: z.unknown().optional() }),
  z.object({
    id: Whole,
    end: z.literal('rejected'),
    code: z.string(),
    message: z.string(),
    field: z.string().optional(),
  }),
  z.object({ id: Whole, end: z.literal('unavailable'), message: z.string(), retryAfterSeconds: z.number() }),
  z.object({ id: Whole, end: z.literal('bug'), message: z.string() }),
]);
export type Answer = z.infer<typeof Answer>;

export const MacsShape = z.object({ approvals: z.array(z.string()), grants: z.array(z.string()) });

export const SignedShape = z.object({
  txid: z.string(),
  raw: z.string(),
  fee: Units,
  vsize: Whole,
  proof: z.string().optional(),
  keyImages: z.record(Outpoint, Key).optional(),
});
export const KeyImagesShape = z.record(Outpoint, Key);
export const StatusShape = z.object({
  state: z.enum(['none', 'locked', 'unlocked']),
  fingerprint: z.string().nullable(),
  lockAt: z.number().nullable(),
  retryAfterSeconds: z.number(),
  wordsUnproved: z.boolean(),
  /** Both absent in release 0.1.0. */
  wasJoined: z.boolean().optional(),
  journalBytes: z.int().min(0).optional(),
});

/** Converts a signed transaction to JSON values. */
export function encodeSigned({ fee, size, ...signed }: SignedSpend): z.infer<typeof SignedShape> {
  return { ...signed, fee: fee.toString(), vsize: size };
}

export function decodeSigned({ txid, raw, fee, vsize, ...signed }: z.infer<typeof SignedShape>): SignedSpend {
  const { proof, keyImages } = signed;
  return { txid, raw, fee: BigInt(fee), size: vsize, ...(proof && { proof }), ...(keyImages && { keyImages }) };
}

/** Converts an order to JSON values. */
export function encodeOrder(order: SignOrder): unknown {
  const { purpose, withdrawals } = order;
  if (isEvmOrder(order)) return { purpose, plan: encodeEvmPlan(order.plan), withdrawals };
  if (isMoneroOrder(order)) {
    return { purpose, plan: encodeMonero(order.plan), withdrawals, previous: order.previous, rings: order.rings };
  }
  assert(isUtxoOrder(order), 'only plans of real chains cross to the signer');
  return { purpose, plan: encodeUtxo(order.plan), withdrawals, previous: order.previous };
}

/** Copies only the known fields of a plan, because the signer refuses unknown ones. */
function encodeUtxo(plan: UtxoPlan): unknown {
  const { kind, network, chain, accountNo, version, lockTime, vsize, fee } = plan;
  const inputs = plan.inputs.map((input) => ({ ...encodeCoin(input), sequence: input.sequence }));
  const outputs = plan.outputs.map(encodeOutput);
  return { kind, network, chain, accountNo, version, lockTime, inputs, outputs, fee: fee.toString(), vsize };
}

function encodeEvmPlan(plan: EvmPlan): unknown {
  const { kind, network, chain, accountNo, asset, contract, sender } = plan;
  const { branch, index, address } = sender;
  const outputs = plan.outputs.map((one) => ({
    ...encodeOutput(one),
    ...(one.kind === 'change' && { branch: one.branch ?? 1 }),
  }));
  const [nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas, fee] = [
    plan.nonce,
    plan.gasLimit,
    plan.maxFeePerGas,
    plan.maxPriorityFeePerGas,
    plan.fee,
  ].map(String);
  const numbers = { nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas, fee };
  return { kind, network, chain, accountNo, asset, contract, sender: { branch, index, address }, outputs, ...numbers };
}

function encodeMonero(plan: MoneroPlan): unknown {
  const { kind, network, chain, accountNo, weight, fee } = plan;
  const inputs = plan.inputs.map((input) => ({ ...encodeCoin(input), decoys: input.decoys }));
  return {
    kind,
    network,
    chain,
    accountNo,
    inputs,
    outputs: plan.outputs.map(encodeOutput),
    fee: fee.toString(),
    weight,
  };
}

const encodeCoin = ({ outpoint, units, script, branch, index, confirmations }: Coin) => ({
  outpoint,
  units: units.toString(),
  script: hex(script),
  branch,
  index,
  confirmations,
});

function encodeOutput(output: PlannedOutput) {
  const { kind, address, units, script } = output;
  const common = { kind, address, units: units.toString(), script: hex(script) };
  return output.kind === 'change' ? { ...common, index: output.index } : common;
}

/** Converts a request for key images to JSON values. */
export const encodeImages = ({ outputs, ...request }: ImagesRequest): unknown => ({
  ...request,
  outputs: outputs.map(({ units, ...output }) => ({ ...output, units: units.toString() })),
});

export const decodeImages = ({ outputs, ...request }: z.infer<typeof ImagesShape>): ImagesRequest => ({
  ...request,
  outputs: outputs.map(({ units, ...output }) => ({ ...output, units: BigInt(units) })),
});

const hex = (data: Uint8Array): string => hexOf.encode(Uint8Array.from(data));
const bytes = (text: string): Uint8Array => hexOf.decode(text);

export function decodeOrder(order: z.infer<typeof OrderShape>): RealOrder {
  if (!('previous' in order)) return { ...order, plan: decodeEvmPlan(order.plan) };
  const read = <T extends { units: string; script: string }>(one: T) => ({
    ...one,
    units: BigInt(one.units),
    script: bytes(one.script),
  });
  const common = { outputs: order.plan.outputs.map(read), fee: BigInt(order.plan.fee) };
  if ('rings' in order) {
    return { ...order, plan: { ...order.plan, ...common, inputs: order.plan.inputs.map(read) } };
  }
  return { ...order, plan: { ...order.plan, ...common, inputs: order.plan.inputs.map(read) } };
}

function decodeEvmPlan(plan: z.infer<typeof EvmPlanShape>): EvmPlan {
  return {
    ...plan,
    nonce: BigInt(plan.nonce),
    lowestNonce: BigInt(plan.nonce),
    gasLimit: BigInt(plan.gasLimit),
    maxFeePerGas: BigInt(plan.maxFeePerGas),
    maxPriorityFeePerGas: BigInt(plan.maxPriorityFeePerGas),
    outputs: plan.outputs.map((one) => ({ ...one, units: BigInt(one.units), script: bytes(one.script) })),
    fee: BigInt(plan.fee),
  };
}
