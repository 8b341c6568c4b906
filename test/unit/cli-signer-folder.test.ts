/** Commands of root in the folder of a separate signer, whose user has put links there. Only root can run these tests. */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../daemon/cli/program.ts';
import { Session } from '../../daemon/cli/session.ts';
import { handOver } from '../../daemon/cli/signer.ts';
import { unlockWallet } from '../../daemon/cli/wallet.ts';
import { ENDED_FILE } from '../../daemon/wallet/signer/files.ts';
import { moneroWordsOf } from '../../daemon/wallet/signer/xmr/library.ts';
import { cheapWallet } from '../support/wallet.ts';
import { fakeIo } from './cli-kit.ts';

const SERVICE_USER = 8480;
const SIGNER_USER = 8482;
const TEXT = 'what only root may read and write';

describe.runIf(process.getuid?.() === 0)('a command of root, in the folder of a separate signer,', () => {
  let root: string;
  let secret: string;
  let env: { COUNTINGHOUSE_DATA_DIR: string; COUNTINGHOUSE_SIGNER_DIR: string; COUNTINGHOUSE_SIGNER_SOCKET: string };
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'signer-folder-'));
    chmodSync(root, 0o755);
    secret = join(root, 'secret');
    writeFileSync(secret, TEXT, { mode: 0o600 });
    const folderOf = (name: string, user: number): string => {
      const folder = join(root, name);
      mkdirSync(folder, { mode: 0o700 });
      chownSync(folder, user, SERVICE_USER);
      return folder;
    };
    env = {
      COUNTINGHOUSE_DATA_DIR: folderOf('data', SERVICE_USER),
      COUNTINGHOUSE_SIGNER_DIR: folderOf('signer', SIGNER_USER),
      COUNTINGHOUSE_SIGNER_SOCKET: join(root, 'signer', 'socket'),
    };
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const lead = (name: string): void => symlinkSync(secret, join(env.COUNTINGHOUSE_SIGNER_DIR, name));

  it('writes to no file of root', async () => {
    lead(ENDED_FILE);
    const { io, ran } = fakeIo(env);
    expect(await runCli(['wallet', 'halt', '--yes'], io)).toBe(1);
    expect(ran.err).toContain('EACCES');
    expect(readFileSync(secret, 'utf8')).toBe(TEXT);
    expect(process.geteuid?.()).toBe(0);
  });

  it('imports words of Monero as the user of the wallet, who could not open it otherwise', async () => {
    const { COUNTINGHOUSE_DATA_DIR: dataDir } = env;
    const folder = join(dataDir, 'vault');
    const session = Object.assign(new Session(fakeIo({ COUNTINGHOUSE_DATA_DIR: dataDir }).io, {}), {
      call: async () => ({ wallet: { state: 'locked' } }),
    });
    const passphraseFile = join(root, 'passphrase');
    writeFileSync(passphraseFile, 'a passphrase of the test', { mode: 0o600 });
    await session.asOwner(() => cheapWallet(folder, { passphrase: 'a passphrase of the test' }));
    const words = await moneroWordsOf('232dc2a8258040226082d9a43ece719be2e3a9be08d64cc3fa2a8f3d12903a0b');
    const owner = (): number[] => readdirSync(folder).map((name) => statSync(join(folder, name)).uid);
    const wallet = await unlockWallet(session, { passphraseFile, iHaveTheWords: true });
    const monero = wallet.monero(words);
    await monero.take('regtest', 0);
    expect(new Set(owner())).toEqual(new Set([SERVICE_USER]));
    await monero.drop('regtest', 0);
    expect(new Set(owner())).toEqual(new Set([SERVICE_USER]));
  });

  it('gives the service no file of root', async () => {
    lead('backup-key-00000000.json');
    await expect(handOver(new Session(fakeIo(env).io, {}))).rejects.toThrow(
      /permission denied, open '.*backup-key-00000000.json'/,
    );
    expect(existsSync(join(env.COUNTINGHOUSE_DATA_DIR, 'vault'))).toBe(false);
  });
});
