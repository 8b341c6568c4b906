/** Planning payments of Monero: which coins, what a node may answer while rings and fees are chosen, and what it may not. */
import type http from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Endpoints } from '../../../daemon/chains/endpoints.ts';
import { MoneroNode } from '../../../daemon/chains/xmr/node.ts';
import { straight } from '../../../daemon/chains/xmr/reach.ts';
import { pickDecoys } from '../../../daemon/chains/xmr/spend/decoys.ts';
import { planMonero, weighed } from '../../../daemon/chains/xmr/spend/plan.ts';
import { NodeSource } from '../../../daemon/chains/xmr/spend/source.ts';
import { lowestFee } from '../../../daemon/chains/xmr/spend/weight.ts';
import type { Coin } from '../../../daemon/domain/spend.ts';
import { Front } from '../../nodes/front.ts';

type MoneroRequest = Parameters<typeof planMonero>[0];

const COIN = 10n ** 12n;
const RATE = 20_000n * 1_000n;
const script = new Uint8Array(65);
const coin = (units: bigint, n: number): Coin => ({
  outpoint: `${n}`.padStart(64, '0').concat(':0'),
  units,
  script,
  branch: 0,
  index: n,
  confirmations: 20,
});
const wish = (units: bigint | null) => ({ address: '', script, units });
const request = (
  coins: Coin[],
  payouts: MoneroRequest['payouts'],
  more: Partial<MoneroRequest> = {},
): MoneroRequest => ({
  network: 'regtest',
  accountNo: 0,
  payouts,
  spent: [],
  coins,
  change: { address: '', script, index: 0 },
  feeRate: RATE,
  feeMin: 0n,
  feeMax: COIN,
  inputsMax: null,
  ...more,
});

describe('coins', () => {
  it('of a payer who split one payment into 200 outputs are spent, 150 at a time', () => {
    const split = Array.from({ length: 200 }, (_, n) => coin(COIN / 100n, n));
    const some = planMonero(request(split, [wish(COIN / 5n)]));
    expect(some.inputs).toHaveLength(21);
    expect(() => planMonero(request(split, [wish(COIN + (COIN / 10n) * 6n)]))).toThrow(
      /more than 150 coins.* Pay up to 1\.4\d+ XMR at a time/,
    );
    const all = planMonero(request(split, [wish(null)]));
    expect(all.inputs).toHaveLength(150);
    expect(all.outputs).toHaveLength(1);
    expect(all.outputs[0]!.units + all.fee).toBe((COIN / 100n) * 150n);
  });

  it('pay an integrated address alone, as the signer refuses it beside others', () => {
    const integrated = { ...wish(COIN / 4n), script: new Uint8Array(73) };
    expect(planMonero(request([coin(COIN, 0)], [integrated])).outputs).toHaveLength(2);
    expect(() => planMonero(request([coin(COIN, 0)], [integrated, wish(COIN / 4n)]))).toThrow(/is paid alone/);
  });

  it('pay a fee of exactly what was approved for such a transaction, and of a few bytes less; not of many less', () => {
    const wanted = request([coin(COIN, 1)], [wish(COIN / 2n)], { feeRate: RATE });
    const { fee, weight } = weighed(planMonero(wanted), wanted, 42);
    expect([fee, weight]).toEqual([1_532n * 20_000n, 1_532]);
    for (const [bytes, more] of [
      [42, 0],
      [45, 3],
      [50, 8],
    ] as const) {
      const exact = { ...wanted, feeMax: fee };
      const again = weighed(planMonero(exact), exact, bytes);
      expect([again.fee, again.weight, bytes - more]).toEqual([fee, weight, 42]);
      expect(again.outputs.reduce((sum, { units }) => sum + units, again.fee)).toBe(COIN);
    }
    const exact = { ...wanted, feeMax: fee };
    expect(() => weighed(planMonero(exact), exact, 51)).toThrow('above the limit');
  });

  it('that are dust stay where they are in a sweep, and dust as change is paid out to ourselves', () => {
    const dust = [coin(1n, 0), coin(1_000n, 1), coin(COIN, 2)];
    expect(planMonero(request(dust, [wish(null)])).inputs.map(({ units }) => units)).toEqual([COIN]);
    const { fee } = planMonero(request([coin(COIN, 2)], [wish(COIN / 2n)]));
    const exact = planMonero(request([coin(COIN, 2)], [wish(COIN - fee - 1n)]));
    expect(exact.outputs).toMatchObject([{ kind: 'payout' }, { kind: 'change', units: 1n }]);
    expect(planMonero(request([coin(COIN, 2)], [wish(COIN - fee)])).outputs).toHaveLength(1);
    expect(() => planMonero(request([coin(COIN, 2)], [wish(COIN - fee + 1n)]))).toThrow('Insufficient balance');
  });
});

