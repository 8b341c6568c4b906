/**
 * The service dies at every commit of a payday, and after every call of its signer and of its node, on every kind of chain.
 * Each time another process goes on with what was committed. In the end every recipient was paid exactly once, and nothing is
 * left over. The auditor reads the chain alone. A point begins from a copy of the database, not from nothing. A run has a sample of
 * the points (`support/sample.ts`). `test/scenario/withdraw-crash.test.ts` kills whole daemons.
 */
import { describe, expect, it } from 'vitest';
import { batch, previewBatch } from '../../../daemon/app/withdrawals/batch.ts';
import { refundDeposit } from '../../../daemon/app/withdrawals/inbox.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { inboxBelow } from '../../../daemon/store/queries/inbox.ts';
import {
  reservedKeys,
  type WithdrawalRow,
  withdrawalsOfBusinessBelow,
} from '../../../daemon/store/queries/withdrawals.ts';
import { isSampled, REPEAT } from '../../support/sample.ts';
import type { PayBench } from './pay-bench.ts';
import { FAMILIES, type PayFamily } from './pay-families.ts';

const ONE_OF = 6;
const ROUNDS_MAX = 18;
const LAST_ID = 2 ** 31;
/** What a deposit of any value needs. */
const CONFIRMED_BLOCKS = 96;

/** Index of a stranger's address: nobody else is ever paid there. Sweeps have those above. */
const TO = { plain: 1, second: 2, faster: 3, canceled: 4, one: 5, two: 6, refund: 7, swept: 10 };

class Payday {
  readonly pay: PayBench;
  readonly family: PayFamily;

  constructor(pay: PayBench, family: PayFamily) {
    this.pay = pay;
    this.family = family;
  }

  rows(): WithdrawalRow[] {
    const { app, bench } = this.pay;
    return app.store.all(withdrawalsOfBusinessBelow, { business_id: bench.businessId, id: LAST_ID, limit: 100 });
  }

