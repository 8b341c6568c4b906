/**
 * Reads what a wallet exported with `export_key_images`, and divides it into parts that a call has room for: the file
 * of monero-wallet-cli and of Monero's GUI, or the answer of monero-wallet-rpc as JSON.
 */
import type { Call, Result } from '../contract/operator.ts';
import { Rejected } from '../domain/errors.ts';
import { IMAGES_MAX, type ImagesPart } from '../domain/key-images.ts';
import { HEAD_BYTES, partsOfFile } from '../monero/key-image-file.ts';

/** A wallet with more outputs has other troubles. */
export const EXPORT_BYTES_MAX = 64 * 1_048_576;

type Signed = { key_image: string; signature: string };

const isSigned = (one: unknown): one is Signed => {
  const { key_image: image, signature } = (one ?? {}) as Partial<Record<keyof Signed, unknown>>;
  return /^[0-9a-f]{64}$/.test(String(image)) && /^[0-9a-f]{128}$/.test(String(signature));
};

/** The list in an answer of monero-wallet-rpc, with or without the frame of JSON-RPC; null: it is none. */
function listIn(answer: unknown): Signed[] | null {
  const framed = (answer ?? {}) as { result?: unknown };
  const { signed_key_images: list } = (framed.result ?? framed) as { signed_key_images?: unknown };
  return Array.isArray(list) && list.every(isSigned) ? list : null;
}

/** The parts of an export. Throws `Rejected`: `key_images.format`, `.damaged`, `.none`. */
export function imageParts(file: Uint8Array): ImagesPart[] {
  const found = partsOfFile(file, IMAGES_MAX);
  if (found === 'damaged')
    throw new Rejected('key_images.damaged', 'The file is not whole: export the key images again');
  if (found === 'other') return signedParts(new TextDecoder().decode(file));
  if (found.length === 1 && found[0]?.bytes.length === HEAD_BYTES) throw none();
  return found.map(({ nonce, at, bytes }) => ({ sealed: { nonce: hexOf(nonce), at, bytes: base64Of(bytes) } }));
}

const none = (): Rejected => new Rejected('key_images.none', 'There is no key image in it: export them with `all`');

function signedParts(text: string): ImagesPart[] {
  const signed = listIn(jsonOf(text));
  if (signed === null) {
    throw new Rejected(
      'key_images.format',
      'It is no export of key images: give the file of `export_key_images all FILE`, or the answer of monero-wallet-rpc',
    );
  }
  if (signed.length === 0) throw none();
  return Array.from({ length: Math.ceil(signed.length / IMAGES_MAX) }, (_, page) => ({
    signed: signed
      .slice(page * IMAGES_MAX, (page + 1) * IMAGES_MAX)
      .map(({ key_image, signature }) => ({ key_image, signature })),
  }));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

function base64Of(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Hands an export in, part by part. Throws as `imageParts`, and what the method throws. */
export async function importKeyImages(
  call: Call,
  business: string,
  file: Uint8Array,
): Promise<Result<'business.keyImages'>> {
  const sum = { learned: 0, known: 0, unmatched: 0, unproven: '0' };
  for (const part of imageParts(file)) {
    const done = await call('business.keyImages', { business, part });
    sum.learned += done.learned;
    sum.known += done.known;
    sum.unmatched += done.unmatched;
    sum.unproven = done.unproven;
  }
  return sum;
}
