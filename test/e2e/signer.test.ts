/**
 * No secret of the wallet gets out of the signer: not into the daemon's memory while the wallet is open and signs, not into
 * logs, files or answers. The same search finds them in the signer's own memory, so that it can find something.
 */
import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect, promisify } from 'node:util';
import { HDKey } from '@scure/bip32';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWords, seedOf } from '../../daemon/wallet/mnemonic.ts';
import { authorized } from '../../daemon/wallet/operator-keys.ts';
import { approvalKey } from '../../daemon/wallet/signer/approval.ts';
import { epochOf } from '../../daemon/wallet/signer/journal.ts';
import type { PolicyGrant } from '../../daemon/wallet/signer/port.ts';
import { SEAL_UNLOCK } from '../../daemon/wallet/signer/port.ts';
import { seal } from '../../daemon/wallet/signer/seal.ts';
import { bundled } from '../support/bundles.ts';
import { payment, SEED, soon, useSeed } from '../unit/wallet/signer-kit.ts';
import type { HostRequest } from './signer-host.ts';

const PASSPHRASE = 'Nobody-else-has-this-passphrase';
const NEW_PASSPHRASE = 'Nor-does-anybody-have-this-one';
const CONFIG = 'port = 0\n[rates]\nsources = []\n[sandbox]\nblock_seconds = 0\n[payments]\naddress_pool = 20\n';

const dataDir = await mkdtemp(join(tmpdir(), 'signer-e2e-'));
const outside = await mkdtemp(join(tmpdir(), 'signer-secrets-'));
const run = promisify(execFile);

let host: ChildProcess;
let logs = '';
let answers = '';
const secrets = new Map<string, Buffer>();

/** Text as V8 may hold it, in one byte a character and in two; bytes also in hex. */
function keep(name: string, secret: string | Uint8Array): void {
  if (typeof secret === 'string') {
    secrets.set(name, Buffer.from(secret, 'utf8'));
    secrets.set(`${name} in UTF-16`, Buffer.from(secret, 'utf16le'));
    return;
  }
  secrets.set(name, Buffer.from(secret));
  secrets.set(`${name} in hex`, Buffer.from(Buffer.from(secret).toString('hex')));
}

async function ask(request: HostRequest): Promise<unknown> {
  const [answer] = await new Promise<[{ result?: unknown; error?: string }]>((resolve) => {
    host.once('message', (...message) => resolve(message as unknown as [{ result?: unknown; error?: string }]));
    host.send(request);
  });
  answers += inspect(answer, { depth: null });
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer.result;
}

async function cli(...args: string[]): Promise<string> {
  const { stdout, stderr } = await run(
    process.execPath,
    [await bundled('daemon/cli.ts'), '--data-dir', dataDir, '--json', ...args],
    {
      env: {},
    },
  ).catch((error: { stdout: string; stderr: string }) => error);
  answers += stdout + stderr;
  return stdout + stderr;
}

const PART_BYTES = 4 * 1024 * 1024;
const OVERLAP_BYTES = 512;

/** Which of the secrets lie in the memory of a process; null where the system does not let us look. */
async function inMemoryOf(pid: number): Promise<string[] | null> {
  const smaps = await readFile(`/proc/${pid}/smaps`, 'utf8');
  const memory = await open(`/proc/${pid}/mem`, 'r').catch(() => null);
  if (!memory) return null;
  const found = new Set<string>();
  const part = Buffer.alloc(PART_BYTES + OVERLAP_BYTES);
  try {
    // what has no page in memory holds nothing
    for (const [, from, to, resident] of smaps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw[\s\S]*?^Rss:\s+(\d+) kB/gm)) {
      const end = Number(BigInt(`0x${to}`));
      for (let at = Number(BigInt(`0x${from}`)); resident !== '0' && at < end; at += PART_BYTES) {
        const length = Math.min(part.length, end - at);
        const read = await memory.read(part, 0, length, at).catch(() => ({ bytesRead: 0 }));
        for (const name of secretsIn(part.subarray(0, read.bytesRead))) found.add(name);
      }
    }
  } finally {
    await memory.close();
  }
  return [...found];
}

const secretsIn = (bytes: Buffer): string[] =>
  [...secrets].flatMap(([name, secret]) => (bytes.includes(secret) ? [name] : []));

async function signers(): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command.includes('signer/process') && command.includes(dataDir)) found.push(Number(pid));
  }
  return found;
}

