/** The prices and nonces that payments of Ethereum's family get where endpoints differ, lie, or are silent. */
import assert from 'node:assert/strict';
import { keccak256 } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import { Endpoints } from '../../../daemon/chains/endpoints.ts';
import { checksumAddress } from '../../../daemon/chains/evm/address.ts';
import type { GasPrice, Header } from '../../../daemon/chains/evm/answers.ts';
import { type EvmEndpoint, hexOfScript } from '../../../daemon/chains/evm/endpoint.ts';
import { EvmSource } from '../../../daemon/chains/evm/spend/source.ts';
import { EvmSpending } from '../../../daemon/chains/evm/spend/spending.ts';
import { RpcError } from '../../../daemon/chains/json-rpc.ts';
import type { PaymentRequest } from '../../../daemon/chains/spending.ts';
import { Rejected, Unavailable } from '../../../daemon/domain/errors.ts';
import { evmScript } from '../../../daemon/domain/evm.ts';
import { transferData } from '../../../daemon/domain/evm-transaction.ts';
import { type EvmPlan, nonceKey } from '../../../daemon/domain/spend.ts';

const GWEI = 10n ** 9n;
const COIN = 10n ** 18n;
const signal = () => AbortSignal.timeout(5_000);
const TANK = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
const TETHER = { asset: 'USDT_ERC20' as const, contract: `0x${'d'.repeat(40)}`, decimals: 6 };
const STRANGER = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359';

/** The answers of one operator's endpoint; null: it is silent. */
type Gas = bigint | RpcError;
type Answers = {
  price?: GasPrice;
  nonce?: bigint;
  /** How many transactions of the sender there are with those in its pool; default: it does not tell. */
  pool?: bigint;
  gas?: Gas | ((from: string, call: { to: string; value: string; data: string }) => Gas);
  /** What a transfer returns where it is tried; default: nothing. */
  returned?: string;
  /** Of each address; default: more than anybody has. */
  coins?: bigint;
  tokens?: bigint | ((address: string) => bigint);
} | null;

const PLENTY = 10n ** 30n;
const HEAD = { height: 7, hash: `0x${'7'.repeat(64)}` } as Header;

/** A source over endpoints of several operators. */
function sourceOf(...all: Answers[]): EvmSource {
  const open = (url: string): EvmEndpoint => {
    const answers = all[Number(new URL(url).hostname.slice(2, 3))] ?? null;
    const need = <T>(value: T | undefined | null): T => {
      if (answers === null || value === undefined || value === null) throw new Unavailable('it is silent', 1);
      return value;
    };
    const endpoint: Partial<EvmEndpoint> = {
      name: url,
      identify: async () => {
        need(answers ?? undefined);
      },
      gasPrice: async () => need(answers?.price),
      nonces: async () => [need(answers?.nonce)],
      nonceInPool: async () => need(answers && (answers.pool ?? 0n)),
      trial: async (call) => {
        const told = need(answers?.gas ?? 21_000n);
        const gas = typeof told === 'function' ? told(call.from, call) : told;
        if (gas instanceof RpcError) throw gas;
        return { gas, returned: answers?.returned ?? '0x' };
      },
      head: async () => need(answers && HEAD),
      balances: async (addresses) => addresses.map(() => need(answers).coins ?? PLENTY),
      tokenBalances: async (_, addresses) =>
        addresses.map((address) => {
          const { tokens = PLENTY } = need(answers);
          return typeof tokens === 'function' ? tokens(address) : tokens;
        }),
      close: () => {},
    };
    return endpoint as EvmEndpoint;
  };
  const urls = all.map((_, i) => `http://op${i}.example`);
  return new EvmSource(new Endpoints('a setting', urls, open, () => {}));
}

const OWN_TANK = { address: TANK, script: evmScript(TANK), branch: 1 as const, index: 0 };

function holdingsWith(known: bigint): PaymentRequest['holdings'] {
  const funds = { ...OWN_TANK, units: { ETH: COIN } };
  const nothing = (): never => {
    throw new Error('an account chain has no coins');
  };
  const nextNonce = (_: string, used: bigint) => (used > known ? used : known);
  return { balances: () => [funds], balance: () => funds, nextNonce, coin: nothing, coins: () => [] };
}

/** Plans a payment from the tank, of whose nonces the books know the first so many as used. */
async function planned(
  source: EvmSource,
  known: bigint,
  over: Partial<PaymentRequest> = {},
  suspect: (script: Uint8Array) => void = () => {},
): Promise<EvmPlan> {
  const spending = new EvmSpending({ chain: 'ETH', network: 'mainnet', tokens: [TETHER], suspect }, source);
  const holdings = holdingsWith(known);
  return spending.plan(
    {
      accountNo: 0,
      asset: 'ETH',
      payouts: [{ address: STRANGER, units: COIN / 10n }],
      conflictKeys: [],
      change: OWN_TANK,
      feeRate: 3_000n * GWEI,
      feeMin: 0n,
      feeMax: COIN,
      inputsMax: null,
      tipHeight: 0,
      holdings,
      ...over,
    },
    signal,
  );
}

const price = (base: bigint, tip: bigint): GasPrice => ({ base, tip });
const fair = price(GWEI, GWEI);

