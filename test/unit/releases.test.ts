/** Notices of releases and signed hashes: what the maker signs, what is believed of it, and what is told. Each test has its own key. */

import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Maker, Releases, readFeed } from '../../daemon/app/operator/releases.ts';
import { message, textOf } from '../../daemon/domain/messages.ts';
import { compareVersions } from '../../daemon/domain/version.ts';
import { openAlerts } from '../../daemon/store/queries/effects.ts';
import { ReleaseNotices } from '../../daemon/workers/releases.ts';
import { selfSigned } from '../nodes/certificate.ts';
import { SocksProxy } from '../nodes/socks-proxy.ts';
import { Bench, HOUR } from './app/bench.ts';
import { cli } from './cli-kit.ts';

const SCRIPT = join(import.meta.dirname, '..', '..', 'daemon', 'launcher', 'release.mjs');
const { signNotices, writeMaker } = (await import(SCRIPT)) as {
  signNotices(folder: string, notices: string, key: string, made: Date): void;
  writeMaker(root: string, env: Record<string, string>): void;
};
const DAY = 24 * HOUR;
const OWN = '0.4.0';
const pemOf = (key: KeyObject): string =>
  key.type === 'private'
    ? (key.export({ type: 'pkcs8', format: 'pem' }) as string)
    : (key.export({ type: 'spki', format: 'pem' }) as string);

const { publicKey, privateKey } = generateKeyPairSync('ed25519');

type Notice = { version: string; security?: boolean; since?: string; text?: string };

/** A feed as the maker's own script signs it. `made`: milliseconds since 1970. */
function feedOf(serial: number, made: number, notices: Notice[], key = privateKey): string {
  const releases = notices.map((one) => ({ date: '2026-01-01', security: false, text: 'It is better.', ...one }));
  const signed = JSON.stringify({ serial, made: new Date(made).toISOString(), releases });
  const signature = sign(null, Buffer.from(`countinghouse releases\n${signed}`), key).toString('base64');
  return JSON.stringify({ signed, signature });
}

describe('versions', () => {
  it('have the order of Semantic Versioning’s own examples', () => {
    const ordered = ['1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.beta', '1.0.0-beta', '1.0.0-beta.2', '1.0.0-beta.11'];
    const all = [...ordered, '1.0.0-rc.1', '1.0.0', '1.0.1', '1.9.0', '1.10.0', '2.0.0'];
    expect(all.toReversed().toSorted(compareVersions)).toEqual(all);
    expect(compareVersions('1.0.0+build.7', '1.0.0')).toBe(0);
    for (const wrong of ['', '1', '1.2', 'v1.2.3', '1.2.3.4', '-1.0.0', '1.0.0-', 'unknown'])
      expect(() => compareVersions(wrong, '1.0.0'), wrong).toThrow(RangeError);
  });

  it('are ordered one way', () => {
    const version = fc
      .tuple(fc.nat(3), fc.nat(3), fc.nat(3), fc.constantFrom('', '-a', '-1', '-a.1', '-10'))
      .map(([a, b, c, tag]) => `${a}.${b}.${c}${tag}`);
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(Math.sign(compareVersions(a, b))).toBe(-Math.sign(compareVersions(b, a)) + 0);
        expect(compareVersions(a, b) === 0).toBe(a === b);
        if (compareVersions(a, b) < 0 && compareVersions(b, c) < 0) expect(compareVersions(a, c)).toBeLessThan(0);
      }),
    );
  });
});

