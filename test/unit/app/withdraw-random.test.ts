/**
 * Whatever payers, blocks, reorganisations and the operator do, in any order: nobody is paid twice, what is shown is what the
 * chain says, and no coin is out of reach for ever.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { batch, previewBatch } from '../../../daemon/app/withdrawals/batch.ts';
import { Rejected, Unavailable } from '../../../daemon/domain/errors.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { reservedKeys } from '../../../daemon/store/queries/withdrawals.ts';
import { EVERYTHING } from '../../support/sample.ts';
import type { PayBench } from './pay-bench.ts';
import { BCH, BTC, ETH, LTC, type PayFamily, TOKEN, XMR } from './pay-families.ts';
import type { Deposit } from './pay-network.ts';

type Step =
  | { kind: 'deposit'; tenths: number }
  | { kind: 'mine'; blocks: number }
  | { kind: 'reorg'; depth: number; drop: number; first: 'nothing' | 'conflict' }
  | { kind: 'vanish'; which: number }
  | { kind: 'return'; which: number }
  | { kind: 'kill'; which: number }
  | { kind: 'forget'; which: number }
  | { kind: 'withdraw'; tenths: number | null }
  | { kind: 'batch' }
  | { kind: 'replace'; which: number; how: 'speed-up' | 'cancel' }
  | { kind: 'lock' | 'unlock' | 'pass' | 'sync' | 'restart' | 'outage' };

const small = fc.nat({ max: 9 });
const which = small;
const of = <T extends Step>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
const kind = <K extends Step['kind']>(name: K): fc.Arbitrary<K> => fc.constant(name);
const step: fc.Arbitrary<Step> = fc.oneof(
  of(3, fc.record({ kind: kind('deposit'), tenths: fc.integer({ min: 5, max: 20 }) })),
  of(4, fc.record({ kind: kind('mine'), blocks: fc.integer({ min: 1, max: 3 }) })),
  of(
    1,
    fc.record({
      kind: kind('reorg'),
      depth: fc.integer({ min: 1, max: 4 }),
      drop: fc.nat({ max: 15 }),
      first: fc.constantFrom('nothing' as const, 'conflict' as const),
    }),
  ),
  of(6, fc.record({ kind: kind('vanish'), which })),
  of(4, fc.record({ kind: kind('return'), which })),
  of(1, fc.record({ kind: kind('kill'), which })),
  of(1, fc.record({ kind: kind('forget'), which })),
  of(5, fc.record({ kind: kind('withdraw'), tenths: fc.option(fc.integer({ min: 1, max: 30 }), { freq: 12 }) })),
  of(1, fc.record({ kind: kind('batch') })),
  of(
    9,
    fc.record({
      kind: kind('replace'),
      which,
      how: fc.constantFrom('speed-up' as const, 'speed-up' as const, 'cancel' as const),
    }),
  ),
  of(
    4,
    fc.record({ kind: fc.constantFrom('lock' as const, 'unlock' as const, 'restart' as const, 'outage' as const) }),
  ),
  of(9, fc.record({ kind: fc.constantFrom('pass' as const, 'sync' as const) })),
);

/** A deposit below that many blocks stays. */
const VANISH_BLOCKS_MAX = 7;

/** What the operator is refused is no fault. */
async function tried(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (error instanceof Rejected) return false;
    throw error;
  }
}

class Life {
  readonly pay: PayBench;
  readonly family: PayFamily;
  readonly ids: number[] = [];
  readonly #deposits: Deposit[] = [];

  constructor(pay: PayBench, family: PayFamily) {
    this.pay = pay;
    this.family = family;
  }

