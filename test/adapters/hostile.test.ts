/**
 * The light client against servers that lie, break the protocol or die, in every way of test/nodes/lies.ts, in front of a
 * real litecoind. Each is met alone first, then beside an honest server. Whatever it does: no money is miscounted at any
 * moment, and with the honest server all of it is found.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { childPublicKey } from '../../daemon/chains/hd.ts';
import { targetOf } from '../../daemon/chains/utxo/address.ts';
import { ElectrumAdapter } from '../../daemon/chains/utxo/electrum/electrum.ts';
import type { Target } from '../../daemon/domain/chain.ts';
import { Unavailable } from '../../daemon/domain/errors.ts';
import { scripthashOf } from '../nodes/electrum-chain.ts';
import { ElectrumServer, FollowedChain } from '../nodes/electrum-server.ts';
import { LIES, type Lie } from '../nodes/lies.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { until } from './conformance.ts';
import { FactBook } from './fact-book.ts';
import { testAccount } from './keys.ts';

const ALONE_MS = 1_500;
const SYNC_MS = 10_000;
const FOUND_WITHIN_MS = 25_000;
const DROPPED_WITHIN_MS = 25_000;
/** What a liar may cost, beyond what the test itself holds. */
const MEMORY_MAX_BYTES = 120 * 1024 * 1024;
const TIMEOUTS = { requestMs: 4_000, stallMs: 1_500, pingMs: 500 };

let node: Litecoind;
let followed: FollowedChain;
let nextIndex = 0;
let paying: Promise<unknown> = Promise.resolve();

function pay(address: string, units: bigint): Promise<string> {
  const done = paying.then(() => node.pay([{ address, units }]));
  paying = done.catch(() => undefined);
  return done;
}

async function mine(): Promise<void> {
  const done = paying.then(() => node.mine(1));
  paying = done.catch(() => undefined);
  await done;
  await followed.update();
}

type Paid = { target: Target; id: number; txid: string; units: bigint };

/** A client of a liar and, later, of an honest server. */
class Trial {
  readonly lie: Lie;
  readonly folder: string;
  readonly liar: ElectrumServer;
  readonly honest: ElectrumServer;
  readonly adapter: ElectrumAdapter;
  readonly book = new FactBook();
  readonly alerts: string[] = [];
  readonly paid: Paid[] = [];
  lies = 0;
  readonly #scripts: Map<string, Uint8Array>;

  private constructor(
    lie: Lie,
    folder: string,
    liar: ElectrumServer,
    honest: ElectrumServer,
    scripts: Map<string, Uint8Array>,
  ) {
    this.lie = lie;
    this.folder = folder;
    this.liar = liar;
    this.honest = honest;
    this.#scripts = scripts;
    this.adapter = new ElectrumAdapter({
      ...{ chain: 'LTC', network: 'regtest', folder, list: this.book, timeouts: TIMEOUTS },
      servers: [liar.url, honest.url],
      // Proofs alone are to hold: nobody is asked for a second opinion.
      needsAgreement: () => false,
      alert: (server) => this.alerts.push(server),
    });
  }

  static async start(lie: Lie): Promise<Trial> {
    const folder = await mkdtemp(join(tmpdir(), 'hostile-'));
    const liar = await ElectrumServer.start(followed, { limits: { sendBytesMax: 200_000_000 } });
    const honest = await ElectrumServer.start(followed);
    await honest.close();
    const scripts = new Map<string, Uint8Array>();
    const trial = new Trial(lie, folder, liar, honest, scripts);
    liar.behaviour = lie.behaviour({ server: liar, scripts, lied: () => trial.lies++ });
    return trial;
  }

  async pay(): Promise<void> {
    const index = nextIndex++;
    const target = targetOf(childPublicKey(testAccount, 0, index), 'LTC', 'regtest');
    const id = this.book.watch(target);
    this.#scripts.set(scripthashOf(target.script), target.script);
    const units = 100_000n + BigInt(index);
    this.paid.push({ target, id, units, txid: await pay(target.address, units) });
  }

