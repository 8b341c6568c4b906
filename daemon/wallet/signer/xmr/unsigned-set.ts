/**
 * The file that asks Monero's offline wallet for signatures (`wallet2::unsigned_tx_set`, version 2), and the beginning
 * of its answer, up to the signed transaction.
 */
import { varint } from '../../../monero/varint.ts';

/** A member of a ring: an output of the chain, by its number among all. */
type RingMember = { index: number; key: Uint8Array; commitment: Uint8Array };

/** An output that is spent. `real`: its place in the ring. `n`: its place in its transaction. */
type Source = {
  ring: RingMember[];
  real: number;
  /** The public key of its transaction that it was found with. */
  publicKey: Uint8Array;
  n: number;
  units: bigint;
  mask: Uint8Array;
};

/** `address`: the 65 or 73 bytes of an address. */
type Destination = { units: bigint; address: Uint8Array; isSubaddress: boolean };

type UnsignedSet = {
  sources: Source[];
  payouts: Destination[];
  change: Destination;
};

export const UNSIGNED_MAGIC = 'Monero unsigned tx set\u0005';
export const SIGNED_MAGIC = 'Monero signed tx set\u0005';

const SET_VERSION = 2;
const KEYS_BYTES = 64;
const ADDRESS_BYTES = 65;
/** Room for a signature of several owners; unused. */
const MULTISIG_BYTES = 128;
const USES_RCT_AND_VIEW_TAGS = 3;
const PADDED_BULLETPROOF = 3;
const BULLETPROOF_PLUS = 4;
const EXTRA_NONCE = 2;
const NONCE_PAYMENT_ID = 1;

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const u64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
};
const list = <T>(items: readonly T[], write: (item: T) => Uint8Array): Buffer =>
  Buffer.concat([varint(items.length), ...items.map(write)]);

function source({ ring, real, publicKey, n, units, mask }: Source): Buffer {
  return Buffer.concat([
    list(ring, ({ index, key, commitment }) => Buffer.concat([varint(2), varint(index), key, commitment])),
    u64(BigInt(real)),
    publicKey,
    varint(0),
    u64(BigInt(n)),
    u64(units),
    Uint8Array.of(1),
    mask,
    Buffer.alloc(MULTISIG_BYTES),
  ]);
}

function destination({ units, address, isSubaddress }: Destination): Buffer {
  const isIntegrated = address.length > ADDRESS_BYTES;
  const keys = address.subarray(1, 1 + KEYS_BYTES);
  const flags = Uint8Array.of(isSubaddress ? 1 : 0, isIntegrated ? 1 : 0);
  return Buffer.concat([varint(0), varint(units), keys, flags]);
}

/** The payment id of an integrated address in clear: the library encrypts it for its receiver. */
function extraOf(payouts: readonly Destination[]): Uint8Array {
  const id = payouts.map(({ address }) => address.subarray(ADDRESS_BYTES)).find(({ length }) => length > 0);
  return id ? Uint8Array.of(EXTRA_NONCE, id.length + 1, NONCE_PAYMENT_ID, ...id) : new Uint8Array();
}

/** The content of the unsigned file. */
export function encodeUnsigned({ sources, payouts, change }: UnsignedSet): Buffer {
  const extra = extraOf(payouts);
  const construction = Buffer.concat([
    list(sources, source),
    destination(change),
    list([...payouts, change], destination),
    varint(0),
    Buffer.concat([varint(extra.length), extra]),
    u64(0n),
    Uint8Array.of(USES_RCT_AND_VIEW_TAGS),
    Buffer.concat([varint(0), varint(PADDED_BULLETPROOF), varint(BULLETPROOF_PLUS)]),
    list(payouts, destination),
    // account and addresses, for the wallet's own history
    u32(0),
    varint(0),
  ]);
  // each source is complete, so the wallet needs no list of its outputs
  return Buffer.concat([varint(SET_VERSION), varint(1), construction, varint(3), varint(0), varint(0), varint(0)]);
}
