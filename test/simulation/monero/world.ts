/** Everything that there is in a run of Monero: one chain behind three nodes, a machine, and the people's knowledge. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Business } from '../../../daemon/app/shops/directory.ts';
import { atOnce } from '../../../daemon/chains/slices.ts';
import { Receiver } from '../../../daemon/chains/xmr/receive.ts';
import type { RingMember } from '../../../daemon/domain/spend.ts';
import { addressAt, scriptOf } from '../../../daemon/monero/address.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';
import { isMoneroOrder } from '../../../daemon/wallet/signer/port.ts';
import { Appliance, type Sources } from '../appliance.ts';
import type { Answer, Host } from '../http.ts';
import type { Health } from '../network.ts';
import { Random } from '../random.ts';
import type { Time } from '../time.ts';
import type { Wallet } from '../wallet.ts';
import { Chain, type Tx } from './chain.ts';
import { Liar, NODES } from './liar.ts';
import type { OddNode } from './oddities.ts';
import { answerTo, blocksOf, heightsOf, isRefused } from './rpc.ts';

const BUSINESS = 'Shop';
/** From here on a payment needs two operators; a spend always does. */
export const AGREE_USD = 1_000;
const STEPS_MAX = 40;

export type Invoice = { no: number; slug: string; address: string; units: bigint; usd: number; judged: boolean };
export type Wanted = { address: string; units: bigint | null };

export class MoneroWorld {
  readonly random: Random;
  readonly time: Time;
  readonly wallet: Wallet;
  readonly folder: string;
  readonly chain: Chain;
  readonly liar: Liar;
  readonly invoices: Invoice[] = [];
  readonly payments: { tx: Tx; address: string; units: bigint }[] = [];
  /** By address of the recipient: each withdrawal has its own. */
  readonly wanted = new Map<string, Wanted>();
  readonly approved = new Set<string>();
  /** The coins (outpoints) that each signed transaction of ours spends. */
  readonly signed = new Map<string, readonly string[]>();
  readonly rings = new Map<string, readonly (readonly RingMember[])[]>();
  readonly health: Health[] = Array.from({ length: NODES }, () => 'well');
  /** Nodes that tell the truth otherwise than others do. */
  readonly odd = new Map<number, OddNode>();
  readonly trail: string[] = [];
  appliance!: Appliance;
  step = 0;
  fault: string | null = null;
  #strangers = 0;
  #secret = 1_000n;
  readonly #account;
  readonly #stranger = accountKey(Buffer.alloc(64, 9), 'XMR', 'regtest', 0);
  readonly #received = new Map<string, { to: string; n: number; units: bigint }[]>();

  constructor(seed: number, time: Time, wallet: Wallet, folder: string) {
    this.random = new Random(seed);
    this.time = time;
    this.wallet = wallet;
    this.folder = folder;
    this.chain = new Chain('true', this.rings);
    this.liar = new Liar(this.random);
    this.#account = accountKey(wallet.seed, 'XMR', 'regtest', 0);
  }

  async open(): Promise<void> {
    this.chain.begin(this.time.truth);
    this.time.stepsMax = STEPS_MAX;
    this.appliance = await Appliance.start(join(this.folder, 'machine'), this.time, this.wallet, this.sources);
    this.#watchSigner();
    await this.appliance.operator('business.add', {
      name: BUSINESS,
      network: 'regtest',
      account_no: 0,
      accounts: { XMR: this.#account },
      key: { name: 'shop', scopes: ['invoices', 'balance', 'withdraw'] },
    });
    await this.appliance.pass(2_000);
    await this.appliance.unlock();
  }

  get sources(): Sources {
    const urls = Array.from({ length: NODES }, (_, at) => `"http://xmr-${at}.simulated:1"`);
    return {
      chains: ['XMR'],
      config: `\n[networks.regtest.XMR]\nmonerod = [${urls.join(', ')}]\nmonerod_agree_usd = ${AGREE_USD}\n`,
      contracts: {},
      medianTime: (_, hash) => this.chain.blocks.findLast((one) => one.hash === hash)?.timeMs ?? null,
      dropped: () => {},
    };
  }

  /** Notes the rings of transactions of ours: a real node would find a false member by the signature. */
  #watchSigner(): void {
    this.appliance.signer.onOrder = async (order, sign) => {
      const signed = await sign(order);
      if (isMoneroOrder(order)) {
        this.rings.set(signed.txid, order.rings);
        this.signed.set(
          signed.txid,
          order.plan.inputs.map(({ outpoint }) => outpoint),
        );
      }
      return signed;
    };
  }

