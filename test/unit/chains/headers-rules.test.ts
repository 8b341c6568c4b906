import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { HeaderChain } from '../../../daemon/chains/utxo/electrum/headers/chain.ts';
import { CHECKPOINTS, checkpointOf } from '../../../daemon/chains/utxo/electrum/headers/checkpoints.ts';
import { asertBits, requiredBits } from '../../../daemon/chains/utxo/electrum/headers/difficulty.ts';
import { asNumber, scryptHash } from '../../../daemon/chains/utxo/electrum/headers/header.ts';
import { type HeaderRules, rulesOf } from '../../../daemon/chains/utxo/electrum/headers/rules.ts';
import { bitsOfTarget, targetOfBits, workOfTarget } from '../../../daemon/chains/utxo/electrum/headers/target.ts';
import { builtInServers } from '../../../daemon/chains/utxo/electrum/servers/built-in.ts';
import { UTXO_PARAMS, type UtxoChain } from '../../../daemon/chains/utxo/params.ts';
import { sha256d } from '../../../daemon/kit/bytes.ts';
import { hashOf, writeHeader } from './headers-kit.ts';
import { ASERT_RUNS, BCH_HEADERS, BCH_HEADERS_FROM, BCH_LAST_HASH, LTC_PERIODS } from './headers-vectors.ts';

const BITCOIN_ROOT = '4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b';
const LITECOIN_ROOT = '97ddfbbae6be97fd6cdf3e7ca13232a3afff2353e29badfab7f73011edd4ced9';
const CHAINS = ['BTC', 'LTC', 'BCH'] as const;
const PUBLIC_NETWORKS = ['mainnet', 'testnet', 'regtest'] as const;

const rules = (chain: UtxoChain, network: 'mainnet' | 'testnet' | 'regtest', genesis?: string): HeaderRules => {
  const found = rulesOf(chain, network, genesis);
  if (!found) throw new Error('no rules');
  return found;
};

/** The bits after a period from `firstTime` to `lastTime` whose blocks had `bits`, for the block at `height`. */
function retargeted(of: HeaderRules, height: number, firstTime: number, lastTime: number, bits: number): number {
  const timeAt = (at: number): number => (at === height - 1 ? lastTime : firstTime);
  return requiredBits(of, height, lastTime + 1, { timeAt, bitsAt: () => bits });
}

describe('first blocks (chainparams.cpp)', () => {
  it.each([
    ['BTC', 1_231_006_505, 2_083_236_893, 0x1d00ffff, BITCOIN_ROOT, UTXO_PARAMS.BTC.mainnet.genesis[0]],
    ['BTC testnet3', 1_296_688_602, 414_098_458, 0x1d00ffff, BITCOIN_ROOT, UTXO_PARAMS.BTC.testnet.genesis[0]],
    ['BCH chipnet', 1_597_811_185, 114_152_193, 0x1d00ffff, BITCOIN_ROOT, UTXO_PARAMS.BCH.testnet.genesis[1]],
    ['LTC', 1_317_972_665, 2_084_524_493, 0x1e0ffff0, LITECOIN_ROOT, UTXO_PARAMS.LTC.mainnet.genesis[0]],
    ['LTC testnet', 1_486_949_366, 293_345, 0x1e0ffff0, LITECOIN_ROOT, UTXO_PARAMS.LTC.testnet.genesis[0]],
  ])('%s has its hash and its work', async (name, timeSeconds, nonce, bits, merkleRoot, genesis) => {
    const header = writeHeader({ version: 1, previous: '00'.repeat(32), merkleRoot, timeSeconds, bits, nonce });
    expect(hashOf(header)).toBe(genesis);
    const proof = name.startsWith('LTC') ? await scryptHash(header) : sha256d(header);
    expect(asNumber(proof)).toBeLessThanOrEqual(targetOfBits(bits) as bigint);
  });

  it('are the same for headers and for nodes', () => {
    for (const chain of CHAINS) {
      for (const network of PUBLIC_NETWORKS) {
        for (const genesis of UTXO_PARAMS[chain][network].genesis) {
          expect(rulesOf(chain, network, genesis)?.genesis).toBe(genesis);
        }
      }
    }
    expect(rulesOf('LTC', 'mainnet', UTXO_PARAMS.BTC.mainnet.genesis[0])).toBeNull();
    expect(rulesOf('BTC', 'sandbox')).toBeNull();
  });
});

