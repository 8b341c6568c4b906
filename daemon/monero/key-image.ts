/**
 * Key images that another wallet tells, each with a signature that only the key of its output can make (`generate_ring_signature` of one
 * member, as `export_key_images` writes it). Without the signature an image would prove nothing: anybody could name one that was spent.
 */
import { type CurvePoint, hashToPoint, hashToScalar, littleEndian, multipliedBase, Point, pointOf } from './curve.ts';

/** A key image with its signature, whose parts are well-formed. `image`: 32 bytes. */
export type SignedImage = { image: Uint8Array; point: CurvePoint; challenge: bigint; response: bigint };
/** The one-time key of an output, and the point that its key image is a multiple of. */
export type OneTimeKey = { key: CurvePoint; base: CurvePoint };

const KEY_BYTES = 32;
/** A key image and the two scalars of its signature. */
export const SIGNED_IMAGE_BYTES = 3 * KEY_BYTES;

/** Null for bytes that are no key image with a signature, whatever output it is for. */
export function readSignedImage(bytes: Uint8Array): SignedImage | null {
  if (bytes.length !== SIGNED_IMAGE_BYTES) return null;
  const image = bytes.slice(0, KEY_BYTES);
  const [challenge, response] = [1, 2].map((at) => littleEndian(bytes.subarray(at * KEY_BYTES, (at + 1) * KEY_BYTES)));
  const point = pointOf(image);
  if (!point || challenge === undefined || response === undefined) return null;
  if (challenge >= Point.Fn.ORDER || response >= Point.Fn.ORDER) return null;
  // another point of a small order beside it would be a second image of the same output
  return !point.is0() && point.isTorsionFree() ? { image, point, challenge, response } : null;
}

/** Null for bytes that are no point. */
export function oneTimeKey(bytes: Uint8Array): OneTimeKey | null {
  const key = pointOf(bytes);
  return key && { key, base: hashToPoint(bytes) };
}

/** Whether the owner of an output's key signed that this is its key image. */
export function isImageOf({ image, point, challenge, response }: SignedImage, { key, base }: OneTimeKey): boolean {
  if (response === 0n || challenge === 0n) return false;
  const left = multipliedBase(response).add(key.multiplyUnsafe(challenge));
  const right = base.multiplyUnsafe(response).add(point.multiplyUnsafe(challenge));
  return hashToScalar(image, left.toBytes(), right.toBytes()) === challenge;
}
