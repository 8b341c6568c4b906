/** The signer as a process: what it is fenced off from, how it is opened and closed, and what its sudden end leaves. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { type FileHandle, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Call } from '../../../daemon/contract/operator.ts';
import { Rejected, Unavailable } from '../../../daemon/domain/errors.ts';
import type { SignedSpend } from '../../../daemon/domain/spend.ts';
import { sealedKeyholder } from '../../../daemon/operator/keyholder.ts';
import { authorized, revocation } from '../../../daemon/wallet/operator-keys.ts';
import { SignerClient, type SignerOptions } from '../../../daemon/wallet/signer/client.ts';
import { ATTEMPTS_FILE, ENDED_FILE, JOURNAL_FILE } from '../../../daemon/wallet/signer/files.ts';
import { SEAL_AUTHORIZE, SEAL_CHANGE, SEAL_UNLOCK, type Sealed } from '../../../daemon/wallet/signer/port.ts';
import { seal } from '../../../daemon/wallet/signer/seal.ts';
import { fence } from '../../../daemon/wallet/signer/spawn.ts';
import { sealPair, unseal } from '../../../daemon/wallet/signer/unseal.ts';
import { until } from '../../support/daemon.ts';
import { codeOf, grantOf, limitGrants, PASSPHRASE, payment, soon, useEpochOf, walletFolder } from './signer-kit.ts';

const run = promisify(execFile);

/** A package whose work is done by native code. */
const ADDON = new URL('../../../node_modules/better-sqlite3', import.meta.url).pathname;

let wallet: Awaited<ReturnType<typeof walletFolder>>;
const clients: SignerClient[] = [];
const logged: string[] = [];
beforeAll(async () => {
  wallet = await walletFolder();
});
afterAll(async () => {
  for (const client of clients) await client.close();
  await wallet.remove();
});

const signed: SignedSpend = { txid: 'sandbox', raw: '', fee: 0n, size: 1 };
function client(options: Partial<SignerOptions> = {}): SignerClient {
  const made = new SignerClient({
    folder: wallet.folder,
    autoLockMinutes: 15,
    source: () => ({ kind: 'prompt' }),
    sandbox: { sign: async () => signed },
    log: (message) => logged.push(message),
    ...options,
  });
  clients.push(made);
  return made;
}

const unlock = async (signer: SignerClient, passphrase = PASSPHRASE) =>
  signer.unlock(await seal(await signer.sealKey(), SEAL_UNLOCK, passphrase));

/** The pids of the signers on this folder. */
async function signers(folder = wallet.folder): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command.includes('signer/process') && command.includes(folder)) found.push(Number(pid));
  }
  return found;
}

