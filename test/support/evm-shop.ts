/** A regtest shop on an anvil: its invoices are paid, its money is collected, and its operator pays out. */
import { join } from 'node:path';
import { checksumAddress } from '../../daemon/chains/evm/address.ts';
import type { Result } from '../../daemon/contract/operator.ts';
import { type EvmChain, NATIVE_COIN } from '../../daemon/domain/evm.ts';
import { textIn } from '../../daemon/domain/messages.ts';
import { sealedKeyholder } from '../../daemon/operator/keyholder.ts';
import { ApprovalRequest } from '../../daemon/operator/request.ts';
import type { Expected } from '../../daemon/operator/review.ts';
import { authorized } from '../../daemon/wallet/operator-keys.ts';
import type { GasGrant } from '../../daemon/wallet/signer/port.ts';
import type { EvmScene } from '../adapters/evm-controls.ts';
import { callOf } from '../nodes/evm/anvil.ts';
import { startTestDaemon, type TestDaemon, until } from './daemon.ts';
import { Operator, type Shown } from './operator.ts';
import { openShop, PASSPHRASE } from './shop.ts';

export const ETHER = 10n ** 18n;
const BUSINESS = 'Regtest shop';
/** More than the confirmations of any payment, and than the depth at which a withdrawal is over. */
const DEEP: Readonly<Record<EvmChain, number>> = { ETH: 12, BSC: 15 };

type Known = { operator: Operator; key: string };
type Desk = Result<'gas.status'>['desks'][number];

let strangers = 0xabcd00;

/** An address that nobody was paid at before. */
export const freshAddress = (): string =>
  checksumAddress(Buffer.from((++strangers).toString(16).padStart(40, '0'), 'hex'));

/** A grant of gas with its MAC, as the command line makes it with the passphrase. */
async function signedGas(dataDir: string, grant: Pick<GasGrant, 'chain' | 'feeMax' | 'until'>) {
  const whole: GasGrant = { kind: 'gas', network: 'regtest', accountNo: 0, ...grant, issuedAt: Date.now() };
  const wanted = { approvals: [], change: null, grants: [whole] };
  const { grants } = await authorized(join(dataDir, 'vault'), PASSPHRASE, wanted);
  return { grant: whole, mac: grants[0] ?? '' };
}

export class EvmShop {
  readonly scene: EvmScene;
  readonly service: TestDaemon;
  readonly operator: Operator;
  readonly key: string;

  private constructor(scene: EvmScene, service: TestDaemon, opened: Known) {
    this.scene = scene;
    this.service = service;
    this.operator = opened.operator;
    this.key = opened.key;
  }

  /** Starts a service with an unlocked wallet. */
  static async open(scene: EvmScene, config: string): Promise<EvmShop> {
    const service = await startTestDaemon(config);
    const opened = await openShop(service);
    await opened.operator.unlock();
    return new EvmShop(scene, service, opened);
  }

  /** Goes on with a copy of the data of an earlier life. */
  static async goOn(
    scene: EvmScene,
    config: string,
    { dataDir, key }: { dataDir: string; key: string },
  ): Promise<EvmShop> {
    const service = await startTestDaemon(config, dataDir);
    const operator = new Operator(service.dataDir, PASSPHRASE);
    await operator.unlock();
    return new EvmShop(scene, service, { operator, key });
  }

  get chain(): EvmChain {
    return this.scene.chain;
  }

  /** Starts the service again after it was stopped, and unlocks its wallet. */
  async resume(): Promise<void> {
    await this.service.resume();
    await this.operator.unlock();
  }

  call<Body>(method: string, path: string, body?: unknown) {
    return this.service.call<Body>(method, path, body, { 'mb-api-key': this.key });
  }

  async balanceOf(crypto: string): Promise<number> {
    return (await this.call<Record<string, number>>('POST', '/balance')).body[crypto] ?? 0;
  }

  async coinsAt(address: string): Promise<bigint> {
    return BigInt(await this.scene.anvil.rpc<string>('eth_getBalance', [address, 'latest']));
  }

  async tokensAt(address: string, token = this.scene.token): Promise<bigint> {
    const data = callOf('Standard', 'balanceOf', [address]);
    return BigInt(await this.scene.anvil.rpc<string>('eth_call', [{ to: token, data }, 'latest']));
  }

  /** Asks for an invoice's payment in a crypto. */
  async invoice(crypto: string, usd: number): Promise<{ id: string; address: string; amount: string }> {
    const { body } = await this.call<{ id: string }>('POST', '/invoice', { amount: usd, crypto: 'ALL' });
    const { address, amount } = await until('the chain is followed', async () => {
      const asked = await this.call<{ address: string; amount: string }>('POST', `/invoice/rp/${body.id}`, { crypto });
      return asked.status === 201 && asked.body;
    });
    return { id: body.id, address, amount };
  }