describe('the coins of a payment', () => {
  const TENTH = COIN / 10n;
  const [one, two, four, eight] = [1n, 2n, 4n, 8n].map((tenths) => coin(tenths * TENTH, Number(tenths)));
  const all = [one!, two!, four!, eight!];
  const tenthsOf = (made: ReturnType<typeof planMonero>) => made.inputs.map(({ units }) => units / TENTH);
  const { fee } = planMonero(request([eight!, one!], [wish(9n * TENTH - COIN / 100n)]));

  it.each<[string, bigint, Partial<MoneroRequest>, bigint[]]>([
    ['the smallest one that is enough', TENTH, {}, [2n]],
    ['the fewest, and the smallest last one', 9n * TENTH, {}, [8n, 2n]],
    ['to the unit', 9n * TENTH - fee, {}, [8n, 1n]],
    ['one unit more', 9n * TENTH - fee + 1n, {}, [8n, 2n]],
    ['all', 15n * TENTH - 10n * fee, {}, [8n, 4n, 2n, 1n]],
    ['those of before alone, where they are enough', TENTH, { spent: [four!] }, [4n]],
    ['those of before and one more', 5n * TENTH, { spent: [four!] }, [4n, 2n]],
    ['and none twice', 14n * TENTH, { spent: [four!, eight!] }, [4n, 8n, 2n, 1n]],
  ])('are %s', (_, units, more, tenths) => {
    for (const coins of [all, all.toReversed()]) {
      const made = planMonero(request(coins, [wish(units)], more));
      expect(tenthsOf(made)).toEqual(tenths);
      expect(made.outputs.reduce((sum, output) => sum + output.units, made.fee)).toBe(
        tenths.reduce((sum, each) => sum + each * TENTH, 0n),
      );
      expect(made).toMatchObject({ kind: 'monero', chain: 'XMR', network: 'regtest', accountNo: 0 });
    }
  });

  it('are the same whatever the order of equal ones', () => {
    const equal = [3, 1, 2].map((n) => coin(TENTH, n));
    const outpoints = (coins: Coin[]) => planMonero(request(coins, [wish(1n)])).inputs.map(({ index }) => index);
    expect([outpoints(equal), outpoints(equal.toReversed())]).toEqual([[3], [3]]);
  });

  it('of what cancels or hurries a payment are those of before, all of which come back', () => {
    const made = planMonero(request(all, [], { spent: [two!, one!] }));
    expect(tenthsOf(made)).toEqual([2n, 1n]);
    expect(made.outputs).toMatchObject([{ kind: 'change', units: 3n * TENTH - made.fee }]);
  });

  it('of everything are the largest, those of before among the 150', () => {
    const many = Array.from({ length: 200 }, (_, n) => coin(TENTH + BigInt(n), n));
    const made = planMonero(request(many, [wish(null)], { spent: [many[0]!] }));
    expect(made.inputs.map(({ index }) => index).toSorted((a, b) => a - b)).toEqual([
      0,
      ...Array.from({ length: 149 }, (_, n) => 51 + n),
    ]);
    expect(made.outputs).toMatchObject([{ kind: 'payout' }]);
  });

  it.each<[string, MoneroRequest, string]>([
    ['nothing is there', request([], [wish(1n)]), 'spend.insufficient'],
    ['nothing is there to sweep', request([], [wish(null)]), 'spend.insufficient'],
    ['nothing is paid', request(all, [wish(0n)]), 'spend.insufficient'],
    ['one of two gets nothing', request(all, [wish(TENTH), wish(0n)]), 'spend.insufficient'],
    ['the fee takes all', request([coin(1n, 1)], [wish(1n)]), 'spend.insufficient'],
    [
      'it pays sixteen',
      request(
        all,
        Array.from({ length: 16 }, () => wish(1n)),
      ),
      'spend.too_large',
    ],
    [
      'it takes too many',
      request(
        Array.from({ length: 151 }, (_, n) => coin(TENTH, n)),
        [wish(15n * COIN)],
      ),
      'spend.too_many_coins',
    ],
    [
      'its fee is too high',
      request(all, [wish(TENTH)], { feeMax: lowestFee(1, [script], RATE) - 1n }),
      'spend.fee_too_high',
    ],
  ])('are none where %s', (_, asked, code) => {
    expect(() => planMonero(asked)).toThrow(expect.objectContaining({ code }));
  });

  it('pay fifteen, and the lowest fee that there can be', () => {
    expect(
      planMonero(
        request(
          all,
          Array.from({ length: 15 }, () => wish(1n)),
        ),
      ).outputs,
    ).toHaveLength(16);
    const feeMax = lowestFee(1, [script], RATE);
    expect(planMonero(request(all, [wish(TENTH)], { feeMax })).fee).toBe(feeMax);
  });
});

