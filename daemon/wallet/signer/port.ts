/**
 * What the daemon may ask of the signer, the process that alone holds the merchant's secrets. Types, and what tells them apart.
 *
 * Invariant: nothing that crosses this boundary is a secret. Passphrases go in sealed to the signer's key; transactions
 * come out signed. Whatever the signer is asked to sign it decodes itself, and refuses what differs from the intents.
 */
import type { AssetId, ChainId, Network } from '../../domain/assets.ts';
import type { SandboxUnsigned, SignedSpend, UnsignedSpend, UtxoUnsigned } from '../../domain/spend.ts';

/** A text that only the holder of a key can read: made with `seal` (seal.ts). All three in base64. */
export type Sealed = { key: string; nonce: string; box: string };

/** `none`: there is no wallet in the data directory. */
export type SignerState = 'none' | 'locked' | 'unlocked';

export type SignerStatus = {
  state: SignerState;
  /** BIP-32's fingerprint of the master key, 8 hex digits; null without a wallet. */
  fingerprint: string | null;
  /** When it locks itself unless it is used, milliseconds since 1970; null while locked, or when it never does. */
  lockAt: number | null;
  /** Until the next passphrase is tried, after wrong ones; 0: at once. */
  retryAfterSeconds: number;
};

/**
 * What an intent names in place of an address when the transaction pays only ourselves (CPFP); `units` is then "0", and
 * `coins` names what it spends.
 */
export const ADDRESS_SELF = 'self';

/**
 * What somebody approves: one payment, whole, with an end to everything that it may cost. `uuid` names the withdrawal for
 * ever and on every machine. All of it goes into the operator's MAC.
 */
export type Intent = {
  uuid: string;
  network: Network;
  /** The account level of the wallet. */
  accountNo: number;
  chain: ChainId;
  asset: AssetId;
  /** As the operator was shown it, or ADDRESS_SELF. */
  address: string;
  /** Smallest units as a decimal: what the recipient gets; of a sweep, the most that it may get. */
  units: string;
  /** Gives all that is spent to one recipient, less the fee and without change. */
  sweep: boolean;
  /** The outpoints that it spends, all of them and no others; null: what the planner chooses. */
  coins: string[] | null;
  /** The highest fee, in smallest units of `feeAsset`. A batch may pay the sum of its withdrawals'. */
  feeMax: string;
  /** What the fee is paid in; left out: the asset that is paid. */
  feeAsset?: AssetId | undefined;
};

/**
 * `operator`: HMAC-SHA-256 (hex) over the purpose, the intent, the epoch of the wallet's journal, and `until` (milliseconds
 * since 1970, seven days ahead at the most), after which it does not begin a payment any more. `policy`: within what the operator granted beforehand.
 */
export type Approval = { by: 'operator'; until: number; mac: string } | { by: 'policy' };

/**
 * `pay`: what the intents say. `cancel`: pays all of it back to ourselves, for withdrawals that were signed before; needs
 * no approval for a fee that was approved, since it takes the place of what was. A speed-up is a `pay` whose withdrawals
 * were signed before.
 */
export type SignPurpose = 'pay' | 'cancel';

/**
 * What an operator approves. `raise`: a higher fee of a payment that was signed before, so that nothing is paid for the
 * first time by it, whoever it is said to be of. An approval of one purpose is none of another; one to `pay` also raises.
 */
export type ApprovalPurpose = SignPurpose | 'raise';

type OrderOf<U extends UnsignedSpend> = U & {
  purpose: SignPurpose;
  /**
   * Whose payments this is, or whose it cancels. With each transaction that was signed for one of them before, this one
   * has to have a conflict key in common.
   */
  withdrawals: { intent: Intent; approval: Approval }[];
};
export type UtxoOrder = OrderOf<UtxoUnsigned>;
export type SandboxOrder = OrderOf<SandboxUnsigned>;
/** What the signer is asked, an order for each family: `plan.kind` tells which it is. */
export type SignOrder = UtxoOrder | SandboxOrder;

export const isUtxoOrder = (order: SignOrder): order is UtxoOrder => order.plan.kind === 'utxo';

/** What may be signed without the operator, of one asset of one account. Units are smallest units as decimals. */
export type PolicyGrant = {
  network: Network;
  accountNo: number;
  asset: AssetId;
  /** The most for one withdrawal; "0" ends what was granted before. */
  perWithdrawal: string;
  /** The most in any 24 hours, with every fee that is paid in this asset, whatever asset it was paid for. */
  perDay: string;
  /** Only to these addresses; null: to any. */
  addresses: string[] | null;
  /** Milliseconds since 1970: a grant replaces only an older one. */
  issuedAt: number;
};

/**
 * Every call may throw `Rejected`: `vault.missing`, `vault.corrupted`, `signer.journal` (its journal was altered), and
 * `Unavailable` when the process cannot be started, does not answer in time, or died.
 */
export interface Signer {
  /** Does not start the process: without one the wallet is locked. */
  status(): Promise<SignerStatus>;
  /** The X25519 public key (hex) of this start of the process, to seal secrets to. Starts it. */
  sealKey(): Promise<string>;
  /**
   * `sealed`: the passphrase under SEAL_UNLOCK. Throws `Rejected('vault.passphrase')`, `Rejected('seal')` when it was made
   * for another start, `Unavailable` while wrong tries are slowed down.
   */
  unlock(sealed: Sealed): Promise<SignerStatus>;
  lock(): Promise<SignerStatus>;
  /** `sealed`: JSON `{"old","new"}` under SEAL_CHANGE. Throws also `Rejected('vault.weak_passphrase')`. */
  changePassphrase(sealed: Sealed): Promise<SignerStatus>;
  /**
   * Signs and sends nothing. The same order gives the same bytes. Throws `Rejected`: `signer.locked` (wait, and ask
   * again), `signer.approval` (no valid approval), `signer.limit` (policy: above what was granted; ask the operator),
   * `signer.conflict` (an earlier version could confirm beside this one), `signer.differs` and `signer.input` (the plan is not what was approved, or an input is not what it
   * claims to be: a bug or an attack), `signer.fee`, `signer.unsupported`.
   */
  sign(order: SignOrder): Promise<SignedSpend>;
  /** `mac`: made by `grantMac`. Needs the wallet unlocked. Throws `Rejected`: `signer.locked`, `signer.approval`. */
  grantPolicy(grant: PolicyGrant, mac: string): Promise<void>;
  /**
   * Every approval and grant of before is worth nothing from now on. `next`: the epoch that begins, 32 hex digits that nobody
   * could know. `mac`: made by `revocationMac`. Throws `Rejected`: `signer.locked`, `signer.approval`.
   */
  revokeApprovals(next: string, mac: string): Promise<void>;
  close(): Promise<void>;
}

/** The purposes that a secret is sealed under: one cannot be passed off as another. */
export const SEAL_UNLOCK = 'unlock';
export const SEAL_CHANGE = 'change passphrase';