describe('from inside the fence', () => {
  let outside: string;
  beforeAll(async () => {
    outside = await mkdtemp(join(tmpdir(), 'outside-'));
    await writeFile(join(outside, 'file'), 'a secret of somebody else');
  });
  afterAll(() => rm(outside, { recursive: true }));

  /** Runs each code under the signer's own flags, all in one process, and tells how it ended. */
  async function inside(codes: readonly string[]): Promise<string[]> {
    const probes = codes.map((code) => `async () => { ${code} }`).join(',\n');
    const script = `const outcomes = [];
      for (const probe of [${probes}]) {
        outcomes.push(await probe().then((v) => 'done ' + v, (e) => String((e.cause ?? e).code ?? e.name)));
      }
      process.stdout.write(JSON.stringify(outcomes)); process.exit(0);`;
    const args = [...fence(wallet.folder), '--input-type=module', '-e', script];
    const { stdout } = await run(process.execPath, args, { env: {}, cwd: wallet.folder });
    return JSON.parse(stdout) as string[];
  }

  it.each<[string, string, string]>([
    [
      'reads its own folder',
      `return (await import('node:fs')).readFileSync('wallet.json', 'utf8').length > 0`,
      'done true',
    ],
    [
      'signs',
      `const t = await import(${JSON.stringify(new URL('../../../daemon/wallet/signer/sign.ts', import.meta.url))}); return typeof t.signPlan`,
      'done function',
    ],
  ])('it %s', async (_, code, outcome) => {
    expect(await inside([code])).toEqual([outcome]);
  });

  const FORBIDDEN: [what: string, code: (port: number) => string][] = [
    [
      'connect',
      (port) =>
        `const net = await import('node:net'); await new Promise((r, j) => net.connect(${port}, '127.0.0.1').on('connect', r).on('error', j));`,
    ],
    [
      'connect to a socket file',
      () =>
        `const net = await import('node:net'); await new Promise((r, j) => net.connect('${outside}/socket').on('connect', r).on('error', j));`,
    ],
    ['fetch', (port) => `await fetch('http://127.0.0.1:${port}/');`],
    [
      'listen',
      () =>
        `const net = await import('node:net'); await new Promise((r, j) => net.createServer().on('error', j).listen(0, r));`,
    ],
    [
      'send a datagram',
      () =>
        `const udp = await import('node:dgram'); const s = udp.createSocket('udp4'); await new Promise((r, j) => { s.on('error', j); s.send('x', 9, '127.0.0.1', (e) => e ? j(e) : r()); });`,
    ],
    ['ask for a name', () => `await (await import('node:dns/promises')).resolve4('localhost');`],
    ['look a name up', () => `await (await import('node:dns/promises')).lookup('localhost');`],
    ['start a program', () => `(await import('node:child_process')).execFileSync('/bin/true');`],
    ['fork itself', () => `(await import('node:child_process')).fork('wallet.json');`],
    ['start a worker', () => `new (await import('node:worker_threads')).Worker('1', { eval: true });`],
    ['load an addon', () => `process.dlopen({ exports: {} }, '${outside}/file.node');`],
    [
      'load a library',
      () =>
        `(await import('node:module')).createRequire('${wallet.folder}/x.js')(${JSON.stringify(ADDON)})(':memory:');`,
    ],
    ['open a database', () => `new (await import('node:sqlite')).DatabaseSync('${outside}/database');`],
    [
      'be debugged',
      () =>
        `(await import('node:inspector')).open(0); return (await import('node:inspector')).url() ?? (() => { throw Object.assign(new Error(), { code: 'ERR_ACCESS_DENIED' }) })();`,
    ],
    ['read outside its folder', () => `(await import('node:fs')).readFileSync('${outside}/file');`],
    ['read what every user may', () => `(await import('node:fs')).readFileSync('/etc/passwd');`],
    ['read another process', () => `(await import('node:fs')).readFileSync('/proc/self/environ');`],
    ['list outside its folder', () => `(await import('node:fs')).readdirSync('${outside}');`],
    [
      'leave its folder by a link',
      () =>
        `(await import('node:fs')).symlinkSync('${outside}/file', 'link'); return (await import('node:fs')).readFileSync('link');`,
    ],
    ['write outside its folder', () => `(await import('node:fs')).writeFileSync('${outside}/other', '');`],
    [
      'write into the program',
      () =>
        `(await import('node:fs')).writeFileSync(${JSON.stringify(new URL('../../../daemon/extra.ts', import.meta.url).pathname)}, '');`,
    ],
    ['call a library', () => `(await import('node:ffi')).dlopen('libc.so.6', {});`],
    ['leave a report', () => `process.report.writeReport('${outside}/report.json');`],
    ['leave its memory', () => `(await import('node:v8')).writeHeapSnapshot('${outside}/heap');`],
    ['become another program', () => `process.execve('/bin/true', ['true'], {});`],
    [
      'reach the system by WASI',
      () => `new (await import('node:wasi')).WASI({ version: 'preview1', preopens: { '/': '/' } });`,
    ],
    ['copy a file in', () => `(await import('node:fs')).copyFileSync('${outside}/file', 'copy');`],
    ['reach Node inside', () => `process.binding('fs');`],
    ['make code of a text', () => `return eval('1');`],
    ['make a function of a text', () => `return new Function('return 1')();`],
  ];

  it('it can do nothing else', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const outcomes = await inside(FORBIDDEN.map(([, code]) => code(port))).finally(() => server.close());
    const denials = ['ERR_ACCESS_DENIED', 'ERR_DLOPEN_DISABLED', 'ERR_UNKNOWN_BUILTIN_MODULE', 'EvalError'];
    const allowed = FORBIDDEN.flatMap(([what], at) => (denials.includes(outcomes[at]!) ? [] : [[what, outcomes[at]]]));
    expect(allowed).toEqual([]);
    expect(await readdir(outside)).toEqual(['file']);
  });
});