describe('the next nonce', () => {
  it('is not given once more in place of a transaction that blocks have', async () => {
    const used = { price: fair, nonce: 7n };
    const cancel = { payouts: [], from: { script: evmScript(TANK) }, conflictKeys: [nonceKey(TANK, 6n)] };
    await expect(planned(sourceOf(used, used), 7n, cancel)).rejects.toMatchObject({ code: 'spend.nonce' });
    const lag = { price: fair, nonce: 6n };
    expect((await planned(sourceOf(lag, lag), 7n, cancel)).nonce).toBe(6n);
  });

  it('is not one endpoint’s word alone while the other operator is silent, unless the books explain it', async () => {
    const source = (nonce: bigint) => sourceOf({ price: fair, nonce }, null);
    expect((await planned(source(7n), 7n)).nonce).toBe(7n);
    expect((await planned(source(0n), 0n)).nonce).toBe(0n);
    // a node that has not read the newest block
    expect((await planned(source(6n), 7n)).nonce).toBe(7n);
    const lie = planned(source(10n ** 15n), 7n);
    await expect(lie).rejects.toThrow(Unavailable);
    await expect(lie).rejects.toThrow(/only one operator says that .* has sent 1000000000000000 transactions/i);
    await expect(planned(source(8n), 7n)).rejects.toThrow(Unavailable);
  });

  it('is any that two operators tell, and that the only one tells', async () => {
    expect((await planned(sourceOf({ price: fair, nonce: 9n }, { price: fair, nonce: 9n }), 7n)).nonce).toBe(9n);
    expect((await planned(sourceOf({ price: fair, nonce: 9n }), 7n)).nonce).toBe(9n);
  });

  it('is not given while blocks have a transaction that the books lack, which is looked for then', async () => {
    const suspects: string[] = [];
    const suspect = (script: Uint8Array) => suspects.push(Buffer.from(script).toString('hex'));
    const at = { price: fair, nonce: 8n };
    const lacksSent = (own: { address: string }, used: bigint) => own.address === TANK && used > 7n;
    const lacking = { ...holdingsWith(7n), lacksSent };
    const waits = /Blocks have 8 transactions of 0x\w+, and the books fewer/;
    const refused = planned(sourceOf(at, at), 7n, { holdings: lacking }, suspect);
    await expect(refused).rejects.toMatchObject({ code: 'spend.unknown', message: expect.stringMatching(waits) });
    expect(suspects).toEqual([TANK.slice(2).toLowerCase()]);
    const read = { price: fair, nonce: 7n };
    expect((await planned(sourceOf(read, read), 7n, { holdings: lacking }, suspect)).nonce).toBe(7n);
    expect(suspects).toHaveLength(1);
    // what takes the place of a payment is of a nonce that no block has used
    const cancel = { payouts: [], from: { script: evmScript(TANK) }, conflictKeys: [nonceKey(TANK, 8n)] };
    expect((await planned(sourceOf(at, at), 7n, { ...cancel, holdings: lacking }, suspect)).nonce).toBe(8n);
  });

  it('is not given while pools have a transaction that the books do not have', async () => {
    const at = (...pools: bigint[]) => sourceOf(...pools.map((pool) => ({ price: fair, nonce: 7n, pool })));
    const waits = /Transaction 7 of 0x\w+ waits for a block, and this machine did not make it/;
    await expect(planned(at(8n), 7n)).rejects.toThrow(waits);
    await expect(planned(at(8n, 9n), 7n)).rejects.toThrow(waits);
    await expect(planned(at(7n, 9n, 8n), 7n)).rejects.toThrow(waits);
    // one that lies stops nothing, and neither does one that tells no pool
    expect((await planned(at(9n, 7n), 7n)).nonce).toBe(7n);
    expect((await planned(at(7n, 9n, 7n), 7n)).nonce).toBe(7n);
    expect((await planned(at(0n), 7n)).nonce).toBe(7n);
    expect((await planned(at(9n, 0n), 7n)).nonce).toBe(7n);
    // what the books have sent themselves
    expect((await planned(at(8n, 8n), 8n)).nonce).toBe(8n);
    expect((await planned(at(12n, 12n), 12n)).nonce).toBe(12n);
  });

  it('of a version that takes the place of another is the same, whatever pools have', async () => {
    const source = sourceOf({ price: fair, nonce: 7n, pool: 9n });
    const reserved = { conflictKeys: [nonceKey(TANK, 7n)] };
    expect((await planned(source, 8n, reserved)).nonce).toBe(7n);
  });
});

