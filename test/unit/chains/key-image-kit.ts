/** Key images that are signed by the one-time keys of their outputs. */
import { hashToPoint, hashToScalar, keyImageOf, Point, scalarBytes } from '../../../daemon/monero/curve.ts';

export const publicOf = (key: bigint): Uint8Array => Point.BASE.multiply(key).toBytes();

/** As the wallet signs it (`generate_ring_signature` of one member), with a nonce of one's own. */
export function signed(key: bigint, image: Uint8Array = keyImageOf(key), nonce = 777n): Uint8Array {
  const left = Point.BASE.multiply(nonce).toBytes();
  const right = hashToPoint(publicOf(key)).multiply(nonce).toBytes();
  const challenge = hashToScalar(image, left, right);
  const response = Point.Fn.create(nonce - challenge * key);
  return Buffer.concat([image, scalarBytes(challenge), scalarBytes(response)]);
}
