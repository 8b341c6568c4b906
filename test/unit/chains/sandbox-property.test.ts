/** Random sequences of controls: the ledger stays whole, and any way to the present tells the same facts. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressOfKey } from '../../../daemon/chains/utxo/address.ts';
import { type AssetId, assetOf, type ChainId } from '../../../daemon/domain/assets.ts';
import type { DerivedAddress } from '../../../daemon/domain/chain.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { isUtxo } from '../../../daemon/sandbox/addresses.ts';
import { PREMINED, type SandboxReader } from '../../../daemon/sandbox/rows.ts';
import { FactBook } from '../../adapters/fact-book.ts';
import { accountOf, type Bench, type Coin, openBench, publicKeyOf, signSpend } from '../../adapters/sandbox-kit.ts';

const TARGETS = 4;
const LATE = 3;
const EVERYTHING = 100_000;

type Step =
  | { do: 'pay'; to: number; units: number }
  | { do: 'mine'; blocks: number }
  | { do: 'reorg'; depth: number; drop: boolean }
  | { do: 'doubleSpend'; pick: number }
  | { do: 'spend'; pick: number; to: number; fee: number }
  | { do: 'sync'; book: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('pay'), to: fc.nat(TARGETS), units: fc.integer({ min: 1, max: 90_000 }) }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('mine'), blocks: fc.integer({ min: 1, max: 3 }) }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('reorg'), depth: fc.integer({ min: 1, max: 5 }), drop: fc.boolean() }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('doubleSpend'), pick: fc.nat(20) }) },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant('spend'), pick: fc.nat(20), to: fc.nat(TARGETS), fee: fc.nat(3_000) }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('sync'), book: fc.nat(LATE - 1) }) },
  ) as fc.Arbitrary<Step>,
  { minLength: 5, maxLength: 40 },
);

/** Every rule of the ledger that can be read off its rows. */
function checkLedger(rows: SandboxReader, chain: ChainId): void {
  const blocks = rows.blocksAbove(chain, -1, EVERYTHING);
  expect(blocks.map(({ height }) => height)).toEqual(blocks.map((_, i) => i));
  expect(new Set(blocks.map(({ hash }) => hash)).size).toBe(blocks.length);
  expect(blocks.every(({ time }, i) => time >= (blocks[i - 1]?.time ?? 0))).toBe(true);

  const heights = [...blocks.map(({ height }) => height), null];
  const contents = heights.flatMap((height) => rows.contents(chain, height));
  expect(rows.chain(chain)?.transactions).toBe(contents.length);
  const idOf = new Map(contents.map(({ transaction }) => [transaction.txid, transaction.id]));
  const spentBy = new Map<string, number>();
  for (const [i, { transaction }] of contents.entries()) {
    for (const outpoint of transaction.inputs) {
      expect(spentBy.has(outpoint)).toBe(false);
      spentBy.set(outpoint, transaction.id);
      const coin = rows.output(chain, outpoint);
      expect(coin?.spentBy).toBe(transaction.id);
      if (coin?.transactionId === PREMINED) continue;
      const parent = contents.findIndex((entry) => entry.transaction.id === coin?.transactionId);
      expect(parent).toBeGreaterThanOrEqual(0);
      expect(parent).toBeLessThan(i);
    }
  }
  for (const { transaction, outputs } of contents) {
    expect(outputs.length).toBeGreaterThan(0);
    for (const output of outputs) {
      expect(output.spentBy).toBe(spentBy.get(output.outpoint) ?? null);
      expect(idOf.get(output.outpoint.split(':')[0] ?? '')).toBe(transaction.id);
    }
  }
}

const sorted = <T>(facts: Iterable<[string, T]>): [string, T][] => [...facts].sort(([a], [b]) => (a < b ? -1 : 1));