describe('compact targets', () => {
  // arith_uint256_tests.cpp of Bitcoin Core, bignum_SetCompact.
  it.each([
    [0x01123456, 0x12n],
    [0x02123456, 0x1234n],
    [0x03123456, 0x123456n],
    [0x04123456, 0x12345600n],
    [0x05009234, 0x92340000n],
    [0x20123456, 0x123456n << 232n],
    [0x1d00ffff, 0xffffn << 208n],
  ])('%i', (bits, target) => {
    expect(targetOfBits(bits)).toBe(target);
  });

  it.each([0, 0x00123456, 0x01003456, 0x02000056, 0x03000000, 0x04000000, 0x04923456, 0x01fedcba, 0xff123456])(
    'refuses %i: zero, negative or too large',
    (bits) => {
      expect(targetOfBits(bits)).toBeNull();
    },
  );

  it('are written back as they were read', () => {
    for (const bits of [0x01120000, 0x02123400, 0x03123456, 0x04123456, 0x05009234, 0x1d00ffff, 0x207fffff]) {
      expect(bitsOfTarget(targetOfBits(bits) as bigint)).toBe(bits);
    }
    // The highest bit would be a sign, and digits that do not fit are cut off.
    expect(bitsOfTarget(0x80n)).toBe(0x02008000);
    expect(bitsOfTarget(0x1234_5678n)).toBe(0x04123456);
  });

  it('stand for work: the first block for 2^32 + 2^16 + 1 hashes', () => {
    expect(workOfTarget(targetOfBits(0x1d00ffff) as bigint)).toBe(0x1_0001_0001n);
    expect(workOfTarget(targetOfBits(0x207fffff) as bigint)).toBe(2n);
  });
});

describe('retargeting', () => {
  // pow_tests.cpp of Bitcoin Core and Litecoin Core, and blocks 554400 and 556415 of Bitcoin.
  it.each([
    ['BTC', 32_256, 1_261_130_161, 1_262_152_739, 0x1d00ffff, 0x1d00d86a],
    ['BTC', 2_016, 1_231_006_505, 1_233_061_996, 0x1d00ffff, 0x1d00ffff],
    ['BTC', 68_544, 1_279_008_237, 1_279_297_671, 0x1c05a3f4, 0x1c0168fd],
    ['BTC', 46_368, 1_263_163_443, 1_269_211_443, 0x1c387f6f, 0x1d00e1fd],
    ['BTC', 556_416, 1_545_175_965, 1_546_275_302, 0x17371ef4, 0x173218a5],
    ['LTC', 280_224, 1_358_118_740, 1_358_378_777, 0x1c0ac141, 0x1c093f8d],
    ['LTC', 2_016, 1_317_972_665, 1_318_480_354, 0x1e0ffff0, 0x1e0fffff],
    ['LTC', 578_592, 1_401_682_934, 1_401_757_934, 0x1b075cf1, 0x1b01d73c],
    ['LTC', 1_001_952, 1_463_690_315, 1_464_900_315, 0x1b015318, 0x1b054c60],
  ] as const)('%s at %i', (chain, height, first, last, bits, expected) => {
    expect(retargeted(rules(chain, 'mainnet'), height, first, last, bits)).toBe(expected);
  });

  it('follows Litecoin mainnet through its periods', () => {
    for (const [index, [time, target]] of LTC_PERIODS.entries()) {
      const before = LTC_PERIODS[index - 1];
      if (!before) continue;
      const bits = bitsOfTarget(before[1]);
      expect(retargeted(rules('LTC', 'mainnet'), 3_000_000 - (3_000_000 % 2_016), before[0], time, bits)).toBe(
        bitsOfTarget(target),
      );
    }
  });

  it('measures Bitcoin from the first block of the period, Litecoin from the block before it', () => {
    const asked: number[] = [];
    const timeAt = (height: number): number => {
      asked.push(height);
      return height;
    };
    requiredBits(rules('BTC', 'mainnet'), 4_032, 0, { timeAt, bitsAt: () => 0x1d00ffff });
    expect(Math.min(...asked)).toBe(2_016);
    asked.length = 0;
    requiredBits(rules('LTC', 'mainnet'), 4_032, 0, { timeAt, bitsAt: () => 0x1d00ffff });
    expect(Math.min(...asked)).toBe(2_015);
    asked.length = 0;
    requiredBits(rules('LTC', 'mainnet'), 2_016, 0, { timeAt, bitsAt: () => 0x1d00ffff });
    expect(Math.min(...asked)).toBe(0);
  });

  it('keeps the target within a period', () => {
    const before = { timeAt: () => 1_000_000, bitsAt: () => 0x1b0404cb };
    expect(requiredBits(rules('BTC', 'mainnet'), 2_017, 9_000_000, before)).toBe(0x1b0404cb);
  });
});

