/** Parts of an export of key images, as they are handed in. */

/** Key images of one part: about a second of work for outputs that are known here. */
export const IMAGES_MAX = 500;

/**
 * `signed`: key images with their signatures (hex), in the order of the wallet. `sealed`: a part of the encrypted list of the file of
 * `export_key_images` (base64), with the file's nonce (hex) and its place in the list.
 */
export type ImagesPart =
  | { signed: { key_image: string; signature: string }[] }
  | { sealed: { nonce: string; at: number; bytes: string } };
