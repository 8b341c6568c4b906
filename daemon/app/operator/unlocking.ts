/**
 * How the wallet is opened: as configured, or from the keychain once an operator has put the passphrase there.
 *
 * Invariant: the service turns to the keychain only after it has opened the wallet from there.
 */
import type { Config } from '../../config/config.ts';
import { Rejected } from '../../domain/errors.ts';
import { dropSetting, saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { Reader } from '../../store/store.ts';
import { sealedBy, type UnlockSource } from '../../wallet/signer/unlock.ts';
import type { App } from '../app.ts';

const KEYCHAIN_SETTING = 'wallet.keychain';

const isRemembered = (store: Reader): boolean => store.get(settingOf, { key: KEYCHAIN_SETTING }) !== undefined;

export function unlockSource({ wallet: { unlock: kind, passphraseFile } }: Config, store: Reader): UnlockSource {
  if (kind === 'file') return passphraseFile === null ? { kind: 'prompt' } : { kind, path: passphraseFile };
  return { kind: kind === 'prompt' && isRemembered(store) ? 'keychain' : kind };
}

/**
 * Opens the wallet from the keychain, now and whenever it is needed. Throws `Rejected`: `signer.unsupported`,
 * `vault.missing`, `vault.corrupted`, `vault.passphrase`; `Unavailable` if the keychain is locked, missing, or holds no
 * passphrase of this wallet.
 */
export async function useKeychain(app: App): Promise<void> {
  const { wallet } = app.config;
  if (wallet.signer !== null) {
    throw new Rejected('signer.unsupported', 'The signer is a service of its own user, which has no keychain');
  }
  if (wallet.unlock === 'file' || wallet.unlock === 'systemd') {
    const text = `The configuration opens the wallet by itself: wallet.unlock = "${wallet.unlock}"`;
    throw new Rejected('signer.unsupported', text);
  }
  const { fingerprint } = await app.signer.status();
  if (fingerprint === null) throw new Rejected('vault.missing', 'There is no wallet yet');
  await app.signer.unlock(await sealedBy({ kind: 'keychain' }, await app.signer.sealKey(), fingerprint));
  await app.store.write((tx) =>
    tx.run(saveSetting, { key: KEYCHAIN_SETTING, value: fingerprint, updated_at: app.now() }),
  );
}

/** Locks the wallet, which from now on is opened by the operator, unless the configuration says otherwise. */
export async function leaveKeychain(app: App): Promise<void> {
  if (!isRemembered(app.store)) return;
  await app.store.write((tx) => tx.run(dropSetting, { key: KEYCHAIN_SETTING }));
  await app.signer.lock();
}
