/** What `doctor` finds, and what it says is to be done. */

import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { saveJobDone } from '../../daemon/app/job-times.ts';
import { examine, noteDrill } from '../../daemon/app/operator/doctor.ts';
import { tellClock } from '../../daemon/app/operator/watchdog.ts';
import { daysUntilFull, noteSize } from '../../daemon/app/storage.ts';
import { textIn, textOf } from '../../daemon/domain/messages.ts';
import { OtherClocks } from '../../daemon/rates/other-clocks.ts';
import { openAlerts } from '../../daemon/store/queries/effects.ts';
import { seal } from '../../daemon/wallet/sealed-file.ts';
import { SignerClient } from '../../daemon/wallet/signer/client.ts';
import { selfSigned } from '../nodes/certificate.ts';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { Bench } from '../unit/app/bench.ts';
import { cli } from '../unit/cli-kit.ts';

const DAY = 86_400_000;
const MINUTE = 60_000;

const NOBODY = 65_534;

describe('doctor of a running service', () => {
  let service: TestDaemon;
  beforeAll(async () => {
    service = await startTestDaemon();
  });
  afterAll(() => service?.stop());

  it('finds nothing wrong with a fresh sandbox, and ends with 0', async () => {
    const told = await cli(service.dataDir, ['--json', 'doctor']);
    const { findings } = JSON.parse(told.out) as { findings: { subject: string; level: string }[] };
    expect(findings.filter(({ level }) => level !== 'ok')).toEqual([]);
    expect(findings.map(({ subject }) => subject)).toEqual(
      expect.arrayContaining(['clock', 'disk', 'permissions', 'addresses', 'sources', 'backup', 'books', 'wallet']),
    );
    expect(told.code).toBe(0);
  });

  it('says nothing of servers while no chain has any', async () => {
    const { out } = await cli(service.dataDir, ['source', 'list']);
    expect(out).toMatch(/^NETWORK +CHAIN +.*\n(?:sandbox +\w+ +sandbox .* ok\n)+$/);
  });

  it('finds a folder that others may read, and ends with 1', async () => {
    await chmod(service.dataDir, 0o755);
    const told = await cli(service.dataDir, ['doctor']);
    await chmod(service.dataDir, 0o700);
    expect(told.out).toMatch(/^PROBLEM +permissions +others may enter or read .*\n +to do: .*chmod -R go= /m);
    expect(told.code).toBe(1);
  });

  if (process.getuid?.() === 0) {
    it('finds files of another user in the wallet, which a service could not read', async () => {
      const file = join(service.dataDir, 'vault', 'wallet.json');
      await writeFile(file, '{}');
      await chown(file, NOBODY, NOBODY);
      const told = await cli(service.dataDir, ['doctor']);
      await rm(file);
      expect(told.out).toContain(`the service cannot read files of another user: ${file}`);
      expect(told.out).toContain(`chown -R 0:0 ${service.dataDir}`);
      expect(told.out).toMatch(/PROBLEM +wallet +could not be looked at: .*\n(?:.*\n)*ok +alerts/);
    });
  }
});

describe('doctor while nothing runs', () => {
  it('says so, and what is wrong with the configuration', async () => {
    const service = await startTestDaemon();
    await service.daemon.stop();
    await writeFile(join(service.dataDir, 'countinghouse.toml'), 'prot = 1\n');
    const told = await cli(service.dataDir, ['doctor']);
    expect(told.out).toMatch(/PROBLEM +service +none runs on/);
    expect(told.out).toMatch(/PROBLEM +configuration +.*did you mean port\?/);
    expect(told.out).toMatch(/ok +permissions /);
    if (process.getuid?.() === 0) {
      // a service whose upgrade cannot read its wallet is not running
      const file = join(service.dataDir, 'countinghouse.db');
      await chown(file, NOBODY, NOBODY);
      const foreign = await cli(service.dataDir, ['doctor']);
      await chown(file, 0, 0);
      expect(foreign.out).toMatch(
        /PROBLEM +permissions +the service cannot read files of another user: .*countinghouse\.db/,
      );
      expect(foreign.out).toContain(`chown -R 0:0 ${service.dataDir}`);
    }
    await service.resume().catch(() => undefined);
    await service.stop();
  });
});

