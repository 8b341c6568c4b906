import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { HeaderChain, type HeaderChainOptions } from '../../../daemon/chains/utxo/electrum/headers/chain.ts';
import { HeaderFile } from '../../../daemon/chains/utxo/electrum/headers/file.ts';
import { type HeaderRules, rulesOf } from '../../../daemon/chains/utxo/electrum/headers/rules.ts';
import { HeaderSync } from '../../../daemon/chains/utxo/electrum/headers/sync.ts';
import { bitsOfTarget, targetOfBits } from '../../../daemon/chains/utxo/electrum/headers/target.ts';
import { HEADERS_PER_CALL_MAX, type HeaderFault } from '../../../daemon/chains/utxo/electrum/headers/types.ts';
import type { Server } from '../../../daemon/chains/utxo/electrum/servers/server.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { slowness, turnsOf } from '../../bench/turns.ts';
import { branch, hashOf, mine, REGTEST_GENESIS, writeHeader } from './headers-kit.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
const freshFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'headers-'));
  folders.push(folder);
  return folder;
};

const TURN_MS_MAX = 50;
const GENESIS_TIME = 1_296_688_602;
const DAY_MS = 24 * 60 * 60 * 1_000;
const NOW = GENESIS_TIME * 1_000 + 400 * DAY_MS;

async function open(options: Partial<HeaderChainOptions> = {}): Promise<HeaderChain> {
  const folder = options.folder ?? freshFolder();
  const chain = await HeaderChain.open({ chain: 'BTC', network: 'regtest', now: () => NOW, ...options, folder });
  if (chain.wantedBelow()) await chain.prepend(REGTEST_GENESIS, 0);
  return chain;
}

const join80 = (headers: Buffer[]): Buffer => Buffer.concat(headers);
const ids = (headers: Buffer[], from: number): { height: number; hash: string }[] =>
  headers.map((header, index) => ({ height: from + index, hash: hashOf(header) }));
const refused = (fault: HeaderFault, height: number) => ({ name: 'HeaderRejected', fault, height });

