/** Bytes as text, and their SHA-256 hashes. The signer has its own. */
import { hash } from 'node:crypto';

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Hex of the bytes in reverse: how block hashes and transaction ids are displayed. */
export const reversedHex = (bytes: Uint8Array): string => Buffer.from(bytes).reverse().toString('hex');

/** The bytes of a displayed block hash or transaction id. */
export const fromReversedHex = (text: string): Buffer => Buffer.from(text, 'hex').reverse();

export const sha256 = (data: Uint8Array | string): Buffer => hash('sha256', data, 'buffer');

/** SHA-256 twice: block hashes and transaction ids. */
export const sha256d = (bytes: Uint8Array): Buffer => sha256(sha256(bytes));
