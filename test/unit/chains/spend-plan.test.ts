/** Plans of spending: what they hold to whatever is asked, and the rules of each kind of request. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CoinSource } from '../../../daemon/chains/adapter.ts';
import type { UtxoChain } from '../../../daemon/chains/utxo/params.ts';
import { INPUTS_MAX, planUtxo } from '../../../daemon/chains/utxo/spend/plan.ts';
import { UtxoSpending } from '../../../daemon/chains/utxo/spend/spending.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { parseDecimal } from '../../../daemon/domain/money.ts';
import type { SpendRequest, UtxoPlan } from '../../../daemon/domain/spend.ts';
import { amount, CHAINS_UTXO, changeOf, coinsOf, DESTINATIONS, ownScript, requestOf, sum } from './spend-kit.ts';

const BTC_IN = 68n;

/** As nodes have it, written out here on its own. */
const DUST: Readonly<Record<UtxoChain, readonly bigint[]>> = {
  BTC: [294n, 330n, 330n, 540n, 546n],
  LTC: [2_940n, 3_300n, 3_300n, 5_400n, 5_460n],
  BCH: [546n, 540n, 576n],
};
const CHANGE_DUST: Readonly<Record<UtxoChain, bigint>> = { BTC: 294n, LTC: 2_940n, BCH: 546n };

function plan(request: SpendRequest): UtxoPlan {
  return planUtxo(request, request.chain as UtxoChain);
}

function outcome(request: SpendRequest): UtxoPlan | Rejected {
  try {
    return plan(request);
  } catch (error) {
    if (error instanceof Rejected) return error;
    throw error;
  }
}

const codeOf = (request: SpendRequest): string | null => {
  const result = outcome(request);
  return result instanceof Rejected ? result.code : null;
};

const request: fc.Arbitrary<SpendRequest> = fc
  .record({
    chain: fc.constantFrom(...CHAINS_UTXO),
    units: fc.array(amount, { minLength: 1, maxLength: 40 }),
    young: fc.integer({ min: 0, max: 5 }),
    pay: fc.array(amount, { minLength: 0, maxLength: 5 }),
    sweep: fc.boolean(),
    requiredInputs: fc.integer({ min: 0, max: 3 }),
    feeRate: fc.bigInt({ min: 1_000n, max: 200_000n }),
    feeMin: fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 100_000n })),
    parent: fc.option(
      fc.record({ fee: fc.bigInt({ min: 0n, max: 50_000n }), vsize: fc.integer({ min: 80, max: 5_000 }) }),
    ),
  })
  .map(({ chain, units, young, pay, sweep, requiredInputs, feeRate, feeMin, parent }) => {
    const coins = coinsOf(chain, units).map((coin, i) => (i < young ? { ...coin, confirmations: 0 } : coin));
    const held = coins.slice(0, pay.length === 0 && !sweep ? Math.max(1, requiredInputs) : requiredInputs);
    return requestOf(chain, {
      coins,
      feeRate,
      feeMin,
      pay: sweep ? [null] : pay,
      requiredInputs: held.map(({ outpoint }) => outpoint),
      ...(parent && { parents: parent }),
    });
  });