describe('test networks', () => {
  const [testnet3, testnet4] = UTXO_PARAMS.BTC.testnet.genesis;
  const easy = 0x1d00ffff;

  it('let a late block be easy, and go back to the last ordinary target after it', () => {
    const of = rules('BTC', 'testnet', testnet3);
    const bits = new Map([
      [2_016, 0x1c00ffff],
      [2_017, 0x1c00ffff],
      [2_018, easy],
      [2_019, easy],
    ]);
    const before = { timeAt: () => 1_000_000, bitsAt: (height: number) => bits.get(height) as number };
    expect(requiredBits(of, 2_020, 1_000_000 + 1_201, before)).toBe(easy);
    expect(requiredBits(of, 2_020, 1_000_000 + 1_200, before)).toBe(0x1c00ffff);
    // Litecoin's blocks are late four times sooner.
    const litecoin = { timeAt: () => 1_000_000, bitsAt: () => 0x1c00ffff };
    expect(requiredBits(rules('LTC', 'testnet'), 2_020, 1_000_000 + 301, litecoin)).toBe(0x1e0fffff);
    expect(requiredBits(rules('BCH', 'testnet'), 1_500_000, 1_000_000 + 1_201, litecoin)).toBe(easy);
  });

  it('adjust the last target on testnet3, the first of the period on testnet4 (BIP-94)', () => {
    const bitsAt = (height: number): number => (height === 2_016 ? 0x1b0404cb : easy);
    const timeAt = (height: number): number => 1_000_000 + (height - 2_016) * 600;
    const at = (genesis: string | undefined): number =>
      requiredBits(rules('BTC', 'testnet', genesis), 4_032, 2_300_000, { timeAt, bitsAt });
    // 2015/2016 of 0x00ffff and of 0x0404cb, rounded down.
    expect(at(testnet3)).toBe(0x1d00ffde);
    expect(at(testnet4)).toBe(0x1b040448);
  });
});

