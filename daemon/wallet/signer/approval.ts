/**
 * The MAC of an approval: HMAC-SHA-256 over the intent's canonical text and the journal's epoch, under a key that is
 * derived from the wallet's words. The operator's client makes it from the passphrase. The signer checks it. The daemon
 * can do neither.
 *
 * Invariant: two different intents never have the same text, so that an approval is valid for one intent only.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { ApprovalPurpose, Grant, Intent } from './port.ts';

const KEY_BYTES = 32;
const MAC_HEX = /^[0-9a-f]{64}$/;

/**
 * A period of the journal, named by 32 hex digits. An approval or a limit is valid only in the epoch in which it was
 * made. Null: the first epoch of a journal that release 0.1.0 began.
 */
export type Epoch = string | null;

/** The key of approvals, derived from the wallet's seed. The caller wipes it. */
export function approvalKey(seed: Uint8Array): Buffer {
  return derived(seed, 'approval');
}
/** The key of the MACs in the signer's journal. The caller wipes it. */
export function journalKey(seed: Uint8Array): Buffer {
  return derived(seed, 'signer journal');
}

/** HKDF of the BIP-39 seed: unrelated to coin keys, which BIP-32 derives by HMAC under "Bitcoin seed". */
const derived = (seed: Uint8Array, use: string): Buffer =>
  Buffer.from(hkdfSync('sha256', seed, '', `countinghouse ${use} v1`, KEY_BYTES));

/** The payer, the recipient and the amount. This text stays the same for a withdrawal when its fee changes. */
export function identityText({ uuid, network, accountNo, chain, asset, address, units, sweep, coins }: Intent): string {
  // a plain payment has the text of release 0.1.0, so that earlier approvals stay valid
  const more = sweep || coins !== null ? [sweep, coins] : [];
  return JSON.stringify(['pay', uuid, network, accountNo, chain, asset, address, units, ...more]);
}

/** The text of release 0.1.0 for a sweep. It has no maximum amount, so no approval of it is valid any more. */
export const openIdentityText = (intent: Intent): string =>
  identityText({ ...intent, units: 'all', sweep: false, coins: null });

export function intentMac(
  key: Uint8Array,
  epoch: Epoch,
  purpose: ApprovalPurpose,
  intent: Intent,
  until: number,
): string {
  const text = [identityText(intent), feeText(intent), until];
  return mac(key, purpose === 'pay' ? text : [purpose, ...text], epoch);
}

/** The highest fee. Its asset is named only if it differs from the asset that is paid. */
const feeText = ({ asset, feeAsset = asset, feeMax }: Intent): string =>
  feeAsset === asset ? feeMax : `${feeMax} ${feeAsset}`;

export function grantMac(key: Uint8Array, epoch: Epoch, grant: Grant): string {
  if ('kind' in grant && grant.kind === 'forward') {
    const { network, accountNo, asset, address, from, feeSharePpm, feeMax, feeDay, issuedAt } = grant;
    const first = from === undefined ? [] : ['from', from];
    return mac(
      key,
      ['forward grant', network, accountNo, asset, address, feeSharePpm, feeMax, feeDay, issuedAt, ...first],
      epoch,
    );
  }
  if ('kind' in grant) {
    const { network, accountNo, chain, feeMax, until, issuedAt, tank } = grant;
    const named = tank === undefined ? [] : ['tank', tank];
    return mac(key, ['gas grant', network, accountNo, chain, feeMax, until, issuedAt, ...named], epoch);
  }
  const { network, accountNo, asset, perWithdrawal, perDay, addresses, issuedAt } = grant;
  return mac(key, ['grant', network, accountNo, asset, perWithdrawal, perDay, addresses, issuedAt], epoch);
}

/** The MAC that ends `epoch` and begins `next`. It is valid once, because it covers `epoch`. */
export function revocationMac(key: Uint8Array, epoch: Epoch, next: string): string {
  return mac(key, ['revoke', next], epoch);
}

function mac(key: Uint8Array, parts: readonly unknown[], epoch: Epoch): string {
  const text = JSON.stringify(epoch === null ? parts : [...parts, epoch]);
  return createHmac('sha256', key).update(text).digest('hex');
}

/** Compares in constant time. */
export function sameMac(given: string, right: string): boolean {
  return MAC_HEX.test(given) && timingSafeEqual(Buffer.from(given, 'hex'), Buffer.from(right, 'hex'));
}