async function play(chain: ChainId, asset: AssetId, plan: readonly Step[]): Promise<void> {
  const bench = await openBench();
  const { sandbox, rows, clock } = bench;
  const adapter = sandbox.adapter(chain);
  const targets: DerivedAddress[] = [];
  for (let i = 0; i < TARGETS; i++) targets.push(await adapter.deriveAddress(accountOf(chain), 0, i));
  // The last address is nobody's.
  const addresses = [...targets, await adapter.deriveAddress(accountOf(chain), 1, 0)].map(({ address }) => address);
  const books = Array.from({ length: LATE }, () => new FactBook());
  for (const book of [bench.book, ...books]) for (const target of targets) book.watch(target);
  for (const book of books) book.checkpoint = await adapter.begin(null, AbortSignal.timeout(5_000));
  const first = books[0]?.checkpoint ?? [];

  // An adapter looks coins up in the book that it speaks to, so each book has its own.
  const adapters = new Map(books.map((book) => [book, adapterFor(bench, chain, book)]));
  try {
    for (const step of plan) {
      clock.now += 1_000;
      try {
        await take(bench, chain, asset, step, { addresses, sync: (i) => catchUp(books[i], adapters) });
      } catch (error) {
        if (!(error instanceof Rejected)) throw error;
      }
    }
    checkLedger(rows, chain);
    const scratch = new FactBook();
    for (const target of targets) scratch.watch(target);
    scratch.checkpoint = first.slice(0, 1);
    adapters.set(scratch, adapterFor(bench, chain, scratch));
    await catchUp(scratch, adapters);
    for (const book of books) {
      await catchUp(book, adapters);
      expect(book.tip).toEqual(scratch.tip);
      expect(sorted(book.credits)).toEqual(sorted(scratch.credits));
      expect(sorted(book.spends)).toEqual(sorted(scratch.spends));
    }
  } finally {
    await bench.close();
  }
}

function adapterFor(bench: Bench, chain: ChainId, book: FactBook) {
  bench.watchWith(book);
  return bench.sandbox.adapter(chain);
}

async function catchUp(
  book: FactBook | undefined,
  adapters: Map<FactBook, ReturnType<typeof adapterFor>>,
): Promise<void> {
  const adapter = book && adapters.get(book);
  if (!adapter) throw new Error('no such book');
  await book.catchUp(adapter);
}

async function take(
  { sandbox, rows }: Bench,
  chain: ChainId,
  asset: AssetId,
  step: Step,
  world: { addresses: string[]; sync: (book: number) => Promise<void> },
): Promise<void> {
  if (step.do === 'sync') return world.sync(step.book);
  if (step.do === 'mine') return void (await sandbox.mine(chain, step.blocks));
  if (step.do === 'reorg') return void (await sandbox.reorg(chain, step.depth, step.drop));
  if (step.do === 'pay') {
    const address = world.addresses[step.to] ?? '';
    return void (await sandbox.pay(chain, { address, asset, units: BigInt(step.units) }));
  }
  const heights = [null, ...rows.blocksAbove(chain, 150, EVERYTHING).map(({ height }) => height)];
  if (step.do === 'doubleSpend') {
    const waiting = rows.transactionsIn(chain, null, EVERYTHING);
    const chosen = waiting[step.pick % Math.max(1, waiting.length)];
    return void (chosen && (await sandbox.doubleSpend(chain, chosen.txid)));
  }
  if (!isUtxo(chain)) return;
  // Any coin of ours, spent already or not: what conflicts is refused or replaces.
  const coins: Coin[] = heights
    .flatMap((height) => rows.contents(chain, height))
    .flatMap(({ outputs }) => outputs)
    .flatMap(({ outpoint, script, units }) => {
      const index = [0, 1, 2, 3].find((i) =>
        addressOfKey(publicKeyOf(i), chain, 'sandbox').script.every((byte, at) => byte === script[at]),
      );
      return index === undefined ? [] : [{ id: outpoint, units, index }];
    });
  const coin = coins[step.pick % Math.max(1, coins.length)];
  if (!coin || coin.units <= BigInt(step.fee)) return;
  const { script } = addressOfKey(publicKeyOf(step.to), chain, 'sandbox');
  await sandbox.broadcast(
    chain,
    signSpend(chain, { coins: [coin], outputs: [{ script, units: coin.units - BigInt(step.fee) }] }),
  );
}

describe('random sequences of controls', () => {
  it.each(['BTC', 'BCH', 'USDT_ERC20'] as const)(
    'keep the ledger whole and tell one story, however late one listens: %s',
    async (asset) => {
      const { chain } = assetOf(asset);
      await fc.assert(
        fc.asyncProperty(steps, (plan) => play(chain, asset, plan)),
        { numRuns: 25, endOnFailure: true },
      );
    },
  );
});
