/**
 * The interface between the daemon and the signer. The signer is the only process that holds the merchant's secrets.
 * This module has types, their type guards and the refusal of a locked wallet.
 *
 * Invariant: no secret crosses this boundary. Passphrases are sealed to the signer's key; transactions leave signed.
 * The signer decodes everything that it is asked to sign, and refuses any difference from the intents.
 */
import type { AssetId, ChainId, Network } from '../../domain/assets.ts';
import type { AccountKey, Branch } from '../../domain/chain.ts';
import { Rejected } from '../../domain/errors.ts';
import type { EvmChain } from '../../domain/evm.ts';
import type {
  EvmUnsigned,
  MoneroUnsigned,
  SandboxUnsigned,
  SignedSpend,
  UnsignedSpend,
  UtxoUnsigned,
} from '../../domain/spend.ts';
import type { UtxoChain } from './wire.ts';

/** A text that only the holder of a key can read, made by `seal` (seal.ts). All three fields are base64. */
export type Sealed = { key: string; nonce: string; box: string };

/** `none`: there is no wallet in the data directory. */
type SignerState = 'none' | 'locked' | 'unlocked';

export type SignerStatus = {
  state: SignerState;
  /** BIP-32's fingerprint of the master key, 8 hex digits; null without a wallet or an answer of a separate signer. */
  fingerprint: string | null;
  /** When it locks itself unless it is used, milliseconds since 1970; null while locked, or if it never does. */
  lockAt: number | null;
  /** The wait before the next passphrase after wrong ones; 0: none. */
  retryAfterSeconds: number;
  /** The operator has still to prove to have the words of a new wallet. */
  wordsUnproved: boolean;
  /** The record of signatures had lines of two signers at once when it was opened. They are joined, and nothing is lost. */
  wasJoined?: boolean | undefined;
  /** The size of the record of signatures; absent without one, and from a signer of release 0.1.0. */
  journalBytes?: number | undefined;
  /** The signing machine at home, which is not connected. `seenAt`: milliseconds since 1970; null: never. */
  away?: { name: string; seenAt: number | null } | undefined;
};

/** Whether a separate signer does not answer, so that it counts as locked: a locked wallet has a fingerprint. */
export const isAway = ({ state, fingerprint, away }: Pick<SignerStatus, 'state' | 'fingerprint' | 'away'>): boolean =>
  state === 'locked' && fingerprint === null && away === undefined;

/**
 * Stands for an address in an intent whose transaction pays only ourselves (CPFP, or a collection on an account chain).
 * Then `units` is "0". `coins` names the coins that a CPFP transaction spends.
 */
export const ADDRESS_SELF = 'self';

/**
 * The complete content of an approval: one payment, with a maximum for every cost. `uuid` identifies the withdrawal
 * permanently, on every machine. The operator's MAC covers all fields.
 */
export type Intent = {
  uuid: string;
  network: Network;
  /** The account level of the wallet's derivation path. */
  accountNo: number;
  chain: ChainId;
  asset: AssetId;
  /** As shown to the operator, or ADDRESS_SELF. */
  address: string;
  /** Smallest units as a decimal: the recipient's amount; for a sweep, its maximum. */
  units: string;
  /** Pays everything that is spent to one recipient, less the fee and without change. */
  sweep: boolean;
  /** Exactly the outpoints that it spends; null: the planner chooses. */
  coins: string[] | null;
  /** The highest fee, in smallest units of `feeAsset`. A batch may pay the sum of its withdrawals' highest fees. */
  feeMax: string;
  /** The asset that the fee is paid in; absent: the asset that is paid. */
  feeAsset?: AssetId | undefined;
};

/**
 * `operator`: HMAC-SHA-256 (hex) over the purpose, the intent, the epoch of the wallet's journal, and `until`
 * (milliseconds since 1970, at most seven days ahead). After `until` the approval cannot begin a payment. `policy`: the
 * operator granted the limit beforehand. `gas`: the operator granted a `GasGrant` for moves between our own addresses. `forward`: the
 * operator granted a `ForwardGrant` for payments to one address. With an `asset` it is no payment, but the gas that a deposit address
 * needs to send this token on.
 */
export type Approval =
  | { by: 'operator'; until: number; mac: string }
  | { by: 'policy' }
  | { by: 'gas' }
  | { by: 'forward'; asset?: AssetId | undefined };

/**
 * `pay`: pays the intents; a speed-up is a `pay` whose withdrawals were signed before. `cancel`: pays everything back
 * to ourselves in place of withdrawals that were signed before. It needs no approval if its fee was approved, because
 * it replaces a signed transaction.
 */
export type SignPurpose = 'pay' | 'cancel';

/**
 * The purpose of an operator's approval. `raise`: a higher fee of a payment that was signed before; it can never begin
 * a payment. An approval is valid for its own purpose only, except that an approval to `pay` also raises.
 */
export type ApprovalPurpose = SignPurpose | 'raise';