describe('with real money', () => {
  const found = async (bench: Bench, subject: string) =>
    (await examine(bench.app, '/nonexistent'))
      .filter((finding) => finding.subject === subject)
      .map((finding) => ({ ...finding, text: textOf(finding.text), advice: textIn(finding.advice) }));
  /** Without a signer's process the wallet cannot be asked. */
  const open = async (config: Record<string, string> = {}) => {
    const bench = await Bench.open('BTC', config);
    Object.assign(bench.app, { signer: { status: async () => ({ state: 'locked', fingerprint: '73c5da0a' }) } });
    bench.app.publicUrl = config.public_url ?? 'http://127.0.0.1:8480';
    return bench;
  };

  it('a clock that is an hour off is a problem and an alert, until it is set right', async () => {
    const bench = await open();
    const { otherClocks } = bench.app.rates;
    const answer = (aheadMs: number) => {
      for (const name of ['a', 'b', 'c']) otherClocks.note(name, new Date(bench.at - aheadMs).toUTCString(), bench.at);
    };
    answer(60 * MINUTE);
    expect(await found(bench, 'clock')).toMatchObject([
      { level: 'problem', text: expect.stringMatching(/^60 minutes ahead/) },
    ]);
    await tellClock(bench.app);
    const told = () => bench.app.store.all(openAlerts, { rank: 0, id: 2 ** 40, limit: 9 });
    const kinds = () => told().map(({ kind }) => kind);
    expect(told()).toMatchObject([{ kind: 'clock.wrong', message: { code: 'clock.ahead', values: { minutes: 60 } } }]);
    otherClocks.clear();
    answer(-10_000);
    await tellClock(bench.app);
    expect([kinds(), (await found(bench, 'clock'))[0]!.level]).toEqual([[], 'ok']);
  });

  it.each([
    { software: 'ElectrumX 1.16.0, protocol 1.4.2', slowed: true, level: 'warning' },
    { software: 'ElectrumX 1.16.0, protocol 1.4.2', slowed: false, level: undefined },
    { software: 'Fulcrum 1.9.8, protocol 1.4.2', slowed: true, level: undefined },
    { software: null, slowed: true, level: undefined },
  ])('$software that slows down: $slowed is told: $level', async ({ software, slowed, level }) => {
    const bench = await open();
    Object.assign(bench.chain.adapter, { servers: () => [{ name: 'tcp://own.example:50001', software, slowed }] });
    const [told] = (await found(bench, 'sources')).filter(({ advice }) =>
      advice?.includes('COST_SOFT_LIMIT=0 and COST_HARD_LIMIT=0'),
    );
    expect(told?.level).toBe(level);
    if (told) expect(told.text).toContain('tcp://own.example:50001 slows its answers down');
  });

  it('one source whose clock is wrong says nothing, nor do two', () => {
    const clocks = new OtherClocks();
    clocks.note('a', 'Thu, 01 Jan 1970 00:00:00 GMT', 1e12);
    clocks.note('b', 'not a date', 1e12);
    clocks.note('c', null, 1e12);
    expect(clocks.aheadMs()).toBeNull();
    for (const name of ['b', 'c']) clocks.note(name, new Date(1e12).toUTCString(), 1e12);
    expect(clocks.aheadMs()).toBe(0);
  });

  it('a node without a mempool, or of an unsound release, is named with what is to be done', async () => {
    const bench = await open();
    const health = bench.chain.adapter.health.bind(bench.chain.adapter);
    bench.chain.adapter.health = () => ({ ...health(), concerns: ['blocks_only', 'old_litecoin'] });
    expect((await found(bench, 'sources')).filter(({ level }) => level === 'warning')).toMatchObject([
      {
        text: expect.stringMatching(/^mainnet BTC: the node runs with -blocksonly/),
        advice: 'start the node without -blocksonly',
      },
      { text: expect.stringMatching(/0\.21\.5\.4/), advice: 'bring the node up to the newest Litecoin Core' },
    ]);
  });

  it('a separate signer that does not answer is a problem, and not a locked wallet', async () => {
    const bench = await open();
    expect(await found(bench, 'wallet')).toMatchObject([{ level: 'ok', text: 'locked' }]);
    const client = new SignerClient({
      folder: '/nonexistent',
      remote: '/nonexistent/signer.sock',
      autoLockMinutes: 0,
      log: () => {},
      source: () => ({ kind: 'prompt' }),
      sandbox: { sign: () => Promise.reject(new Error('no sandbox here')) },
    });
    Object.assign(bench.app, { signer: client });
    expect(await found(bench, 'wallet')).toMatchObject([
      {
        level: 'problem',
        text: 'the separate signer does not answer, or is of another release',
        advice: expect.stringContaining('systemctl start countinghouse-signer'),
      },
    ]);
    await client.close();
  });

  it.each([
    [100, ['ok']],
    [200, ['ok', 'warning']],
    [384, ['ok', 'problem']],
  ])('a record of signatures of %i MB is told before it takes none without an approval', async (megabytes, levels) => {
    const bench = await open();
    const status = await bench.app.signer.status();
    const journalBytes = megabytes * 1_048_576;
    Object.assign(bench.app, { signer: { status: async () => ({ ...status, journalBytes }) } });
    const told = await found(bench, 'wallet');
    expect(told.map(({ level }) => level)).toEqual(levels);
    if (levels.length > 1) {
      expect(told[1]!.text).toContain(`${megabytes} MB`);
      expect(told[1]!.advice).toContain('new words');
    }
  });

  it('a drill is remembered, and too old after three months', async () => {
    const bench = await open();
    expect((await found(bench, 'drill'))[0]?.level).toBe('warning');
    await bench.app.store.write((tx) => noteDrill(tx, bench.at));
    expect((await found(bench, 'drill'))[0]?.level).toBe('ok');
    bench.at += 91 * DAY;
    expect((await found(bench, 'drill'))[0]?.level).toBe('warning');
    // noted while the clock was ten years ahead
    await bench.app.store.write((tx) => noteDrill(tx, bench.at + 3_650 * DAY));
    expect((await found(bench, 'drill'))[0]?.level).toBe('warning');
  });

  it('the backups are those in the folder, whatever the job says and the clock was', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'countinghouse-doctor-'));
    const bench = await open({ 'backup.folder': folder });
    const { publicKey } = generateKeyPairSync('x25519');
    const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
    const make = async (name: string, at: number) => {
      const { sealed } = await seal(Readable.from([Buffer.alloc(100)]), 100, raw, 'a'.repeat(8), at);
      await pipeline(sealed, createWriteStream(join(folder, name)));
    };
    const told = async () => (await found(bench, 'backup'))[0];
    // the job was registered, and has made none
    await saveJobDone(bench.app, 'backup', bench.at);
    expect(await told()).toMatchObject({ level: 'problem', text: `there is none in ${folder}` });
    await make('countinghouse-20360101-030000.backup', bench.at + 3_650 * DAY);
    await writeFile(join(folder, 'countinghouse-20300102-030000.backup'), 'cut off');
    expect(await told()).toMatchObject({ level: 'problem', text: `there is none in ${folder}` });
    await make('countinghouse-20300101-030000.backup', bench.at - DAY);
    expect(await told()).toMatchObject({ level: 'ok', text: expect.stringMatching(/^made on /) });
    bench.at += 2 * DAY;
    await saveJobDone(bench.app, 'backup', bench.at);
    expect(await told()).toMatchObject({ level: 'problem', text: expect.stringMatching(/^the last one is of /) });
    await rm(folder, { recursive: true });
    expect(await told()).toMatchObject({ level: 'problem', advice: 'is its disk mounted?' });
  });

  it('no backup, no way to be told, and a page without TLS are named', async () => {
    const bench = await open({ public_url: 'http://pay.example.com' });
    expect(await found(bench, 'backup')).toMatchObject([{ level: 'problem', text: 'none is made by itself' }]);
    expect(await found(bench, 'addresses')).toMatchObject([
      { level: 'problem', text: expect.stringContaining('no TLS') },
    ]);
    expect((await found(bench, 'alerts')).map(({ text }) => text)).toContain('they reach nobody by themselves');
    expect((await found(bench, 'proxies'))[0]?.level).toBe('warning');
  });

  it('a disk that fills at the pace of the last weeks is foretold', async () => {
    const bench = await open();
    Object.defineProperty(bench.app.store, 'size', { value: () => (bench.at / DAY) * 10_000_000 });
    Object.defineProperty(bench.app.store, 'health', {
      value: () => ({ freeBytes: free, logBytes: 0, logStuck: null, trouble: null }),
    });
    let free = 300_000_000;
    for (let day = 0; day < 40; day++) {
      await noteSize(bench.app);
      if (day < 7) expect(daysUntilFull(bench.app)).toBeNull();
      bench.at += DAY;
    }
    expect(daysUntilFull(bench.app)).toBe(30);
    expect(await found(bench, 'disk')).toMatchObject([
      { level: 'warning', text: expect.stringContaining('full in 30 days') },
    ]);
    free = 400_000_000_000_000;
    const [far] = await found(bench, 'disk');
    expect(far).toMatchObject({ level: 'ok', text: expect.stringMatching(/enough for more than five years/) });
  });

  it('a certificate that browsers refuse is a problem', async () => {
    const server = createServer(selfSigned(), () => {}).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const bench = await open({ public_url: `https://localhost:${(server.address() as AddressInfo).port}` });
    expect(await found(bench, 'certificate')).toMatchObject([
      { level: 'problem', text: expect.stringContaining('browsers refuse') },
    ]);
    server.close();
  });
});