describe('the tip', () => {
  const tipOf = async (...all: Answers[]) => (await planned(sourceOf(...all), 0n)).maxPriorityFeePerGas;
  const rate = { feeRate: 900_000n * GWEI };

  it('of one endpoint is at most twice that of another operator, or a plain one', async () => {
    const lie = { price: price(GWEI, 500n * GWEI), nonce: 0n };
    const with5 = await planned(sourceOf(lie, { price: price(GWEI, 5n * GWEI), nonce: 0n }), 0n, rate);
    expect(with5.maxPriorityFeePerGas).toBe(10n * GWEI);
    const with0 = await planned(sourceOf(lie, { price: price(GWEI, 0n), nonce: 0n }), 0n, rate);
    expect(with0.maxPriorityFeePerGas).toBe(2n * GWEI);
    expect(await sourceOf(lie, { price: price(GWEI, GWEI) }).feeRate(3, signal())).toBe(3_500n * GWEI);
  });

  it('is the asked one’s where nobody contradicts it', async () => {
    expect(await tipOf({ price: fair, nonce: 0n }, { price: price(GWEI, 30n * GWEI), nonce: 0n })).toBe(GWEI);
    expect(await tipOf({ price: fair, nonce: 0n }, null)).toBe(GWEI);
    expect(await tipOf({ price: fair, nonce: 0n })).toBe(GWEI);
  });

  it('of a replacement rises within the rate that is offered, though an endpoint tells none: it doubles at the most', async () => {
    const source = () => sourceOf({ price: price(GWEI, 0n), nonce: 0n });
    const first = await planned(source(), 0n);
    expect(first).toMatchObject({ maxFeePerGas: 3n * GWEI, maxPriorityFeePerGas: 0n });
    const second = await planned(source(), 0n, { replaced: [first], feeRate: 8_000n * GWEI });
    expect(second).toMatchObject({ maxFeePerGas: 8n * GWEI, maxPriorityFeePerGas: 2n * GWEI });
    const third = await planned(source(), 0n, { replaced: [first, second], feeRate: 80_000n * GWEI });
    expect(third).toMatchObject({ maxFeePerGas: 80n * GWEI, maxPriorityFeePerGas: 4n * GWEI });
    const spending = new EvmSpending({ chain: 'ETH', network: 'mainnet', tokens: [] }, source());
    expect([first, second, third].map((plan) => spending.hasLowTip(plan))).toEqual([true, false, false]);
    // what it offers is no more than the base fee asks for
    const low = await planned(source(), 0n, { replaced: [first], feeRate: 2_500n * GWEI });
    expect(low.maxPriorityFeePerGas).toBe(low.maxFeePerGas - 2n * GWEI);
  });
});

describe('a recipient with code', () => {
  const answers = (gas: bigint | RpcError) => sourceOf({ price: fair, nonce: 0n, gas });

  it('gets the gas that its code needs, with a quarter more: a contract, or an address that delegates to one', async () => {
    expect(await planned(answers(42_000n), 0n)).toMatchObject({ gasLimit: 52_500n, fee: 52_500n * 3n * GWEI });
    expect((await planned(answers(21_000n), 0n)).gasLimit).toBe(21_000n);
  });

  it('is paid in coin whatever its code answers', async () => {
    const source = sourceOf({ price: fair, nonce: 0n, gas: 42_000n, returned: `0x${'0'.repeat(64)}` });
    expect((await planned(source, 0n)).gasLimit).toBe(52_500n);
  });

  it('is not paid when it refuses, or wants all the gas of a block, and no gas is asked for', async () => {
    const reverts = planned(answers(new RpcError(3, 'execution reverted: no thanks')), 0n);
    await expect(reverts).rejects.toMatchObject({
      code: 'spend.refused',
      message: expect.stringContaining('execution reverted: no thanks'),
    });
    const limited = planned(answers(new RpcError(3, 'execution reverted: daily limit exceeded')), 0n);
    await expect(limited).rejects.toMatchObject({ code: 'spend.refused' });
    const burns = planned(answers(30_000_000n), 0n);
    await expect(burns).rejects.toMatchObject({
      code: 'spend.refused',
      message: expect.stringContaining('30000000 gas'),
    });
    expect((await planned(answers(800_000n), 0n)).gasLimit).toBe(1_000_000n);
    await expect(planned(answers(800_001n), 0n)).rejects.toMatchObject({ code: 'spend.refused' });
  });
});

describe('an endpoint that cannot try a transaction now', () => {
  it.each([
    [-32_007, '50/second request limit reached - reduce calls per second or upgrade your account'],
    [-32_000, 'execution aborted (timeout = 5s)'],
    [-32_000, 'header not found'],
    [-32_000, 'missing trie node 5f3d (path ) state 0x5f3d is not available'],
    [-32_603, 'Internal error'],
    [30, 'Request timeout on the free tier, please upgrade your tier to the paid one'],
    [-32_601, 'the method eth_estimateGas does not exist/is not available'],
  ])('says nothing about the transaction: %i %s', async (code, message) => {
    const source = sourceOf({ price: fair, nonce: 0n, gas: new RpcError(code, message) });
    await expect(planned(source, 0n)).rejects.toBeInstanceOf(Unavailable);
  });

  it.each([
    [3, 'execution reverted: rate limit exceeded'],
    [-32_000, 'execution reverted'],
    [-32_015, 'VM execution error.'],
    [-32_000, 'gas required exceeds allowance (60000000)'],
    [-32_000, 'insufficient funds for transfer'],
    [-32_003, 'insufficient funds for gas * price + value: balance 0'],
    [-32_000, 'invalid opcode: INVALID'],
    [-32_000, 'out of gas'],
    [-32_000, 'Reverted 0x'],
    [-32_000, 'stack limit reached 1024 (1023)'],
    [-32_000, 'always failing transaction'],
  ])('is not meant by a refusal of the chain: %i %s', async (code, message) => {
    const source = sourceOf({ price: fair, nonce: 0n, gas: new RpcError(code, message) });
    await expect(planned(source, 0n)).rejects.toMatchObject({ code: 'spend.refused' });
  });
});

