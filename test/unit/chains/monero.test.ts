/** Monero's outputs as a receiver reads them: made here by the sender's half of the protocol, and spoilt in every way. */
import { ed25519 } from '@noble/curves/ed25519.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Malformed } from '../../../daemon/chains/endpoints.ts';
import { atOnce } from '../../../daemon/chains/slices.ts';
import type { MoneroNode } from '../../../daemon/chains/xmr/node.ts';
import { Receiver } from '../../../daemon/chains/xmr/receive.ts';
import { Scanner } from '../../../daemon/chains/xmr/scan.ts';
import type { AccountKey, Credit } from '../../../daemon/domain/chain.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { subaddress } from '../../../daemon/monero/address.ts';
import { parseBlock } from '../../../daemon/monero/block.ts';
import { scalarOf, sharedSecret, viewTagOf } from '../../../daemon/monero/curve.ts';
import { type Output, parseTransaction, type Transaction } from '../../../daemon/monero/transaction.ts';
import { varint } from '../../../daemon/monero/varint.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';
import { FactBook } from '../../adapters/fact-book.ts';
import { paying, transactionOf } from '../../support/monero-outputs.ts';

const { Point } = ed25519;
const H = Point.fromHex('8b655970153799af2aeadc9ff1add0ea6c7251d54154cfa92c173a0dd39c1f94');
const account = accountKey(Buffer.alloc(64, 7), 'XMR', 'regtest', 0) as Extract<AccountKey, { kind: 'monero' }>;
const never = () => undefined;

async function found(transaction: Transaction) {
  const [received = []] = atOnce(new Receiver(account).received([transaction]));
  return received.map(({ n, units, spendKey }) => ({ n, units, spendKey: Buffer.from(spendKey).toString('hex') }));
}

const { script } = subaddress(account, 0, 7, 'regtest');
const spendKey = Buffer.from(script.subarray(1, 33)).toString('hex');

describe('outputs of Monero', () => {
  it('are found with their amount, alone and with a key for each output', async () => {
    expect(await found(transactionOf('a', [paying(script, 123_456_789n, 77n)]))).toEqual([
      { n: 0, units: 123_456_789n, spendKey },
    ]);
    const several = [paying(script, 5n, 78n), paying(script, 6n, 79n, 1)];
    expect(await found(transactionOf('b', several))).toEqual([
      { n: 0, units: 5n, spendKey },
      { n: 1, units: 6n, spendKey },
    ]);
  });

  it.each<[string, (output: Output) => Partial<Output>]>([
    [
      'an amount that its commitment does not bear out',
      ({ sealedUnits }) => ({ sealedUnits: sealedUnits?.map((byte) => byte ^ 1) ?? null }),
    ],
    ['a commitment to something else', () => ({ commitment: H.toBytes() })],
    ['a commitment that is no point', () => ({ commitment: new Uint8Array(32).fill(255) })],
    ['another view tag', ({ viewTag }) => ({ viewTag: ((viewTag ?? 0) + 1) % 256 })],
    ['a key that is no point', () => ({ key: new Uint8Array(32).fill(255) })],
  ])('are nothing with %s', async (_, change) => {
    const part = paying(script, 1_000n, 80n);
    const output = { ...part.output, ...change(part.output) };
    expect(await found(transactionOf('c', [{ ...part, output }]))).toEqual([]);
  });

  it('are nothing when their public key is no point, or of small order', async () => {
    const part = paying(script, 1_000n, 81n);
    for (const publicKey of [new Uint8Array(32).fill(255), Point.ZERO.toBytes()]) {
      expect(await found(transactionOf('d', [{ ...part, publicKey }]))).toEqual([]);
    }
  });
});