let words: string;
let seed: Buffer;
beforeAll(async () => {
  words = await createWords(24);
  seed = await seedOf(words, '');
  keep('some of the words', words.split(' ').slice(3, 9).join(' '));
  keep('the passphrase', PASSPHRASE);
  keep('the new passphrase', NEW_PASSPHRASE);
  keep('the seed', seed);
  const master = HDKey.fromMasterSeed(seed);
  for (const path of ["m/84'/1'/0'", "m/84'/1'/0'/0/0"]) {
    keep(`the private key of ${path}`, master.derive(path).privateKey!);
  }
  keep('the approval key', approvalKey(seed));

  await writeFile(join(dataDir, 'countinghouse.toml'), CONFIG);
  for (const [name, secret] of Object.entries({
    words,
    passphrase: PASSPHRASE,
    fresh: NEW_PASSPHRASE,
    wrong: `${PASSPHRASE}x`,
  })) {
    await writeFile(join(outside, name), secret);
  }
  const program = await bundled('test/e2e/signer-host.ts');
  host = fork(program, [dataDir], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], serialization: 'advanced' });
  for (const stream of [host.stdout, host.stderr]) stream?.on('data', (chunk: Buffer) => (logs += chunk));
  await once(host, 'message');
});
afterAll(async () => {
  useSeed(SEED);
  host.disconnect();
  await once(host, 'exit');
  await rm(dataDir, { recursive: true });
  await rm(outside, { recursive: true });
});

const file = (name: string): string => join(outside, name);

describe('the secrets of a wallet that is imported, opened, used, and given another passphrase', () => {
  beforeAll(async () => {
    const added = await cli(
      'business',
      'add',
      '--name',
      'Shop',
      '--network',
      'regtest',
      '--words-file',
      file('words'),
      '--passphrase-file',
      file('passphrase'),
    );
    expect(added).toContain('"regtest"');
    expect(await cli('wallet', 'unlock', '--passphrase-file', file('wrong'))).toContain('vault.passphrase');
    expect(await cli('wallet', 'unlock', '--passphrase-file', file('passphrase'))).toContain('"unlocked"');

    expect(await cli('wallet', 'lock')).toContain('"locked"');
    const key = (await ask({ call: 'sealKey' })) as string;
    await ask({ call: 'unlock', sealed: await seal(key, SEAL_UNLOCK, PASSPHRASE) });
    await expect(ask({ call: 'unlock', sealed: await seal(key, SEAL_UNLOCK, `${PASSPHRASE}x`) })).rejects.toThrow(
      'does not open',
    );
    const folder = join(dataDir, 'vault');
    useSeed(seed);
    const order = payment('LTC', ['01890000-0000-7000-8000-000000000001']);
    const [one] = order.withdrawals;
    const until = soon();
    const approvable = { purpose: 'pay' as const, intent: one!.intent, until };
    const { approvals } = await authorized(folder, PASSPHRASE, { approvals: [approvable], change: null, grants: [] });
    const mac = approvals[0]!;
    one!.approval = { by: 'operator', until, mac };
    const { txid } = (await ask({ call: 'sign', order })) as { txid: string };
    expect(txid).toMatch(/^[0-9a-f]{64}$/);
    const grant: PolicyGrant = {
      network: 'regtest',
      accountNo: 0,
      asset: 'LTC',
      perWithdrawal: '1',
      perDay: '1',
      addresses: null,
      issuedAt: 1,
    };
    await authorized(folder, PASSPHRASE, { approvals: [], change: null, grants: [grant] });
    await ask({ call: 'lock' });
    await cli('wallet', 'passphrase', '--passphrase-file', file('passphrase'), '--new-passphrase-file', file('fresh'));
    expect(await cli('wallet', 'unlock', '--passphrase-file', file('fresh'))).toContain('"unlocked"');
    await cli('wallet', 'status');
  });

  it("are not in the daemon's memory, and are in the signer's", async () => {
    const pids = await signers();
    expect(pids).toHaveLength(1);
    const inside = await inMemoryOf(pids[0]!);
    if (inside === null) return; // the system keeps processes of one user apart: all the better
    expect(inside).toContain('the seed');
    expect(await inMemoryOf(host.pid!)).toEqual([]);
  });

  it('are in no file of the data directory', async () => {
    const files = await readdir(dataDir, { recursive: true, withFileTypes: true });
    const names = files.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
    expect(names.some((name) => name.endsWith('.db'))).toBe(true);
    for (const name of names) expect(secretsIn(await readFile(name)), name).toEqual([]);
  });

  it('are in no log and no answer', () => {
    expect(logs).toContain('the operator made a change');
    expect(answers).toContain('vault.passphrase');
    expect([...secretsIn(Buffer.from(logs)), ...secretsIn(Buffer.from(answers))]).toEqual([]);
  });

  it('revoke what was approved, and leave the wallet open', async () => {
    const before = await epochOf(join(dataDir, 'vault'));
    expect(await cli('wallet', 'revoke', '--yes', '--passphrase-file', file('fresh'))).toContain('"unlocked"');
    expect(await epochOf(join(dataDir, 'vault'))).not.toBe(before);
  });

  it('are gone with the signer when it is locked', async () => {
    await cli('wallet', 'lock');
    expect(await signers()).toHaveLength(0);
  });
});
