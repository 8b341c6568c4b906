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

type Crypto = 'BTC' | 'LTC' | 'ETH' | 'XMR';

/** One recipient: nobody else is ever paid at this address. */
type Wanted = { name: string; crypto: Crypto; amount: string; address: string };

/** A payday on one kind of chain. What its family cannot do is not asked for. */
export type Scene = {
  name: string;
  /** The first payments are in `first`, all others in `main`. */
  first: Crypto;
  main: Crypto;
  /** US dollars of each invoice that is paid before. */
  paid: readonly (readonly [Crypto, number])[];
  /** What is paid once more to the last invoice, of `main`: it waits in the inbox. */
  again: string;
  amounts: { plain: string; chained: string; faster: string; canceled: string; pair: readonly [string, string] };
  /** A transaction can take the place of another one. On Monero a key image is used once. */
  replaces: boolean;
  /** One transaction can pay several. On an account chain it has one recipient. */
  batches: boolean;
};

export const SCENES: readonly Scene[] = [
  {
    name: 'coins',
    first: 'BTC',
    main: 'LTC',
    again: '0.5',
    replaces: true,
    batches: true,
    paid: [
      ['BTC', 400],
      ['LTC', 300],
      ['LTC', 200],
      ['LTC', 100],
    ],
    amounts: { plain: '0.002', chained: '0.001', faster: '1', canceled: '0.5', pair: ['0.25', '0.3'] },
  },
  {
    name: 'an account chain',
    first: 'ETH',
    main: 'ETH',
    again: '0.1',
    replaces: true,
    batches: false,
    paid: [
      ['ETH', 3_000],
      ['ETH', 300],
    ],
    amounts: { plain: '0.02', chained: '0.03', faster: '0.1', canceled: '0.2', pair: ['0', '0'] },
  },
  {
    name: 'Monero',
    first: 'XMR',
    main: 'XMR',
    again: '0.5',
    replaces: false,
    batches: true,
    paid: [
      ['XMR', 300],
      ['XMR', 200],
      ['XMR', 100],
    ],
    amounts: { plain: '0.5', chained: '0.6', faster: '0', canceled: '0', pair: ['0.2', '0.1'] },
  },
];

/** More than any deposit needs here, and than Monero's lock. */
const CONFIRMED_BLOCKS = 12;
const SWEEPS_MAX = 4;

/** Deposits deep enough for everything. Returns once the balance has them. */
export async function prepare(victim: Victim, { paid, main, first, again }: Scene): Promise<void> {
  const day = new Till(victim, [first, main]);
  let last = '';
  for (const [crypto, usd] of paid) {
    last = (await day.post<{ id: string }>('/invoice', { amount: usd })).id;
    await day.post(`/invoice/rp/${last}`, { crypto });
    await day.post('/sandbox/pay', { invoice_id: last });
  }
  await day.mineAll(CONFIRMED_BLOCKS);
  await until('the last deposit is paid', async () => day.isPaid(last));
  // paid once more: the second deposit waits in the inbox
  await day.post('/sandbox/pay', { invoice_id: last, amount: again });
  await day.mineAll(CONFIRMED_BLOCKS);
  await day.settled();
}

class Till {
  readonly #victim: Victim;
  readonly ids = new Map<string, { id: string; wanted: Wanted }>();

  readonly #cryptos: readonly Crypto[];

