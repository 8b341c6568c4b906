/**
 * The light client against servers that lie, break the protocol or die, in every way of test/nodes/lies.ts, in front of a
 * real litecoind. Each is met alone first, then beside an honest server. Whatever it does: no money is miscounted at any
 * moment, and with the honest server all of it is found. Servers that are merely odd are not mistaken for those.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { selfSigned } from '../nodes/certificate.ts';
import { scripthashOf } from '../nodes/electrum-chain.ts';
import { hides, LIES, type Lie } from '../nodes/lies.ts';
import { LATENCIES_MS } from '../nodes/link.ts';
import { hasLitecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { ODDITIES, type Oddity } from '../nodes/oddities.ts';
import { repeatable, sampleOf } from '../support/sample.ts';
import { Ground, Trial } from './hostile-kit.ts';

const ALONE_MS = 1_000;
const LIES_MS = 20_000;
/** What a liar may cost. Its own process is this one, which makes up to half of it. */
const MEMORY_MAX_BYTES = 200 * 1024 * 1024;
/** Of the servers that keep no machine busy, one of so many is met in a run. */
const ONE_OF = 4;
/** Waits of different trials overlap. */
vi.setConfig({ maxConcurrency: 12 });

/** Each trial has its servers at one of these distances, in turn: all of them would take too long. */
const FAR_MS = LATENCIES_MS;
/** Within the short time limits of a client that has another server to go to. */
const NEAR_MS = LATENCIES_MS.slice(0, -1);

const apart = <T>(trials: readonly T[], distances: readonly number[]): (T & { latencyMs: number })[] =>
  trials.map((trial, index) => ({ ...trial, latencyMs: distances[index % distances.length] as number }));

let ground: Ground;

/** Lets the client meet the liar alone for a while, which begins once it has asked it: a busy machine takes longer to connect. */
async function meetAlone(trial: Trial): Promise<void> {
  let deadline: number | null = null;
  const isOver = (): boolean => {
    const isMet = trial.lies > 0 || trial.adapter.health().source === trial.liar.url;
    if (isMet) deadline ??= performance.now() + ALONE_MS;
    return trial.alerts.length > 0 || (deadline !== null && performance.now() > deadline);
  };
  await trial.syncUntil(isOver, 'the liar to be met');
}

async function suffer(lie: Lie & { latencyMs: number }): Promise<void> {
  const trial = await Trial.start({ ground, ...lie });
  try {
    await trial.pay();
    await ground.mine();
    await trial.pay();
    await meetAlone(trial);
    await trial.honest.listen();
    await trial.syncUntil(() => trial.isRight(), 'all money as it is');
    await trial.pay();
    await ground.mine();
    await trial.pay();
    await trial.syncUntil(() => trial.isRight(), 'all later money as it is');
    // it may have lied only beside the honest one
    const late = performance.now() + LIES_MS;
    await trial.syncUntil(() => trial.lies > 0 || performance.now() > late, 'the server to lie, or a while');
    // on a busy machine the honest one may have come before anything was asked of it
    if (trial.lies === 0) {
      await trial.honest.close();
      await trial.pay();
      await ground.mine();
      await trial.syncUntil(() => trial.lies > 0, 'the server to lie');
      await trial.honest.listen();
      await trial.syncUntil(() => trial.isRight(), 'all money as it is, once more');
    }
    if (lie.ends === 'dropped') {
      const isDropped = (): boolean => trial.alerts.length > 0;
      const isForgotten = (): boolean => trial.adapter.health().source === trial.honest.url;
      await trial.syncUntil(() => isDropped() || isForgotten(), 'one of the servers to be asked');
      // a busy machine may lose its connection to the liar, which then is asked again only while the honest one is away
      if (!isDropped()) {
        await trial.honest.close();
        // it may have nothing left to lie about
        await trial.pay();
        await ground.mine();
        await trial.syncUntil(isDropped, 'the server to be dropped');
        await trial.honest.listen();
      }
      const isAsked = (): boolean => {
        const { source, error, lagging } = trial.adapter.health();
        return source === trial.honest.url && error === null && !lagging;
      };
      await trial.syncUntil(isAsked, 'the honest server to be asked');
    }
    expect(trial.alerts).not.toContain(trial.honest.url);
  } finally {
    await trial.stop();
  }
}

async function serve({ behaviour, latencyMs }: Oddity & { latencyMs: number }): Promise<void> {
  const trial = await Trial.start({ ground, patient: true, latencyMs, behaviour: ({ server }) => behaviour(server) });
  try {
    await trial.pay();
    await ground.mine();
    await trial.pay();
    await trial.syncUntil(() => trial.isRight(), 'all money as it is');
    await trial.pay();
    await ground.mine();
    await trial.pay();
    await trial.syncUntil(() => trial.isRight(), 'all later money as it is');
    expect(trial.alerts).toEqual([]);
    expect(trial.adapter.health()).toMatchObject({ source: trial.liar.url, error: null });
  } finally {
    await trial.stop();
  }
}