describe('what the feed says', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await Bench.open();
  });
  afterEach(() => bench.app.store.close());
  const on = (version = OWN, maker: Maker = { key: publicKey, feed: 'https://releases.example/releases.json' }) =>
    new Releases(bench.app, version, maker);
  const alerts = () =>
    bench.app.store
      .all(openAlerts, { rank: 0, id: 2 ** 31, limit: 10 })
      .filter(({ kind }) => kind === 'release.security');

  it.each<[string, Notice[], string | null, string | null]>([
    ['nothing', [], null, null],
    ['its own version', [{ version: OWN, security: true }], null, null],
    ['an older one', [{ version: '0.3.9', security: true }], null, null],
    ['a newer one', [{ version: '0.5.0' }], '0.5.0', null],
    ['a security release', [{ version: '0.4.1', security: true }, { version: '0.5.0' }], '0.5.0', '0.4.1'],
    [
      'two of them',
      [
        { version: '0.4.1', security: true },
        { version: '0.4.10', security: true },
      ],
      '0.4.10',
      '0.4.10',
    ],
    ['of a fault that this version has', [{ version: '0.5.0', security: true, since: OWN }], '0.5.0', '0.5.0'],
    ['of a fault that came later', [{ version: '0.5.1', security: true, since: '0.5.0' }], '0.5.1', null],
  ])('names %s', async (_what, notices, newer, security) => {
    const releases = on();
    await releases.take(feedOf(1, bench.app.now(), notices));
    const state = releases.state();
    expect([state.newer?.version ?? null, state.security?.version ?? null]).toEqual([newer, security]);
  });

  it('is told by an alert once, by the doctor always, and by neither after the upgrade', async () => {
    const releases = on();
    await releases.take(feedOf(1, bench.app.now(), [{ version: '0.4.1', security: true, text: 'A link could lie.' }]));
    await releases.tell();
    await releases.tell();
    const words = '0.4.1 is a security release, and this is 0.4.0. A link could lie.';
    expect(alerts().map(({ message }) => textOf(message))).toEqual([
      `${words} Upgrade: nothing is installed by itself`,
    ]);
    expect(releases.findings()).toMatchObject([
      { subject: 'release', level: 'problem', advice: { code: 'advice.upgrade' } },
    ]);
    // another one is another alert, and the operator's no takes neither away
    await releases.take(feedOf(2, bench.app.now(), [{ version: '0.4.2', security: true }]));
    await releases.choose(false);
    await releases.tell();
    expect(alerts()).toHaveLength(1);
    expect(alerts()[0]!.message.values.version).toBe('0.4.2');
    const upgraded = on('0.4.2');
    await upgraded.tell();
    expect(alerts()).toEqual([]);
    expect(upgraded.findings()).toMatchObject([{ level: 'ok' }]);
  });

  const another = generateKeyPairSync('ed25519').privateKey;
  it.each<[string, () => string, RegExp]>([
    ['nothing', () => '', /is no feed/],
    ['a page', () => '<html>', /is no feed/],
    ['other JSON', () => '{"signed": 1, "signature": {}}', /is no feed/],
    ['a deep one', () => `${'['.repeat(30_000)}${']'.repeat(30_000)}`, /is no feed/],
    ['one of another key', () => feedOf(2, 0, [], another), /is not signed by the maker/],
    ['one that was changed', () => feedOf(2, 0, []).replace('serial\\":2', 'serial\\":3'), /is not signed/],
    ['one without a signature', () => JSON.stringify({ signed: '{}', signature: '' }), /is not signed/],
    ['one of another form', () => feedOf(0, 0, []), /has a form that this release does not know/],
    ['a text with control characters', () => feedOf(2, 0, [{ version: '9.0.0', text: 'a\u202eb' }]), /has a form/],
    ['a version that is none', () => feedOf(2, 0, [{ version: 'latest' }]), /has a form/],
  ])('is not %s', async (_what, feed, why) => {
    const releases = on();
    await releases.take(feedOf(1, bench.app.now(), [{ version: '0.4.1', security: true }]));
    await expect(releases.take(feed())).rejects.toThrow(why);
    expect(releases.state().security?.version).toBe('0.4.1');
  });

  it('is not taken back by an older feed, nor by another one of the same number', async () => {
    const releases = on();
    const first = feedOf(6, bench.app.now(), []);
    const bad = feedOf(7, bench.app.now(), [{ version: '0.4.1', security: true }]);
    await releases.take(first);
    await releases.take(bad);
    await expect(releases.take(first)).rejects.toThrow('older than the last one');
    await expect(releases.take(feedOf(7, bench.app.now(), []))).rejects.toThrow('another one of the same number');
    // the same again is no fault, also for a service that was started anew
    await on().take(bad);
    await expect(on().take(first)).rejects.toThrow('older than the last one');
    expect(on().state().security?.version).toBe('0.4.1');
  });

  it('is believed with this package’s key alone', async () => {
    await on().take(feedOf(9, bench.app.now(), [{ version: '0.4.1', security: true }]));
    const other = on(OWN, { key: generateKeyPairSync('ed25519').publicKey, feed: null });
    expect(other.state().security).toBeNull();
    expect(on(OWN, null).state()).toMatchObject({ security: null, feed: null });
    expect(on(OWN, null).findings()[0]!.text.code).toBe('doctor.release_no_key');
    expect(await on(OWN, null).mayAsk()).toBe(false);
  });

  it('is asked for once a day after a yes, and a wrong clock neither hides nor hurries it', async () => {
    const releases = on();
    expect(await releases.mayAsk()).toBe(false);
    await releases.choose(true);
    expect(await releases.mayAsk()).toBe(true);
    expect(await releases.mayAsk()).toBe(false);
    await releases.failed('it does not answer');
    bench.advance(DAY - 1);
    expect(await on().mayAsk()).toBe(false);
    bench.advance(1);
    expect(await on().mayAsk()).toBe(true);
    // the clock was a year ahead, and is set right
    bench.advance(365 * DAY);
    expect(await releases.mayAsk()).toBe(true);
    bench.advance(-365 * DAY);
    expect(await releases.mayAsk()).toBe(true);
    expect(await releases.mayAsk()).toBe(false);
    await releases.choose(false);
    bench.advance(DAY);
    expect(await releases.mayAsk()).toBe(false);
  });

  it('that is old, or of a time to come, is a warning and holds all the same', async () => {
    const releases = on();
    await releases.choose(true);
    await releases.take(feedOf(1, bench.app.now() - 61 * DAY, []));
    expect(releases.findings()).toMatchObject([{ level: 'warning', text: { code: 'doctor.release_old' } }]);
    await releases.take(feedOf(2, bench.app.now() + 2 * DAY, []));
    expect(releases.findings()).toMatchObject([{ level: 'warning', text: { code: 'doctor.release_future' } }]);
    await releases.take(feedOf(3, bench.app.now() + 2 * DAY, [{ version: '0.4.1', security: true }]));
    expect(releases.findings()).toMatchObject([{ level: 'problem', text: { code: 'release.security' } }]);
  });

  it('that does not come for a week is a warning', async () => {
    const releases = on();
    await releases.choose(true);
    await releases.take(feedOf(1, bench.app.now(), []));
    await releases.mayAsk();
    await releases.failed('no answer');
    bench.advance(7 * DAY);
    expect(releases.findings()[0]).toMatchObject({ level: 'ok' });
    bench.advance(1);
    expect(releases.findings()[0]).toMatchObject({
      level: 'warning',
      text: message('doctor.release_unreached', { reason: 'no answer' }),
    });
  });
});