describe('an endpoint that a contract keeps from trying', () => {
  const slow = new RpcError(-32_000, 'execution aborted (timeout = 5s)');
  const told = (...gas: Gas[]) => sourceOf(...gas.map((one): Answers => ({ price: fair, nonce: 0n, gas: one })));

  it('leaves the answer to the others, and is asked again at once', async () => {
    expect((await planned(told(slow, 60_000n), 0n)).gasLimit).toBe(75_000n);
    expect((await planned(told(60_000n, slow), 0n)).gasLimit).toBe(75_000n);
    const refused = planned(told(slow, new RpcError(3, 'execution reverted')), 0n);
    await expect(refused).rejects.toMatchObject({ code: 'spend.refused' });
    let times = 0;
    const source = sourceOf({ price: fair, nonce: 0n, gas: () => (times++ === 0 ? slow : 60_000n) });
    await expect(planned(source, 0n)).rejects.toBeInstanceOf(Unavailable);
    expect((await planned(source, 0n)).gasLimit).toBe(75_000n);
  });
});

describe('coin for an address of ours', () => {
  const deposit = { branch: 0 as const, index: 3 };
  const funding = { payouts: [{ address: STRANGER, units: 5n, own: deposit }], from: { script: evmScript(TANK) } };
  const dear = { ...fair, isNewStateDear: true };
  const limitAt = async (gas: Gas, price: GasPrice = dear) => {
    const { gasLimit, outputs } = await planned(sourceOf({ price, nonce: 0n, gas }), 0n, funding);
    expect(outputs).toMatchObject([deposit]);
    return gasLimit;
  };

  it('gets the gas that the chain asks for since Amsterdam: one that has nothing yet costs more', async () => {
    expect(await limitAt(21_000n)).toBe(21_000n);
    expect(await limitAt(204_600n)).toBe(255_750n);
  });

  it('gets no more than a new address costs, whatever an endpoint tells, and a plain transfer’s before that upgrade', async () => {
    expect(await limitAt(700_000n)).toBe(255_750n);
    expect(await limitAt(5_000_000n)).toBe(255_750n);
    expect(await limitAt(new RpcError(3, 'execution reverted'))).toBe(255_750n);
    expect(await limitAt(700_000n, fair)).toBe(21_000n);
  });

  it('is expected to cost more where most operators told a block of that upgrade', async () => {
    const feesOf = async (...prices: GasPrice[]) => {
      const source = sourceOf(...prices.map((one): Answers => ({ price: one })));
      const spending = new EvmSpending({ chain: 'ETH', network: 'mainnet', tokens: [TETHER] }, source);
      const rate = await spending.feeRate(3, signal());
      return [spending.usualFee('USDT_ERC20', 1_000n), spending.fundingFee(1_000n), rate > 0n];
    };
    expect(await feesOf(fair)).toEqual([80_000n, 21_000n, true]);
    expect(await feesOf(dear)).toEqual([180_000n, 255_750n, true]);
    expect(await feesOf(dear, dear)).toEqual([180_000n, 255_750n, true]);
    expect(await feesOf(dear, fair)).toEqual([80_000n, 21_000n, true]);
    const prices = [dear, fair];
    const source = sourceOf({
      get price() {
        return prices.shift() ?? fair;
      },
    });
    const spending = new EvmSpending({ chain: 'ETH', network: 'mainnet', tokens: [TETHER] }, source);
    for (let times = 0; times < 2; times++) await spending.feeRate(3, signal());
    expect(spending.fundingFee(1_000n)).toBe(255_750n);
    const estimated = (asset: 'ETH' | 'USDT_ERC20') => spending.estimate({ asset, feeRate: 1_000n } as never).fee;
    expect([estimated('ETH'), estimated('USDT_ERC20')]).toEqual([255_750n, 180_000n]);
  });
});