describe('every plan', () => {
  it('adds up, pays its rate and no more than change would cost, and makes no dust', () => {
    let plans = 0;
    fc.assert(
      fc.property(request, (asked) => {
        const made = outcome(asked);
        if (made instanceof Rejected) {
          expect(['spend.insufficient', 'spend.dust']).toContain(made.code);
          return;
        }
        plans++;
        const chain = asked.chain as UtxoChain;
        expect(sum(made.inputs)).toBe(sum(made.outputs) + made.fee);
        const floor = (BigInt(made.vsize) * asked.feeRate + 999n) / 1_000n;
        const replacing = asked.feeMin > 0n ? asked.feeMin + BigInt(made.vsize) : 0n;
        const parents = asked.parents
          ? (BigInt(asked.parents.vsize + made.vsize) * asked.feeRate + 999n) / 1_000n - asked.parents.fee
          : 0n;
        const least = [floor, replacing, parents].reduce((a, b) => (a > b ? a : b));
        expect(made.fee).toBeGreaterThanOrEqual(least);
        // A change output, the spending of it at the later rate or its dust limit, and what rounding adds.
        const changeCost = (44n * (asked.feeRate > 1_000n ? asked.feeRate : 1_000n)) / 1_000n;
        const later = (148n * 10_000n) / 1_000n;
        expect(made.fee).toBeLessThanOrEqual(
          least + changeCost + (later > CHANGE_DUST[chain] ? later : CHANGE_DUST[chain]) + 3n,
        );
        for (const output of made.outputs) {
          const nth = DESTINATIONS[chain].indexOf(output.address);
          expect(output.units).toBeGreaterThanOrEqual(nth < 0 ? CHANGE_DUST[chain] : (DUST[chain][nth] as bigint));
        }
      }),
      { numRuns: 200 },
    );
    expect(plans).toBeGreaterThan(40);
  });

  it('spends each coin once, every required input, and only coins that were offered', () => {
    fc.assert(
      fc.property(request, (asked) => {
        const made = outcome(asked);
        if (made instanceof Rejected) return;
        const spent = made.inputs.map(({ outpoint }) => outpoint);
        expect(new Set(spent).size).toBe(spent.length);
        const offered = new Map(asked.coins.map((coin) => [coin.outpoint, coin]));
        for (const { sequence, ...coin } of made.inputs) expect(coin).toEqual(offered.get(coin.outpoint));
        for (const required of asked.requiredInputs) expect(spent).toContain(required);
        const added = made.inputs.filter(({ outpoint }) => !asked.requiredInputs.includes(outpoint));
        // BIP-125 rule 2.
        if (asked.feeMin > 0n) for (const { confirmations } of added) expect(confirmations).toBeGreaterThan(0);
      }),
    );
  });

  it('pays every recipient what was asked, in one output each', () => {
    fc.assert(
      fc.property(request, (asked) => {
        const made = outcome(asked);
        if (made instanceof Rejected) return;
        const paid = made.outputs
          .filter(({ kind }) => kind === 'payout')
          .map(({ address, units }) => `${address} ${units}`);
        if (asked.payouts.some(({ units }) => units === null)) {
          expect(made.outputs).toMatchObject([{ kind: 'payout', address: asked.payouts[0]?.address }]);
        } else {
          expect(paid.sort()).toEqual(asked.payouts.map(({ address, units }) => `${address} ${units}`).sort());
          expect(made.outputs.length - paid.length).toBeLessThanOrEqual(1);
        }
      }),
    );
  });

  it('is the same however the coins are listed, and in BIP-69 order', () => {
    fc.assert(
      fc.property(request, fc.integer(), (asked, seed) => {
        const made = outcome(asked);
        const turned = [...asked.coins.slice(Math.abs(seed) % asked.coins.length), ...asked.coins].slice(
          0,
          asked.coins.length,
        );
        const isWhole = new Set(turned).size === asked.coins.length;
        const coins = isWhole ? turned : asked.coins.toReversed();
        expect(outcome({ ...asked, coins })).toEqual(made);
        if (made instanceof Rejected) return;
        const keys = made.inputs.map(({ outpoint }) => outpoint);
        expect(keys).toEqual(keys.toSorted());
        const amounts = made.outputs.map(({ units }) => units);
        expect(amounts).toEqual(amounts.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)));
      }),
    );
  });
});