describe('credits of Monero', () => {
  const NOWHERE = { held: [], orphaned: [], tip: 10 };
  const book = new FactBook();
  const target = subaddress(account, 0, 7, 'regtest');
  const id = book.watch(target);
  const block = { height: 9, hash: 'b'.repeat(64) };
  const twins = [
    transactionOf('1', [paying(script, 50n, 90n)]),
    transactionOf('2', [paying(script, 50n, 90n)]),
  ] as const;
  const node = {
    transactions: async (txids: readonly string[]) =>
      new Map(
        twins
          .filter((transaction) => txids.includes(transaction.id))
          .map((transaction) => [transaction.id, { transaction, height: 9, doubleSpendSeen: false }]),
      ),
  } as unknown as MoneroNode;
  const silent = { transactions: async () => new Map() } as unknown as MoneroNode;
  const none = async () => new Map();
  const scanner = () => new Scanner('regtest', book, () => [account]);
  const signal = new AbortController().signal;

  it('count once where two outputs have one key, since only one of them can be spent', async () => {
    const first = scanner();
    const where = { block, blockTime: 1 };
    const credits: Credit[] = [];
    for (const twin of twins) credits.push(...(await first.find(twin, where, never)));
    const judged = await first.withoutTwins(credits, NOWHERE, node, none, signal);
    expect(judged.map(({ targetId, amount, locked }) => [targetId, amount.units, locked ?? false])).toEqual([
      [id, 50n, false],
      [id, 50n, true],
    ]);
  });

  it('count once also where the other was stored before this start', async () => {
    const earlier = scanner();
    const [one, two] = twins;
    for (const credit of await earlier.find(one, { block, blockTime: 1 }, never)) book.credits.set(credit.id, credit);
    const later = scanner();
    const judged = await later.withoutTwins(await later.find(two, null, never), NOWHERE, node, none, signal);
    expect(judged.map(({ locked }) => locked)).toEqual([true]);
    const again = await later.withoutTwins(
      await later.find(one, { block, blockTime: 1 }, never),
      NOWHERE,
      node,
      none,
      signal,
    );
    expect(again.map(({ locked }) => locked ?? false)).toEqual([false]);
  });

  it('count once also where the other waits for a second node, which the books do not have in its block', async () => {
    const waiting = scanner();
    const [one, two] = twins;
    const held = await waiting.find(one, { block, blockTime: 1 }, never);
    const next = { height: 10, hash: 'c'.repeat(64) };
    const found = await waiting.find(two, { block: next, blockTime: 2 }, never);
    book.credits.clear();
    const judged = await waiting.withoutTwins(found, { ...NOWHERE, held }, node, none, signal);
    expect(judged.map(({ locked }) => locked)).toEqual([true]);
    // what waits is reported again
    expect(
      (await waiting.withoutTwins(held, { ...NOWHERE, held }, node, none, signal)).map(({ locked }) => locked),
    ).toEqual([undefined]);
  });

  it('stay as they were when blocks are read again, whichever of them came first then', async () => {
    const [one, two] = twins;
    const reader = scanner();
    const credits = new Map<string, Credit>();
    for (const twin of twins) {
      for (const credit of await reader.find(twin, { block, blockTime: 1 }, never)) credits.set(twin.id, credit);
    }
    for (const [first, second] of [
      [one, two],
      [two, one],
    ] as const) {
      const stored = [credits.get(first.id)!, { ...credits.get(second.id)!, locked: true }];
      book.credits.clear();
      for (const credit of stored) book.credits.set(credit.id, credit);
      const lockedAgain = async ({ id: of }: Transaction): Promise<boolean[]> =>
        (await scanner().withoutTwins([credits.get(of)!], NOWHERE, node, none, signal)).map(
          ({ locked = false }) => locked,
        );
      expect([await lockedAgain(first), await lockedAgain(second)]).toEqual([[false], [true]]);
    }
  });

  it('count once also where the node leaves the other one out, which then another operator tells', async () => {
    const [one, two] = twins;
    book.credits.clear();
    for (const credit of await scanner().find(one, { block, blockTime: 1 }, never)) book.credits.set(credit.id, credit);
    const later = scanner();
    const found = await later.find(two, { block: { height: 10, hash: 'c'.repeat(64) }, blockTime: 2 }, never);
    const asked: string[] = [];
    const others = (txids: readonly string[]) => {
      asked.push(...txids);
      return node.transactions(txids, signal);
    };
    const judged = await later.withoutTwins(found, NOWHERE, silent, others, signal);
    expect(judged.map(({ locked }) => locked)).toEqual([true]);
    expect(asked).toEqual([one.id]);
    const away = () => Promise.reject(new Unavailable('no other node answers', 1));
    const again = scanner();
    const refound = await again.find(two, null, never);
    await expect(again.withoutTwins(refound, NOWHERE, silent, away, signal)).rejects.toThrow(Unavailable);
  });

  it('count where the block of the other one has left the chain, which no node has to tell any more', async () => {
    const [one, two] = twins;
    book.credits.clear();
    for (const credit of await scanner().find(one, { block, blockTime: 1 }, never)) book.credits.set(credit.id, credit);
    const later = scanner();
    const found = await later.find(two, { block: { height: 9, hash: 'd'.repeat(64) }, blockTime: 2 }, never);
    const judged = await later.withoutTwins(found, { ...NOWHERE, orphaned: [block.hash] }, silent, none, signal);
    expect(judged.map(({ amount, locked = false }) => [amount.units, locked])).toEqual([[50n, false]]);
  });

  it('have the other outputs of an address asked for once, however many there are', async () => {
    const COINS = 10_100;
    const idOf = (n: number): string => n.toString(16).padStart(64, '0');
    book.credits.clear();
    for (let n = 0; n < COINS; n++) {
      const credit = { id: `${idOf(n)}:0`, txid: idOf(n), targetId: id, inputs: [], block, replaceable: false };
      book.credits.set(credit.id, { ...credit, amount: { asset: 'XMR', units: 1n } });
    }
    const asked: number[] = [];
    const many = {
      transactions: async (txids: readonly string[]) => {
        asked.push(txids.length);
        const outputs = (txid: string) => [{ key: Buffer.from(txid, 'hex') }];
        return new Map(txids.map((txid) => [txid, { transaction: { outputs: outputs(txid) } }]));
      },
    } as unknown as MoneroNode;
    const reader = scanner();
    const found = await reader.find(twins[0], null, never);
    for (let step = 0; step < 3; step++) {
      const judged = await reader.withoutTwins(found, NOWHERE, many, none, signal);
      expect(judged.map(({ locked }) => locked)).toEqual([undefined]);
    }
    expect(asked).toEqual([COINS, 0, 0]);
  });

  it('are found in a coinbase of several keys, although another key fits its view tag by chance', async () => {
    const part = paying(script, 5n, 93n);
    const output = { ...part.output, clearUnits: 5n, sealedUnits: null, commitment: null };
    const keyOf = (secret: bigint) => Point.BASE.multiply(secret).toBytes();
    const fits = (key: Uint8Array): boolean => {
      const secret = sharedSecret(key, scalarOf(Buffer.from(account.privateViewKey, 'hex')));
      return secret !== null && viewTagOf(secret, 0) === output.viewTag;
    };
    let chance = 2n;
    while (!fits(keyOf(chance))) chance++;
    const publicKeys = [keyOf(chance), part.publicKey, part.publicKey];
    const mined = transactionOf('5', [{ ...part, output }], { isCoinbase: true, publicKeys });
    const credits = await scanner().find(mined, { block, blockTime: 1 }, never);
    expect(credits.map(({ targetId, amount }) => [targetId, amount.units])).toEqual([[id, 5n]]);
  });

  it('are locked for ever when their sender locked them, and mature when they were mined', async () => {
    const [sent] = await scanner().find(
      transactionOf('3', [paying(script, 5n, 91n)], { unlockTime: 2_000_000n }),
      null,
      never,
    );
    expect(sent).toMatchObject({ locked: true });
    const mined = transactionOf('4', [paying(script, 5n, 92n)], { unlockTime: 69n, isCoinbase: true });
    const [reward] = await scanner().find(mined, { block, blockTime: 1 }, never);
    expect(reward).toMatchObject({ maturity: 60 });
    expect(reward?.locked).toBeUndefined();
  });
});

describe('bytes of Monero', () => {
  it('are read or refused, whatever they are', () => {
    const refused = (read: () => unknown): void => {
      try {
        read();
      } catch (error) {
        expect(error).toBeInstanceOf(Malformed);
      }
    };
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        refused(() => parseTransaction(bytes));
        refused(() => parseTransaction(Uint8Array.of(2, 0, 1, 2, ...bytes)));
        refused(() => parseTransaction(Uint8Array.of(2, 0, 1, 255, 9, 1, 0, 3, ...bytes), 'ab'.repeat(32)));
        refused(() => parseBlock(bytes));
      }),
      { numRuns: 2_000 },
    );
  });

  it('write numbers in seven bits a byte', () => {
    expect([0, 127, 128, 300].map((number) => [...varint(number)])).toEqual([[0], [127], [128, 1], [172, 2]]);
    expect([...varint(2n ** 64n - 1n)]).toEqual([...Array(9).fill(255), 1]);
  });
});