type OrderOf<U extends UnsignedSpend> = U & {
  purpose: SignPurpose;
  /** The withdrawals that it pays or cancels. It must share a conflict key with each transaction signed for them. */
  withdrawals: { intent: Intent; approval: Approval }[];
};
export type UtxoOrder = OrderOf<UtxoUnsigned>;
export type SandboxOrder = OrderOf<SandboxUnsigned>;
export type EvmOrder = OrderOf<EvmUnsigned>;
export type MoneroOrder = OrderOf<MoneroUnsigned>;
/** A request to sign. `plan.kind` names the family. */
export type SignOrder = UtxoOrder | SandboxOrder | EvmOrder | MoneroOrder;
/** A request that crosses to the signer. */
export type RealOrder = UtxoOrder | EvmOrder | MoneroOrder;

/** A request for the key images of outputs of ours. `previous`: of each output, see `KeptTransaction`, in hex. */
export type ImagesRequest = {
  network: Network;
  accountNo: number;
  outputs: { outpoint: string; units: bigint; branch: Branch; index: number; previous: string }[];
};

export const isMoneroOrder = (order: SignOrder): order is MoneroOrder => order.plan.kind === 'monero';
export const isUtxoOrder = (order: SignOrder): order is UtxoOrder => order.plan.kind === 'utxo';
export const isEvmOrder = (order: SignOrder): order is EvmOrder => order.plan.kind === 'evm';

/** The limits of one asset of one account for payments without the operator. Units are smallest units as decimals. */
export type PolicyGrant = {
  network: Network;
  accountNo: number;
  asset: AssetId;
  /** The maximum of one withdrawal; "0" ends the earlier grant. */
  perWithdrawal: string;
  /** The maximum in any 24 hours, including every fee that is paid in this asset, also for payments of other assets. */
  perDay: string;
  /** The allowed addresses; null: any. */
  addresses: string[] | null;
  /** Milliseconds since 1970: a grant replaces only an older one. */
  issuedAt: number;
};

/** The subject of an approval: payments, or the limits of a policy. */
export type Authorization = {
  approvals: { purpose: ApprovalPurpose; intent: Intent; until: number }[];
  /** The change output of the payments' transaction (`to`: its script or address in hex). It must be ours. Null: none. */
  change: {
    chain: UtxoChain | EvmChain | 'XMR';
    network: Network;
    accountNo: number;
    index: number;
    to: string;
  } | null;
  grants: Grant[];
};

/** The operator's MACs, in the order of the authorization. */
export type Macs = { approvals: string[]; grants: string[] };

/**
 * The fees that transfers between our own addresses on an account chain may cost without the operator. They pay nobody
 * else, so the fees are all that can be lost.
 */
export type GasGrant = {
  kind: 'gas';
  network: Network;
  accountNo: number;
  chain: EvmChain;
  /** The highest sum of the highest fees, smallest units of the chain's coin as a decimal; "0" ends the earlier grant. */
  feeMax: string;
  /** Milliseconds since 1970: nothing is signed under it from then on. */
  until: number;
  /** The index of the address of branch 1 that is the tank from now on, for later grants, too; absent: it stays as it was. */
  tank?: number | undefined;
  /** Milliseconds since 1970: a grant replaces only an older one, whose use does not count any more. */
  issuedAt: number;
};

/**
 * Payments of any amount of one asset to one address or account, which is the merchant's own. A thief who uses it can burn the fees, and of a
 * token move gas to deposit addresses of ours (`forward-gas.ts`), and no more. Amounts are smallest units as decimals; those of fees are of the
 * asset that the fee is paid in.
 */
export type ForwardGrant = {
  kind: 'forward';
  network: Network;
  accountNo: number;
  asset: AssetId;
  /** An address, or the descriptor of another wallet's account (`forward-key.ts`), of which each payment gets the next address. */
  address: string;
  /** Of an account: the first index that it may pay; absent: it is an address. */
  from?: number | undefined;
  /** The highest fee of a payment in millionths of its amount, where both are the same asset; null: any share. */
  feeSharePpm: number | null;
  /** The highest fee of a payment; null: any. One of the two is given. */
  feeMax: string | null;
  /** The highest fees in any 24 hours; "0" ends the earlier grant. */
  feeDay: string;
  /** Milliseconds since 1970: a grant replaces only an older one. */
  issuedAt: number;
};

export type Grant = PolicyGrant | GasGrant | ForwardGrant;

/**
 * A task with the wallet's secrets for a client that cannot reach the vault's folder, such as a browser. `reply`: the
 * X25519 public key (hex) to which words are sealed. `create`: `words` of an existing wallet; null: new ones, which are
 * returned. `moneroWords`: the 25 words of an account. `importMonero`: the key of 25 words becomes that of an account which does
 * not exist yet, and `dropMonero` takes that back; an open wallet has the change once it is opened again. `accounts`: the public
 * keys of an account on every chain. `prove`: the operator has proved to have the words.
 */