describe('a payment', () => {
  it.each([
    ['BTC', 0xffff_fffd],
    ['LTC', 0xffff_fffd],
    ['BCH', 0xffff_fffe],
  ] as const)('of %s is version 2, locked to the tip, and signals what the chain knows', (chain, sequence) => {
    const made = plan(requestOf(chain, { pay: [50_000n], coins: coinsOf(chain, [1_000_000n]), tipHeight: 123_456 }));
    expect(made).toMatchObject({ kind: 'utxo', network: 'regtest', chain, version: 2, lockTime: 123_456 });
    expect(made.inputs).toMatchObject([{ sequence }]);
  });

  it('costs what its size costs: one P2WPKH input, two outputs of the kind', () => {
    const made = plan(requestOf('BTC', { pay: [50_000n], coins: coinsOf('BTC', [1_000_000n]), feeRate: 10_000n }));
    // 10.5 + 68 + 31 + 31 virtual bytes, the largest signature counted.
    expect(made).toMatchObject({ vsize: 141, fee: 1_410n });
    expect(changeOf(made)).toMatchObject({ units: 1_000_000n - 50_000n - 1_410n, index: 7 });
  });

  it('needs no change when coins come close', () => {
    // 110 virtual bytes at 10 a byte; 40 units are over.
    const made = plan(
      requestOf('BTC', { pay: [50_000n], coins: coinsOf('BTC', [900_000n, 51_140n, 30_000n]), feeRate: 10_000n }),
    );
    expect(made.outputs).toHaveLength(1);
    expect(made).toMatchObject({ fee: 1_140n, inputs: [{ units: 51_140n }] });
  });

  it('keeps large coins whole: of those that are enough, the smallest', () => {
    const made = plan(
      requestOf('BTC', { pay: [50_000n], coins: coinsOf('BTC', [900_000n, 300_000n, 90_000n, 20_000n]) }),
    );
    expect(made.inputs.map(({ units }) => units)).toEqual([90_000n]);
  });

  it('leaves the coins alone that cost more than they are worth', () => {
    const coins = coinsOf('BTC', [60_000n, ...new Array<bigint>(50).fill(3_000n)]);
    expect(codeOf(requestOf('BTC', { pay: [60_000n], coins, feeRate: 50_000n }))).toBe('spend.insufficient');
    // At a lower rate they are worth something again.
    expect(plan(requestOf('BTC', { pay: [60_000n], coins, feeRate: 5_000n })).inputs.length).toBeGreaterThan(1);
  });

  it('takes unconfirmed change only when the confirmed coins do not suffice', () => {
    const [deep, young] = [coinsOf('LTC', [500_000n, 400_000n]), coinsOf('LTC', [0n, 0n, 2_000_000n], 0).slice(2)];
    const coins = [...deep, ...young];
    const small = plan(requestOf('LTC', { pay: [450_000n], coins, feeRate: 10_000n }));
    expect(small.inputs.every(({ confirmations }) => confirmations > 0)).toBe(true);
    const large = plan(requestOf('LTC', { pay: [1_500_000n], coins, feeRate: 10_000n }));
    expect(large.inputs.some(({ confirmations }) => confirmations === 0)).toBe(true);
  });

  it('that cannot be afforded says what is missing', () => {
    const asked = requestOf('BTC', { pay: [100_000n], coins: coinsOf('BTC', [99_000n]), feeRate: 10_000n });
    expect(outcome(asked)).toMatchObject({
      code: 'spend.insufficient',
      message: 'Insufficient balance: 0.000021 BTC are missing, the network fee included',
    });
    // With just that much more it can.
    const enough = coinsOf('BTC', [99_000n + 2_100n]);
    expect(plan({ ...asked, coins: enough })).toMatchObject({ fee: 1_100n });
    const short = coinsOf('BTC', [99_000n + 2_099n]);
    expect(codeOf({ ...asked, coins: short })).toBe('spend.insufficient');
  });

  it.each(CHAINS_UTXO)('of %s below the dust limit of its address is refused, and at the limit made', (chain) => {
    for (const [nth, limit] of DUST[chain].entries()) {
      const coins = coinsOf(chain, [1_000_000n]);
      const { payouts } = requestOf(chain, { pay: DUST[chain].map(() => limit) });
      const payout = payouts[nth] as SpendRequest['payouts'][number];
      const to = (units: bigint) => requestOf(chain, { coins, payouts: [{ ...payout, units }] });
      expect(plan(to(limit)).outputs.some(({ units }) => units === limit)).toBe(true);
      expect(outcome(to(limit - 1n))).toMatchObject({ code: 'spend.dust', field: 'amount' });
    }
  });

  it('whose fee would be above the limit is refused', () => {
    const asked = requestOf('BTC', { pay: [50_000n], coins: coinsOf('BTC', [1_000_000n]), feeRate: 10_000n });
    expect(plan({ ...asked, feeMax: 1_410n }).fee).toBe(1_410n);
    expect(codeOf({ ...asked, feeMax: 1_409n })).toBe('spend.fee_too_high');
  });

  it('of more recipients than a transaction holds is refused', () => {
    const pay = new Array<bigint>(501).fill(10_000n);
    expect(codeOf(requestOf('BTC', { pay, coins: coinsOf('BTC', [10n ** 10n]) }))).toBe('spend.too_large');
    const made = plan(requestOf('BTC', { pay: pay.slice(1), coins: coinsOf('BTC', [10n ** 10n]) }));
    expect(made.outputs).toHaveLength(501);
    expect(made.vsize * 4).toBeLessThan(400_000);
  });

  it('never pays a script that is not its address, nor a coin twice', () => {
    const asked = requestOf('BTC', { pay: [50_000n], coins: coinsOf('BTC', [1_000_000n]) });
    const [payout] = asked.payouts;
    expect(() => plan({ ...asked, payouts: [{ ...payout!, script: ownScript('BTC', 1) }] })).toThrow(
      'assertion failed',
    );
    expect(() => plan({ ...asked, coins: [...asked.coins, ...asked.coins] })).toThrow('assertion failed');
    expect(() => plan({ ...asked, requiredInputs: [`${'00'.repeat(32)}:0`] })).toThrow('assertion failed');
    expect(() => plan({ ...asked, change: { ...asked.change, script: ownScript('BTC', 1) } })).toThrow(
      'assertion failed',
    );
  });
});

