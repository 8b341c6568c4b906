/** Notices of releases in a running service: the command line, the doctor, the alerts, and what stays after a restart. */
import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { version } from '../../daemon/cli/version.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { cli } from '../unit/cli-kit.ts';

const DAY = 86_400_000;
const { publicKey, privateKey } = generateKeyPairSync('ed25519');

describe('a service whose package names a maker', () => {
  let server: Server;
  let service: TestDaemon;
  let asked = 0;
  let feed = '';
  const publish = (serial: number, releases: object[]): void => {
    const signed = JSON.stringify({ serial, made: new Date(service.now()).toISOString(), releases });
    const signature = sign(null, Buffer.from(`countinghouse releases\n${signed}`), privateKey).toString('base64');
    feed = JSON.stringify({ signed, signature });
  };
  const run = async (...argv: string[]) => cli(service.dataDir, argv);
  const doctor = async (): Promise<string> =>
    (await run('doctor')).out.split('\n').find((line) => / release /.test(line))!;
  const alerts = async (): Promise<string> => (await run('alert', 'list')).out;

  beforeAll(async () => {
    server = createServer((_request, response) => {
      asked++;
      response.end(feed);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    service = await startTestDaemon('', null, { key: publicKey, feed: `http://127.0.0.1:${port}/releases.json` });
  });
  afterAll(async () => {
    await service?.stop();
    server?.close();
  });

  it('asks nothing before the operator says yes', async () => {
    publish(1, [{ version: '9.0.0', date: '2026-01-01', security: false, text: 'New.' }]);
    service.advance(3 * DAY);
    await service.restart();
    expect(await doctor()).toContain('newer ones are not asked for (`countinghouse releases on` does, once a day)');
    expect((await run('releases')).out).toContain('not asked for; `countinghouse releases on` asks http://127.0.0.1:');
    expect(asked).toBe(0);
  });

  it('asks at a yes, and not again within a day, also after a restart', async () => {
    expect((await run('releases', 'on')).out).toMatch(/Newest +9\.0\.0 of 2026-01-01: New\./);
    expect(await doctor()).toMatch(/^ok +release +9\.0\.0 is out; this is /);
    expect(await alerts()).not.toContain('release.security');
    await service.restart();
    await run('releases', 'off');
    await run('releases', 'on');
    expect(asked).toBe(1);
  });

  it('tells of a security release in the doctor, by an alert and by its command', async () => {
    publish(2, [{ version: '9.0.1', date: '2026-01-02', security: true, text: 'A payer could lie.' }]);
    service.advance(DAY);
    await service.restart();
    await until('the alert is raised', async () => (await alerts()).includes('9.0.1'));
    const words = `9.0.1 is a security release, and this is ${version()}. A payer could lie.`;
    expect(await alerts()).toContain(words);
    expect(await doctor()).toMatch(/^PROBLEM +release /);
    expect(await doctor()).toContain(words);
    expect((await run('doctor')).code).toBe(1);
    expect((await run('releases')).out).toMatch(/Security release +9\.0\.1 of 2026-01-02: A payer could lie\./);
    expect(asked).toBe(2);
  });

  it('is not led back by an older feed, and says what is wrong', async () => {
    publish(1, []);
    service.advance(DAY);
    await service.restart();
    await until('it has asked', async () =>
      (await run('releases')).out.includes('the feed is older than the last one'),
    );
    expect(await doctor()).toMatch(/^PROBLEM +release +9\.0\.1 is a security release/);
    expect(asked).toBe(3);
  });
});