describe.skipIf(!hasLitecoind)(litecoindTitle('a server that'), () => {
  beforeAll(async () => {
    ground = await Ground.start();
  });
  afterAll(() => ground?.stop());

  const quiet = LIES.filter(({ loud }) => !loud);
  it.concurrent.each(sampleOf(apart(quiet, NEAR_MS), ONE_OF))('$name ($ends), $latencyMs ms away', repeatable(suffer));

  it.concurrent.each(sampleOf(apart(ODDITIES, FAR_MS), ONE_OF))('$name (works), $latencyMs ms away', repeatable(serve));

  it.concurrent('shows another certificate than before (dropped)', async () => {
    const trial = await Trial.start({ ground, tls: true, behaviour: () => ({}) });
    await trial.pay();
    await trial.syncUntil(() => trial.isRight(), 'all money as it is');
    await trial.liar.close();
    await trial.honest.listen();
    trial.liar.certificate = selfSigned();
    trial.liar.behaviour = { answer: () => expect.fail('asked although its certificate changed') };
    await trial.liar.listen();
    await ground.mine();
    await trial.syncUntil(() => trial.isRight() && trial.alerts.length > 0, 'the other server to do, and an alert');
    expect(trial.alerts).toEqual([trial.liar.url]);
    await trial.stop();
  });

  it.concurrent('is asked second, and names a transaction of strangers, with its proof (dropped)', async () => {
    const lie = LIES.find(({ name }) => name === 'names a transaction of strangers, with its proof') as Lie;
    const trial = await Trial.start({ ground, ...lie, honestFirst: true });
    await trial.pay();
    await ground.mine();
    await trial.pay();
    await ground.mine();
    await trial.syncUntil(() => trial.isRight() && trial.adapter.health().source === trial.honest.url, 'a first view');
    await trial.liar.listen();
    await trial.syncUntil(() => trial.alerts.length > 0, 'the server to be dropped');
    expect(trial.alerts).toEqual([trial.liar.url]);
    await trial.stop();
  });

  it.concurrent('hides every transaction as another one does is caught by a third', async () => {
    const { behaviour } = LIES.find(({ name }) => name === 'hides every transaction') as Lie;
    const trial = await Trial.start({ ground, accomplice: true, behaviour });
    await trial.pay();
    await ground.mine();
    const isMet = () => trial.adapter.servers().filter(({ state, behind }) => state === 'ready' && behind === 0).length;
    await trial.syncUntil(() => isMet() === 2 && trial.lies > 1, 'both to be asked');
    expect(trial.isRight()).toBe(false);
    await trial.honest.listen();
    await trial.syncUntil(() => trial.isRight() && trial.alerts.length === 2, 'all money as it is, and two alerts');
    expect(trial.alerts).not.toContain(trial.honest.url);
    await trial.pay();
    await ground.mine();
    await trial.syncUntil(() => trial.isRight(), 'all later money as it is');
    expect(trial.adapter.health().source).toBe(trial.honest.url);
    await trial.stop();
  });

  it.concurrent('hides one payment is caught by the question that a deadline asks', async () => {
    const hidden = new Set<string>();
    const trial = await Trial.start({ ground, apart: true, behaviour: ({ server }) => hides(server, hidden) });
    const { absence } = trial.adapter;
    const ask = (script: Uint8Array) =>
      absence?.showNothing({ id: trial.idOf(script), script }, AbortSignal.timeout(10_000));
    const [empty, paid] = [trial.watch(), trial.watch()];
    await trial.syncUntil(() => trial.adapter.health().source === trial.liar.url, 'the liar to be asked');
    expect(await ask(empty)).toBe(null);
    hidden.add(scripthashOf(paid));
    await trial.payTo(paid);
    await ground.mine();
    await trial.honest.listen();
    const both = [trial.liar.url, trial.honest.url];
    await trial.syncUntil(() => trial.adapter.servers().every(({ behind }) => behind === 0), 'both to be at the tip');
    expect(await ask(empty)).toEqual(both);
    expect(await ask(paid)).toBe(null);
    expect(trial.alerts).toEqual([trial.liar.url]);
    await trial.syncUntil(() => trial.isRight(), 'all money as it is');
    await trial.stop();
  });

  const loud = LIES.filter((lie) => lie.loud);
  it.each(apart(loud, NEAR_MS))('$name ($ends), $latencyMs ms away, within bounded memory', async (lie) => {
    let most = 0;
    const before = process.memoryUsage().rss;
    const timer = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss - before);
    }, 20);
    await suffer(lie).finally(() => clearInterval(timer));
    expect(most).toBeLessThan(MEMORY_MAX_BYTES);
  });
});