describe('many coins', () => {
  const many = (count: number) => coinsOf('BTC', new Array<bigint>(count).fill(10_000n));

  it('are spent up to 500 at once, and beyond that the operator is told how much goes', () => {
    const worth = 10_000n * BigInt(INPUTS_MAX);
    // 500 inputs, one output: 10.5 + 2 + 31 + 500 × 68 virtual bytes at 1 a byte.
    const fee = 34_044n;
    const asked = requestOf('BTC', { pay: [worth - fee], coins: many(600), feeRate: 1_000n });
    expect(plan(asked)).toMatchObject({ fee, vsize: 34_044 });
    const over = outcome(requestOf('BTC', { pay: [worth - fee + 1n], coins: many(600), feeRate: 1_000n }));
    expect(over).toMatchObject({ code: 'spend.too_many_coins' });
    expect((over as Rejected).message).toContain('Withdraw up to 0.04931912 BTC at a time');
  });

  it('all leave in as many withdrawals as the refusals name, however many there are and however little they are worth', () => {
    for (const [units, feeRate] of [
      [1_000n, 1_000n],
      [100n, 1_000n],
    ] as const) {
      let coins = coinsOf('BTC', new Array<bigint>(3_000).fill(units));
      let withdrawals = 0;
      for (;;) {
        const all = outcome(requestOf('BTC', { pay: [null], coins, feeRate }));
        withdrawals++;
        if (!(all instanceof Rejected)) break;
        const amount = parseDecimal(/Withdraw up to (0\.\d+) BTC/.exec(all.message)![1]!, 8)!;
        const made = plan(requestOf('BTC', { pay: [amount], coins, feeRate }));
        const spent = new Set(made.inputs.map(({ outpoint }) => outpoint));
        coins = coins.filter(({ outpoint }) => !spent.has(outpoint));
        const change = made.outputs.find(({ kind }) => kind === 'change');
        if (change) coins.push({ ...coins[0]!, outpoint: `${'f'.repeat(64)}:${withdrawals}`, units: change.units });
      }
      expect(withdrawals).toBeLessThanOrEqual(8);
    }
  });

  it('that are worth no more than their fee are said to wait for a lower one', () => {
    // an input costs 6,801, and the rest of a transaction 4,350
    const coins = coinsOf('BTC', new Array<bigint>(600).fill(6_802n));
    const over = outcome(requestOf('BTC', { pay: [null], coins, feeRate: 100_000n }));
    expect((over as Rejected).message).toContain('takes all that they are worth');
  });

  it('of which not even all suffice are missing something', () => {
    expect(codeOf(requestOf('BTC', { pay: [10_000n * 600n], coins: many(600) }))).toBe('spend.insufficient');
  });

  it('cannot be swept in one transaction', () => {
    expect(plan(requestOf('BTC', { pay: [null], coins: many(500) })).inputs).toHaveLength(500);
    expect(codeOf(requestOf('BTC', { pay: [null], coins: many(501) }))).toBe('spend.too_many_coins');
  });
});

describe('a sweep', () => {
  it('pays everything less the fee, and has no change', () => {
    const made = plan(
      requestOf('LTC', { pay: [null], coins: coinsOf('LTC', [500_000n, 400_000n, 100n]), feeRate: 10_000n }),
    );
    // 10.5 + 31 + 2 × 68; the third coin is worth less than it costs.
    expect(made).toMatchObject({ vsize: 178, fee: 1_780n, outputs: [{ kind: 'payout', units: 900_000n - 1_780n }] });
  });

  it('of less than its fee is refused with what is missing', () => {
    const asked = requestOf('BTC', { pay: [null], coins: coinsOf('BTC', [1_000n]), feeRate: 10_000n });
    expect(codeOf(asked)).toBe('spend.insufficient');
    expect(codeOf({ ...asked, coins: [] })).toBe('spend.insufficient');
  });
});