describe('the question', () => {
  let server: Server;
  let answer: (response: ServerResponse) => void;
  let asked: { url: string; agent: string }[];
  let bench: Bench;
  let port: number;
  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push({ url: request.url ?? '', agent: request.headers['user-agent'] ?? '' });
      response.on('error', () => {});
      answer(response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    asked = [];
  });
  afterEach(() => bench?.app.store.close());

  /** One that was said yes to. */
  async function open(flags: Record<string, string> = {}, at = `http://127.0.0.1:${port}`, answerMs?: number) {
    bench = await Bench.open('BTC', flags);
    const releases = new Releases(bench.app, OWN, { key: publicKey, feed: `${at}/releases.json` });
    await releases.choose(true);
    return { releases, notices: new ReleaseNotices(bench.app, releases, answerMs) };
  }

  async function proxyTo(behind: number): Promise<SocksProxy> {
    const proxy = await SocksProxy.to(behind);
    onTestFinished(() => proxy.close());
    return proxy;
  }

  it('is asked once a day, and says nothing about this service', async () => {
    const { releases, notices } = await open();
    answer = (response) => response.end(feedOf(1, bench.app.now(), [{ version: '0.4.1', security: true }]));
    await Promise.all([notices.look(), notices.look()]);
    await notices.lookAgain();
    expect(asked).toEqual([{ url: '/releases.json', agent: 'Countinghouse' }]);
    expect(releases.state()).toMatchObject({ problem: null, security: { version: '0.4.1' } });
    bench.advance(DAY);
    await notices.look();
    expect(asked).toHaveLength(2);
  });

  it.each([
    ['releases.socks_proxy', {}],
    ['electrum.socks_proxy', { 'electrum.proxy_for': 'all' }],
    ['monero.socks_proxy', { 'monero.proxy_for': 'all' }],
  ])('goes through %s, which resolves the name', async (key, more) => {
    const proxy = await proxyTo(port);
    const { releases, notices } = await open({ [key]: proxy.url, ...more }, `http://feed.invalid:${port}`);
    answer = (response) => response.end(feedOf(1, bench.app.now(), []));
    await notices.look();
    expect(releases.state()).toMatchObject({ problem: null, madeAt: new Date(bench.app.now()).toISOString() });
    expect(proxy.asked).toEqual([`feed.invalid:${port}`]);
  });

  it('asks a server of many names by its own through a proxy', async () => {
    const before = getCACertificates('default');
    const { key, cert } = selfSigned({ host: 'feed.invalid' });
    onTestFinished(() => setDefaultCACertificates(before));
    setDefaultCACertificates([...before, cert]);
    const hosts: (string | undefined)[] = [];
    const secure = createSecure({ key, cert }, (request, response) => {
      hosts.push(request.headers.host);
      response.end(feedOf(1, bench.app.now(), []));
    });
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      secure.close();
    });
    const proxy = await proxyTo((secure.address() as AddressInfo).port);
    const { releases, notices } = await open({ 'releases.socks_proxy': proxy.url }, 'https://feed.invalid');
    await notices.look();
    expect([releases.state().problem, hosts, proxy.asked]).toEqual([null, ['feed.invalid'], ['feed.invalid:443']]);
  });

  it('goes nowhere else while its proxy is away', async () => {
    const proxy = await SocksProxy.to(port);
    const { url } = proxy;
    await proxy.close();
    const { releases, notices } = await open({ 'releases.socks_proxy': url });
    await notices.look();
    expect(releases.state().problem).toBe('the proxy could not connect');
    expect(asked).toEqual([]);
  });

  /** A limit that is too short for a slow machine only where nothing comes anyway. */
  const SOON = 500;
  it.each<[string, (response: ServerResponse) => void, RegExp, number?]>([
    [
      'without an end',
      (response) => {
        const more = (): void => {
          while (!response.destroyed && response.write('x'.repeat(10_000)));
          if (!response.destroyed) response.once('drain', more);
        };
        more();
      },
      /longer than 65536 bytes/,
    ],
    ['that never comes', () => {}, /no answer within/, SOON],
    ['that stops in the middle', (response) => void response.write('{"signed"'), /no answer within/, SOON],
    ['that is cut', (response) => void response.write('{"sig', () => response.destroy()), /cut|failed/],
    ['that leads elsewhere', (response) => response.writeHead(302, { location: '/other' }).end(), /status 302/],
    ['of a server in trouble', (response) => response.writeHead(503).end(), /status 503/],
    ['in other words', (response) => response.end('<html>'), /is no feed/],
  ])('ends with an answer %s, and keeps what is known', async (_what, wrong, why, answerMs) => {
    const { releases, notices } = await open({}, undefined, answerMs);
    await releases.take(feedOf(1, bench.app.now(), [{ version: '0.4.1', security: true }]));
    answer = wrong;
    await notices.look();
    expect(releases.state().problem).toMatch(why);
    expect(releases.state().security?.version).toBe('0.4.1');
    expect(asked).toHaveLength(1);
    await notices.stop();
    server.closeAllConnections();
  });
});

