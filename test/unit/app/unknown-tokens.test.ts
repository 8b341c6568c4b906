/** Tokens that nobody here knows: listed, summed up once for each block, and never many. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { derive } from '../../../daemon/app/addresses/pool.ts';
import { unknownTokenPage } from '../../../daemon/app/operator/lists.ts';
import type { UnknownTransfer } from '../../../daemon/domain/chain.ts';
import { safeSymbol } from '../../../daemon/domain/token-name.ts';
import { Bench } from './bench.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.open('ETH');
});
afterEach(() => bench.app.store.close());

const transfer = (over: Partial<UnknownTransfer> = {}): UnknownTransfer => ({
  targetId: 1,
  contract: '0xaa',
  txid: 't',
  height: 10,
  units: 5n,
  symbol: 'FAKE',
  decimals: 6,
  ...over,
});
const listed = () => unknownTokenPage(bench.app, { limit: 5_000 });
const tell = (...unknownTransfers: UnknownTransfer[]) => bench.tell({ unknownTransfers });

describe('a token that nobody here knows', () => {
  it('is one row for an address and a contract, whatever is reported again', async () => {
    await tell(transfer());
    await tell(transfer(), transfer({ txid: 'u', height: 11, units: 7n }), transfer({ txid: 'old', height: 9 }));
    expect(listed()).toMatchObject([{ contract: '0xaa', units: 12n, transfers: 2, txid: 'u', symbol: 'FAKE' }]);
    expect(bench.balance('ETH')).toBe(0n);
    expect(bench.inbox()).toEqual([]);
  });

  it('sums up to what a token can have, and no further', async () => {
    const most = 2n ** 256n - 1n;
    await tell(transfer({ units: most }), transfer({ txid: 'u', height: 11, units: most }));
    expect(listed()[0]?.units).toBe(most);
  });

  it('of a flood leaves ten for an address and a thousand in all, the newest', async () => {
    const flood = Array.from({ length: 15 }, (_, i) => transfer({ contract: `0x${i}`, txid: `t${i}` }));
    await tell(...flood);
    expect(listed()).toHaveLength(10);
    await derive(bench.app, bench.app.directory.accounts()[0]!, 100);
    const many = Array.from({ length: 1_100 }, (_, i) =>
      transfer({ targetId: 2 + (i % 110), contract: `0xc${Math.floor(i / 110)}`, txid: `m${i}` }),
    );
    await tell(...many);
    expect(listed()).toHaveLength(1_000);
    expect(listed()[0]?.txid).toBe('m1099');
  });

  it('of another chain’s address is not taken in', async () => {
    await tell(transfer({ targetId: 9_999 }));
    expect(listed()).toEqual([]);
  });
});

describe('safeSymbol', () => {
  it.each<[string, string | null]>([
    ['USDT', 'USDT'],
    ['  \u200b\u0000 ', null],
    ['', null],
    ['\u202eTDSU\u001b[31m', 'TDSU[31m'],
    ['visit https://claim.example now please', 'visit https://claim.exa…'],
    ['\ud800', null],
    ['日本円', '日本円'],
  ])('%j is %j', (given, expected) => expect(safeSymbol(given)).toBe(expected));
});
