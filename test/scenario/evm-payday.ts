/**
 * What an operator does with a shop's money on an anvil, in steps that can each be repeated: who decides looks first at what
 * was decided before the service died. And the audit at its end, from the chain and from what the operator is told.
 */
import { OperatorError } from '../../daemon/contract/client.ts';
import type { Result } from '../../daemon/contract/operator.ts';
import { NATIVE_COIN } from '../../daemon/domain/evm.ts';
import { textOf } from '../../daemon/domain/messages.ts';
import { parseDecimal } from '../../daemon/domain/money.ts';
import { until } from '../support/daemon.ts';
import { ETHER, type EvmShop } from '../support/evm-shop.ts';
import type { Shown } from '../support/operator.ts';

type Withdrawal = Result<'withdrawal.show'>['withdrawal'];
type Kind = 'coin' | 'token';

/** One recipient each: nobody else is ever paid at its address. `amount` null: everything. */
const WANTED = {
  plain: { kind: 'coin', amount: '0.005' },
  faster: { kind: 'token', amount: '60' },
  canceled: { kind: 'token', amount: '2' },
  tokens: { kind: 'token', amount: null },
  coins: { kind: 'coin', amount: null },
} as const satisfies Record<string, { kind: Kind; amount: string | null }>;
type Name = keyof typeof WANTED;
const NAMES = Object.keys(WANTED) as Name[];

const TOKENS = [25n, 40n] as const;
/** What the tank sends: two fundings, and a transaction for each withdrawal. */
const SENT_BY_TANK = TOKENS.length + NAMES.length;
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

const addressOf = (name: Name): string => `0x${(0xbeef00 + NAMES.indexOf(name)).toString(16).padStart(40, '0')}`;

export class Payday {
  readonly #shop: EvmShop;
  readonly #unit: bigint;
  /** The deposit addresses with tokens, and the one with the coin. */
  readonly #deposits: readonly string[];
  readonly #assets: Readonly<Record<Kind, string>>;

  constructor(shop: EvmShop, unit: bigint, deposits: readonly string[]) {
    this.#shop = shop;
    this.#unit = unit;
    this.#deposits = deposits;
    this.#assets = { coin: NATIVE_COIN[shop.chain], token: shop.scene.asset };
  }

  /** Invoices of both kinds that are paid, and coins for gas. Returns the addresses of the invoices. */
  static async prepare(shop: EvmShop, unit: bigint): Promise<string[]> {
    const deposits: string[] = [];
    for (const usd of TOKENS) deposits.push(await shop.invoicePaid(shop.scene.asset, usd * unit, Number(usd)));
    deposits.push(await shop.invoicePaid(NATIVE_COIN[shop.chain], ETHER / 50n, 40));
    await shop.fillTank(ETHER / 10n);
    return deposits;
  }

  /** Lives through it, from whatever was done before. */
  async payOut(): Promise<void> {
    await this.#paid('plain');

    await this.#collected();
    await this.#replaced('faster', 'speed-up');
    await this.#over('faster', 'completed');
    await this.#replaced('canceled', 'cancel');
    await this.#over('canceled', 'failed');
    await this.#paid('tokens');
    await this.#paid('coins');
    await this.#shop.mining('nothing waits', async () => (await this.#shop.pending()) === 0);
    await this.#shop.bury();
  }

