/** The bytes of plans and of transactions, against bitcoinjs-lib and libauth; and the rules of fees. */
import { decodeTransaction, encodeTransaction, hexToBin } from '@bitauth/libauth';
import { Transaction } from 'bitcoinjs-lib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressOf, scriptOf } from '../../../daemon/chains/utxo/address.ts';
import { feeOf, feeRateFrom, replacementRate } from '../../../daemon/chains/utxo/spend/fees.ts';
import { planUtxo } from '../../../daemon/chains/utxo/spend/plan.ts';
import {
  decodeTransaction as decode,
  unsignedTransaction,
  withoutWitnesses,
} from '../../../daemon/chains/utxo/spend/transaction.ts';
import { deriveAddress, scriptAt } from '../../../daemon/sandbox/addresses.ts';
import { decodeSimulated, simulatedRaw } from '../../../daemon/sandbox/simulated.ts';
import { accountSpend, decodeAccount } from '../../../daemon/sandbox/simulated-accounts.ts';
import { accountOf, signSpend } from '../../adapters/sandbox-kit.ts';
import { CHAINS_UTXO, coinsOf, DESTINATIONS, ownScript, requestOf } from './spend-kit.ts';

const planOf = (chain: (typeof CHAINS_UTXO)[number], inputs = 3, payouts = 5) =>
  planUtxo(
    requestOf(chain, {
      pay: Array.from({ length: payouts }, (_, i) => 20_000n + BigInt(i)),
      coins: coinsOf(
        chain,
        new Array<bigint>(inputs).fill(BigInt(Math.ceil((payouts * 20_100 + 50_000) / inputs) + 8_000)),
      ),
      feeRate: 2_000n,
    }),
    chain,
  );

describe('an unsigned transaction', () => {
  it.each(['BTC', 'LTC'] as const)('of %s is what bitcoinjs-lib reads', (chain) => {
    for (const [inputs, payouts] of [
      [1, 1],
      [3, 5],
      [260, 300],
    ] as const) {
      const plan = planOf(chain, inputs, payouts);
      const raw = unsignedTransaction(plan);
      const read = Transaction.fromHex(raw);
      expect(read.toHex()).toBe(raw);
      expect([read.version, read.locktime]).toEqual([2, 840_000]);
      expect(
        read.ins.map(({ hash, index, sequence }) => [Buffer.from(hash).reverse().toString('hex'), index, sequence]),
      ).toEqual(
        plan.inputs.map(({ outpoint, sequence }) => [outpoint.slice(0, 64), Number(outpoint.slice(65)), sequence]),
      );
      expect(read.outs.map(({ value, script }) => [value, Buffer.from(script).toString('hex')])).toEqual(
        plan.outputs.map(({ units, script }) => [units, Buffer.from(script).toString('hex')]),
      );
      expect(decode(raw, chain, 'regtest').txid).toBe(read.getId());
    }
  });

  it('of BCH is what libauth reads', () => {
    const plan = planOf('BCH');
    const raw = unsignedTransaction(plan);
    const read = decodeTransaction(hexToBin(raw));
    if (typeof read === 'string') throw new Error(read);
    expect(Buffer.from(encodeTransaction(read)).toString('hex')).toBe(raw);
    expect(read.outputs.map(({ valueSatoshis }) => valueSatoshis)).toEqual(plan.outputs.map(({ units }) => units));
    expect(read.inputs.map(({ sequenceNumber }) => sequenceNumber)).toEqual(
      plan.inputs.map(({ sequence }) => sequence),
    );
  });

  it.each(CHAINS_UTXO)('of %s says whom it pays, every output with its address', (chain) => {
    const plan = planOf(chain);
    const decoded = decode(unsignedTransaction(plan), chain, 'regtest');
    expect(decoded.outputs.map(({ address, units }) => ({ address, units }))).toEqual(
      plan.outputs.map(({ address, units }) => ({ address, units })),
    );
    expect(decoded.inputs).toEqual(plan.inputs.map(({ outpoint, sequence }) => ({ outpoint, sequence })));
    expect(decoded.lockTime).toBe(840_000);
  });
});

