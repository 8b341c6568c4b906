/**
 * The operator API's methods about the merchant's wallet. Passphrases are encrypted to the key of `wallet.sealKey`
 * (`seal` in daemon/wallet/signer/seal.ts: X25519, HKDF-SHA-256, AES-256-GCM), so that the daemon cannot read them.
 */
import { z } from 'zod';
import { CHAINS } from '../domain/assets.ts';
import { byPassphrase, changes, reads } from './method.ts';
import { AccountKeySchema, Decimal, Id, Instant, Nothing, Page, Text } from './operator-shapes.ts';

const WalletShape = z.object({
  /** `none`: there is no wallet. While it is locked, withdrawals wait; everything else works. */
  state: z.enum(['none', 'locked', 'unlocked']),
  /** BIP-32's fingerprint of its master key. */
  fingerprint: z.string().nullable(),
  /** How it is unlocked: by the operator, or by the service itself. */
  unlock: z.enum(['prompt', 'keychain', 'file', 'systemd']),
  /** When it locks itself if it is not used. */
  locks_at: z.iso.datetime().nullable(),
  /** How long the next passphrase must wait after wrong ones. */
  retry_after_seconds: z.int().min(0),
  /** The operator has still to prove to have the words of a new wallet. */
  words_unproved: z.boolean(),
  /** The signer is a service under another user: then only its command line makes and shows words. */
  separate: z.boolean(),
  /** The `--gap` that a restore from the words alone needs. */
  gap: z.int().min(0),
});

/** All three in base64. */
export const SealedShape = z.strictObject({
  key: z.string().max(64),
  nonce: z.string().max(32),
  box: z.string().max(98_304),
});

export const WALLET = {
  'wallet.status': reads(Nothing, z.object({ wallet: WalletShape })),
  /** The X25519 public key (hex) of the signer process, which this starts. Each start has a new key. */
  'wallet.sealKey': reads(Nothing, z.object({ seal_key: z.string() }), { scope: 'browser' }),
  /** `sealed`: the passphrase, for the purpose `unlock`. */
  'wallet.unlock': changes(z.strictObject({ sealed: SealedShape }), z.object({ wallet: WalletShape }), {
    scope: 'browser',
    approves: byPassphrase,
  }),
  /**
   * `sealed`: payments or limits with the passphrase (`Authorization` in daemon/wallet/signer/port.ts), for the purpose
   * `authorize`. The MACs are in the order of the request. The wallet stays locked if it is.
   */
  'wallet.authorize': changes(
    z.strictObject({ sealed: SealedShape }),
    z.object({ macs: z.object({ approvals: z.array(z.string()), grants: z.array(z.string()) }) }),
    { scope: 'browser', approves: byPassphrase },
  ),
  /**
   * `sealed`: a task with the wallet's secrets (`CustodyTask` in daemon/wallet/signer/port.ts), for the purpose
   * `custody`. Words are sealed to the key in the task.
   */
  'wallet.custody': changes(
    z.strictObject({ sealed: SealedShape }),
    z.object({
      fingerprint: z.string(),
      words: SealedShape.exactOptional(),
      accounts: z.record(z.enum(CHAINS), AccountKeySchema).exactOptional(),
      /** Beside `accounts`: another program or machine may have given out addresses of the words. */
      used: z.boolean().exactOptional(),
    }),
    { scope: 'browser', approves: byPassphrase },
  ),
  /** The addresses that were given to payers, newest first, in pages that may be short; or those that `text` names. */
  'address.list': reads(
    Page.extend({ business: Text, chain: z.enum(CHAINS).optional(), text: Text.optional() }),
    z.object({
      addresses: z.array(
        z.object({
          /** Unique in the list. */
          id: Id,
          chain: z.string(),
          address: z.string(),
          /** In the receiving branch of its account. */
          index: z.int(),
          invoice: z.string(),
          given_at: Instant,
          /** Null: the payer has chosen another coin since. */
          crypto: z.string().nullable(),
          received: Decimal.nullable(),
        }),
      ),
      next: Id.nullable(),
    }),
  ),
  /**
   * `on`: opens the wallet from the keychain of the service's user, now and whenever it is needed; refused unless that
   * works. Off: locks it, if it was opened so by this method.
   */
  'wallet.keychain': changes(z.strictObject({ on: z.boolean() }), z.object({ wallet: WalletShape }), {
    scope: 'machine',
  }),
  'wallet.lock': changes(Nothing, z.object({ wallet: WalletShape })),
  /** `sealed`: `{"old","new"}` as JSON, for the purpose `change passphrase`. */
  'wallet.passphrase': changes(z.strictObject({ sealed: SealedShape }), z.object({ wallet: WalletShape }), {
    scope: 'browser',
    approves: byPassphrase,
  }),
  /**
   * Invalidates every earlier approval and limit. `next` and `mac`: made by the operator's client with the passphrase.
   * The wallet must be unlocked.
   */
  'wallet.revoke': changes(
    z.strictObject({ next: z.string().regex(/^[0-9a-f]{32}$/), mac: z.string().regex(/^[0-9a-f]{64}$/) }),
    z.object({ wallet: WalletShape }),
    { scope: 'browser', approves: byPassphrase },
  ),
} as const;