describe('a chain of headers', () => {
  it('begins with its first block, which must be the right one', async () => {
    const folder = freshFolder();
    const chain = await HeaderChain.open({ chain: 'BTC', network: 'regtest', folder, now: () => NOW });
    expect(chain.tip).toEqual({ height: 0, hash: hashOf(REGTEST_GENESIS) });
    expect(chain.at(0)).toBeNull();
    expect(chain.hashAt(0)).toBe(hashOf(REGTEST_GENESIS));
    expect(chain.wantedBelow()).toEqual({ from: 0, count: 1 });
    await expect(chain.prepend(mine(REGTEST_GENESIS, { timeSeconds: GENESIS_TIME + 1 }), 0)).rejects.toMatchObject(
      refused('link', 0),
    );
    await chain.prepend(REGTEST_GENESIS, 0);
    expect(chain.at(0)).toMatchObject({ height: 0, timeSeconds: GENESIS_TIME, previous: '00'.repeat(32) });
    await chain.close();
  });

  it('grows, reports what it has, and forgets nothing when it is opened again', async () => {
    const folder = freshFolder();
    const chain = await open({ folder });
    const headers = branch(REGTEST_GENESIS, 30);
    expect(await chain.connect(join80(headers.slice(0, 20)), 1)).toMatchObject({ kind: 'extended', added: 20 });
    // What overlaps with what is known is fine, and what is all known is no news.
    expect(await chain.connect(join80(headers.slice(10)), 11)).toEqual({
      kind: 'extended',
      tip: { height: 30, hash: hashOf(headers[29]!) },
      added: 10,
      orphaned: [],
    });
    expect(await chain.connect(join80([REGTEST_GENESIS, ...headers.slice(0, 5)]), 0)).toEqual({ kind: 'known' });
    expect(await chain.connect(headers[29]!, 30)).toEqual({ kind: 'known' });
    await chain.close();

    const again = await open({ folder });
    expect(again.tip).toEqual({ height: 30, hash: hashOf(headers[29]!) });
    expect(again.work).toBe(60n);
    expect(ids(headers, 1).map(({ height }) => again.hashAt(height))).toEqual(headers.map(hashOf));
    expect(again.at(31)).toBeNull();
    expect(again.at(-1)).toBeNull();
    expect(statSync(join(folder, 'BTC-regtest.headers')).size).toBe(64 + 30 * 80);
    await again.close();
  });

  it('asks for what is missing in between', async () => {
    const chain = await open();
    const headers = branch(REGTEST_GENESIS, 10);
    expect(await chain.connect(headers[9]!, 10)).toEqual({ kind: 'apart', retryFrom: 1 });
    expect(await chain.connect(join80(headers), 1)).toMatchObject({ kind: 'extended', added: 10 });
    await chain.close();
  });

  it('walks back to where a reorganisation parted, then follows the branch with more work and reports what left', async () => {
    const chain = await open();
    const main = branch(REGTEST_GENESIS, 40);
    await chain.connect(join80(main), 1);
    const other = branch(main[29]!, 14, 7);
    const onServer = [...main.slice(0, 30), ...other];
    const tries: number[] = [];
    let from = onServer.length;
    for (let left = 10; left > 0; left--) {
      const result = await chain.connect(join80(onServer.slice(from - 1)), from);
      if (result.kind !== 'apart') {
        expect(result).toEqual({
          kind: 'extended',
          tip: { height: 44, hash: hashOf(other[13]!) },
          added: 14,
          orphaned: ids(main.slice(30), 31),
        });
        break;
      }
      tries.push(result.retryFrom);
      from = result.retryFrom;
    }
    // Above the tip nothing is known, then the run grows threefold each time.
    expect(tries).toEqual([41, 33, 9]);
    expect(chain.hashAt(31)).toBe(hashOf(other[0]!));
    await chain.close();
  });

  it('stays with the first of two branches of equal work, and says how much is missing', async () => {
    const chain = await open();
    const main = branch(REGTEST_GENESIS, 10);
    await chain.connect(join80(main), 1);
    const other = branch(main[4]!, 6, 3);
    const weaker = { kind: 'weaker', forkHeight: 5 };
    expect(await chain.connect(join80(other.slice(0, 3)), 6)).toEqual({ ...weaker, work: 6n, missingWork: 5n });
    // What was verified before is not verified again.
    const verified = { count: 3, work: 6n };
    const next = await chain.connect(join80(other.slice(0, 5)), 6, verified);
    expect(next).toEqual({ ...weaker, work: 10n, missingWork: 1n });
    expect(chain.tip.hash).toBe(hashOf(main[9]!));
    expect(await chain.connect(join80(other), 6)).toMatchObject({ kind: 'extended', orphaned: ids(main.slice(5), 6) });
    await chain.close();
  });

  it('changes to a branch of any length that is considered in short turns', async () => {
    const chain = await open();
    const length = HEADERS_PER_CALL_MAX;
    const [main, other] = [branch(REGTEST_GENESIS, length - 1, 1), branch(REGTEST_GENESIS, length, 2)];
    await chain.connect(join80(main), 1);
    const connected = chain.connect(join80(other), 1);
    const { longest } = await turnsOf(connected);
    expect(await connected).toMatchObject({ kind: 'extended', added: length, orphaned: ids(main, 1) });
    expect(longest / slowness()).toBeLessThan(TURN_MS_MAX);
    await chain.close();
  });

  it('lets changes wait for each other', async () => {
    const chain = await open();
    const headers = branch(REGTEST_GENESIS, 600);
    const results = await Promise.all([
      chain.connect(join80(headers.slice(0, 300)), 1),
      chain.connect(join80(headers.slice(300)), 301),
      chain.connect(join80(headers), 1),
    ]);
    expect(results.map(({ kind }) => kind)).toEqual(['extended', 'extended', 'known']);
    expect(chain.tip.height).toBe(600);
    await chain.close();
  });
});