describe('a signed transaction', () => {
  it.each(CHAINS_UTXO)('of %s is as large as planned, or a few bytes smaller', (chain) => {
    const coins = coinsOf(chain, [400_000n, 500_000n, 600_000n]);
    const plan = planUtxo(requestOf(chain, { pay: [1_200_000n], coins }), chain);
    const raw = Buffer.from(
      signSpend(chain, {
        coins: plan.inputs.map(({ outpoint, units, index }) => ({ id: outpoint, units, index })),
        outputs: plan.outputs.map(({ script, units }) => ({ script, units })),
        sequence: plan.inputs[0]!.sequence,
        lock: plan.lockTime,
      }),
    ).toString('hex');
    const decoded = decode(raw, chain, 'regtest');
    expect(decoded.vsize).toBeLessThanOrEqual(plan.vsize);
    // A signature of 72 bytes may come out two bytes shorter, seldom more.
    expect(decoded.vsize).toBeGreaterThanOrEqual(plan.vsize - 3 * 4);
    expect(plan.fee * 1_000n).toBeGreaterThanOrEqual(5_000n * BigInt(decoded.vsize));
    const base = withoutWitnesses(raw, decoded.txid, chain);
    if (chain === 'BCH') expect(base).toBe(raw);
    else {
      expect(base).toBe(unsignedTransaction(plan));
      expect(Transaction.fromHex(raw).virtualSize()).toBe(decoded.vsize);
      expect(Transaction.fromHex(raw).getId()).toBe(decoded.txid);
    }
    expect(withoutWitnesses(raw, '00'.repeat(32), chain)).toBeNull();
  });

  it('that is none is refused', () => {
    for (const raw of ['', 'zz', '00', 'ABCD', '02000000', unsignedTransaction(planOf('BTC')).slice(2)]) {
      expect(() => decode(raw, 'BTC', 'regtest')).toThrow('malformed');
    }
  });
});