describe('the process', () => {
  it('is started when it is needed, inside the fence, with nothing of the environment', async () => {
    const signer = client();
    expect(await signer.status()).toMatchObject({ state: 'locked', fingerprint: '73c5da0a', lockAt: null });
    expect(await signers()).toEqual([]);
    expect(await unlock(signer)).toMatchObject({ state: 'unlocked', retryAfterSeconds: 0 });
    const [pid] = await signers();
    const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
    expect(command).toEqual(expect.arrayContaining(fence(wallet.folder)));
    expect(command.filter((word) => word.startsWith('--allow') && !word.startsWith('--allow-fs-'))).toEqual([]);
    expect(await readFile(`/proc/${pid}/environ`, 'utf8')).toBe('');
    await signer.lock();
    expect(await signers()).toEqual([]);
    expect(await signer.status()).toMatchObject({ state: 'locked', lockAt: null });
  });

  it('says how large the record of signatures is, locked and unlocked', async () => {
    const signer = client();
    await unlock(signer);
    const { size } = await stat(join(wallet.folder, 'signer-journal.jsonl'));
    expect(size).toBeGreaterThan(0);
    expect(await signer.status()).toMatchObject({ state: 'unlocked', journalBytes: size });
    await signer.lock();
    expect(await signer.status()).toMatchObject({ state: 'locked', journalBytes: size });
  });

  it('signs what the operator approved, while it is unlocked, and hands the sandbox’s on', async () => {
    const signer = client();
    const order = payment('LTC', ['process-1']);
    expect(await codeOf(signer.sign(order))).toBe('signer.locked');
    await unlock(signer);
    const [one] = order.withdrawals;
    const until = soon();
    const approvable = { purpose: 'pay' as const, intent: one!.intent, until };
    const { approvals } = await authorized(wallet.folder, PASSPHRASE, {
      approvals: [approvable],
      change: null,
      grants: [],
    });
    const mac = approvals[0]!;
    one!.approval = { by: 'operator', until, mac };
    expect((await signer.sign(order)).fee).toBe(2_000n);
    const sandbox = payment('LTC', ['process-2'], 40_000_000n, 'sandbox');
    expect(await signer.sign(sandbox)).toBe(signed);
    const ether = { ...order, plan: { ...order.plan, chain: 'ETH' as const } };
    expect(await codeOf(signer.sign(ether))).toBe('signer.unsupported');
    await signer.close();
    await expect(signer.sealKey()).rejects.toThrow(Unavailable);
  });

  it.each(['unlocked', 'locked'] as const)(
    '%s, ends what was approved before, and signs what is approved after it',
    async (state) => {
      const own = await walletFolder({ beside: true });
      const signer = client({ folder: own.folder });
      const approved = async (id: string) => {
        const order = payment('LTC', [id]);
        const [one] = order.withdrawals;
        const until = soon();
        const wanted = [{ purpose: 'pay' as const, intent: one!.intent, until }];
        const { approvals } = await authorized(own.folder, PASSPHRASE, { approvals: wanted, change: null, grants: [] });
        one!.approval = { by: 'operator', until, mac: approvals[0]! };
        return order;
      };
      const before = await approved('before');
      if (state === 'unlocked') await unlock(signer);
      const kept = { passphrase: PASSPHRASE, approvals: [], change: null, grants: [] };
      const box = await seal(await signer.sealKey(), SEAL_AUTHORIZE, JSON.stringify(kept));
      expect(await signer.authorize(box)).toEqual({ approvals: [], grants: [] });
      await signer.endApprovals();
      expect((await signer.status()).state).toBe(state);
      if (state === 'locked') {
        expect(await readdir(own.folder)).toContain(ENDED_FILE);
        await unlock(signer);
      }
      expect(await readdir(own.folder)).not.toContain(ENDED_FILE);
      expect(await codeOf(signer.sign(before))).toBe('signer.approval');
      // a service that kept the box could have its approvals made anew
      expect(await codeOf(signer.authorize(box))).toBe('seal');
      expect((await signer.sign(await approved('after'))).fee).toBe(2_000n);
      await signer.close();
      await own.remove();
    },
  );

  it('makes the MACs for a client that has only the passphrase, and no box counts after a revocation', async () => {
    const own = await walletFolder({ beside: true });
    const signer = client({ folder: own.folder });
    const call = { 'wallet.sealKey': async () => ({ seal_key: await signer.sealKey() }) } as Record<string, unknown>;
    let box: Sealed | undefined;
    call['wallet.authorize'] = async ({ sealed }: { sealed: Sealed }) => {
      box = sealed;
      return { macs: await signer.authorize(sealed) };
    };
    const keyholder = sealedKeyholder(((method: string, params: unknown) =>
      (call[method] as (given: unknown) => unknown)(params)) as Call);
    const order = payment('LTC', ['sealed']);
    const { intent } = order.withdrawals[0]!;
    const ends = soon();
    const ours = order.plan.outputs.find(({ kind }) => kind === 'change')!;
    const change = {
      chain: 'LTC',
      network: 'regtest',
      accountNo: 0,
      index: (ours as { index: number }).index,
    } as const;
    const wanted = {
      approvals: [{ purpose: 'pay' as const, intent, until: ends }],
      change: { ...change, to: Buffer.from(ours.script).toString('hex') },
      grants: [],
    };
    expect(await codeOf(keyholder.authorize('wrong passphrase', wanted))).toBe('vault.passphrase');
    const stolen = { ...wanted, change: { ...wanted.change, index: change.index + 1 } };
    expect(await codeOf(keyholder.authorize(PASSPHRASE, stolen))).toBe('review.differs');
    const endless = { ...wanted, approvals: [{ ...wanted.approvals[0]!, until: ends + 30 * 24 * 3_600_000 }] };
    expect(await codeOf(keyholder.authorize(PASSPHRASE, endless))).toBe('signer.approval');
    const { approvals } = await keyholder.authorize(PASSPHRASE, wanted);
    expect(approvals).toEqual((await authorized(own.folder, PASSPHRASE, wanted)).approvals);
    expect((await signer.status()).state).toBe('locked');
    await unlock(signer);
    const { next, mac } = await revocation(own.folder, PASSPHRASE);
    await signer.revokeApprovals(next, mac);
    // a service that kept the box could have the approvals made anew
    expect(await codeOf(signer.authorize(box!))).toBe('seal');
    await signer.close();
    await own.remove();
  });

  it('killed, is locked; started again, it remembers what was signed', async () => {
    const signer = client();
    await unlock(signer);
    const order = payment('LTC', ['killed']);
    const first = await signer.sign(order);
    process.kill((await signers())[0]!, 'SIGKILL');
    await until('the death is noticed', async () => (await signer.status()).state === 'locked');
    expect(logged.at(-1)).toContain('the signer ended by itself');
    expect(await codeOf(signer.sign(order))).toBe('signer.locked');
    await unlock(signer);
    expect(await signer.sign(order)).toEqual(first);
    expect(await codeOf(signer.sign(payment('LTC', ['killed'])))).toBe('signer.conflict');
    await signer.close();
  });

  it('killed at any moment of signing, gives the same bytes afterwards or has never heard of it', async () => {
    for (const delayMs of [0, 2, 8]) {
      const signer = client();
      await unlock(signer);
      const [pid] = await signers();
      const order = payment('LTC', [`moment-${delayMs}`]);
      const before = (await readFile(join(wallet.folder, JOURNAL_FILE), 'utf8')).split('\n').length;
      const asked = signer.sign(order).catch((error: unknown) => error);
      setTimeout(() => process.kill(pid!, 'SIGKILL'), delayMs);
      const answer = await asked;
      await until('it is gone', async () => (await signers()).length === 0);
      const after = (await readFile(join(wallet.folder, JOURNAL_FILE), 'utf8')).split('\n').length;
      if (answer instanceof Error) expect(answer).toBeInstanceOf(Unavailable);
      else expect(after).toBe(before + 1);
      await unlock(signer);
      const again = await signer.sign(order);
      if (!(answer instanceof Error)) expect(again).toEqual(answer);
      expect(await codeOf(signer.sign(payment('LTC', [`moment-${delayMs}`])))).toBe('signer.conflict');
      await signer.close();
    }
  });

  it('ends with the daemon', async () => {
    const script = `const { spawnSigner } = await import(${JSON.stringify(new URL('../../../daemon/wallet/signer/spawn.ts', import.meta.url))});
      const child = spawnSigner(process.argv[1], 0); child.stdout.once('data', () => process.kill(process.pid, 'SIGKILL'));
      child.stdin.write('{"id":1,"call":"status"}\\n');`;
    await run(process.execPath, ['--input-type=module', '-e', script, wallet.folder]).catch(() => {});
    await until('it is gone', async () => (await signers()).length === 0);
  });

  it('asked for what is no request, answers and goes on', async () => {
    const signer = client();
    await unlock(signer);
    const order = payment('LTC', ['odd']);
    const odd = [
      {
        ...order,
        plan: {
          ...order.plan,
          inputs: order.plan.inputs.map((one) => ({ ...one, outpoint: `${one.outpoint.slice(0, 65)}01` })),
        },
      },
      { ...order, withdrawals: order.withdrawals.map((one) => ({ ...one, intent: { ...one.intent, units: '0x10' } })) },
      {
        ...order,
        withdrawals: order.withdrawals.map((one) => ({ ...one, intent: { ...one.intent, uuid: 'two\u2028lines' } })),
      },
      { ...order, purpose: 'everything' as 'pay' },
    ];
    for (const one of odd) await expect(signer.sign(one)).rejects.toThrow('ZodError');
    expect((await signer.sign(order)).fee).toBe(2_000n);
    await signer.close();
  });
});