export type CustodyTask =
  | { do: 'create'; passphrase: string; words: string | null; reply: string }
  | { do: 'words'; passphrase: string; reply: string }
  | { do: 'moneroWords'; passphrase: string; network: Network; accountNo: number; reply: string }
  | { do: 'importMonero'; passphrase: string; network: Network; accountNo: number; words: string }
  | { do: 'dropMonero'; passphrase: string; network: Network; accountNo: number }
  | { do: 'accounts'; passphrase: string; network: Network; accountNo: number }
  | { do: 'prove'; passphrase: string };

/** `words`: sealed under SEAL_WORDS to the key of the task, separated by spaces. */
export type CustodyResult = {
  fingerprint: string;
  words?: Sealed;
  accounts?: Record<ChainId, AccountKey>;
  used?: boolean;
};

/**
 * Every call may throw `Rejected`: `vault.missing`, `vault.corrupted`, `signer.journal` (its journal was altered), and
 * `Unavailable` if the process cannot be started, does not answer in time, or died.
 */
export interface Signer {
  /** Does not start the process. Without a process the wallet is locked. */
  status(): Promise<SignerStatus>;
  /** The X25519 public key (hex) to which secrets are sealed, new at each start of the process. Starts the process. */
  sealKey(): Promise<string>;
  /**
   * `sealed`: the passphrase under SEAL_UNLOCK. Throws `Rejected('vault.passphrase')`, `Rejected('seal')` if it was
   * sealed for another start, `Unavailable` while wrong tries are slowed down.
   */
  unlock(sealed: Sealed): Promise<SignerStatus>;
  lock(): Promise<SignerStatus>;
  /**
   * `sealed`: JSON `{"old","new"}` under SEAL_CHANGE. Throws like `unlock`, and `Rejected('vault.weak_passphrase')`.
   */
  changePassphrase(sealed: Sealed): Promise<SignerStatus>;
  /**
   * The operator's MACs, for a client without access to the vault's file. `sealed`: an `Authorization` with the
   * `passphrase`, as JSON under SEAL_AUTHORIZE. Throws like `unlock`, and `Rejected`: `review.differs` if the change is
   * not ours, `signer.approval` for an invalid end.
   */
  authorize(sealed: Sealed): Promise<Macs>;
  /**
   * `sealed`: a `CustodyTask` as JSON under SEAL_CUSTODY. A separate signer service refuses it: its folder is the
   * operator's, whose command line does this there. Throws like `unlock`, and `Rejected`: `vault.exists`,
   * `vault.missing`, `vault.weak_passphrase`, `mnemonic.*`, `signer.unsupported`.
   */
  custody(sealed: Sealed): Promise<CustodyResult>;
  /**
   * Signs without sending. The same order gives the same bytes, of Monero the same key images. Throws `Rejected`: `signer.locked` (wait and ask
   * again), `signer.approval` (no valid approval), `signer.limit` (above a policy's grant; the operator must approve),
   * `signer.conflict` (an earlier version could confirm beside this one), `signer.differs` (the plan differs from the
   * intents: a bug or an attack), `signer.input` (an input differs from its transaction: a bug or an attack),
   * `signer.fee`, `signer.unsupported`.
   */
  sign(order: SignOrder): Promise<SignedSpend>;
  /**
   * The key images (hex) of Monero outputs, by outpoint, without those that are not ours. They tell when an output was spent, and
   * spend nothing. Throws `Rejected('signer.locked')`.
   */
  keyImages(request: ImagesRequest): Promise<Record<string, string>>;
  /** `mac`: made by `grantMac`. Needs the wallet unlocked. Throws `Rejected`: `signer.locked`, `signer.approval`. */
  grantPolicy(grant: Grant, mac: string): Promise<void>;
  /**
   * Invalidates every earlier approval and grant. `next`: the new epoch, 32 random hex digits. `mac`: made by
   * `revocationMac`. Throws `Rejected`: `signer.locked`, `signer.approval`.
   */
  revokeApprovals(next: string, mac: string): Promise<void>;
  /**
   * Ends every earlier approval and grant of a wallet inside the service, whether it is unlocked or not: without the operator's
   * word, since nobody gains a right. Leaves other signers alone, whose owner ends them. Throws `Unavailable`.
   */
  endApprovals(): Promise<void>;
  close(): Promise<void>;
}

/** Told of what needs the wallet's keys while it is locked. */
export const walletLocked = (): Rejected => new Rejected('signer.locked', 'The wallet is locked');

/** The purposes of sealed secrets: a secret sealed for one does not open for another. */
export const SEAL_UNLOCK = 'unlock';
export const SEAL_CHANGE = 'change passphrase';
export const SEAL_AUTHORIZE = 'authorize';
export const SEAL_CUSTODY = 'custody';
/** A passphrase for the drill of a backup, sealed to the key of its process. */
export const SEAL_DRILL = 'drill';
/** Of words on their way to the operator. */
export const SEAL_WORDS = 'words';