  #asked(to: number): WithdrawalRow | undefined {
    const address = this.pay.chain.stranger(to);
    return this.rows().find((row) => row.address === address);
  }

  #row(to: number): WithdrawalRow {
    const row = this.#asked(to);
    if (!row) throw new Error(`a withdrawal to ${to} was asked for`);
    return row;
  }

  #tenths(count: number): bigint {
    return (BigInt(count) * this.pay.chain.coin) / 10n;
  }

  /** Each step can be repeated: who does it looks first at what was done before the service died. */
  steps(): (() => Promise<void>)[] {
    const { replaces, hasCoins } = this.family;
    return [
      () => this.#paid('plain', 'second'),
      ...(replaces ? [() => this.#replaced('faster', 'speed-up'), () => this.#undone()] : []),
      ...(replaces ? [() => this.#replaced('canceled', 'cancel')] : []),
      ...(hasCoins ? [() => this.#batched()] : []),
      () => this.#refunded(),
      () => this.end(),
    ];
  }

  async #ask(to: number, units: bigint | null): Promise<void> {
    if (!this.#asked(to)) await this.pay.request(units, this.pay.chain.stranger(to));
  }

  async #approve(to: number): Promise<void> {
    const { id, state } = this.#row(to);
    if (state === 'requested') await this.pay.approve(id);
  }

  async #until(what: string, holds: () => boolean): Promise<void> {
    const { pay, family } = this;
    for (let rounds = 0; !holds(); rounds++) {
      if (rounds > ROUNDS_MAX) {
        const rows = this.rows().map(({ id, state, problem }) => `${id} ${state} ${problem}`);
        throw new Error(`${what}: ${rows.join(', ')}; ${pay.alerts().map(({ message }) => message)}`);
      }
      await pay.round();
      if (holds()) return;
      await pay.chain.mine(Math.max(1, family.lockBlocks));
      await pay.sync();
    }
  }

  #done = (to: number): boolean => ['completed', 'failed'].includes(this.#row(to).state);

  async #paid(...names: (keyof typeof TO)[]): Promise<void> {
    for (const name of names) await this.#ask(TO[name], this.#tenths(3));
    for (const name of names) await this.#approve(TO[name]);
    await this.#until(`${names} are paid`, () => names.every((name) => this.#done(TO[name])));
  }

  async #replaced(name: 'faster' | 'canceled', kind: 'speed-up' | 'cancel'): Promise<void> {
    const { pay } = this;
    await this.#ask(TO[name], this.#tenths(4));
    await this.#approve(TO[name]);
    const { id } = this.#row(TO[name]);
    const versions = () => (pay.row(id).spend_id === null ? [] : pay.versions(id));
    for (let rounds = 0; versions().length < 2 && !this.#done(TO[name]); rounds++) {
      expect(rounds).toBeLessThan(ROUNDS_MAX);
      await pay.round();
      if (versions().some(({ txid }) => txid !== null)) await pay.replace(id, kind);
    }
    await pay.round();
    await pay.chain.mine();
    await pay.sync();
    await this.#until(`${name} is over`, () => this.#done(TO[name]));
  }

  /** A reorganisation undoes what was just paid. It needs no service, and happens once. */
  async #undone(): Promise<void> {
    const { pay } = this;
    await pay.chain.undo(2, []);
    await pay.round();
    await this.#until('it is paid again', () => this.#done(TO.faster));
  }

  async #batched(): Promise<void> {
    const { pay } = this;
    for (const to of [TO.one, TO.two]) await this.#ask(to, this.#tenths(2));
    const rows = [TO.one, TO.two].map((to) => this.#row(to));
    if (rows.every(({ state, spend_id }) => state === 'requested' && spend_id === null)) {
      const names = rows.map(({ id }) => `${id}`);
      const { intents, until } = await previewBatch(pay.app, names);
      const given = intents.map(
        ({ uuid, feeMax }) => [uuid, { feeMax: BigInt(feeMax), units: null, until, mac: 'mac' }] as const,
      );
      await batch(pay.app, names, new Map(given));
    }
    for (const to of [TO.one, TO.two]) await this.#approve(to);
    await this.#until('both are paid', () => this.#done(TO.one) && this.#done(TO.two));
  }

  async #refunded(): Promise<void> {
    const { pay } = this;
    if (!this.#asked(TO.refund)) {
      const items = pay.app.store.all(inboxBelow, { id: LAST_ID, limit: 100 });
      const open = items.filter(({ asset, state, outpoint }) => {
        const isFree = pay.bench.row(outpoint).spent_txid === null && !this.#isReserved(outpoint);
        return asset === pay.chain.asset && state === 'open' && isFree;
      });
      await refundDeposit(pay.app, open.at(-1)!.id, pay.chain.stranger(TO.refund));
    }
    await this.#approve(TO.refund);
    await this.#until('the deposit is refunded', () => this.#done(TO.refund));
  }

  #isReserved(outpoint: string): boolean {
    const { app, bench } = this.pay;
    return app.store.all(reservedKeys, { chain_key: bench.chain.key }).some((one) => one.conflict_key === outpoint);
  }

  /** Whatever is under way ends, and what is left is paid out. */
  async end(): Promise<void> {
    const { pay, family } = this;
    for (const { state, id } of this.rows()) if (state === 'requested') await pay.approve(id);
    const over = () => this.rows().every(({ state }) => ['completed', 'failed'].includes(state));
    await this.#until('all are over', over);
    await pay.chain.mine(BURIED_BLOCKS[pay.chain.chain] + family.lockBlocks);
    await pay.round();
    // an account chain empties one address at a time
    for (let to = TO.swept; this.#asked(to) || pay.available() > this.#tenths(1) / 10n; to++) {
      expect(to).toBeLessThan(TO.swept + 5);
      if (!this.#asked(to)) await this.#ask(to, null);
      await this.#approve(to);
      await this.#until('it is swept', () => this.#done(to));
      await pay.chain.mine(BURIED_BLOCKS[pay.chain.chain]);
      await pay.round();
    }
  }

  /** What is wrong, in words, once all is over. */
  audit(): string[] {
    const { pay } = this;
    const { chain, app, bench } = pay;
    const faults: string[] = [];
    const rows = this.rows();
    const addresses = new Set(rows.map(({ address }) => address));
    if (addresses.size !== rows.length) faults.push(`${rows.length} withdrawals to ${addresses.size} addresses`);
    for (const { id, address, state, txid } of rows) {
      const paid = chain.paidTo(address);
      const isCanceled = address === chain.stranger(TO.canceled) && state === 'failed';
      const wanted = isCanceled ? [] : [txid];
      if (`${paid}` !== `${wanted}`) faults.push(`withdrawal ${id} (${state}) names ${txid}, and is paid by ${paid}`);
    }
    const reserved = app.store.all(reservedKeys, { chain_key: bench.chain.key });
    if (reserved.length > 0) faults.push(`${reserved.length} keys are reserved`);
    if (pay.available() !== chain.unspent()) faults.push(`${pay.available()} of ${chain.unspent()} can be spent`);
    if (chain.unspent() > this.#tenths(1) / 10n) faults.push(`${chain.unspent()} were left behind`);
    const alerts = pay.alerts().filter(({ kind }) => /refused|halted|conflict|not_sent|missing/.test(kind));
    return [...faults, ...alerts.map(({ message }) => message)];
  }
}

type Moment = { step: number; where: string; revive: () => Promise<PayBench> };

/** A payday without a crash. Returns how often one can happen, and the moments of today. */
async function calm(family: PayFamily): Promise<{ points: number; moments: Moment[] }> {
  const pay = await family.open();
  const { coin } = pay.chain;
  await pay.deposits([3n * coin, 2n * coin, coin], CONFIRMED_BLOCKS);
  const moments: Moment[] = [];
  const payday = new Payday(pay, family);
  let step = 0;
  let points = 0;
  const note = (after: string): void => {
    const at = points++;
    if (isSampled(at, ONE_OF)) moments.push({ step, where: `step ${step}, ${after} ${at}`, revive: pay.moment() });
  };
  pay.app.store.onCommit = () => note('commit');
  pay.signer.onSigned = () => note('signature');
  const spending = pay.chain.adapter.spending!;
  const broadcast = spending.broadcast.bind(spending);
  spending.broadcast = async (raw, signal) => {
    await broadcast(raw, signal);
    note('broadcast');
  };
  for (const [at, run] of payday.steps().entries()) {
    step = at;
    await run();
  }
  expect(payday.audit()).toEqual([]);
  await pay.app.store.close();
  return { points, moments };
}

describe.each(FAMILIES)('$name: a payday', (family) => {
  it('pays everybody once, whatever point the service dies at', { timeout: 600_000 }, async () => {
    const { points, moments } = await calm(family);
    expect(points).toBeGreaterThan(50);
    const wrong: string[] = [];
    for (const { step, where, revive } of moments) {
      const payday = new Payday(await revive(), family);
      try {
        await payday.steps()[step]?.();
        await payday.end();
        for (const fault of payday.audit()) wrong.push(`${where}: ${fault}`);
      } catch (error) {
        wrong.push(`${where}: ${(error as Error).message}`);
      }
      await payday.pay.app.store.close();
    }
    console.info(`${family.name}: died at ${moments.length} of ${points} points`);
    expect(wrong, REPEAT).toEqual([]);
  });
});
