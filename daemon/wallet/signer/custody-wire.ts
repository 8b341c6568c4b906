/** The encoding of tasks with the wallet's secrets, and of their results. */
import { z } from 'zod';
import { CHAINS, NETWORKS } from '../../domain/assets.ts';
import { SealedShape } from './wire.ts';

const ACCOUNT_NO_MAX = 2 ** 31 - 1;
const WORDS_CHARS_MAX = 1_000;

const hex = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${2 * bytes}}$`));
const passphrase = z.string();
const reply = hex(32);
const account = { network: z.enum(NETWORKS), accountNo: z.int().min(0).max(ACCOUNT_NO_MAX) };

/** Only what is under a seal. */
export const CustodyTaskShape = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('create'), passphrase, reply, words: z.string().max(WORDS_CHARS_MAX).nullable() }),
  z.strictObject({ do: z.literal('words'), passphrase, reply }),
  z.strictObject({ do: z.literal('moneroWords'), passphrase, ...account, reply }),
  z.strictObject({ do: z.literal('importMonero'), passphrase, ...account, words: z.string().max(WORDS_CHARS_MAX) }),
  z.strictObject({ do: z.literal('dropMonero'), passphrase, ...account }),
  z.strictObject({ do: z.literal('accounts'), passphrase, ...account }),
  z.strictObject({ do: z.literal('prove'), passphrase }),
]);

const AccountKeyShape = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('secp256k1'), publicKey: hex(33), chainCode: hex(32) }),
  z.strictObject({ kind: z.literal('monero'), privateViewKey: hex(32), publicSpendKey: hex(32) }),
]);

export const CustodyResultShape = z.object({
  fingerprint: z.string(),
  words: SealedShape.exactOptional(),
  accounts: z.record(z.enum(CHAINS), AccountKeyShape).exactOptional(),
  /** Beside `accounts`: another program or machine may have given out addresses of the words. */
  used: z.boolean().exactOptional(),
});
