import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Entrance } from '../../../daemon/http/console/entrance.ts';

type Args = ConstructorParameters<typeof Entrance>;

const entrance = (atTill: boolean, trustedProxies = ['127.0.0.1', '10.0.0.0/8']): Entrance => {
  const config = { trustedProxies };
  const app = { now: () => 0, config, log: { warn: () => {}, info: () => {} } } as unknown as Args[0];
  return new Entrance(app, {} as Args[1], {} as Args[2], atTill);
};
const from = (remoteAddress: string, forwarded?: string): Parameters<Entrance['signIn']>[0] =>
  Object.assign(Readable.from([Buffer.from('{}')]), {
    socket: { remoteAddress },
    headers: { 'content-type': 'application/json', 'content-length': '2', 'x-forwarded-for': forwarded },
  }) as never;

describe('sign-ins', () => {
  it('of a till are limited by whole address, also where all devices share one /64', async () => {
    const till = entrance(true);
    const statuses: number[] = [];
    for (let i = 0; i < 21; i++) statuses.push((await till.signIn(from('2001:db8::7'))).status);
    expect([statuses[19], statuses[20]]).toEqual([403, 429]);
    expect((await till.signIn(from('2001:db8::8'))).status).toBe(403);
  });

  it('to the console are limited by the device that a trusted proxy names, whatever the device says', async () => {
    const desk = entrance(false);
    const status = async (...args: Parameters<typeof from>) => (await desk.signIn(from(...args))).status;
    for (let i = 0; i < 20; i++) await status('127.0.0.1', `192.0.2.${i}, 198.51.100.7, 10.0.0.2`);
    expect(await status('127.0.0.1', '192.0.2.99, 198.51.100.7')).toBe(429);
    expect(await status('127.0.0.1', '198.51.100.8')).toBe(403);
    for (let i = 0; i < 20; i++) await status('127.0.0.1', `2001:db8::${i}`);
    expect(await status('127.0.0.1', '2001:db8::99')).toBe(429);
    expect(await status('127.0.0.1', '2001:db8:0:1::1')).toBe(403);
  });

  it.each(['::ffff:10.0.0.0/104', '::ffff:10.0.0.2', '10.0.0.2'])(
    'to the console go by the proxies that the payment page trusts, also by %s',
    async (trusted) => {
      const desk = entrance(false, [trusted]);
      for (let i = 0; i < 20; i++) await desk.signIn(from('::ffff:10.0.0.2', '198.51.100.7'));
      expect((await desk.signIn(from('10.0.0.2', '198.51.100.7'))).status).toBe(429);
      expect((await desk.signIn(from('10.0.0.2', '198.51.100.8'))).status).toBe(403);
    },
  );

  it('to the console of which a proxy says no address share one limit', async () => {
    const desk = entrance(false);
    for (let i = 0; i < 20; i++) await desk.signIn(from('127.0.0.1', `198.51.100.7, unknown${i}`));
    expect((await desk.signIn(from('127.0.0.1', '198.51.100.7, 198.51.100.8:443'))).status).toBe(429);
    expect((await desk.signIn(from('127.0.0.1', '198.51.100.7'))).status).toBe(403);
  });

  it('to the console through no trusted proxy are limited by the address that connects', async () => {
    const desk = entrance(false);
    for (let i = 0; i < 20; i++) await desk.signIn(from('127.0.0.2', `192.0.2.${i}`));
    expect((await desk.signIn(from('127.0.0.2', '192.0.2.99'))).status).toBe(429);
  });
});
