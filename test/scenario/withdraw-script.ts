/**
 * What a shop and its operator do with the money, in steps that can each be repeated: requests carry an idempotency key,
 * and who decides looks first at what was decided before the service died.
 */
import { OperatorError } from '../../daemon/contract/client.ts';
import type { Result } from '../../daemon/contract/operator.ts';
import type { ChainId } from '../../daemon/domain/assets.ts';
import { until } from '../support/daemon.ts';
import { stranger } from '../support/money.ts';
import { isCaughtUp, outputsToUs } from './auditor.ts';
import type { Victim } from './victim.ts';

type Withdrawal = Result<'withdrawal.show'>['withdrawal'];

/** A service that died is started again within this. */
const WAIT_MS = 90_000;

/** One recipient: nobody else is ever paid at this address. */
export type Wanted = { name: string; crypto: 'BTC' | 'LTC'; amount: string; address: string };

/** Deposits of two chains, deep enough for everything. Returns once the balance has them. */
export async function prepare(victim: Victim): Promise<void> {
  const day = new Till(victim);
  for (const [crypto, usd] of [
    ['BTC', 400],
    ['LTC', 300],
    ['LTC', 200],
  ] as const) {
    const { id } = await day.post<{ id: string }>('/invoice', { amount: usd, crypto });
    await day.post(`/invoice/rp/${id}`, {});
    await day.post('/sandbox/pay', { invoice_id: id });
  }
  // paid once more: the second deposit waits in the inbox
  const { id } = await day.post<{ id: string }>('/invoice', { amount: 100, crypto: 'LTC' });
  await day.post(`/invoice/rp/${id}`, {});
  await day.post('/sandbox/pay', { invoice_id: id });
  await day.mine('LTC', 12);
  await day.mine('BTC', 6);
  await until('the first deposit is paid', async () => day.isPaid(id));
  await day.post('/sandbox/pay', { invoice_id: id, amount: '0.5' });
  await day.mine('LTC', 12);
  await day.settled();
}

class Till {
  readonly #victim: Victim;
  readonly ids = new Map<string, { id: string; wanted: Wanted }>();

  constructor(victim: Victim) {
    this.#victim = victim;
  }

  /** A POST that must succeed. */
  post<Body>(path: string, body: unknown, key?: string): Promise<Body> {
    return this.#victim.alive(async () => {
      const { status, text } = await this.#victim.call('POST', path, body, key);
      if (status >= 300) throw new Error(`POST ${path} ${JSON.stringify(body)} answered ${status} ${text}`);
      return JSON.parse(text) as Body;
    });
  }

  async isPaid(invoice: string): Promise<boolean> {
    const { text } = await this.#victim.alive(() => this.#victim.call('GET', `/invoice/${invoice}`));
    return (JSON.parse(text) as { status: string }).status === 'paid';
  }

  mine(crypto: string, blocks: number): Promise<unknown> {
    return this.post('/sandbox/mine', { crypto, blocks });
  }

  reorg(crypto: string, depth: number): Promise<unknown> {
    return this.post('/sandbox/reorg', { crypto, depth });
  }

  async withdraw(wanted: Wanted): Promise<string> {
    const { amount, crypto, address } = wanted;
    const { id } = await this.post<{ id: string }>('/withdraw', { amount, crypto, address }, `withdraw ${wanted.name}`);
    this.ids.set(wanted.name, { id, wanted });
    return id;
  }

  show(id: string): Promise<Withdrawal> {
    return this.#victim.alive(async () => (await this.#victim.operator('withdrawal.show', { id })).withdrawal);
  }

  when(id: string, what: string, holds: (shown: Withdrawal) => boolean): Promise<Withdrawal> {
    const look = async (): Promise<Withdrawal | false> => {
      const shown = await this.show(id);
      return holds(shown) && shown;
    };
    return until(`withdrawal ${id} is ${what}`, look, WAIT_MS);
  }

  manual(): Promise<unknown> {
    return this.#victim.alive(() => this.#victim.operator('policy.set', { business: '1', mode: 'manual' }));
  }

  /** Approves, unless that was done before the service died. */
  approve(id: string): Promise<void> {
    return this.#victim.alive(async () => {
      const proposal = { kind: 'pay' as const, id };
      const { withdrawals, preview } = await this.#victim.operator('withdrawal.propose', proposal);
      if (withdrawals[0]?.state !== 'requested' || !preview) return;
      await this.#victim.operator('withdrawal.approve', { proposal, approvals: approvalsOf(preview) });
    });
  }

  batch(ids: string[]): Promise<void> {
    return this.#victim.alive(async () => {
      const { withdrawal } = await this.#victim.operator('withdrawal.show', { id: ids[0]! });
      if (withdrawal.state !== 'requested') return;
      const proposal = { kind: 'batch' as const, ids };
      const { preview } = await this.#victim.operator('withdrawal.propose', proposal);
      await this.#victim.operator('withdrawal.approve', { proposal, approvals: approvalsOf(preview!) });
    });
  }

  /** Replaces the transaction of a withdrawal, unless it has two versions already. */
  async replace(id: string, kind: 'speed-up' | 'cancel'): Promise<void> {
    await this.#victim.alive(() =>
      until(`${kind} of ${id} is taken`, async () => {
        const { withdrawal } = await this.#victim.operator('withdrawal.show', { id });
        if (withdrawal.versions.length > 1) return true;
        const proposal = { kind, id, fee_rate: '50' };
        try {
          const { preview } = await this.#victim.operator('withdrawal.propose', proposal);
          await this.#victim.operator('withdrawal.approve', { proposal, approvals: approvalsOf(preview!) });
          return true;
        } catch (error) {
          if (error instanceof OperatorError && error.status === 409) return false;
          throw error;
        }
      }),
    );
  }

  /** Sends the deposit in the inbox to an address. */
  async refund(address: string): Promise<string> {
    return this.#victim.alive(async () => {
      const { withdrawals } = await this.#victim.operator('withdrawal.list', {});
      const drafted = withdrawals.find((one) => one.address === address);
      if (drafted) return `${drafted.id}`;
      const { items } = await this.#victim.operator('inbox.list', {});
      const open = items.find(({ state }) => state === 'open');
      const { withdrawal } = await this.#victim.operator('inbox.refund', { id: open!.id, address });
      return `${withdrawal.id}`;
    });
  }

  /** Everything of a crypto, to an address that was paid nothing before. */
  async sweep(crypto: string, address: string): Promise<string> {
    return this.#victim.alive(async () => {
      const { withdrawals } = await this.#victim.operator('withdrawal.list', {});
      const drafted = withdrawals.find((one) => one.address === address);
      if (drafted) return `${drafted.id}`;
      const wanted = { business: '1', crypto, address, amount: null };
      return `${(await this.#victim.operator('withdrawal.add', wanted)).withdrawal.id}`;
    });
  }

  /** Waits until the service knows all that there is to know. */
  settled(): Promise<unknown> {
    return this.#victim.alive(() =>
      until('the service has caught up', async () => {
        // asked first: only a call finds out that the service died, and has it started again
        await this.#victim.operator('status', {});
        return isCaughtUp(this.#victim.dataDir);
      }),
    );
  }

  /** Nothing but what is in a block pays or is paid by us. */
  emptied(): Promise<unknown> {
    return until('the mempool holds nothing of ours', async () => {
      await this.mine('LTC', 1);
      await this.mine('BTC', 1);
      await this.settled();
      return outputsToUs(this.#victim.dataDir).every(({ depth }) => depth > 0);
    });
  }
}

