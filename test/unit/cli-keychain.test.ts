/** The keychain of the computer at home, and a server that says what it likes about it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';

const [writeKeychain, forgetKeychain] = [vi.fn(async () => {}), vi.fn(async () => true)];
vi.mock('../../daemon/wallet/signer/keychain.ts', () => ({ writeKeychain, forgetKeychain }));
const { Unavailable } = await import('../../daemon/domain/errors.ts');
const { desktopMethods } = await import('../../main/methods.ts');
const { asOpenedHere, changing, forget } = await import('../../daemon/cli/keychain.ts');

it('gets no passphrase, and loses none, by the word of a server', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'keychain-'));
  const call = vi.fn();
  const session = { server: 'shop', dataDir, call, print: () => {} } as never;
  // as if the wallet of this computer's own service were its
  const told = { state: 'unlocked', unlock: 'keychain', separate: true, fingerprint: '73c5da0a' } as never;
  expect(await changing(session, 'fresh', async () => told)).toBe(told);
  await forget(session);
  expect(asOpenedHere(session, told)).toMatchObject({ unlock: 'prompt', separate: false });
  for (const asked of [writeKeychain, forgetKeychain, call]) expect(asked).not.toHaveBeenCalled();
  await rm(dataDir, { recursive: true });
});

it('that is locked does not hide that the passphrase is changed', async () => {
  const behind = 'The passphrase is changed; the keychain still has the old one: it is locked';
  const wallet = { state: 'unlocked', unlock: 'keychain', fingerprint: '73c5da0a' } as never;
  const isLocked = new Unavailable('it is locked', 60);
  writeKeychain.mockRejectedValueOnce(isLocked);
  await expect(changing({ server: null } as never, 'fresh', async () => wallet)).rejects.toThrow(behind);
  const keyholder = { changePassphrase: async () => wallet };
  const desktop = desktopMethods({ keyholder, keychain: { remember: () => Promise.reject(isLocked) } } as never);
  await expect(desktop['desktop.changePassphrase']({ old: 'old', fresh: 'fresh' })).rejects.toThrow(behind);
});