describe('a replacement', () => {
  const coins = coinsOf('BTC', [100_000n, 50_000n, 80_000n]);
  const first = requestOf('BTC', { pay: [60_000n], coins, feeRate: 2_000n });
  const old = plan(first);
  const requiredInputs = old.inputs.map(({ outpoint }) => outpoint);

  it('pays the recipient the same, and more fee by the relay fee of its size at the least', () => {
    const made = plan({ ...first, requiredInputs, feeMin: old.fee, feeRate: 2_001n });
    expect(made.fee).toBe(old.fee + BigInt(made.vsize));
    expect(made.outputs.find(({ kind }) => kind === 'payout')?.units).toBe(60_000n);
    const faster = plan({ ...first, requiredInputs, feeMin: old.fee, feeRate: 9_000n });
    expect(faster.fee).toBe(BigInt(faster.vsize) * 9n);
  });

  it('adds confirmed coins when its own no longer suffice, and no others', () => {
    const high = { ...first, requiredInputs, feeMin: old.fee, feeRate: 300_000n };
    const made = plan(high);
    expect(made.inputs.length).toBeGreaterThan(1);
    expect(made.inputs.map(({ outpoint }) => outpoint)).toEqual(expect.arrayContaining(requiredInputs));
    const young = coins.map((coin) => (requiredInputs.includes(coin.outpoint) ? coin : { ...coin, confirmations: 0 }));
    expect(codeOf({ ...high, coins: young })).toBe('spend.insufficient');
  });

  it('that cancels pays nobody but ourselves', () => {
    const made = plan({ ...first, payouts: [], requiredInputs, feeMin: old.fee, feeRate: 4_000n });
    expect(made.outputs).toMatchObject([{ kind: 'change', index: 7 }]);
    expect(made.fee).toBeGreaterThanOrEqual(old.fee + BigInt(made.vsize));
    expect(() => plan({ ...first, payouts: [] })).toThrow('assertion failed');
    // Worth less than its spending, and no dust: what matters is that nobody else is paid.
    const small = coinsOf('BTC', [1_700n]);
    const tiny = requestOf('BTC', { coins: small, requiredInputs: [small[0]!.outpoint], feeRate: 10_000n });
    expect(plan(tiny).outputs).toMatchObject([{ kind: 'change', units: 600n }]);
    expect(codeOf({ ...tiny, feeRate: 13_000n })).toBe('spend.insufficient');
  });
});

describe('a child that pays for its parent', () => {
  const [coin] = coinsOf('BTC', [40_000n], 0);

  it('brings both to the rate', () => {
    const parents = { fee: 200n, vsize: 200 };
    const made = plan(
      requestOf('BTC', { coins: [coin!], requiredInputs: [coin!.outpoint], feeRate: 20_000n, parents }),
    );
    expect(made.outputs).toMatchObject([{ kind: 'change' }]);
    // One input, one output: 110 virtual bytes, and 200 more to pay for, less what the parent pays.
    expect(made).toMatchObject({ vsize: 110, fee: 20n * (110n + 200n) - 200n });
  });

  it('pays no less for itself when the parent pays enough', () => {
    const parents = { fee: 90_000n, vsize: 200 };
    const asked = requestOf('BTC', { coins: [coin!], requiredInputs: [coin!.outpoint], feeRate: 20_000n, parents });
    expect(plan(asked).fee).toBe(20n * 110n);
  });

  it('takes another coin when the stuck one is too small', () => {
    const coins = [...coinsOf('BTC', [3_000n], 0), ...coinsOf('BTC', [0n, 500_000n]).slice(1)];
    const parents = { fee: 0n, vsize: 2_000 };
    const asked = requestOf('BTC', { coins, requiredInputs: [coins[0]!.outpoint], feeRate: 10_000n, parents });
    expect(plan(asked).inputs).toHaveLength(2);
    expect(plan(asked).fee).toBe(10n * (2_000n + 110n + BTC_IN));
  });
});

it('names the reason for a locked coin of these chains, which is a token that it carries', () => {
  expect(new UtxoSpending('BCH', 'mainnet', {} as CoinSource).whyLocked()).toMatch(/^It carries a CashToken/);
});