describe('the gas of a transfer', () => {
  const token = { asset: 'USDT_ERC20' as const, payouts: [{ address: STRANGER, units: 5n }] };
  const rich = { address: TANK, script: evmScript(TANK), branch: 1 as const, index: 0 };
  const funds = { ...rich, units: { USDT_ERC20: 500n, ETH: COIN } };
  const holdings = {
    balances: () => [funds],
    balance: () => funds,
    nextNonce: (_: string, used: bigint) => used,
    coins: () => [],
    coin: () => assert.fail(),
  };
  const source = (...told: (Gas | null)[]) =>
    sourceOf(...told.map((gas): Answers => (gas === null ? null : { price: fair, nonce: 0n, gas })));
  const limit = async (...told: (Gas | null)[]): Promise<bigint> =>
    (await planned(source(...told), 0n, { ...token, holdings })).gasLimit;
  const reverted = new RpcError(3, 'execution reverted');

  it('of a token is never less than its transfer was seen to need, whatever the only endpoint tells', async () => {
    expect(await limit(21_504n)).toBe(65_000n);
    expect(await limit(0n)).toBe(65_000n);
    expect(await limit(21_504n, null)).toBe(65_000n);
    expect(await limit(100_000n)).toBe(125_000n);
  });

  it('is the higher one of what two operators tell', async () => {
    for (const told of [[30_000n, 90_000n] as const, [90_000n, 30_000n] as const]) {
      expect(await limit(...told)).toBe(112_500n);
    }
    expect((await planned(source(21_000n, 42_000n), 0n)).gasLimit).toBe(52_500n);
  });

  it('is the middle one of three where two are far from each other', async () => {
    expect(await limit(21_504n, 90_000n, 100_000n)).toBe(112_500n);
    expect(await limit(700_000n, 90_000n, 100_000n)).toBe(125_000n);
    expect(await limit(90_000n, 700_000n, 100_000n)).toBe(125_000n);
  });

  it('is told by two of three where one says that the chain would refuse it, or that it would not', async () => {
    expect(await limit(reverted, 60_000n, 60_000n)).toBe(75_000n);
    expect(await limit(60_000n, reverted, 60_000n)).toBe(75_000n);
    for (const told of [[60_000n, reverted, reverted] as const, [reverted, 60_000n, reverted] as const]) {
      await expect(limit(...told)).rejects.toMatchObject({ code: 'spend.refused' });
    }
  });

  it('is asked for again while one of two says that the chain would refuse it', async () => {
    for (const told of [[60_000n, reverted] as const, [reverted, 60_000n] as const]) {
      await expect(limit(...told)).rejects.toMatchObject({
        code: 'spend.refused',
        message: expect.stringContaining('one of two operators'),
      });
    }
    expect(await limit(60_000n, null)).toBe(75_000n);
  });
});

describe('books that have more than the chain', () => {
  const own = (address: string, index: number, coins: bigint, tokens: bigint, taken = 0n) => ({
    address: checksumAddress(evmScript(address)),
    script: evmScript(address),
    branch: 0 as const,
    index,
    units: { USDT_ERC20: tokens, ETH: coins },
    taken: { USDT_ERC20: taken },
  });
  const [first, second] = [`0x${'a'.repeat(40)}`, `0x${'b'.repeat(40)}`] as const;
  const FEE = 21_000n * 3n * GWEI;
  const paying = (source: EvmSource, funds: ReturnType<typeof own>[], over: Partial<PaymentRequest>) =>
    planned(source, 0n, {
      holdings: {
        balances: () => funds,
        balance: () => funds[0] ?? assert.fail(),
        nextNonce: (_, used) => used,
        coins: () => [],
        coin: () => assert.fail(),
      },
      ...over,
    });
  const alike = (answers: Answers): [Answers, Answers] => [
    { price: fair, nonce: 0n, ...answers },
    { price: fair, nonce: 0n, ...answers },
  ];
  const everything = { payouts: [{ address: STRANGER, units: null }] };

  it('make no payment of everything above what the chain has, less the fee', async () => {
    const plan = await paying(sourceOf(...alike({ coins: COIN / 2n })), [own(first, 1, COIN, 0n)], everything);
    expect(plan.outputs).toMatchObject([{ units: COIN / 2n - FEE }]);
    const tokens = await paying(sourceOf(...alike({ tokens: 90n, gas: 21_000n })), [own(first, 1, COIN, 100n)], {
      ...everything,
      asset: 'USDT_ERC20',
    });
    expect(tokens.outputs).toMatchObject([{ units: 90n }]);
  });

  it('are no source of a payment; another address that has it is', async () => {
    const source = () => sourceOf(...alike({ tokens: (address) => (address === first ? 40n : 200n) }));
    const wanted = { asset: 'USDT_ERC20' as const, payouts: [{ address: STRANGER, units: 50n }] };
    const funds = [own(first, 1, COIN, 100n), own(second, 2, COIN, 60n)];
    expect((await paying(source(), funds, wanted)).sender.index).toBe(2);
    await expect(paying(source(), funds.slice(0, 1), wanted)).rejects.toMatchObject({
      code: 'spend.unbacked',
      message: expect.stringMatching(/less at 0xaaaa.* than the books: 0.00004 USDT_ERC20 .*countinghouse ledger/i),
    });
  });

  it('leave what open payments take at the address until a block has them', async () => {
    const wanted = { asset: 'USDT_ERC20' as const, payouts: [{ address: STRANGER, units: 50n }] };
    const taken = (units: bigint) => [own(first, 1, COIN, 60n, units)];
    expect((await paying(sourceOf(...alike({ tokens: 100n })), taken(40n), wanted)).sender.index).toBe(1);
    await expect(paying(sourceOf(...alike({ tokens: 89n })), taken(40n), wanted)).rejects.toMatchObject({
      code: 'spend.unbacked',
    });
  });

  it('are compared with the lower one of two operators, the middle one of three, and the only one', async () => {
    const most = async (...told: (bigint | null)[]): Promise<bigint> => {
      const source = sourceOf(...told.map((coins) => (coins === null ? null : { price: fair, nonce: 0n, coins })));
      const { outputs } = await paying(source, [own(first, 1, COIN, 0n)], everything);
      return (outputs[0]?.units ?? 0n) + FEE;
    };
    expect(await most(COIN / 2n, 5n * COIN)).toBe(COIN / 2n);
    expect(await most(5n * COIN, COIN / 2n)).toBe(COIN / 2n);
    expect(await most(COIN / 4n, COIN / 2n, 5n * COIN)).toBe(COIN / 2n);
    expect(await most(COIN / 2n, null)).toBe(COIN / 2n);
    expect(await most(5n * COIN)).toBe(COIN);
  });

  it('cancel nothing for a fee that is not there', async () => {
    const [reserved] = [own(first, 1, COIN, 0n)];
    const cancel = { payouts: [], conflictKeys: [nonceKey(reserved.address, 0n)] };
    expect((await paying(sourceOf(...alike({})), [reserved], cancel)).fee).toBe(FEE);
    await expect(paying(sourceOf(...alike({ coins: FEE - 1n })), [reserved], cancel)).rejects.toMatchObject({
      code: 'spend.gas',
    });
  });
});