describe('older headers', () => {
  it('are verified by hash from the checkpoint downwards, and give the time before a birthday', async () => {
    const folder = freshFolder();
    const headers = [REGTEST_GENESIS, ...branch(REGTEST_GENESIS, 5_000)];
    const checkpoint = { height: 4_500, hash: hashOf(headers[4_500]!) };
    const options = { chain: 'BTC', network: 'regtest', folder, checkpoint, now: () => NOW } as const;
    const chain = await HeaderChain.open(options);
    const give = async (from: number, count: number): Promise<void> =>
      chain.prepend(join80(headers.slice(from, from + count)), from);
    const context = chain.wantedBelow();
    expect(context).toEqual({ from: 4_490, count: 11 });
    await give(4_490, 11);
    expect(chain.lowest).toBe(4_490);
    await chain.connect(join80(headers.slice(4_501)), 4_501);
    const birthday = (GENESIS_TIME + 2_000 * 600) * 1_000;
    expect(chain.heightBefore(birthday)).toBeNull();
    expect(chain.wantedBelow(1_000)).toEqual({ from: 2_474, count: 2_016 });
    await give(2_474, 2_016);
    expect(chain.wantedBelow(1_000)).toEqual({ from: 1_000, count: 1_474 });
    const forged = join80(headers.slice(1_000, 2_474));
    forged.writeUInt8(forged.readUInt8(700 * 80 + 5) ^ 1, 700 * 80 + 5);
    await expect(chain.prepend(forged, 1_000)).rejects.toMatchObject(refused('link', 1_700));
    await expect(give(1_000, 1_473)).rejects.toMatchObject(refused('length', 1_000));
    expect(chain.lowest).toBe(2_474);
    // What another server brought meanwhile is passed over.
    await Promise.all([give(2_000, 474), give(1_900, 574), give(2_000, 474)]);
    expect(chain.lowest).toBe(1_900);
    await give(1_000, 1_474);
    expect(chain.at(1_000)).toMatchObject({ hash: hashOf(headers[1_000]!), previous: hashOf(headers[999]!) });

    // Two hours and eleven blocks of margin; the median lies five blocks behind.
    const before = chain.heightBefore(birthday)!;
    expect(before).toBe(2_000 - 12 + 5 - 1 - 11);
    expect(chain.medianTimeSeconds(2_000)).toBe(GENESIS_TIME + 1_995 * 600);
    expect(chain.medianTimeSeconds(1_005)).toBeNull();
    await chain.close();

    const again = await HeaderChain.open(options);
    expect(again.lowest).toBe(1_000);
    expect(again.hashAt(1_000)).toBe(hashOf(headers[1_000]!));
    expect(again.tip.height).toBe(5_000);
    await expect(again.connect(join80(branch(headers[4_000]!, 3, 9)), 4_001)).rejects.toMatchObject({
      fault: 'checkpoint',
    });
    await again.close();
  });
});

describe('hostile headers', () => {
  const main = branch(REGTEST_GENESIS, 20);
  const last = main[19]!;
  const lastTime = last.readUInt32LE(68);

  async function refuses(headers: Buffer, from: number, expected: object): Promise<void> {
    const chain = await open();
    await chain.connect(join80(main), 1);
    await expect(chain.connect(headers, from)).rejects.toMatchObject(expected);
    expect(chain.tip).toEqual({ height: 20, hash: hashOf(last) });
    await chain.close();
  }

  it('of another difficulty', async () => {
    const bits = 0x207ffffe;
    await refuses(mine(last, { timeSeconds: lastTime + 600, bits }), 21, refused('bits', 21));
  });

  it('without their work', async () => {
    const weak = mine(last, { timeSeconds: lastTime + 600 });
    for (let nonce = 0; ; nonce++) {
      weak.writeUInt32LE(nonce, 76);
      if (Number.parseInt(hashOf(weak).slice(0, 1), 16) >= 8) break;
    }
    await refuses(weak, 21, refused('work', 21));
  });

  it('dated ahead of the clock', async () => {
    const limit = NOW / 1_000 + 2 * 60 * 60;
    await refuses(mine(last, { timeSeconds: limit + 1 }), 21, refused('future', 21));
    const chain = await open();
    await chain.connect(join80(main), 1);
    expect(await chain.connect(mine(last, { timeSeconds: limit }), 21)).toMatchObject({ kind: 'extended' });
    await chain.close();
  });

  it('dated at or before the median of eleven', async () => {
    const median = lastTime - 5 * 600;
    await refuses(mine(last, { timeSeconds: median }), 21, refused('median-time', 21));
    const chain = await open();
    await chain.connect(join80(main), 1);
    expect(await chain.connect(mine(last, { timeSeconds: median + 1 }), 21)).toMatchObject({ kind: 'extended' });
    await chain.close();
  });

  it('that do not follow each other', async () => {
    const more = branch(last, 5);
    await refuses(join80([more[0]!, more[1]!, more[3]!, more[4]!]), 21, refused('link', 23));
  });

  it('that part below the first block, however far one goes back', async () => {
    const alien = branch(main[0]!, 30, 5);
    const start = mine(writeHeader({ ...fieldsOf(REGTEST_GENESIS), nonce: 9 }), { timeSeconds: GENESIS_TIME + 600 });
    await refuses(start, 1, refused('checkpoint', 1));
    await refuses(join80([mine(start, { timeSeconds: GENESIS_TIME + 900 }), ...alien]), 0, refused('checkpoint', 0));
  });

  it('in no number, in a broken one, and without end', async () => {
    await refuses(Buffer.alloc(0), 21, refused('length', 21));
    await refuses(Buffer.alloc(79), 21, refused('length', 21));
    await refuses(Buffer.alloc((HEADERS_PER_CALL_MAX + 1) * 80), 21, refused('length', 21));
    // A run of the greatest length that still does not connect is given up.
    await refuses(Buffer.alloc(HEADERS_PER_CALL_MAX * 80), 5, refused('deep', 5));
  });
});