describe('passphrases', () => {
  it('open for their purpose and for this start alone', async () => {
    const signer = client();
    const key = await signer.sealKey();
    expect(await codeOf(signer.unlock(await seal(key, SEAL_CHANGE, PASSPHRASE)))).toBe('seal');
    expect(await codeOf(signer.unlock(await seal(sealPair().publicKey, SEAL_UNLOCK, PASSPHRASE)))).toBe('seal');
    expect(await codeOf(signer.unlock({ key: '', nonce: '', box: '' }))).toBe('seal');
    await signer.lock();
    expect(await signer.sealKey()).not.toBe(key);
    expect(await codeOf(signer.unlock(await seal(key, SEAL_UNLOCK, PASSPHRASE)))).toBe('seal');
    await signer.close();
  });

  it('are not tried while wrong ones are slowed down, by a new process either', async () => {
    const own = await walletFolder({ beside: true });
    const signer = client({ folder: own.folder });
    expect(await codeOf(unlock(signer, 'a wrong guess'))).toBe('vault.passphrase');
    await signer.lock();
    const file = join(own.folder, ATTEMPTS_FILE);
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ wrong: 1 });
    await writeFile(file, JSON.stringify({ wrong: 20, at: Date.now() }));
    const refused = await unlock(signer).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Unavailable);
    expect((await signer.status()).retryAfterSeconds).toBeGreaterThan(700);
    await signer.close();
    await own.remove();
  });

  it('are changed: the new one opens the same wallet, the old one does not', async () => {
    const own = await walletFolder({ beside: true });
    const signer = client({ folder: own.folder });
    const change = async (old: string, fresh: string) =>
      signer.changePassphrase(await seal(await signer.sealKey(), SEAL_CHANGE, JSON.stringify({ old, new: fresh })));
    expect(await codeOf(change(PASSPHRASE, 'short'))).toBe('vault.weak_passphrase');
    expect(await codeOf(change('wrong passphrase', 'a fresh passphrase'))).toBe('vault.passphrase');
    await change(PASSPHRASE, 'a fresh passphrase');
    expect(await codeOf(unlock(signer))).toBe('vault.passphrase');
    expect(await unlock(signer, 'a fresh passphrase')).toMatchObject({ state: 'unlocked', fingerprint: '73c5da0a' });
    await useEpochOf(own.folder);
    const order = payment('LTC', ['changed']);
    expect((await signer.sign(order)).txid).toBeTruthy();
    await signer.close();
    await useEpochOf(wallet.folder);
    await own.remove();
  });

  it('killed while it is changed, one of the two opens the wallet', async () => {
    const own = await walletFolder({ beside: true });
    let passphrase = PASSPHRASE;
    for (const [n, delayMs] of [800, 1_000].entries()) {
      const signer = client({ folder: own.folder });
      const fresh = `a fresh passphrase ${n}`;
      const sealed = await seal(await signer.sealKey(), SEAL_CHANGE, JSON.stringify({ old: passphrase, new: fresh }));
      const [pid] = await signers(own.folder);
      setTimeout(() => process.kill(pid!, 'SIGKILL'), delayMs);
      await signer.changePassphrase(sealed).catch(() => {});
      await until('it is gone', async () => (await signers(own.folder)).length === 0);
      await signer.close();
      const next = client({ folder: own.folder });
      const opened = await unlock(next, fresh).catch((error: unknown) => error);
      if (opened instanceof Rejected) await unlock(next, passphrase);
      else passphrase = fresh;
      expect(await next.status()).toMatchObject({ state: 'unlocked' });
      await next.close();
    }
    await own.remove();
  });

  it('are sealed in one length, and differently each time', async () => {
    const pair = sealPair();
    const boxes: string[] = [];
    for (const text of ['a', 'a', 'a much longer passphrase, with \u00e4 and " and spaces  ']) {
      const sealed = await seal(pair.publicKey, SEAL_UNLOCK, text);
      expect(unseal(pair, SEAL_UNLOCK, sealed)).toBe(text);
      boxes.push(sealed.box);
    }
    expect(new Set(boxes).size).toBe(3);
    expect(new Set(boxes.map((box) => box.length)).size).toBe(1);
    const { box, ...rest } = await seal(pair.publicKey, SEAL_UNLOCK, 'a');
    const bytes = Buffer.from(box, 'base64');
    bytes[5]! ^= 1;
    expect(() => unseal(pair, SEAL_UNLOCK, { ...rest, box: bytes.toString('base64') })).toThrow(Rejected);
    await expect(seal('00'.repeat(32), SEAL_UNLOCK, 'a')).rejects.toThrow(Rejected);
    await expect(seal('no key', SEAL_UNLOCK, 'a')).rejects.toThrow(Rejected);
  });
});

