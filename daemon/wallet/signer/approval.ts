/**
 * What an approval is worth: HMAC-SHA-256 over the intent's canonical text and the journal's epoch, under a key that only
 * the wallet's words give. The operator's own client makes it from the passphrase; the signer checks it; the daemon can do
 * neither.
 *
 * Invariant: two different intents never have the same text, so that no approval can be passed off as another's.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { ApprovalPurpose, Intent, PolicyGrant } from './port.ts';

const KEY_BYTES = 32;
const MAC_HEX = /^[0-9a-f]{64}$/;

/**
 * A stretch of the journal's life, 32 hex digits: approvals and limits hold in the one that they were made in. Null: of a
 * journal that release 0.1.0 began.
 */
export type Epoch = string | null;

/** The keys that the words give beside those of coins. The caller wipes them. */
export function approvalKey(seed: Uint8Array): Buffer {
  return derived(seed, 'approval');
}
export function journalKey(seed: Uint8Array): Buffer {
  return derived(seed, 'signer journal');
}

/** HKDF of the BIP-39 seed; BIP-32 takes it another way (HMAC under "Bitcoin seed"), so that no two keys have a relation. */
const derived = (seed: Uint8Array, use: string): Buffer =>
  Buffer.from(hkdfSync('sha256', seed, '', `countinghouse ${use} v1`, KEY_BYTES));

/** Whose payment it is, to whom and how much: what stays the same for a withdrawal, whatever fee is paid. */
export function identityText({ uuid, network, accountNo, chain, asset, address, units, sweep, coins }: Intent): string {
  // a plain payment is told as in release 0.1.0, so that what was approved then still holds
  const more = sweep || coins !== null ? [sweep, coins] : [];
  return JSON.stringify(['pay', uuid, network, accountNo, chain, asset, address, units, ...more]);
}

/** How release 0.1.0 named what takes everything: without an end to the amount, so that no approval of it holds now. */
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

/** The highest fee; its asset is named where it is not the asset that is paid. */
const feeText = ({ asset, feeAsset = asset, feeMax }: Intent): string =>
  feeAsset === asset ? feeMax : `${feeMax} ${feeAsset}`;

export function grantMac(key: Uint8Array, epoch: Epoch, grant: PolicyGrant): string {
  const { network, accountNo, asset, perWithdrawal, perDay, addresses, issuedAt } = grant;
  return mac(key, ['grant', network, accountNo, asset, perWithdrawal, perDay, addresses, issuedAt], epoch);
}

/** Ends `epoch`, so that it holds once. `next`: the one that begins. */
export function revocationMac(key: Uint8Array, epoch: Epoch, next: string): string {
  return mac(key, ['revoke', next], epoch);
}

function mac(key: Uint8Array, parts: readonly unknown[], epoch: Epoch): string {
  const text = JSON.stringify(epoch === null ? parts : [...parts, epoch]);
  return createHmac('sha256', key).update(text).digest('hex');
}

/** Compares in a time that tells nothing about where they differ. */
export function sameMac(given: string, right: string): boolean {
  return MAC_HEX.test(given) && timingSafeEqual(Buffer.from(given, 'hex'), Buffer.from(right, 'hex'));
}