  /** One of the nodes, as a host. */
  host(name: string): Host | undefined {
    const [, at] = /^xmr-(\d)$/.exec(name) ?? [];
    if (at === undefined) return undefined;
    const node = Number(at);
    return {
      health: () => this.health[node] ?? 'well',
      answer: (asked, path) => ({ status: 200, body: this.#answer(node, asked, path) }),
    };
  }

  #answer(node: number, asked: string | Uint8Array, path: string): Answer['body'] {
    const odd = this.liar.isLying && node === this.liar.node ? undefined : this.odd.get(node);
    if (typeof asked !== 'string') {
      if (odd) return blocksOf(odd.chain, heightsOf(asked), odd.mark);
      return this.liar.blocks(this.chain, node, heightsOf(asked));
    }
    const body = JSON.parse(asked);
    const isRpc = path === '/json_rpc';
    try {
      const call = { name: isRpc ? body.method : path, params: isRpc ? (body.params ?? {}) : body };
      // what it takes, it tells the others
      const own = path === '/send_raw_transaction' ? this.chain : odd?.chain;
      const told = odd && own ? { ...answerTo(own, call), ...odd.mark } : this.liar.answer(this.chain, node, call);
      return isRpc ? { result: told } : told;
    } catch (error) {
      if (!isRefused(error)) throw error;
      return isRpc ? { error: { message: error.message } } : { status: error.message };
    }
  }

  mine(count: number): void {
    this.chain.mine(count, this.time.truth);
    this.liar.mined(this.chain, count, this.time.truth);
  }

  get business(): Business {
    const [business] = this.appliance.app.directory.businesses();
    if (!business) throw new Error('there is no business');
    return business;
  }

  note(text: string): void {
    this.trail.push(`${String(this.step).padStart(5)} ${new Date(this.time.truth).toISOString().slice(0, 19)} ${text}`);
  }

  /** An address that nobody was ever paid at. */
  stranger(): string {
    return addressAt(this.#stranger, 0, this.#strangers++, 'regtest').address;
  }

  /** Whom the liar's transactions pay: no recipient of ours. */
  get nobody(): string {
    return addressAt(this.#stranger, 1, 1, 'regtest').address;
  }

  /** A secret that no payer had before. */
  secret(): bigint {
    this.#secret += 16n;
    return this.#secret;
  }

  script(address: string): Uint8Array {
    const script = scriptOf(address, 'regtest');
    if (!script) throw new Error(`${address} is no address`);
    return script;
  }

  /** The outputs of a transaction to us (`own`) or to strangers, by the public spend key of their address. */
  receivedIn(tx: Tx, own: boolean): { to: string; n: number; units: bigint }[] {
    const name = `${tx.id}/${own}`;
    const known = this.#received.get(name);
    if (known) return known;
    const [found = []] = atOnce(new Receiver(own ? this.#account : this.#stranger).received([tx.read]));
    const received = found.map(({ n, spendKey, units }) => ({ to: Buffer.from(spendKey).toString('hex'), n, units }));
    this.#received.set(name, received);
    return received;
  }

  spendKeyOf(address: string): string {
    return Buffer.from(this.script(address).subarray(1, 33)).toString('hex');
  }

  /** The key images of coins that transactions of ours spend. */
  get images(): string[] {
    const known = [...this.chain.pool.values(), ...this.chain.blocks.slice(-4).flatMap(({ txs }) => txs)];
    return known.flatMap(({ id, read }) => (this.signed.has(id) ? read.keyImages : []));
  }

  async restart(): Promise<void> {
    const dead = this.appliance;
    dead.crash();
    const left = dead.crashedInto as string;
    await this.time.settle();
    await dead.bury();
    rmSync(dead.folder, { recursive: true, force: true });
    this.appliance = await Appliance.start(left, this.time, this.wallet, this.sources);
    this.#watchSigner();
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
