/** How guessing is slowed down, by a clock that the test moves. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { Rejected, Unavailable } from '../../../daemon/domain/errors.ts';
import { attempt, retryAfterSeconds } from '../../../daemon/wallet/signer/attempts.ts';
import { ATTEMPTS_FILE } from '../../../daemon/wallet/signer/files.ts';

const root = await mkdtemp(join(tmpdir(), 'attempts-'));
afterAll(() => rm(root, { recursive: true }));

let folder: string;
let now: number;
beforeEach(async () => {
  folder = await mkdtemp(join(root, 'a-'));
  now = Date.UTC(2030, 0);
});

const wrong = new Rejected('vault.passphrase', 'wrong');
const make = (result: Error | 'open'): Promise<unknown> =>
  attempt(
    folder,
    () => now,
    async () => {
      if (result instanceof Error) throw result;
      return result;
    },
    (error) => error === wrong,
  ).catch((error: unknown) => error);
const wait = (): Promise<number> => retryAfterSeconds(folder, now);

describe('wrong passphrases', () => {
  it('are free three times, and then each waits twice as long as the one before, up to 15 minutes', async () => {
    const waits: number[] = [];
    for (let n = 0; n < 16; n++) {
      expect(await make(wrong)).toBe(wrong);
      waits.push(await wait());
      now += (waits.at(-1) ?? 0) * 1_000;
    }
    expect(waits).toEqual([0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900]);
  });

  it('are forgotten when one is right, which is not tried before its time', async () => {
    for (let n = 0; n < 4; n++) {
      await make(wrong);
      now += n < 3 ? 5_000 : 1_999;
    }
    const early = await make('open');
    expect(early).toBeInstanceOf(Unavailable);
    expect((early as Unavailable).retryAfterSeconds).toBe(1);
    now += 1;
    expect(await make('open')).toBe('open');
    for (let n = 0; n < 3; n++) expect(await make(wrong)).toBe(wrong);
  });

  it('are counted before they are tried: a kill in between gives none for free', async () => {
    let seen = -1;
    for (let n = 0; n < 3; n++) await make(wrong);
    now += 60_000;
    const look = async (): Promise<never> => {
      seen = await wait();
      throw wrong;
    };
    await attempt(
      folder,
      () => now,
      look,
      () => true,
    ).catch(() => {});
    expect(seen).toBe(2);
  });

  it('are counted one after the other where many are tried at once', async () => {
    const ends = await Promise.all(Array.from({ length: 20 }, () => make(wrong)));
    expect(ends.filter((end) => end === wrong)).toHaveLength(3);
    expect(ends.filter((end) => end instanceof Unavailable)).toHaveLength(17);
  });

  it('are not what fails for another reason', async () => {
    const full = new Error('the disk is full');
    for (let n = 0; n < 9; n++) expect(await make(full)).toBe(full);
    expect(await wait()).toBe(0);
  });

  it('wait no longer when the clock was set back', async () => {
    for (let n = 0; n < 5; n++) {
      await make(wrong);
      now += 10_000;
    }
    now -= 86_400_000;
    expect(await wait()).toBe(4);
  });

  it('are none in a file that cannot be read', async () => {
    await writeFile(join(folder, ATTEMPTS_FILE), '{"wrong":-1}');
    expect(await make('open')).toBe('open');
  });
});