describe('ASERT', () => {
  const limits = rules('BCH', 'mainnet');
  it.each(ASERT_RUNS)('$name', ({ anchorBits, anchorParentTime, steps }) => {
    const asert = {
      kind: 'asert' as const,
      anchorHeight: 0,
      anchorBits,
      anchorParentTimeSeconds: anchorParentTime,
      halfLifeSeconds: 172_800,
    };
    for (const step of steps.split(', ')) {
      const [height, time, expected] = step.split(' ');
      const bits = asertBits(asert, limits, Number(height), Number(time));
      expect(`${height} ${time} ${bits.toString(16).padStart(8, '0')}`).toBe(`${height} ${time} ${expected}`);
    }
  });

  const folders: string[] = [];
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  it('takes the headers of mainnet after its activation, and refuses them with a digit changed', async () => {
    const nth = (from: number, to: number): Buffer => BCH_HEADERS.subarray(from * 80, to * 80);
    const base = 10;
    const open = async (): Promise<HeaderChain> => {
      const folder = mkdtempSync(join(tmpdir(), 'headers-'));
      folders.push(folder);
      const checkpoint = { height: BCH_HEADERS_FROM + base, hash: hashOf(nth(base, base + 1)) };
      const chain = await HeaderChain.open({ chain: 'BCH', network: 'mainnet', folder, checkpoint });
      expect(chain.wantedBelow()).toEqual({ from: BCH_HEADERS_FROM, count: base + 1 });
      await chain.prepend(nth(0, base + 1), BCH_HEADERS_FROM);
      expect(chain.wantedBelow()).toBeNull();
      return chain;
    };
    const chain = await open();
    const result = await chain.connect(nth(base + 1, 25), BCH_HEADERS_FROM + base + 1);
    expect(result).toMatchObject({ kind: 'extended', added: 14, orphaned: [] });
    expect(chain.tip).toEqual({ height: 661_670, hash: BCH_LAST_HASH });
    expect(chain.at(661_668)?.timeSeconds).toBe(1_605_458_850);
    await chain.close();

    const other = await open();
    const wrong = Buffer.from(nth(base + 1, 25));
    wrong.writeUInt32LE(wrong.readUInt32LE(72) + 1, 72);
    await expect(other.connect(wrong, BCH_HEADERS_FROM + base + 1)).rejects.toMatchObject({
      fault: 'bits',
      height: BCH_HEADERS_FROM + base + 1,
    });
    expect(other.tip.height).toBe(BCH_HEADERS_FROM + base);
    await other.close();
  });
});

describe('checkpoints and servers', () => {
  it('every public chain has a checkpoint, mainnets from two sources', () => {
    for (const chain of CHAINS) {
      const main = rules(chain, 'mainnet');
      expect(checkpointOf(main).height).toBeGreaterThan(800_000);
      const found = CHECKPOINTS.filter(({ genesis, cash }) => genesis === main.genesis && cash === (chain === 'BCH'));
      expect(found.map(({ sources }) => new Set(sources).size)).toEqual([2]);
      for (const genesis of UTXO_PARAMS[chain].testnet.genesis) {
        expect(checkpointOf(rules(chain, 'testnet', genesis)).height).toBeGreaterThan(0);
      }
      const regtest = rules(chain, 'regtest');
      expect(checkpointOf(regtest)).toEqual({ height: 0, hash: regtest.genesis });
    }
  });

  it('hashes of SHA-256d show the work that only their chain has', () => {
    const zeros = (hash: string): number => hash.length - hash.replace(/^0+/, '').length;
    expect(zeros(checkpointOf(rules('BTC', 'mainnet')).hash)).toBeGreaterThanOrEqual(19);
    expect(zeros(checkpointOf(rules('BCH', 'mainnet')).hash)).toBeGreaterThanOrEqual(17);
    for (const { hash } of CHECKPOINTS) expect(hash).toMatch(/^[0-9a-f]{64}$/);
    // Electrum's lists have the last block of each period.
    expect((checkpointOf(rules('LTC', 'mainnet')).height + 1) % 2_016).toBe(0);
  });

  it('every mainnet has several servers, all by name and over TLS', () => {
    for (const chain of CHAINS) {
      const servers = builtInServers(chain, 'mainnet');
      expect(servers.length).toBeGreaterThanOrEqual(5);
      expect(new Set(servers).size).toBe(servers.length);
      for (const server of servers) expect(server).toMatch(/^ssl:\/\/[a-z0-9.-]+\.[a-z]+:\d+$/);
      expect(builtInServers(chain, 'regtest')).toEqual([]);
    }
    expect(builtInServers('BTC', 'testnet')).toContain('ssl://blockstream.info:993');
  });
});