describe('difficulty', () => {
  const regtest = rulesOf('BTC', 'regtest')!;
  const retarget: HeaderRules = {
    ...regtest,
    difficulty: { kind: 'retarget', timespanSeconds: 2_016 * 600, intervals: 2_015, bip94: false },
  };

  it('counts work, not length: a longer chain of easier blocks loses', async () => {
    const chain = await open({ rules: retarget });
    const trunk = branch(REGTEST_GENESIS, 2_014, 0, 100);
    await chain.connect(join80(trunk), 1);
    // The last block of a period decides by its time how hard the next is: four times harder, or as easy as possible.
    const fast = branch(trunk.at(-1)!, 1, 1);
    for (let i = 0; i < 2; i++) {
      fast.push(mine(fast.at(-1)!, { timeSeconds: fast.at(-1)!.readUInt32LE(68) + 600, bits: 0x201fffff }));
    }
    const slow = [mine(trunk.at(-1)!, { timeSeconds: GENESIS_TIME + 2_016 * 600, salt: 2 })];
    slow.push(...branch(slow[0]!, 9, 2));
    expect(await chain.connect(join80(fast), 2_015)).toMatchObject({ kind: 'extended', added: 3 });
    const weaker = { kind: 'weaker', forkHeight: 2_014 };
    expect(await chain.connect(join80(slow.slice(0, 8)), 2_015)).toMatchObject({ ...weaker, missingWork: 3n });
    expect(chain.tip.height).toBe(2_017);
    expect(await chain.connect(join80(slow), 2_015)).toMatchObject({ kind: 'extended', orphaned: ids(fast, 2_015) });
    expect(chain.work).toBe(2n * 2_024n);
    // Either branch is refused with the other's difficulty.
    const wrong = mine(slow[0]!, { timeSeconds: slow[0]!.readUInt32LE(68) + 600, bits: 0x201fffff });
    await expect(chain.connect(wrong, 2_016)).rejects.toMatchObject(refused('bits', 2_016));
    await chain.close();
  });

  it('may not fall by any amount: whoever mines one block on an old checkpoint gets no cheap ones after it', async () => {
    const halfLifeSeconds = 172_800;
    const anchorBits = 0x1f00ffff;
    const height = 100;
    /** A chain that hangs on a block found `halfLives` behind its schedule. */
    const behind = async (halfLives: number) => {
      const timeSeconds = GENESIS_TIME + 600 + halfLives * halfLifeSeconds;
      const asert = { kind: 'asert' as const, anchorHeight: height, anchorBits, halfLifeSeconds };
      const rules = { ...regtest, difficulty: { ...asert, anchorParentTimeSeconds: GENESIS_TIME }, easingMax: 64n };
      // Below the checkpoint nothing is asked but the links: these were not mined.
      const context: Buffer[] = [];
      for (let at = 0; at < 11; at++) {
        const previous = context.length > 0 ? hashOf(context.at(-1)!) : '00'.repeat(32);
        const time = at < 10 ? GENESIS_TIME - 6_000 + at * 600 : timeSeconds;
        const merkleRoot = '11'.repeat(32);
        context.push(writeHeader({ version: 4, previous, merkleRoot, timeSeconds: time, bits: anchorBits, nonce: at }));
      }
      const folder = freshFolder();
      const checkpoint = { height, hash: hashOf(context[10]!) };
      const chain = await HeaderChain.open({
        chain: 'BCH',
        network: 'mainnet',
        folder,
        rules,
        checkpoint,
        now: () => NOW,
      });
      await chain.prepend(join80(context), height - 10);
      const bits = bitsOfTarget((targetOfBits(anchorBits) as bigint) << BigInt(halfLives));
      return { chain, header: mine(context[10]!, { timeSeconds: timeSeconds + 600, bits }) };
    };
    const six = await behind(6);
    expect(await six.chain.connect(six.header, height + 1)).toMatchObject({ kind: 'extended' });
    await six.chain.close();
    const seven = await behind(7);
    await expect(seven.chain.connect(seven.header, height + 1)).rejects.toMatchObject(refused('easy', height + 1));
    await seven.chain.close();
  });
});