  /** Takes one update, if there is one. */
  async sync(): Promise<void> {
    try {
      const update = await this.adapter.sync(this.book.checkpoint, AbortSignal.timeout(SYNC_MS));
      if (update) this.book.apply(update);
    } catch (error) {
      if (!(error instanceof Unavailable) && (error as Error).name !== 'TimeoutError') throw error;
    }
    this.checkNothingInvented();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** What counts is in a block of the real chain, with the transaction and the amount that are there. */
  checkNothingInvented(): void {
    const { blocks } = followed.chain;
    for (const { txid, id, block, amount } of this.book.credits.values()) {
      if (!block) continue;
      expect(blocks[block.height]?.hash).toBe(block.hash);
      const tx = blocks[block.height]?.txs.find((one) => one.txid === txid);
      expect(tx?.outputs[Number(id.split(':')[1])]?.units).toBe(amount.units);
    }
  }

  /** Whether the book says of every payment what the node says of it, and of nothing else. */
  isRight(): boolean {
    const counted = [...this.book.credits.values()].filter(({ block }) => block || !this.lie.unproved);
    const right = this.paid.filter(({ id, txid, units }) => {
      const height = followed.chain.tx(txid)?.height ?? -1;
      return this.book.paid(id).some((one) => one.units === units && one.height === (height > 0 ? height : null));
    });
    const exact = this.lie.unproved ? counted.length <= right.length : counted.length === right.length;
    return right.length === this.paid.length && exact && this.book.tip.hash === followed.chain.tip.hash;
  }

  async syncUntil(condition: () => boolean, what: string, withinMs: number): Promise<void> {
    await until(
      async () => {
        await this.sync();
        return condition();
      },
      `${this.lie.name}: ${what}`,
      withinMs,
    );
  }

  async stop(): Promise<void> {
    await this.adapter.close();
    await this.liar.stop();
    await this.honest.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** The last blocks of the real chain, as a store would have them. */
const trueCheckpoint = () => followed.chain.blocks.map(({ hash }, height) => ({ height, hash })).slice(-60);

async function suffer(lie: Lie): Promise<void> {
  const trial = await Trial.start(lie);
  try {
    await trial.pay();
    await mine();
    await trial.pay();
    await followed.update();
    trial.book.checkpoint = trueCheckpoint();
    const deadline = performance.now() + ALONE_MS;
    while (performance.now() < deadline && trial.alerts.length === 0) await trial.sync();
    await trial.honest.listen();
    await trial.syncUntil(() => trial.isRight(), 'all money as it is', FOUND_WITHIN_MS);
    await trial.pay();
    await mine();
    await trial.pay();
    await followed.update();
    await trial.syncUntil(() => trial.isRight(), 'all later money as it is', FOUND_WITHIN_MS);
    expect(trial.lies).toBeGreaterThan(0);
    if (lie.ends === 'dropped') {
      await trial.syncUntil(() => trial.alerts.length > 0, 'the server to be dropped', DROPPED_WITHIN_MS);
      expect(trial.adapter.health()).toMatchObject({ source: trial.honest.url, error: null, lagging: false });
    }
    expect(trial.alerts).not.toContain(trial.honest.url);
  } finally {
    await trial.stop();
  }
}

describe.skipIf(!hasLitecoind)(litecoindTitle('a server that'), () => {
  beforeAll(async () => {
    node = await Litecoind.start();
    await node.mine(220);
    followed = await FollowedChain.start(node);
  });
  afterAll(async () => {
    await followed?.stop();
    await node?.remove();
  });

  const quiet = LIES.filter(({ loud }) => !loud);
  it.concurrent.each(quiet)('$name ($ends)', suffer, 90_000);

  it.each(LIES.filter(({ loud }) => loud))(
    '$name ($ends), within bounded memory',
    async (lie) => {
      let most = 0;
      const before = process.memoryUsage().rss;
      const timer = setInterval(() => {
        most = Math.max(most, process.memoryUsage().rss - before);
      }, 20);
      await suffer(lie).finally(() => clearInterval(timer));
      expect(most).toBeLessThan(MEMORY_MAX_BYTES);
    },
    90_000,
  );
});