describe('the base fee', () => {
  const base = (...all: (bigint | null)[]): Promise<bigint> =>
    sourceOf(...all.map((one): Answers => (one === null ? null : { price: price(one * GWEI, GWEI) })))
      .gasPrice(signal())
      .then((told) => told.base / GWEI);

  it('is the higher one of two operators that are a few blocks apart', async () => {
    expect(await base(10n, 12n)).toBe(12n);
    expect(await base(12n, 10n)).toBe(12n);
    expect(await base(10n, null)).toBe(10n);
    expect(await base(10n)).toBe(10n);
  });

  it('is the middle one of three where two are far from each other, and nobody’s where only two answer', async () => {
    expect(await base(1_000n, 10n, 12n)).toBe(12n);
    expect(await base(1n, 10n, 12n)).toBe(10n);
    expect(await base(10n, 1n, 12n)).toBe(10n);
    await expect(base(1n, 10n)).rejects.toThrow(/Two operators' endpoints tell base fees that are far from each other/);
    await expect(base(1_000n, 10n, null)).rejects.toThrow(Unavailable);
  });
});

describe('a token that refuses one of our addresses', () => {
  const [frozen, free, poor] = ['a', 'b', 'c'].map((digit) => `0x${digit.repeat(40)}`) as [string, string, string];
  const refusing = (addresses: readonly string[]) =>
    sourceOf({
      price: fair,
      nonce: 0n,
      gas: (from) => (addresses.includes(from) ? new RpcError(3, 'execution reverted') : 60_000n),
    });
  const held = (address: string, units: bigint, index: number) => ({
    address: checksumAddress(evmScript(address)),
    script: evmScript(address),
    branch: 0 as const,
    index,
    units: { USDT_ERC20: units, ETH: COIN },
  });
  const all = [held(frozen, 500n, 1), held(free, 200n, 2), held(poor, 50n, 3)];
  const paying = (source: EvmSource, units: bigint) =>
    planned(source, 0n, {
      asset: 'USDT_ERC20',
      payouts: [{ address: STRANGER, units }],
      holdings: {
        balances: () => all,
        balance: () => assert.fail(),
        nextNonce: (_, used) => used,
        coins: () => [],
        coin: () => assert.fail(),
      },
    });

  it('is paid from another one that has enough', async () => {
    expect((await paying(refusing([frozen]), 150n)).sender.index).toBe(2);
    expect((await paying(refusing([]), 150n)).sender.index).toBe(1);
  });

  it('is refused in words when no other one has enough, and when it refuses all', async () => {
    const alone = { code: 'spend.refused', message: expect.stringContaining('execution reverted') };
    await expect(paying(refusing([frozen]), 300n)).rejects.toMatchObject(alone);
    await expect(paying(refusing([frozen, free]), 150n)).rejects.toMatchObject(alone);
  });
});

describe('a plan', () => {
  const asked: { to: string; value: string; data: string }[] = [];
  const source = (gas: bigint) => {
    const told = (_: string, call: (typeof asked)[number]): bigint => {
      asked.push(call);
      return gas;
    };
    return sourceOf({ price: fair, nonce: 4n, gas: told });
  };
  const to = hexOfScript(evmScript(STRANGER));
  const transfer = (units: bigint) => `0x${Buffer.from(transferData(evmScript(STRANGER), units)).toString('hex')}`;
  const rich = { ...OWN_TANK, units: { USDT_ERC20: 500n, ETH: COIN } };
  const holdings = { ...holdingsWith(4n), balances: () => [rich], balance: () => rich };
  const token = { asset: 'USDT_ERC20' as const, payouts: [{ address: STRANGER, units: 5n }], holdings };

  it('of the coin tries to send it, and of a token calls its contract for it', async () => {
    asked.length = 0;
    const coin = await planned(source(21_000n), 4n);
    expect(coin).toMatchObject({ contract: null, gasLimit: 21_000n, nonce: 4n, lowestNonce: 4n });
    expect(coin.outputs).toEqual([
      { kind: 'payout', address: STRANGER, script: evmScript(STRANGER), units: COIN / 10n },
    ]);
    const paid = await planned(source(80_000n), 4n, token);
    expect(paid).toMatchObject({ contract: TETHER.contract, gasLimit: 100_000n, fee: 300_000n * GWEI });
    expect(paid.outputs).toMatchObject([{ kind: 'payout', address: STRANGER, units: 5n }]);
    expect(asked).toMatchObject([
      { to, value: `0x${(COIN / 10n).toString(16)}`, data: '0x' },
      { to: TETHER.contract, value: '0x0', data: transfer(5n) },
    ]);
  });

  it('that cancels sends nothing to ourselves, and one that collects everything', async () => {
    const from = { script: evmScript(TANK) };
    const cancel = await planned(source(21_000n), 9n, { payouts: [], from, conflictKeys: [nonceKey(TANK, 4n)] });
    expect(cancel).toMatchObject({ contract: null, gasLimit: 21_000n, nonce: 4n });
    expect(cancel.outputs).toEqual([{ kind: 'change', ...OWN_TANK, units: 0n }]);
    const collected = await planned(source(21_000n), 4n, { payouts: [], from });
    expect(collected.outputs).toEqual([{ kind: 'change', ...OWN_TANK, units: COIN - 21_000n * 3n * GWEI }]);
  });

  it('to an address of ours says which, and tries no plain one', async () => {
    asked.length = 0;
    const own = { branch: 0 as const, index: 6 };
    const gas = await planned(source(99_000n), 4n, { payouts: [{ address: STRANGER, units: 7n, own }] });
    expect(gas.outputs).toMatchObject([{ kind: 'change', ...own, address: STRANGER, units: 7n }]);
    expect([gas.gasLimit, asked.length]).toEqual([21_000n, 0]);
  });

  it('that replaces others raises their fees by 13 %, with at least the gas of those of its token', async () => {
    const first = await planned(source(100_000n), 4n, token);
    const next = await planned(source(60_000n), 4n, {
      ...token,
      replaced: [first],
      conflictKeys: [nonceKey(TANK, 4n)],
    });
    expect(next).toMatchObject({ gasLimit: 125_000n, maxFeePerGas: (3n * GWEI * 113n) / 100n + 1n });
    expect(next.maxPriorityFeePerGas).toBe(next.maxFeePerGas - 2n * GWEI);
    const dear = sourceOf({ price: price(2n * GWEI, GWEI), nonce: 4n, gas: 60_000n });
    expect((await planned(dear, 4n, { ...token, replaced: [first] })).maxPriorityFeePerGas).toBe(1_130_000_001n);
    const coin = await planned(source(21_000n), 4n, { replaced: [first] });
    expect(coin.gasLimit).toBe(21_000n);
    const spending = new EvmSpending({ chain: 'ETH', network: 'mainnet', tokens: [] }, source(0n));
    expect(spending.replacementRate([{ fee: 21_000n * GWEI, size: 21_000 }])).toBe(1_130n * GWEI + 1n);
    expect(spending.replacementRate([])).toBe(1n);
  });

  const far = (nonce: bigint) => ({ conflictKeys: [nonceKey(TANK, nonce)] });
  it.each<[string, Partial<PaymentRequest>, string]>([
    ['of two payments', { payouts: [0, 1].map(() => ({ address: STRANGER, units: 1n })) }, 'spend.one_payment'],
    ['at a fee above the limit', { feeMax: 63_000n * GWEI - 1n }, 'spend.fee_too_high'],
    ['that waits for a thousand and one', far(1_005n), 'spend.nonce'],
    ['of a token without a contract', { ...token, asset: 'XAUT' }, 'withdrawal.unsupported'],
    ['to what is no address', { payouts: [{ address: '0x12', units: 1n }] }, 'withdrawal.address'],
  ])('is refused %s', async (_, over, code) => {
    await expect(planned(source(21_000n), 4n, over)).rejects.toMatchObject({ code });
  });

  it('is made at the limit of the fee, and behind a thousand others', async () => {
    expect((await planned(source(21_000n), 4n, { feeMax: 63_000n * GWEI })).fee).toBe(63_000n * GWEI);
    expect((await planned(source(21_000n), 4n, far(1_004n))).nonce).toBe(1_004n);
    const other = [nonceKey(TANK, 4n), `${'a'.repeat(64)}:0`];
    for (const conflictKeys of [other, other.toReversed(), [other[0]!, nonceKey(TANK, 5n)]]) {
      await expect(planned(source(21_000n), 4n, { conflictKeys })).rejects.toThrow('a transaction has one nonce');
    }
  });

  it('of a token that answers no is refused, and one that answers nothing or yes is made', async () => {
    const answering = (returned: string) =>
      planned(sourceOf({ price: fair, nonce: 4n, gas: 60_000n, returned }), 4n, token);
    await expect(answering(`0x${'0'.repeat(64)}`)).rejects.toThrow('it answers no');
    for (const said of ['0x', `0x${'0'.repeat(63)}1`, `0x${'0'.repeat(128)}`]) {
      expect((await answering(said)).gasLimit).toBe(75_000n);
    }
  });
});

describe('what a payment costs, and which keys it has', () => {
  const spendingOf = (...all: Answers[]) =>
    new EvmSpending({ chain: 'ETH', network: 'mainnet', tokens: [TETHER] }, sourceOf(...all));
  const spending = spendingOf(null);

  it('follows from its asset', () => {
    expect([spending.sendable('', 0n), spending.sendable('', 2n)]).toEqual([1n, 2n]);
    const assets = ['ETH', 'USDT_ERC20'] as const;
    expect(assets.map((asset) => spending.usualFee(asset, 3_000n))).toEqual([63_000n, 240_000n]);
    const estimates = assets.map((asset) => spending.estimate({ asset, feeRate: 3_000n } as never));
    expect(estimates).toEqual([
      { fee: 78_750n, plan: null },
      { fee: 240_000n, plan: null },
    ]);
    const paid = { address: null, script: evmScript(STRANGER), asset: 'ETH' as const, units: 1n };
    expect([STRANGER, TANK].map((address) => spending.pays(paid, address))).toEqual([true, false]);
  });

  it('follows from its nonce, and from those that no block has used before', async () => {
    const plan = await planned(sourceOf({ price: fair, nonce: 4n }), 6n);
    expect(spending.conflictKeys(plan)).toEqual([nonceKey(TANK, 6n)]);
    expect(spending.preferredKey(plan)).toBe(nonceKey(TANK, 6n));
    expect(spending.keysBefore(plan)).toEqual([nonceKey(TANK, 4n), nonceKey(TANK, 5n)]);
    expect(spending.sizeOf(plan)).toBe(21_000);
    expect(await spending.unsigned(plan)).toEqual({ plan });
  });

  it('is nothing where a token refuses an address, whatever is there', async () => {
    const why = (gas: Gas, asset: 'ETH' | 'USDT_ERC20', to: string | null = STRANGER) =>
      spendingOf({ price: fair, gas }).whyRefused(asset, OWN_TANK, to, signal());
    const reverted = new RpcError(3, 'execution reverted');
    expect(await why(reverted, 'USDT_ERC20')).toContain('execution reverted');
    expect(await why(60_000n, 'USDT_ERC20', null)).toBeNull();
    expect(await why(reverted, 'ETH')).toBeNull();
    await expect(spendingOf(null).whyRefused('USDT_ERC20', OWN_TANK, null, signal())).rejects.toThrow(Unavailable);
  });
});

it('signed bytes say what they pay, and a plan is made of them again', async () => {
  const account = privateKeyToAccount(`0x${'11'.repeat(32)}`);
  const spending = new EvmSpending({ chain: 'ETH', network: 'mainnet', tokens: [TETHER] }, sourceOf(null));
  const fees = {
    type: 'eip1559',
    chainId: 1,
    nonce: 7,
    gas: 65_000n,
    maxFeePerGas: 3n,
    maxPriorityFeePerGas: 2n,
  } as const;
  const data = `0x${Buffer.from(transferData(evmScript(STRANGER), 5n)).toString('hex')}` as const;
  const signed = (to: string, more: { value?: bigint; data?: `0x${string}` }) =>
    account.signTransaction({ ...fees, to: to as `0x${string}`, ...more });
  const [coin, token] = [await signed(STRANGER, { value: 9n }), await signed(TETHER.contract, { data })];
  const script = evmScript(STRANGER);
  const conflictKeys = [nonceKey(account.address, 7n)];
  expect(spending.decode(coin)).toEqual({
    txid: keccak256(coin),
    conflictKeys,
    outputs: [{ address: STRANGER, script, asset: 'ETH', units: 9n }],
  });
  expect(spending.decode(token).outputs).toEqual([{ address: STRANGER, script, asset: 'USDT_ERC20', units: 5n }]);
  const isSender = ({ script: of }: { script: Uint8Array }) => hexOfScript(of) === account.address.toLowerCase();
  const own = {
    accountNo: 2,
    positionOf: (at: { script: Uint8Array }) => (isSender(at) ? { branch: 0, index: 3 } : null),
  };
  const recovered = spending.recover(token, own as never);
  expect(recovered).toMatchObject({
    accountNo: 2,
    asset: 'USDT_ERC20',
    contract: TETHER.contract,
    sender: { address: account.address, branch: 0, index: 3 },
    nonce: 7n,
    lowestNonce: 7n,
    fee: 195_000n,
    outputs: [{ kind: 'payout', address: STRANGER, units: 5n }],
  });
  expect(spending.describe(recovered)).toMatchObject({ conflictKeys, outputs: [{ units: 5n, changeIndex: null }] });
  expect(spending.recover(await signed(account.address, { value: 1n }), own as never).outputs).toMatchObject([
    { kind: 'change', branch: 0, index: 3, units: 1n },
  ]);
  const stranger = { accountNo: 2, positionOf: () => null };
  expect(() => spending.recover(coin, stranger as never)).toThrow('Its sender is no address of this wallet');
  for (const odd of [await signed(TETHER.contract, { data, value: 1n }), await signed(STRANGER, { data })]) {
    expect(() => spending.decode(odd)).toThrow(
      'It calls a contract for something that is no transfer of a known token',
    );
  }
  for (const none of ['', '0x', coin.slice(2), `${coin}0`, coin.toUpperCase()]) {
    expect(() => spending.decode(none)).toThrow(new Rejected('spend.malformed', 'The bytes are no signed transaction'));
  }
});