  constructor(victim: Victim, cryptos: readonly Crypto[]) {
    this.#victim = victim;
    this.#cryptos = [...new Set(cryptos)];
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

  async mineAll(blocks: number): Promise<void> {
    for (const crypto of this.#cryptos) await this.mine(crypto, blocks);
  }

  async balance(crypto: Crypto): Promise<number> {
    const { text } = await this.#victim.alive(() => this.#victim.call('GET', '/balance'));
    return (JSON.parse(text) as Record<string, number>)[crypto] ?? 0;
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
    return until(`withdrawal ${id} is ${what}`, look);
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
      await this.mineAll(1);
      await this.settled();
      return outputsToUs(this.#victim.dataDir).every(({ depth }) => depth > 0);
    });
  }
}

const sentTimes =
  (times: number) =>
  ({ versions }: Withdrawal): boolean =>
    versions.length === times && versions.every(isSent);

const isSent = ({ sent_at }: Withdrawal['versions'][number]): boolean => sent_at !== null;

const isCompleted = ({ state }: Withdrawal): boolean => state === 'completed';

const to = (chain: ChainId, index: number): string => stranger(chain, index);

/** Lives through it and returns who was to be paid what. */
export async function payOut(victim: Victim, scene: Scene): Promise<{ till: Till; swept: string[]; refund: string }> {
  const { first, main, amounts } = scene;
  const till = new Till(victim, [first, main]);
  const one = await till.withdraw({ name: 'plain', crypto: first, amount: amounts.plain, address: to(first, 1) });
  const chained = await till.withdraw({
    name: 'chained',
    crypto: first,
    amount: amounts.chained,
    address: to(first, 2),
  });
  await till.when(chained, 'sent', sentTimes(1));
  await till.mine(first, 1);
  await till.when(one, 'completed', isCompleted);

  await till.manual();
  const open = scene.replaces ? await replaceSome(till, scene) : { completed: [one], failed: [] };
  if (scene.batches) {
    const pair = [
      await till.withdraw({ name: 'first of two', crypto: main, amount: amounts.pair[0], address: to(main, 5) }),
      await till.withdraw({ name: 'second of two', crypto: main, amount: amounts.pair[1], address: to(main, 6) }),
    ];
    await till.batch(pair);
    open.completed.push(...pair);
  }
  const refund = await till.refund(to(main, 7));
  await till.approve(refund);
  open.completed.push(refund);
  for (const id of open.completed) await till.when(id, 'sent', ({ versions }) => versions.some(isSent));
  await till.mine(main, CONFIRMED_BLOCKS);
  for (const id of open.failed) await till.when(id, 'failed', ({ state }) => state === 'failed');
  for (const id of open.completed) await till.when(id, 'completed', isCompleted);
  await till.emptied();

  // whatever is left can be spent: nothing is reserved for nothing
  const swept: string[] = [];
  for (const crypto of new Set([main, first])) {
    // an account chain empties one address at a time
    for (let i = 0; i < SWEEPS_MAX && (i === 0 || (await till.balance(crypto)) > 0); i++) {
      const id = await till.sweep(crypto, to(crypto, 10 + i));
      swept.push(id);
      await till.approve(id);
      await till.when(id, 'sent', sentTimes(1));
      await till.emptied();
      await till.when(id, 'completed', isCompleted);
    }
  }
  return { till, swept, refund };
}

/** A faster version that a reorganisation undoes once, and a cancellation. */
async function replaceSome(till: Till, { main, amounts }: Scene): Promise<{ completed: string[]; failed: string[] }> {
  const faster = await till.withdraw({ name: 'faster', crypto: main, amount: amounts.faster, address: to(main, 3) });
  await till.approve(faster);
  await till.when(faster, 'sent', sentTimes(1));
  await till.replace(faster, 'speed-up');
  await till.when(faster, 'sent twice', sentTimes(2));
  await till.mine(main, 1);
  await till.when(faster, 'completed', isCompleted);
  await till.reorg(main, 3);
  await till.when(faster, 'pending again', ({ state }) => state === 'broadcast');
  await till.mine(main, 1);

  const canceled = await till.withdraw({
    name: 'canceled',
    crypto: main,
    amount: amounts.canceled,
    address: to(main, 4),
  });
  await till.approve(canceled);
  await till.when(canceled, 'sent', sentTimes(1));
  await till.replace(canceled, 'cancel');
  await till.when(canceled, 'sent twice', sentTimes(2));
  await till.mine(main, 1);
  return { completed: [faster], failed: [canceled] };
}

type Preview = NonNullable<Result<'withdrawal.propose'>['preview']>;

/** The sandbox's approvals need no MAC. */
const approvalsOf = ({ intents, until }: Preview) =>
  intents.map(({ uuid, feeMax }) => ({ uuid, fee_max: feeMax, until, mac: null }));
