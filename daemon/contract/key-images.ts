/** The operator API's method that takes the key images of a view-only account of Monero, in parts that a body has room for. */
import { z } from 'zod';
import { IMAGES_MAX } from '../domain/key-images.ts';
import { changes } from './method.ts';
import { Decimal, Text } from './operator-shapes.ts';

const SIGNED_IMAGE_BYTES = 96;
/** The head of a file's list, which its first part begins with. */
const HEAD_BYTES = 68;
const hex = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${2 * bytes}}$`));
const PART_CHARS_MAX = 4 * Math.ceil((HEAD_BYTES + IMAGES_MAX * SIGNED_IMAGE_BYTES) / 3);

/** `ImagesPart` of the domain. */
const ImagesPartShape = z.union([
  z.strictObject({
    signed: z.array(z.strictObject({ key_image: hex(32), signature: hex(64) })).max(IMAGES_MAX),
  }),
  z.strictObject({
    sealed: z.strictObject({
      nonce: hex(8),
      at: z.int().min(0).max(0xffff_ffff),
      bytes: z.base64().max(PART_CHARS_MAX),
    }),
  }),
]);

export const KEY_IMAGES = {
  /**
   * Takes key images of a view-only account. `learned`: of coins that had none. `known`: given before. `unmatched`: of no coin that the
   * books have, or with a false signature. `unproven`: the part of the balance that still may have been spent.
   */
  'business.keyImages': changes(
    z.strictObject({ business: Text, part: ImagesPartShape }),
    z.object({ learned: z.int(), known: z.int(), unmatched: z.int(), unproven: Decimal }),
  ),
};