  async #collected(): Promise<void> {
    // what is asked for after this would be mined by it
    if (await this.#find('faster')) return;
    const { plan, tank } = await this.#shop.desk();
    if (plan === null) await this.#shop.collect(ETHER / 20n);
    const all = Number(TOKENS.reduce((sum, one) => sum + one, 0n));
    let seen = '';
    const isCollected = async (): Promise<boolean> => {
      const [token, coin] = [await this.#shop.asset(this.#assets.token), await this.#shop.asset(this.#assets.coin)];
      seen = JSON.stringify({ token, coin, plan: (await this.#shop.desk()).plan });
      // a little of the coin stays where it was sent for gas
      return Number(token.in_tank) === all && Number(coin.on_addresses) < 0.001 && (await this.#isSwept(tank.address));
    };
    try {
      await this.#shop.mining('all is in the tank', isCollected);
    } catch (error) {
      throw new Error(`${(error as Error).message}: ${seen}`, { cause: error });
    }
  }

  async #isSwept(tank: string): Promise<boolean> {
    const used = await this.#shop.scene.anvil.rpc('eth_getTransactionCount', [this.#deposits.at(-1)!, 'latest']);
    return Number(used) > 0 && (await this.#shop.coinsAt(tank)) > ETHER / 10n;
  }

  /** What is wrong, in words, once all is over. */
  async audit(): Promise<string[]> {
    const faults: string[] = [];
    const { operator, scene } = this.#shop;
    const { withdrawals } = await operator.call('withdrawal.list', {});
    if (withdrawals.length !== NAMES.length) faults.push(`there are ${withdrawals.length} withdrawals`);
    for (const name of NAMES) faults.push(...(await this.#auditOne(name)));

    const { tank } = await this.#shop.desk();
    // the tokens, and at the end what was left of the gas where that was worth its own transaction
    const senders: [string, number, number][] = [[tank.address, SENT_BY_TANK, SENT_BY_TANK]];
    for (const [at, address] of this.#deposits.entries()) senders.push([address, 1, at < TOKENS.length ? 2 : 1]);
    for (const [address, least, most] of senders) {
      const sent = Number(await scene.anvil.rpc('eth_getTransactionCount', [address, 'latest']));
      if (sent < least || sent > most) faults.push(`${address} sent ${sent} transactions instead of ${most}`);
    }
    const { pending, queued } = await scene.anvil.rpc<{ pending: string; queued: string }>('txpool_status', []);
    if (Number(pending) + Number(queued) > 0) faults.push(`transactions wait: ${pending}, behind a gap ${queued}`);
    faults.push(...(await this.#shop.proof()));
    const { alerts } = await operator.call('alert.list', {});
    for (const { kind, message } of alerts) if (!EXPECTED_ALERTS.test(kind)) faults.push(`${kind}: ${textOf(message)}`);
    const { plan } = await this.#shop.desk();
    if (plan?.state !== 'open') faults.push(`the plan is ${plan?.state}: ${JSON.stringify(plan?.problem)}`);
    return faults;
  }

  async #auditOne(name: Name): Promise<string[]> {
    const { kind, amount } = WANTED[name];
    const address = addressOf(name);
    const shown = await this.#find(name);
    if (!shown) return [`${name} was never asked for`];
    const chain = kind === 'coin' ? await this.#shop.coinsAt(address) : await this.#shop.tokensAt(address);
    if (name === 'canceled') {
      return chain === 0n && shown.state === 'failed' ? [] : [`${name} is ${shown.state}, and ${chain} were paid`];
    }
    const one = kind === 'coin' ? ETHER : this.#unit;
    const said = parseDecimal(shown.amount, `${one}`.length - 1);
    const wanted = amount === null ? said : parseDecimal(amount, `${one}`.length - 1);
    const faults: string[] = [];
    if (chain !== said || chain !== wanted || shown.state !== 'completed') {
      faults.push(`${name} is ${shown.state}: ${shown.amount} by its own word, ${chain} units on the chain`);
    }
    const transfers = kind === 'coin' ? [] : await this.#transfersTo(address);
    if (kind === 'token' && (transfers.length !== 1 || transfers[0] !== shown.tx_id)) {
      faults.push(`${name} names ${shown.tx_id}, and was paid by ${transfers}`);
    }
    return faults;
  }

  async #transfersTo(address: string): Promise<string[]> {
    const topics = [TRANSFER, null, `0x${address.slice(2).padStart(64, '0')}`];
    const filter = { address: this.#shop.scene.token, fromBlock: '0x0', toBlock: 'latest', topics };
    const logs = await this.#shop.scene.anvil.rpc<{ transactionHash: string }[]>('eth_getLogs', [filter]);
    return logs.map(({ transactionHash }) => transactionHash);
  }

  async #find(name: Name): Promise<Withdrawal | undefined> {
    const { withdrawals } = await this.#shop.operator.call('withdrawal.list', {});
    const address = addressOf(name);
    return withdrawals.find((one) => one.address === address) as Withdrawal | undefined;
  }

  /** Asks for it and approves it, unless that was done. Returns its id. */
  async #approved(name: Name): Promise<string> {
    const { kind, amount } = WANTED[name];
    const found = await this.#find(name);
    const id = found ? `${found.id}` : await this.#shop.request(this.#assets[kind], amount, addressOf(name));
    if ((await this.#shop.operator.show(id)).state === 'requested') await this.#shop.operator.approve(id);
    return id;
  }

  async #paid(name: Name): Promise<void> {
    await this.#approved(name);
    await this.#over(name, 'completed');
  }

  async #over(name: Name, state: string): Promise<void> {
    const id = `${(await this.#find(name))?.id}`;
    await this.#shop.mining(`${name} is ${state}`, async () => (await this.#shop.operator.show(id)).state === state);
  }

  /** Replaces its transaction, unless it has two versions, and waits until both were sent. */
  async #replaced(name: Name, kind: 'speed-up' | 'cancel'): Promise<void> {
    const id = await this.#approved(name);
    const isSent = (times: number, { versions, state }: Pick<Shown, 'versions' | 'state'>): boolean =>
      state === 'completed' || state === 'failed' || versions.filter(({ sent_at }) => sent_at !== null).length >= times;
    await until(`${name} is sent`, async () => isSent(1, await this.#shop.operator.show(id)));
    await until(`${kind} of ${name} is taken`, async () => this.#replace(id, kind));
    await until(`${name} is sent twice`, async () => isSent(2, await this.#shop.operator.show(id)));
  }

  /** Whether it has two versions now. */
  async #replace(id: string, kind: 'speed-up' | 'cancel'): Promise<boolean> {
    if ((await this.#shop.operator.show(id)).versions.length > 1) return true;
    try {
      await this.#shop.operator.replace(id, kind);
      return true;
    } catch (error) {
      // the service looks at the chain first
      if (error instanceof OperatorError && error.status === 409) return false;
      throw error;
    }
  }
}

/**
 * Said of a wallet that is locked after a start, of data that was copied, as each point is, of a withdrawal that waits since the life
 * was recorded, which is long ago when all points are visited, or of nothing that concerns money.
 */
const EXPECTED_ALERTS = /^(wallet\.locked|data\.moved|withdrawal\.(waiting|unsigned)$|backup\.|source\.)/;
