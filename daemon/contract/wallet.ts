/**
 * The operator API's methods about the merchant's wallet. Passphrases are encrypted to the key of `wallet.sealKey`
 * (`seal` in daemon/wallet/signer/seal.ts: X25519, HKDF-SHA-256, AES-256-GCM), so that the daemon cannot read them.
 */
import { z } from 'zod';

const Nothing = z.strictObject({});
const method = <P extends z.ZodType, R extends z.ZodType>(params: P, result: R) => ({ params, result });

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
});

/** All three in base64. */
const SealedShape = z.strictObject({
  key: z.string().max(64),
  nonce: z.string().max(32),
  box: z.string().max(98_304),
});

export const WALLET = {
  'wallet.status': method(Nothing, z.object({ wallet: WalletShape })),
  /** The X25519 public key (hex) of the signer process, which this starts. Each start has a new key. */
  'wallet.sealKey': method(Nothing, z.object({ seal_key: z.string() })),
  /** `sealed`: the passphrase, for the purpose `unlock`. */
  'wallet.unlock': method(z.strictObject({ sealed: SealedShape }), z.object({ wallet: WalletShape })),
  /**
   * `sealed`: payments or limits with the passphrase (`Authorization` in daemon/wallet/signer/port.ts), for the purpose
   * `authorize`. The MACs are in the order of the request. The wallet stays locked if it is.
   */
  'wallet.authorize': method(
    z.strictObject({ sealed: SealedShape }),
    z.object({ macs: z.object({ approvals: z.array(z.string()), grants: z.array(z.string()) }) }),
  ),
  'wallet.lock': method(Nothing, z.object({ wallet: WalletShape })),
  /** `sealed`: `{"old","new"}` as JSON, for the purpose `change passphrase`. */
  'wallet.passphrase': method(z.strictObject({ sealed: SealedShape }), z.object({ wallet: WalletShape })),
  /**
   * Invalidates every earlier approval and limit. `next` and `mac`: made by the operator's client with the passphrase.
   * The wallet must be unlocked.
   */
  'wallet.revoke': method(
    z.strictObject({ next: z.string().regex(/^[0-9a-f]{32}$/), mac: z.string().regex(/^[0-9a-f]{64}$/) }),
    z.object({ wallet: WalletShape }),
  ),
} as const;
