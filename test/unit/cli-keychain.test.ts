/** The keychain of the computer at home, and a server that says what it likes about it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';

const [writeKeychain, forgetKeychain] = [vi.fn(async () => {}), vi.fn(async () => true)];
vi.mock('../../daemon/wallet/signer/keychain.ts', () => ({ writeKeychain, forgetKeychain }));
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
