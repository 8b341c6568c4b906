/** Commands of root in the folder of a separate signer, whose user has put links there. Only root can run these tests. */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../daemon/cli/program.ts';
import { Session } from '../../daemon/cli/session.ts';
import { handOver } from '../../daemon/cli/signer.ts';
import { ENDED_FILE } from '../../daemon/wallet/signer/files.ts';
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

  it('gives the service no file of root', async () => {
    lead('backup-key-00000000.json');
    await expect(handOver(new Session(fakeIo(env).io, {}))).rejects.toThrow(
      /permission denied, open '.*backup-key-00000000.json'/,
    );
    expect(existsSync(join(env.COUNTINGHOUSE_DATA_DIR, 'vault'))).toBe(false);
  });
});