it('decoys have the ages that spends have: a gamma distribution of their logarithm, behind the lock', () => {
  // ten outputs in each block: one in 12 seconds
  const [blocks, count] = [200_000, 2_000];
  const usable = 10 * (blocks - 9);
  const counts = Array.from({ length: blocks }, (_, n) => 10 * (n + 1));
  const picked = pickDecoys({ startHeight: 0, counts }, count);
  const logs = picked.map((index) => Math.log(Math.max(1, 12 * (usable - index))));
  const mean = logs.reduce((sum, one) => sum + one, 0) / count;
  const deviation = Math.sqrt(logs.reduce((sum, one) => sum + (one - mean) ** 2, 0) / count);
  expect(new Set(picked).size).toBe(count);
  expect(Math.min(...picked)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...picked)).toBeLessThan(usable);
  // 19.28 / 1.61, less what is older than the chain; the root of 19.28, divided by 1.61
  expect(mean).toBeGreaterThan(11.5);
  expect(mean).toBeLessThan(12);
  expect(deviation).toBeGreaterThan(2.2);
  expect(deviation).toBeLessThan(2.6);
});

it('decoys of a young chain are spread over all outputs that are old enough', () => {
  const picked = pickDecoys({ startHeight: 0, counts: Array.from({ length: 30 }, (_, n) => 4 * (n + 1)) }, 84);
  expect(picked.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 84 }, (_, n) => n));
});

/** A node that answers what a test says, by path or method. */
class Answering extends Front {
  say: (name: string, response: http.ServerResponse) => unknown = () => undefined;

  protected async answer(incoming: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const text = (await incoming.setEncoding('utf8').toArray()).join('');
    const { method = incoming.url ?? '' } = JSON.parse(text) as { method?: string };
    const said = this.say(method, response);
    if (said !== undefined) response.end(JSON.stringify(incoming.url === '/json_rpc' ? { result: said } : said));
  }
}