describe('bytes of anybody', () => {
  const decodedOrRefused = (read: () => unknown): void => {
    try {
      read();
    } catch (error) {
      expect(error).toMatchObject({ code: 'spend.malformed' });
    }
  };

  it('are read or refused, never more', () => {
    const whole = CHAINS_UTXO.map((chain) => Buffer.from(unsignedTransaction(planOf(chain)), 'hex'));
    const bent = fc
      .tuple(fc.constantFrom(...whole), fc.nat(), fc.nat(255), fc.nat(60))
      .map(([bytes, at, value, cut]) => {
        const copy = Buffer.from(bytes);
        copy[at % copy.length] = value;
        return copy.subarray(0, copy.length - (cut > 40 ? cut : 0));
      });
    fc.assert(
      fc.property(
        fc.constantFrom(...CHAINS_UTXO),
        fc.oneof(bent, fc.uint8Array({ maxLength: 300 })),
        (chain, bytes) => {
          decodedOrRefused(() => decode(Buffer.from(bytes).toString('hex'), chain, 'regtest'));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('of a simulated transaction likewise: it says one thing in one way', () => {
    const { address } = deriveAddress('XMR', accountOf('XMR'), 0, 0);
    const raw = simulatedRaw('XMR', ['ab:0'], [{ address, asset: 'XMR', units: 5n }]);
    expect(decodeSimulated('XMR', raw).outputs).toMatchObject([{ address, asset: 'XMR', units: 5n }]);
    const [image] = JSON.parse(raw).keyImages as string[];
    for (const [from, to] of [
      ['"5"', '"05"'],
      ['"5"', '"0"'],
      ['"5"', '"-5"'],
      ['"5"', '5'],
      ['"XMR","units"', '"BTC","units"'],
      ['"chain":"XMR"', '"chain":"BTC"'],
      [`["${image}"]`, `["${image}","${image}"]`],
      [`["${image}"]`, '[]'],
      [address, address.slice(0, -1)],
      ['{"simulated"', '{ "simulated"'],
      ['This is no', 'This is a'],
    ] as const) {
      expect(raw, from).toContain(from);
      expect(() => decodeSimulated('XMR', raw.replace(from, to)), `${from} for ${to}`).toThrow(
        'no simulated transaction',
      );
    }
    fc.assert(fc.property(fc.string(), (text) => decodedOrRefused(() => decodeSimulated('XMR', text))));
  });

  it('of an account of the sandbox likewise', () => {
    const [sender, address] = [0, 1].map((index) => deriveAddress('ETH', accountOf('ETH'), 0, index).address) as [
      string,
      string,
    ];
    const { raw } = accountSpend({
      kind: 'sandbox-account',
      network: 'sandbox',
      chain: 'ETH',
      accountNo: 0,
      asset: 'USDT_ERC20',
      sender,
      nonce: 3n,
      lowestNonce: 3n,
      fee: 7n,
      outputs: [{ kind: 'payout', address, script: scriptAt('ETH', address)!, units: 5n }],
    });
    expect(decodeAccount('ETH', raw)).toMatchObject({
      from: sender,
      nonce: 3n,
      fee: 7n,
      transfer: { address, asset: 'USDT_ERC20', units: 5n },
    });
    for (const [from, to] of [
      ['"5"', '"05"'],
      ['"5"', '"0"'],
      ['"5"', '"-5"'],
      ['"5"', '5'],
      ['"3"', '"03"'],
      ['"7"', '"-7"'],
      ['USDT_ERC20', 'USDT_BEP20'],
      ['USDT_ERC20', 'BTC'],
      ['"ETH"', '"BSC"'],
      [sender, sender.slice(0, -1)],
      [address, address.slice(0, -1)],
      ['{"simulated"', '{ "simulated"'],
      ['This is no', 'This is a'],
    ] as const) {
      expect(raw, from).toContain(from);
      expect(() => decodeAccount('ETH', raw.replace(from, to)), `${from} for ${to}`).toThrow(
        'no simulated transaction',
      );
    }
    fc.assert(fc.property(fc.string(), (text) => decodedOrRefused(() => decodeAccount('BSC', text))));
  });
});

describe('the address of a script', () => {
  it.each(CHAINS_UTXO)('of %s is the one that pays it', (chain) => {
    for (const address of DESTINATIONS[chain]) {
      expect(addressOf(scriptOf(address, chain, 'regtest')!, chain, 'regtest')).toBe(address);
    }
    expect(addressOf(ownScript(chain, 3), chain, 'mainnet')).not.toBe(addressOf(ownScript(chain, 3), chain, 'regtest'));
  });

  it('is none for a script that is no standard destination', () => {
    fc.assert(
      fc.property(fc.constantFrom(...CHAINS_UTXO), fc.uint8Array({ maxLength: 60 }), (chain, script) => {
        const address = addressOf(script, chain, 'mainnet');
        if (address === null) return;
        expect(Buffer.from(scriptOf(address, chain, 'mainnet')!)).toEqual(Buffer.from(script));
      }),
    );
    const opReturn = Buffer.from('6a0568656c6c6f', 'hex');
    for (const chain of CHAINS_UTXO) expect(addressOf(opReturn, chain, 'mainnet')).toBeNull();
    // Witness version 2, and taproot on a chain that has none.
    expect(addressOf(Buffer.from(`5220${'11'.repeat(32)}`, 'hex'), 'BTC', 'mainnet')).toBeNull();
    expect(addressOf(Buffer.from(`5120${'11'.repeat(32)}`, 'hex'), 'BCH', 'mainnet')).toBeNull();
  });
});

describe('fee rates', () => {
  it.each([
    ['an estimate within the bounds is taken', 'BTC', 23_456n, 1_000n, 23_456n],
    ['none: the fallback', 'BTC', null, 1_000n, 5_000n],
    ['below what the mempool takes', 'LTC', 2_000n, 3_500n, 3_500n],
    ['below what is relayed', 'BCH', 1n, 0n, 1_000n],
    ['a mad estimate', 'BTC', 10n ** 12n, 1_000n, 1_000_000n],
    ['a mad mempool', 'BTC', 1_000n, 10n ** 12n, 1_000_000n],
  ] as const)('%s', (_name, chain, estimate, least, expected) => {
    expect(feeRateFrom(chain, estimate, least)).toBe(expected);
  });

  it('round up, so that no node finds them a unit short', () => {
    expect(feeOf(141, 1_001n)).toBe(142n);
    expect(feeOf(1_000, 1_001n)).toBe(1_001n);
  });

  it('of a replacement are above each that it replaces', () => {
    expect(replacementRate('BTC', [])).toBe(1_000n);
    // 1,500 for 141 bytes is 10,639 for a thousand, rounded up.
    expect(
      replacementRate('BTC', [
        { fee: 1_500n, vsize: 141 },
        { fee: 200n, vsize: 200 },
      ]),
    ).toBe(11_639n);
  });
});