describe('the maker’s script, and `countinghouse verify`', () => {
  let base: string;
  let folder: string;
  let key: string;
  let open: string;
  const NAMES = ['countinghouse-0.4.1.tgz', 'countinghouse_0.4.1_amd64.deb'];
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'release-'));
    folder = join(base, 'packages');
    key = join(base, 'maker.pem');
    open = join(base, 'maker.pub');
    await mkdir(folder);
    await writeFile(key, pemOf(privateKey));
    await writeFile(open, pemOf(publicKey));
    for (const name of NAMES) await writeFile(join(folder, name), `package ${name}`);
    const env = { ...process.env, COUNTINGHOUSE_UPDATE_KEY: key };
    execFileSync(process.execPath, [SCRIPT, folder], { env, stdio: 'ignore' });
  });
  afterEach(() => rm(base, { recursive: true, force: true }));
  const files = (): string[] => NAMES.map((name) => join(folder, name));
  const verify = (...more: string[]) => cli(folder, ['--json', 'verify', ...more]);

  it('agree about packages', async () => {
    const { code, out } = await verify(...files(), '--key', open);
    expect(JSON.parse(out)).toMatchObject({ files: files().map((file) => ({ file, verdict: 'as_published' })) });
    expect(code).toBe(0);
    // so do the tools that everybody has
    execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder });
  });

  it('find one that was changed, and one that is not of the release', async () => {
    await writeFile(files()[0]!, 'another package');
    await rename(files()[1]!, join(folder, 'countinghouse_0.4.2_amd64.deb'));
    const { code, out } = await verify(files()[0]!, join(folder, 'countinghouse_0.4.2_amd64.deb'), '--key', open);
    expect(JSON.parse(out)).toMatchObject({ files: [{ verdict: 'changed' }, { verdict: 'not_listed' }] });
    expect(code).toBe(1);
    const people = await cli(folder, ['verify', files()[0]!, '--key', open]);
    expect(people.out).toContain('CHANGED: do not install it');
  });

  it.each<[string, () => Promise<unknown>, RegExp]>([
    [
      'a list that was changed',
      () => writeFile(join(folder, 'SHA256SUMS'), `${'0'.repeat(64)}  ${NAMES[0]}\n`),
      /not signed with/,
    ],
    ['a signature that is none', () => writeFile(join(folder, 'SHA256SUMS.sig'), 'AAAA'), /not signed with the key/],
    ['no signature', () => rm(join(folder, 'SHA256SUMS.sig')), /signature cannot be read/],
    ['the key of another', () => writeFile(open, pemOf(generateKeyPairSync('ed25519').publicKey)), /not signed with/],
    ['a private key', () => writeFile(open, pemOf(privateKey)), /it is a private key/],
    [
      'a key of another kind',
      () => writeFile(open, pemOf(generateKeyPairSync('x25519').publicKey)),
      /x25519, not of Ed25519/,
    ],
    ['what is no key', () => writeFile(open, 'key'), /no public key in PEM/],
  ])('believe nothing with %s', async (_what, spoil, why) => {
    await spoil();
    const { code, out, err } = await verify(files()[0]!, '--key', open);
    expect(JSON.parse(err).error.message).toMatch(why);
    expect([code, out]).toEqual([1, '']);
  });

  it('say that a clone has no key to verify with', async () => {
    const { code, err } = await cli(folder, ['verify', files()[0]!]);
    expect(err).toMatch(/^error: this package has no key of a maker.*Give --key FILE/);
    expect(code).toBe(1);
  });

  it('never take the signature of a list for that of a feed', async () => {
    const signed = await readFile(join(folder, 'SHA256SUMS'), 'utf8');
    const signature = (await readFile(join(folder, 'SHA256SUMS.sig'), 'utf8')).trim();
    expect(() => readFeed(JSON.stringify({ signed, signature }), publicKey)).toThrow('is not signed by the maker');
  });

  it('agree about notices, and sign none of a wrong form', async () => {
    const notices = join(folder, 'notices.json');
    const release = { version: '0.4.1', date: '2026-01-02', security: true, since: '0.2.0', text: 'A fix.' };
    await writeFile(notices, JSON.stringify({ serial: 3, releases: [release] }));
    signNotices(folder, notices, key, new Date('2026-01-02T03:04:05Z'));
    const feed = await readFile(join(folder, 'releases.json'), 'utf8');
    expect(readFeed(feed, publicKey)).toEqual({ serial: 3, made: '2026-01-02T03:04:05.000Z', releases: [release] });
    for (const wrong of [
      { version: 'v1' },
      { date: 'today' },
      { security: 'yes' },
      { since: '1' },
      { text: '' },
      { text: 'a\nb' },
    ]) {
      await writeFile(notices, JSON.stringify({ serial: 4, releases: [{ ...release, ...wrong }] }));
      expect(() => signNotices(folder, notices, key, new Date(0)), JSON.stringify(wrong)).toThrow('a notice is wrong');
    }
  });

  it('write the public key alone into a package', async () => {
    const path = join(folder, 'dist', 'release.json');
    await mkdir(join(folder, 'dist'));
    writeMaker(folder, { COUNTINGHOUSE_UPDATE_KEY: key, COUNTINGHOUSE_UPDATES: 'https://releases.example/a/' });
    const told = await readFile(path, 'utf8');
    expect(JSON.parse(told)).toEqual({ key: pemOf(publicKey), feed: 'https://releases.example/a/releases.json' });
    expect(told).not.toContain('PRIVATE');
    expect(() => writeMaker(folder, { COUNTINGHOUSE_UPDATE_KEY: key, COUNTINGHOUSE_UPDATES: 'http://a' })).toThrow(
      'no https',
    );
    writeMaker(folder, {});
    await expect(readFile(path)).rejects.toThrow('ENOENT');
  });
});
