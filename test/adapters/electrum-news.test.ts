/**
 * News that come while a light client is reading: whatever the order in which answers and news arrive, and however long
 * they take, a payment is reported as the server has it, by itself and soon.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Json } from '../nodes/electrum-chain.ts';
import { type Behaviour, ElectrumServer, FollowedChain } from '../nodes/electrum-server.ts';
import { LATENCIES_MS, lineOf } from '../nodes/link.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { undoAll } from '../support/undo.ts';
import { until } from './conformance.ts';
import { Followed, type Watched } from './electrum-kit.ts';

const HISTORY = 'blockchain.scripthash.get_history';
const SUBSCRIBE = 'blockchain.scripthash.subscribe';
/** Less than the time after which a client looks again without a reason. */
const SOON_MS = 8_000;
const PAYMENTS = 8;

describe.skipIf(!hasLitecoind)(litecoindTitle('news during a look'), () => {
  let node: Litecoind;
  let followed: FollowedChain;
  const opened: { stop(): Promise<void> }[] = [];

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    followed = await FollowedChain.start(node, { pollMs: 20 });
  });
  afterEach(async () => {
    await undoAll(opened.splice(0).map((one) => () => one.stop()));
  });
  afterAll(async () => {
    await followed?.stop();
    await node?.remove();
  });

  async function open(behaviour: Behaviour, count: number): Promise<Followed & { targets: Watched[] }> {
    const server = await ElectrumServer.start(followed, { behaviour });
    opened.push(server);
    const client = await Followed.open({ servers: [server.url] }, count);
    opened.push(client);
    return client;
  }
  const pay = (...targets: Watched[]): Promise<string> =>
    node.pay(targets.map(({ address }, i) => ({ address, units: 100_000n + BigInt(i) })));
  const height = (client: Followed, { id }: Watched): number | null | undefined => client.book.paid(id)[0]?.height;

  /** Holds the answers to some requests back, made when they were asked for, until they are let go. */
  function holding(fits: (method: string, params: Json[]) => boolean): {
    behaviour: Behaviour;
    held: (() => void)[];
    on: boolean;
  } {
    const holder = {
      held: [] as (() => void)[],
      on: false,
      behaviour: {
        answer: async (method: string, params: Json[], honest: () => unknown) => {
          const result = await honest();
          if (holder.on && fits(method, params)) await new Promise<void>((resolve) => holder.held.push(resolve));
          return result;
        },
      },
    };
    return holder;
  }
  function letGo(holder: { held: (() => void)[]; on: boolean }): void {
    holder.on = false;
    for (const resolve of holder.held.splice(0)) resolve();
  }

  it('a block whose news overtake the history before it', async () => {
    const holder = holding((method) => method === HISTORY);
    const client = await open(holder.behaviour, 1);
    const [target] = client.targets as [Watched];
    await client.run();
    holder.on = true;
    await pay(target);
    await until(() => holder.held.length === 1, 'its history is asked for');
    await node.mine(1);
    await followed.update();
    letGo(holder);
    await client.until(() => height(client, target) === followed.chain.height, 'it is confirmed', SOON_MS);
  });

  it('a payment whose news overtake the answer to a subscription', async () => {
    const holder = holding((method) => method === SUBSCRIBE);
    const client = await open(holder.behaviour, 1);
    await client.run();
    holder.on = true;
    const target = await client.watch();
    await until(() => holder.held.length === 1, 'it is subscribed to');
    await pay(target);
    await followed.update();
    letGo(holder);
    await client.until(() => height(client, target) === null, 'it is seen', SOON_MS);
  });

  it('a reorganisation that leaves the status as it was', async () => {
    const holder = holding((method) => method === HISTORY);
    const client = await open(holder.behaviour, 1);
    const [target] = client.targets as [Watched];
    await client.run();
    const first = await pay(target);
    await node.mine(1);
    await followed.update();
    const at = followed.chain.height;
    await client.until(() => height(client, target) === at, 'the first is confirmed', SOON_MS);
    holder.on = true;
    await pay(target);
    await until(() => holder.held.length > 0, 'its history is asked for');
    // The first payment is mined again at the same height, and the second stays where it is.
    const { tip } = client.adapter.health();
    await node.rpc('invalidateblock', [tip?.hash ?? '']);
    const reward = await node.newAddress();
    await node.rpc('generateblock', [reward, [first]]);
    await node.rpc('generateblock', [reward, []]);
    await followed.update();
    const branch = followed.chain.tip.hash;
    await until(
      () => client.adapter.servers()[0]?.behind === 0 && client.adapter.servers()[0]?.tip?.hash === branch,
      'it is followed',
    );
    letGo(holder);
    await client.until(
      () => {
        const { credits } = client.book;
        const one = [...credits.values()].find(({ txid }) => txid === first);
        return one?.block?.hash === followed.chain.blocks[at]?.hash && credits.size === 2;
      },
      'both are as the server has them',
      SOON_MS,
    );
  });

  it('a payment and a block of which the server never tells', async () => {
    const client = await open({ notify: (method, params) => (method === SUBSCRIBE ? null : params) }, 300);
    const target = client.targets.at(-1) as Watched;
    await client.run();
    await pay(target);
    await client.until(() => height(client, target) === null, 'it is seen', 60_000);
    await node.mine(1);
    await followed.update();
    await client.until(() => height(client, target) === followed.chain.height, 'it is confirmed', 60_000);
  });

  it.each(LATENCIES_MS)('payments and blocks at any moment, %i ms away', async (latencyMs) => {
    const server = await ElectrumServer.start(followed, { line: { ...lineOf(latencyMs), bytesPerSecond: 200_000 } });
    opened.push(server);
    const client = await Followed.open({ servers: [server.url] }, PAYMENTS);
    opened.push(client);
    await client.run();
    for (const target of client.targets) {
      await pay(target);
      // A block comes at any moment of the round trips that take the payment in.
      await followed.update();
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 4 * latencyMs));
      await node.mine(1);
    }
    await followed.update();
    const isRight = ({ id }: Watched): boolean => {
      const [one] = client.book.paid(id);
      const tx =
        one && followed.chain.tx([...client.book.credits.values()].find(({ targetId }) => targetId === id)?.txid ?? '');
      return one?.height !== null && one?.height === tx?.height;
    };
    await client.until(() => client.targets.every(isRight), 'all are confirmed', SOON_MS + 10 * latencyMs);
    expect(client.alerts).toEqual([]);
  });
});