describe('without anybody', () => {
  it('opens from a file when it is looked at or asked to sign, and stays closed once an operator closed it', async () => {
    const path = join(wallet.folder, 'passphrase');
    await writeFile(path, `${PASSPHRASE}\n`);
    const signer = client({ source: () => ({ kind: 'file', path }), autoLockMinutes: 1 });
    expect((await signer.sign(payment('LTC', ['by-file']))).fee).toBe(2_000n);
    expect(await signer.status()).toMatchObject({ state: 'unlocked', lockAt: null });
    await signer.lock();
    expect(await codeOf(signer.sign(payment('LTC', ['closed'])))).toBe('signer.locked');
    await unlock(signer);
    expect((await signer.sign(payment('LTC', ['open-again']))).fee).toBe(2_000n);
    await signer.close();
    let times = 0;
    const looking = client({ source: () => ({ kind: 'file', path }), onUnlocked: () => times++ });
    expect(await looking.status()).toMatchObject({ state: 'locked' });
    await until('it says that it has opened by itself', async () => times === 1);
    expect(await looking.status()).toMatchObject({ state: 'unlocked' });
    await looking.close();
  });

  it('stays closed though it is asked to sign while the process that is being locked still works', async () => {
    const path = join(wallet.folder, 'passphrase');
    await writeFile(path, PASSPHRASE);
    const signer = client({ source: () => ({ kind: 'file', path }) });
    await signer.sign(payment('LTC', ['before-the-lock']));
    const [pid] = await signers();
    // it does not end within the time of what is asked meanwhile
    process.kill(pid!, 'SIGSTOP');
    const locking = signer.lock();
    expect(await signer.status()).toMatchObject({ state: 'locked' });
    expect(await codeOf(signer.sign(payment('LTC', ['at-the-lock'])))).toBe('signer.locked');
    process.kill(pid!, 'SIGCONT');
    expect(await locking).toMatchObject({ state: 'locked' });
    expect(await codeOf(signer.sign(payment('LTC', ['after-the-lock'])))).toBe('signer.locked');
    await signer.close();
  });

  it('stays closed when the passphrase comes after the lock', async () => {
    const path = join(wallet.folder, 'prompt');
    await run('mkfifo', [path]);
    let isOpen = false;
    const signer = client({ source: () => ({ kind: 'file', path }), onUnlocked: () => (isOpen = true) });
    await signer.status();
    // it can be opened as soon as somebody reads it
    let prompt: FileHandle | null = null;
    await until('the passphrase is asked for', async () => {
      prompt = await open(path, constants.O_WRONLY | constants.O_NONBLOCK).catch(() => null);
      return prompt !== null;
    });
    expect(await signer.lock()).toMatchObject({ state: 'locked' });
    await prompt!.writeFile(PASSPHRASE);
    await prompt!.close();
    await until('it has given up', async () => isOpen || logged.at(-1)?.includes('by file'));
    expect([isOpen, logged.at(-1)]).toEqual([
      false,
      'the wallet could not be unlocked by file: it was locked meanwhile. Unlock it by hand',
    ]);
    expect(await codeOf(signer.sign(payment('LTC', ['after-the-lock'])))).toBe('signer.locked');
    await unlock(signer);
    expect(await signer.status()).toMatchObject({ state: 'unlocked' });
    await signer.close();
    await rm(path);
  });

  it('says why it cannot', async () => {
    const missing = client({ source: () => ({ kind: 'file', path: join(wallet.folder, 'nothing') }) });
    expect(await codeOf(missing.sign(payment('LTC', ['no-file'])))).toBe('signer.locked');
    expect(logged.at(-1)).toContain('ENOENT');
    const systemd = client({ source: () => ({ kind: 'systemd' }) });
    expect(await codeOf(systemd.sign(payment('LTC', ['no-credential'])))).toBe('signer.locked');
    expect(logged.at(-1)).toContain('systemd credential');
    const keychain = client({ source: () => ({ kind: 'keychain' }) });
    expect(await codeOf(keychain.sign(payment('LTC', ['no-keychain'])))).toBe('signer.locked');
    expect(logged.at(-1)).toContain('by keychain');
    for (const one of [missing, systemd, keychain]) await one.close();
  });

  it('takes the credential of its unit', async () => {
    const credentials = await mkdtemp(join(tmpdir(), 'credentials-'));
    await writeFile(join(credentials, 'countinghouse-passphrase'), PASSPHRASE);
    process.env.CREDENTIALS_DIRECTORY = credentials;
    try {
      const signer = client({ source: () => ({ kind: 'systemd' }) });
      expect((await signer.sign(payment('LTC', ['by-systemd']))).fee).toBe(2_000n);
      await signer.close();
    } finally {
      delete process.env.CREDENTIALS_DIRECTORY;
      await rm(credentials, { recursive: true });
    }
  });

  it('is not begun once its client was closed, although something had just asked for it', async () => {
    const signer = client();
    const asked = signer.sealKey();
    await signer.close();
    await expect(asked).rejects.toThrow('The service is stopping');
    expect(await signers()).toEqual([]);
  });

  it('closes by itself after the time without a use', async () => {
    const signer = client({ autoLockMinutes: 1 / 60 });
    const { lockAt } = await unlock(signer);
    expect(lockAt).toBeGreaterThan(Date.now() - 1_000);
    await until('it has closed', async () => (await signers()).length === 0);
    expect(await signer.status()).toMatchObject({ state: 'locked' });
    await signer.close();
  });

  it('closes although somebody asks again and again for what it refuses, and for what it signed before', async () => {
    const signer = client({ autoLockMinutes: 4 / 60 });
    await unlock(signer);
    const signed = payment('LTC', ['signed-again']);
    const first = await signer.sign(signed);
    const unapproved = payment('LTC', ['not-approved']);
    unapproved.withdrawals[0]!.intent.address = 'elsewhere';
    const answers = new Set<string>();
    const isClosed = async () => {
      answers.add(await signer.sign(signed).then(({ txid }) => txid, String));
      answers.add(await codeOf(signer.sign(unapproved)));
      return answers.has('signer.locked');
    };
    await until('it has closed', isClosed, 60_000);
    expect([answers.has(first.txid), answers.has('signer.differs')]).toEqual([true, true]);
    await signer.close();
  }, 90_000);

  it('closes although somebody repeats what the operator sealed and granted', async () => {
    const signer = client({ autoLockMinutes: 4 / 60 });
    const key = await signer.sealKey();
    const opening = await seal(key, SEAL_UNLOCK, PASSPHRASE);
    await signer.unlock(opening);
    const text = JSON.stringify({ approvals: [], change: null, grants: [], passphrase: PASSPHRASE });
    const approving = await seal(key, SEAL_AUTHORIZE, text);
    expect(await signer.authorize(approving)).toEqual({ approvals: [], grants: [] });
    const granted = grantOf(limitGrants(0, '1').find(({ asset }) => asset === 'BCH')!);
    await signer.grantPolicy(...granted);
    const repeats = [
      () => signer.grantPolicy(...granted),
      () => signer.unlock(opening),
      () => signer.authorize(approving),
    ];
    const codes = new Set<string>();
    const isClosed = async () => {
      for (const repeat of repeats) await repeat().catch((error: Rejected) => codes.add(error.code));
      return codes.has('signer.locked');
    };
    await until('it has closed', isClosed, 60_000);
    await signer.close();
  }, 90_000);

  it('closes although somebody asks for version after version of what was approved once', async () => {
    const signer = client({ autoLockMinutes: 4 / 60 });
    await unlock(signer);
    const approved = payment('LTC', ['many-versions']);
    const txids = new Set<string>();
    const isClosed = async () => {
      approved.plan.fee -= 1n;
      approved.plan.outputs.at(-1)!.units += 1n;
      txids.add(
        await signer.sign(approved).then(
          ({ txid }) => txid,
          ({ code }: Rejected) => code,
        ),
      );
      return txids.has('signer.locked');
    };
    await until('it has closed', isClosed, 60_000);
    expect(txids.size).toBeGreaterThan(2);
    await signer.close();
  }, 90_000);

  it('answers all that was asked when its time is over: as before, or that it is locked', async () => {
    const signer = client({ autoLockMinutes: 2 / 60 });
    await unlock(signer);
    const unapproved = payment('LTC', ['never-approved']);
    unapproved.withdrawals[0]!.intent.address = 'elsewhere';
    const answers = new Set<string>();
    const askOn = async (): Promise<void> => {
      while (!answers.has('signer.locked')) answers.add(await codeOf(signer.sign(unapproved)));
    };
    await Promise.all(Array.from({ length: 20 }, askOn));
    expect([...answers]).toEqual(['signer.differs', 'signer.locked']);
    await signer.close();
  });
});