const fieldsOf = (header: Buffer) => ({
  version: header.readInt32LE(0),
  previous: Buffer.from(header.subarray(4, 36)).reverse().toString('hex'),
  merkleRoot: Buffer.from(header.subarray(36, 68)).reverse().toString('hex'),
  timeSeconds: header.readUInt32LE(68),
  bits: header.readUInt32LE(72),
  nonce: header.readUInt32LE(76),
});

describe('damaged files', () => {
  const headers = branch(REGTEST_GENESIS, 50);

  async function damaged(damage: (path: string) => void): Promise<{ tip: number; healed: number }> {
    const folder = freshFolder();
    const chain = await open({ folder });
    await chain.connect(join80(headers), 1);
    await chain.close();
    damage(join(folder, 'BTC-regtest.headers'));
    const again = await open({ folder });
    const tip = again.tip.height;
    expect(again.hashAt(tip)).toBe(again.tip.hash);
    expect(again.work).toBe(2n * BigInt(tip));
    if (tip < 50) await again.connect(join80(headers.slice(tip)), tip + 1);
    const healed = again.tip.height;
    expect(again.tip.hash).toBe(hashOf(headers[49]!));
    await again.close();
    return { tip, healed };
  }

  it.each<[string, (path: string) => void, number]>([
    ['a torn end', (path) => truncateSync(path, 64 + 40 * 80 + 33), 40],
    ['a bit in the middle', (path) => flip(path, 64 + 30 * 80 + 40), 30],
    ['zeros at the end', (path) => writeFileSync(path, Buffer.alloc(160), { flag: 'a' }), 50],
    ['another chain', (path) => flip(path, 20), 0],
    ['nothing', (path) => truncateSync(path, 0), 0],
  ])('%s', async (_name, damage, tip) => {
    expect(await damaged(damage)).toEqual({ tip, healed: 50 });
  });
});

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 0x10, at);
  writeFileSync(path, bytes);
}

describe('properties', () => {
  it('whatever branches come in whatever order, the first with the most work wins', async () => {
    const forks = fc.array(fc.tuple(fc.nat(15), fc.integer({ min: 1, max: 12 })), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(forks, async (list) => {
        const chain = await open();
        const trunk = branch(REGTEST_GENESIS, 15);
        await chain.connect(join80(trunk), 1);
        let best = trunk;
        for (const [salt, [fork, length]] of list.entries()) {
          const base = best.slice(0, fork);
          const added = branch(base.at(-1) ?? REGTEST_GENESIS, length, salt + 1);
          const result = await chain.connect(join80(added), fork + 1);
          const candidate = [...base, ...added];
          if (candidate.length > best.length) {
            expect(result).toMatchObject({ kind: 'extended', orphaned: ids(best.slice(base.length), base.length + 1) });
            best = candidate;
          } else {
            const missingWork = 2n * BigInt(best.length - candidate.length) + 1n;
            const work = 2n * BigInt(length);
            expect(result).toEqual({ kind: 'weaker', forkHeight: base.length, work, missingWork });
          }
          expect(chain.tip).toEqual({ height: best.length, hash: hashOf(best.at(-1)!) });
          expect(chain.work).toBe(2n * BigInt(best.length));
        }
        await chain.close();
      }),
      { numRuns: 30 },
    );
  });

  it('a reorganisation and back ends where it began', async () => {
    const chain = await open();
    const trunk = branch(REGTEST_GENESIS, 30);
    await chain.connect(join80(trunk), 1);
    const other = branch(trunk[19]!, 11, 2);
    await chain.connect(join80(other), 21);
    const back = await chain.connect(join80([...trunk.slice(20), ...branch(trunk[29]!, 2)]), 21);
    expect(back).toMatchObject({ kind: 'extended', added: 12, orphaned: ids(other, 21) });
    expect(trunk.map((_, index) => chain.hashAt(index + 1))).toEqual(trunk.map(hashOf));
    await chain.close();
  });

  it('a changed bit is never taken for what it was', async () => {
    const chain = await open();
    const trunk = branch(REGTEST_GENESIS, 12);
    await chain.connect(join80(trunk), 1);
    const next = branch(trunk[11]!, 4);
    await fc.assert(
      fc.asyncProperty(fc.nat(3 * 80 * 8 - 1), async (bit) => {
        const changed = join80(next);
        changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
        // One in the first header's link makes it another branch; all others break a link, a rule or the work.
        const result = await chain.connect(changed, 13).catch((error: unknown) => error);
        const wasApart = (result as { kind?: string }).kind === 'apart';
        expect(wasApart || (result as Error).name === 'HeaderRejected').toBe(true);
        expect(chain.tip.height).toBe(12);
      }),
      { numRuns: 300 },
    );
    await chain.close();
  });
});

