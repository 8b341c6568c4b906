import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Entrance } from '../../../daemon/http/console/entrance.ts';

type Args = ConstructorParameters<typeof Entrance>;

const entrance = (atTill: boolean): Entrance => {
  const app = { now: () => 0, log: { warn: () => {}, info: () => {} } } as unknown as Args[0];
  return new Entrance(app, {} as Args[1], {} as Args[2], atTill);
};
const from = (remoteAddress: string): Parameters<Entrance['signIn']>[0] =>
  Object.assign(Readable.from([Buffer.from('{}')]), {
    socket: { remoteAddress },
    headers: { 'content-type': 'application/json', 'content-length': '2' },
  }) as never;

describe('sign-ins', () => {
  it('of a till are limited by whole address, also where all devices share one /64', async () => {
    const till = entrance(true);
    const statuses: number[] = [];
    for (let i = 0; i < 21; i++) statuses.push((await till.signIn(from('2001:db8::7'))).status);
    expect([statuses[19], statuses[20]]).toEqual([403, 429]);
    expect((await till.signIn(from('2001:db8::8'))).status).toBe(403);
  });

  it('to the console are limited together', async () => {
    const desk = entrance(false);
    for (let i = 0; i < 20; i++) await desk.signIn(from(`127.0.0.${i}`));
    expect((await desk.signIn(from('127.0.0.99'))).status).toBe(429);
  });
});