  /** Pays an invoice by tokens of the scene or the chain's coin, and waits until it is paid. Returns its address. */
  async invoicePaid(crypto: string, units: bigint, usd: number): Promise<string> {
    const { id, address } = await this.invoice(crypto, usd);
    if (crypto === NATIVE_COIN[this.chain]) await this.scene.payCoins([{ address, units }]);
    else await this.scene.payTokens([{ address, units }]);
    await this.bury();
    await this.isPaid(id);
    return address;
  }

  isPaid(invoice: string): Promise<unknown> {
    return until('it is paid', async () => {
      const { body } = await this.call<{ status: string }>('GET', `/invoice/${invoice}`);
      return body.status === 'paid';
    });
  }

  /** `amount` null: everything. */
  async request(crypto: string, amount: string | null, address: string): Promise<string> {
    const wanted = { business: BUSINESS, crypto, amount, address };
    return `${(await this.operator.call('withdrawal.add', wanted)).withdrawal.id}`;
  }

  /** Approves a withdrawal whose money is collected first, as every operator's client does: with one passphrase. */
  async approveCollecting(id: string, expected: Expected = {}): Promise<ApprovalRequest['view']> {
    const proposal = { kind: 'pay' as const, id };
    const { call } = this.operator;
    const proposed = await call('withdrawal.propose', proposal);
    const request = ApprovalRequest.of(call, proposal, proposed, { kind: 'approve', expected }, Date.now());
    if (!request) throw new Error(`nothing to approve: ${textIn(proposed.why)}`);
    await request.approve(sealedKeyholder(call), PASSPHRASE);
    return request.view;
  }

  when(id: string, state: string): Promise<Shown> {
    return until(`withdrawal ${id} is ${state}`, async () => {
      const now = await this.operator.show(id);
      return now.state === state && now;
    });
  }

  async pending(): Promise<number> {
    const { pending } = await this.scene.anvil.rpc<{ pending: string }>('txpool_status', []);
    return Number(pending);
  }

  /** Waits until a version of a withdrawal's transaction is in the pool. */
  sent(id: string, versions = 1): Promise<string> {
    return until(`version ${versions} of withdrawal ${id} is in the pool`, async () => {
      const txid = (await this.operator.show(id)).versions[versions - 1]?.tx_id;
      return txid && (await this.scene.anvil.rpc('eth_getTransactionByHash', [txid])) !== null && txid;
    });
  }

  /**
   * Mines what is in the pool, and blocks above it until nothing comes back from it. A transaction that is sent meanwhile gets
   * into one of the last blocks: more are mined above that one.
   */
  async bury(): Promise<void> {
    const depth = DEEP[this.chain];
    do await this.scene.anvil.mine(depth);
    while (await this.scene.anvil.hasTransactions(depth - 1));
  }

  /** Mines until something holds, because each step needs the one before to be deep. */
  mining(what: string, holds: () => Promise<boolean>): Promise<unknown> {
    const look = async (): Promise<boolean> => {
      if (await holds()) return true;
      if ((await this.pending()) > 0) await this.bury();
      return false;
    };
    return until(what, look);
  }

  async desk(): Promise<Desk> {
    const { desks } = await this.operator.call('gas.status', { business: BUSINESS });
    const found = desks.find(({ chain }) => chain === this.chain);
    if (!found) throw new Error(`there is no gas desk of ${this.chain}`);
    return found;
  }

  async asset(crypto: string): Promise<Desk['assets'][number]> {
    const found = (await this.desk()).assets.find((one) => one.crypto === crypto);
    if (!found) throw new Error(`the gas desk has no ${crypto}`);
    return found;
  }

  forecast() {
    return this.operator.call('gas.forecast', { business: BUSINESS, chain: this.chain });
  }

  /** Sends coins for gas to the tank, and waits until they can be spent. */
  async fillTank(units: bigint): Promise<void> {
    const { tank } = await this.desk();
    const before = Number(tank.amount);
    await this.scene.payCoins([{ address: tank.address, units }]);
    await this.bury();
    await until('the tank is full', async () => Number((await this.desk()).tank.amount) > before);
  }

  /** Approves a plan as the command line does. `more`: further parameters of the plan. */
  async collect(
    feeMax: bigint,
    more: { ends_at?: number; min_usd?: string; price_max?: string | null; daily?: { from: string; to: string } } = {},
  ): Promise<void> {
    const ends_at = more.ends_at ?? Date.now() + 3_600_000;
    const plan = { begins_at: Date.now(), ends_at, fee_max: `${feeMax}`, ...more };
    const signed = await signedGas(this.service.dataDir, { chain: this.chain, feeMax: `${feeMax}`, until: ends_at });
    await this.operator.call('gas.collect', { business: BUSINESS, chain: this.chain, ...plan, signed });
  }

  /** What the service itself finds wrong when it compares its books with the chain. Waits until it can compare. */
  proof(): Promise<string[]> {
    return until('the books are compared', async () => {
      const { chains } = await this.operator.call('ledger.prove', { chain: `regtest:${this.chain}` });
      const [only] = chains;
      return only?.compared ? [...(only.error === null ? [] : [only.error]), ...only.problems] : null;
    });
  }

  async stop(): Promise<void> {
    await this.service.stop();
  }
}