describe('a node that', () => {
  const server = new Answering();
  let source: NodeSource & { close(): void };
  const HEIGHT = 99;
  const hash = 'ab'.repeat(32);
  const info = { status: 'OK', height: HEIGHT + 1, target_height: 0, nettype: 'fakechain', top_block_hash: hash };
  const header = { height: HEIGHT, hash, prev_hash: hash, timestamp: 1, orphan_status: false };
  const signal = (ms = 5_000) => AbortSignal.timeout(ms);
  /** Answers as a right node does, but for one method. */
  const lying = (method: string, answer: unknown) => {
    server.say = (name) => {
      if (name === method) return answer;
      if (name === 'get_info') return info;
      if (name === 'get_last_block_header') return { status: 'OK', block_header: header };
      const genesis = '418015bb9ae982a1975da7d79277c2705727a56894ba0fb246adaabb1f4632e3';
      return { status: 'OK', headers: [{ ...header, height: 0, hash: genesis }] };
    };
  };
  const counts = (list: unknown[], from = 0) => ({
    status: 'OK',
    distributions: [{ base: 0, start_height: from, distribution: list }],
  });
  const whole = Array.from({ length: HEIGHT + 1 }, () => 3);

  beforeAll(() => server.listen());
  afterEach(() => source?.close());
  afterAll(() => server.close());
  const connect = () => {
    const open = (url: string) => new MoneroNode({ url, label: 'monerod', network: 'regtest', reach: straight() });
    const endpoints = new Endpoints('monerod', [server.url], open, () => {});
    source = Object.assign(new NodeSource(endpoints, () => HEIGHT), { close: () => endpoints.close() });
    return source;
  };

  it.each<[what: string, answer: unknown]>([
    ['too few blocks', counts(whole.slice(1))],
    ['too many blocks', counts([...whole, 3])],
    ['another beginning', counts(whole, 5)],
    ['negative numbers', counts(whole.with(4, -1))],
    ['text', counts(whole.map(String))],
    ['more than there can be', counts(whole.map(() => Number.MAX_SAFE_INTEGER))],
    ['a list of nothing', { status: 'OK', distributions: [] }],
    ['nothing', {}],
  ])('tells numbers of outputs with %s is not believed', async (_, answer) => {
    lying('get_output_distribution', answer);
    await expect(connect().distribution(() => signal())).rejects.toThrow();
  });

  it('tells them rightly, is; and gives decoys that are old enough', async () => {
    lying('get_output_distribution', counts(whole));
    const distribution = await connect().distribution(() => signal());
    const picked = pickDecoys(distribution, 74);
    expect(new Set(picked).size).toBe(74);
    expect(Math.max(...picked)).toBeLessThan(3 * (HEIGHT + 1 - 9));
    expect(() => pickDecoys({ startHeight: 0, counts: [1, 2, 3] }, 74)).toThrow('too few outputs');
    expect(() => pickDecoys({ startHeight: 0, counts: new Array(50).fill(5) }, 74)).toThrow('too few outputs');
  });

  it.each<[what: string, answer: unknown]>([
    ['fewer outputs', { status: 'OK', outs: [] }],
    ['keys that are none', { status: 'OK', outs: [{ key: 'zz', mask: hash, unlocked: true }] }],
    ['something else', { status: 'OK', outs: 'many' }],
  ])('gives %s for a ring is not believed', async (_, answer) => {
    lying('/get_outs', answer);
    await expect(connect().outputs([7], { at: 7, key: hash, commitment: null }, signal())).rejects.toThrow();
  });

  it.each<[what: string, answer: unknown, rate: bigint | null]>([
    ['no fee', { status: 'OK', fee: 0 }, RATE],
    ['no fees', { status: 'OK', fee: 5, fees: [] }, RATE],
    ['the lowest there can be', { status: 'OK', fee: 1, fees: [1, 1, 1, 1] }, RATE],
    ['the four of Monero', { status: 'OK', fee: 20_000, fees: [20_000, 80_000, 320_000, 4_000_000] }, 80_000_000n],
    ['an old one', { status: 'OK', fee: 30_000 }, 30_000_000n],
    ['a text', { status: 'OK', fee: 'cheap' }, null],
    ['a broken number', { status: 'OK', fee: 1.5 }, null],
  ])(
    'asks for %s as a fee: the normal one is paid, and never one that no node would relay',
    async (_, answer, rate) => {
      lying('get_fee_estimate', answer);
      const asked = connect().feeRate(6, signal());
      if (rate === null) await expect(asked).rejects.toThrow();
      else expect(await asked).toBe(rate);
    },
  );

  it.each([
    ['its reason', { status: 'Failed', fee_too_low: true, reason: 'bad fee' }, 'fee too low, bad fee'],
    ['no reason', { status: 'Failed', reason: '' }, 'Failed'],
    ['nothing but a status', { status: 'Failed' }, 'Failed'],
  ])('refuses a transaction and tells %s, is quoted', async (_, answer, reason) => {
    lying('/send_raw_transaction', answer);
    const node = new MoneroNode({ url: server.url, label: 'monerod', network: 'regtest', reach: straight() });
    expect(await node.send('00', signal())).toBe(reason);
    node.close();
  });

  it('asks for more than was approved: nothing is planned', () => {
    const wanted = request([coin(COIN, 1)], [wish(1n)], { feeRate: 10n ** 18n, feeMax: COIN / 100n });
    expect(() => planMonero(wanted)).toThrow(/Insufficient|above the limit/);
  });

  it('never answers, or without end, holds up nobody for longer than was asked', async () => {
    server.say = () => undefined;
    await expect(connect().feeRate(2, signal(200))).rejects.toThrow();
    const chunk = Buffer.alloc(1_000_000, 32);
    server.say = (_name, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
      return undefined;
    };
    await expect(connect().outputs([7], { at: 7, key: hash, commitment: null }, signal())).rejects.toThrow(/too large/);
  });
});