const sentTimes =
  (times: number) =>
  ({ versions }: Withdrawal): boolean =>
    versions.length === times && versions.every(({ sent_at }) => sent_at !== null);

const to = (chain: ChainId, index: number): string => stranger(chain, index);

/** Lives through it and returns who was to be paid what. */
export async function payOut(victim: Victim): Promise<{ till: Till; swept: string[]; refund: string }> {
  const till = new Till(victim);
  const one = await till.withdraw({ name: 'plain', crypto: 'BTC', amount: '0.002', address: to('BTC', 1) });
  const chained = await till.withdraw({ name: 'chained', crypto: 'BTC', amount: '0.001', address: to('BTC', 2) });
  await till.when(chained, 'sent', sentTimes(1));
  await till.mine('BTC', 1);
  await till.when(one, 'completed', ({ state }) => state === 'completed');

  await till.manual();
  const faster = await till.withdraw({ name: 'faster', crypto: 'LTC', amount: '1', address: to('LTC', 3) });
  await till.approve(faster);
  await till.when(faster, 'sent', sentTimes(1));
  await till.replace(faster, 'speed-up');
  await till.when(faster, 'sent twice', sentTimes(2));
  await till.mine('LTC', 1);
  await till.when(faster, 'completed', ({ state }) => state === 'completed');
  await till.reorg('LTC', 3);
  await till.when(faster, 'pending again', ({ state }) => state === 'broadcast');
  await till.mine('LTC', 1);

  const canceled = await till.withdraw({ name: 'canceled', crypto: 'LTC', amount: '0.5', address: to('LTC', 4) });
  await till.approve(canceled);
  await till.when(canceled, 'sent', sentTimes(1));
  await till.replace(canceled, 'cancel');
  await till.when(canceled, 'sent twice', sentTimes(2));
  await till.mine('LTC', 1);

  const pair = [
    await till.withdraw({ name: 'first of two', crypto: 'LTC', amount: '0.25', address: to('LTC', 5) }),
    await till.withdraw({ name: 'second of two', crypto: 'LTC', amount: '0.3', address: to('LTC', 6) }),
  ];
  await till.batch(pair);
  const refund = await till.refund(to('LTC', 7));
  await till.approve(refund);
  for (const id of [...pair, refund]) await till.when(id, 'sent', sentTimes(1));
  await till.mine('LTC', 12);
  await till.when(canceled, 'failed', ({ state }) => state === 'failed');
  for (const id of [...pair, refund, faster]) await till.when(id, 'completed', ({ state }) => state === 'completed');
  await till.emptied();

  // whatever is left can be spent: no coin is reserved for nothing
  const swept = [await till.sweep('LTC', to('LTC', 8)), await till.sweep('BTC', to('BTC', 9))];
  for (const id of swept) {
    await till.approve(id);
    await till.when(id, 'sent', sentTimes(1));
  }
  await till.emptied();
  for (const id of swept) await till.when(id, 'completed', ({ state }) => state === 'completed');
  return { till, swept, refund };
}

type Preview = NonNullable<Result<'withdrawal.propose'>['preview']>;

/** The sandbox's approvals need no MAC. */
const approvalsOf = ({ intents, until }: Preview) =>
  intents.map(({ uuid, feeMax }) => ({ uuid, fee_max: feeMax, until, mac: null }));