  #tenths(count: number): bigint {
    return (BigInt(count) * this.pay.chain.coin) / 10n;
  }

  async live(step: Step): Promise<void> {
    const { pay } = this;
    const { chain } = pay;
    if (step.kind === 'deposit') this.#deposits.push(await pay.deposit(this.#tenths(step.tenths)));
    if (step.kind === 'mine') await chain.mine(step.blocks);
    if (step.kind === 'reorg') await this.#reorg(step);
    if (step.kind === 'vanish') await this.#vanish(step.which);
    if (step.kind === 'return') await this.#again(this.#away()[step.which % 3]);
    if (step.kind === 'kill') await this.#kill(this.#away()[step.which % 3]);
    if (step.kind === 'forget') await chain.forget(chain.waiting()[step.which] ?? '');
    if (step.kind === 'withdraw') await this.#withdraw(step.tenths);
    if (step.kind === 'batch') await this.#batch();
    if (step.kind === 'replace') await this.#replace(this.ids[step.which % (this.ids.length || 1)], step.how);
    if (step.kind === 'lock') pay.signer.state = 'locked';
    if (step.kind === 'unlock') pay.signer.state = 'unlocked';
    if (step.kind === 'pass') await pay.pass();
    if (step.kind === 'restart' || step.kind === 'outage') await this.#unseen(step.kind);
    await pay.sync();
  }

  /** Blocks that come while nothing of them is told: the worker goes on all the same. */
  async #unseen(why: 'restart' | 'outage'): Promise<void> {
    const { pay } = this;
    if (why === 'restart') pay.bench.chain.syncedAt = 0;
    else pay.bench.chain.away = true;
    await pay.chain.mine();
    pay.chain.offered.length = 0;
    await pay.pass().catch((error: unknown) => {
      // the source is ahead of the books: tried again later
      if (!(error instanceof Unavailable)) throw error;
    });
    expect(pay.chain.offered).toEqual([]);
  }

  async #reorg({ depth, drop, first }: Extract<Step, { kind: 'reorg' }>): Promise<void> {
    const { chain } = this.pay;
    const dropped = this.#deposits.filter((one, i) => (drop >> (i % 4)) % 2 === 1 && chain.depthOf(one.txid) <= depth);
    const young = dropped.filter(({ txid }) => chain.depthOf(txid) > 0);
    await chain.undo(depth, dropped, first === 'conflict' ? young.slice(0, 1) : []);
  }

  /** A deposit that something signed needs leaves the chain, if its block is young enough. */
  async #vanish(which: number): Promise<void> {
    const { chain, signer } = this.pay;
    const keys = [...signer.signed.values()].flat().flatMap((one) => one.keys);
    const needed = this.#deposits.filter((one) => {
      const depth = chain.depthOf(one.txid);
      const isYoung = depth > 0 && depth <= VANISH_BLOCKS_MAX + this.family.lockBlocks;
      return isYoung && keys.some((key) => chain.feeds(one, key));
    });
    const found = needed[which % (needed.length || 1)];
    if (found) await chain.undo(chain.depthOf(found.txid), [found]);
  }

  /** The deposits that are neither in a block nor in the mempool. */
  #away(): Deposit[] {
    const { chain } = this.pay;
    const waiting = new Set(chain.waiting());
    return this.#deposits.filter(({ txid }) => chain.depthOf(txid) === 0 && !waiting.has(txid));
  }

  /** A deposit that vanished is sent once more, if it can still be. */
  async #again(deposit: Deposit | undefined): Promise<void> {
    if (deposit) await tried((async () => this.pay.chain.again(deposit))());
  }

  /** A deposit that vanished is made impossible. */
  async #kill(deposit: Deposit | undefined): Promise<void> {
    const { chain } = this.pay;
    if (deposit && !chain.isDead(deposit)) await chain.kill(deposit);
  }

  async #withdraw(tenths: number | null): Promise<void> {
    const { pay } = this;
    await tried(pay.request(tenths === null ? null : this.#tenths(tenths)).then((id) => this.ids.push(id)));
    const id = this.ids.at(-1);
    if (id !== undefined && id % 3 !== 0 && pay.row(id).state === 'requested') await tried(pay.approve(id));
  }

  async #batch(): Promise<void> {
    const { pay } = this;
    const names = this.ids.filter((id) => ['requested', 'approved'].includes(pay.row(id).state)).map(String);
    await tried(
      (async () => {
        const { intents, until } = await previewBatch(pay.app, names);
        const given = intents.map(({ uuid, feeMax }) => {
          return [uuid, { feeMax: BigInt(feeMax), units: null, until, mac: 'mac' }] as const;
        });
        await batch(pay.app, names, new Map(given));
      })(),
    );
  }

  async #replace(id: number | undefined, how: 'speed-up' | 'cancel'): Promise<void> {
    if (id !== undefined) await tried(this.pay.replace(id, how));
  }

  /** What must be true at every moment. */
  check(): void {
    const { pay } = this;
    for (const id of this.ids) {
      const { state, txid, address } = pay.row(id);
      const paid = pay.chain.paidTo(address);
      expect(paid.length).toBeLessThanOrEqual(1);
      expect([id, state === 'completed', txid]).toEqual([id, paid.length === 1, paid[0] ?? null]);
    }
    // the signer had to refuse nothing, and the worker found no bug
    expect(pay.alerts().filter(({ kind }) => /refused|halted|conflict/.test(kind))).toEqual([]);
  }

  /** The chain goes on without surprises: each payment can wait for the one before, and the last is buried. */
  async settle(): Promise<void> {
    const { pay, family } = this;
    pay.signer.state = 'unlocked';
    const blocks = Math.max(1, family.lockBlocks);
    for (let mined = 0; mined < BURIED_BLOCKS[pay.chain.chain] + 3 * blocks; mined += blocks) {
      await pay.round();
      await pay.chain.mine(blocks);
      await pay.sync();
      this.check();
    }
  }

  /** The operator ends what still waits; whatever is on the chain then can be withdrawn. */
  async end(): Promise<void> {
    const { pay, family } = this;
    await this.settle();
    // a nonce is used only by who can pay its fee
    if (!family.hasCoins) await pay.deposits([this.#tenths(90), this.#tenths(90)]);
    for (const id of this.ids) {
      const { state } = pay.row(id);
      if (state === 'signed' || state === 'broadcast') {
        const isWaiting = pay.spend(id).state === 'waiting';
        // a cancellation that lacks a coin itself is made anew by speeding it up
        const ended =
          isWaiting || (await tried(pay.replace(id, 'cancel'))) || (await tried(pay.replace(id, 'speed-up')));
        expect([id, ended]).toEqual([id, true]);
        await pay.round();
      }
      if (state === 'requested' || state === 'approved') await pay.reject(id);
    }
    await this.settle();
    const { app, bench } = pay;
    expect(app.store.all(reservedKeys, { chain_key: bench.chain.key })).toEqual([]);
    expect(pay.available()).toBe(pay.chain.unspent());
    // an account chain empties one address at a time
    for (let left = pay.available(); left >= this.#tenths(1) / 10n; left = pay.available()) {
      const id = await pay.withdraw(null);
      this.ids.push(id);
      await this.settle();
      expect(pay.row(id)).toMatchObject({ state: 'completed', problem: null });
      expect(pay.available()).toBeLessThan(left);
      if (family.hasCoins) expect(pay.available()).toBe(0n);
    }
    expect(pay.chain.unspent()).toBe(pay.available());
  }
}

const MINE: Step = { kind: 'mine', blocks: 1 };
const WITHDRAW: Step = { kind: 'withdraw', tenths: 22 };
const PASS: Step = { kind: 'pass' };
/** A reorganisation undoes a cancellation that was buried, and takes a coin of both versions away. */
const REOPENED: Step[] = [
  { kind: 'replace', which: 0, how: 'cancel' },
  PASS,
  { kind: 'mine', blocks: 3 },
  MINE,
  { kind: 'lock' },
  { kind: 'mine', blocks: 2 },
  { kind: 'withdraw', tenths: null },
  PASS,
  { kind: 'vanish', which: 0 },
];
/** A block that the books have not seen makes the return of a deposit impossible. */
const AHEAD: Step[] = [
  { kind: 'reorg', depth: 1, drop: 2, first: 'conflict' },
  { kind: 'reorg', depth: 2, drop: 0, first: 'nothing' },
  { kind: 'sync' },
  { kind: 'vanish', which: 0 },
  { kind: 'sync' },
  { kind: 'outage' },
  { kind: 'return', which: 0 },
];

it.each([
  { family: BTC, runs: 35 },
  { family: LTC, runs: 10 },
  { family: BCH, runs: 25 },
  { family: ETH, runs: 15 },
  { family: TOKEN, runs: 6 },
  { family: XMR, runs: 15 },
])('$family.name: nobody is paid twice, and no coin is lost', async ({ family, runs }) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const pay = await family.open();
      const life = new Life(pay, family);
      const begin: Step[] = [1, 2, 3].map((n) => ({ kind: 'deposit', tenths: (family.hasCoins ? 5 : 15) * n }));
      try {
        for (const one of [...begin, { kind: 'mine' as const, blocks: 1 + family.lockBlocks }, WITHDRAW, PASS])
          await life.live(one);
        for (const one of steps) {
          await life.live(one);
          life.check();
        }
        await life.end();
      } finally {
        await pay.app.store.close();
      }
    }),
    // others each time
    { numRuns: EVERYTHING ? runs : Math.ceil(runs / 3), examples: [[REOPENED], [AHEAD]] },
  );
});