describe('scrypt', () => {
  it("is what Litecoin's work is counted by", async () => {
    const genesis = writeHeader({
      version: 1,
      previous: '00'.repeat(32),
      merkleRoot: '97ddfbbae6be97fd6cdf3e7ca13232a3afff2353e29badfab7f73011edd4ced9',
      timeSeconds: GENESIS_TIME,
      bits: 0x207fffff,
      nonce: 0,
    });
    expect(hashOf(genesis)).toBe('530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9');
    const chain = await HeaderChain.open({ chain: 'LTC', network: 'regtest', folder: freshFolder(), now: () => NOW });
    await chain.prepend(genesis, 0);
    // Every second nonce has the work, and which does is not what SHA-256d says.
    const counts = { extended: 0, work: 0 };
    let parent = genesis;
    for (let nonce = 0; nonce < 60; nonce++) {
      const timeSeconds = parent.readUInt32LE(68) + 150;
      const merkleRoot = '00'.repeat(32);
      const header = writeHeader({ ...fieldsOf(genesis), previous: hashOf(parent), merkleRoot, timeSeconds, nonce });
      const result = await chain.connect(header, chain.tip.height + 1).catch((error: { fault: string }) => error);
      if ('fault' in result) {
        expect(result.fault).toBe('work');
        counts.work++;
      } else {
        counts.extended++;
        parent = header;
      }
    }
    expect(counts.extended).toBeGreaterThan(10);
    expect(counts.work).toBeGreaterThan(10);
    expect(chain.tip).toEqual({ height: counts.extended, hash: hashOf(parent) });
    await chain.close();
  });
});

it('tells of blocks that left the chain when the disk refuses those that take their place', async () => {
  const chain = await open();
  const old = branch(REGTEST_GENESIS, 5);
  await chain.connect(join80(old), 1);
  const next = [...old.slice(0, 3), ...branch(old[2]!, 3, 7)];
  const [tip] = ids(next, 1).slice(-1);
  const server = {
    tip,
    headers: async (from: number, count: number) => join80(next.slice(from - 1, from - 1 + count)),
  } as unknown as Server;
  const left: number[] = [];
  const sync = new HeaderSync(chain, (forkHeight) => left.push(forkHeight));
  const append = vi.spyOn(HeaderFile.prototype, 'append').mockImplementationOnce(() => {
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
  });
  await expect(sync.sync(server)).rejects.toThrow(Unavailable);
  append.mockRestore();
  await sync.sync(server);
  expect(chain.tip).toEqual(tip);
  expect(left).toEqual([3]);
  await chain.close();
});

it.runIf(process.platform === 'linux')('lets go of its files when the disk refuses one of them', async () => {
  const folder = freshFolder();
  mkdirSync(join(folder, 'BTC-regtest.older-headers'));
  await expect(open({ folder })).rejects.toMatchObject({ code: 'EISDIR' });
  const held = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return []; // closed since it was listed
    }
  });
  expect(held.filter((file) => file.startsWith(folder))).toEqual([]);
});
