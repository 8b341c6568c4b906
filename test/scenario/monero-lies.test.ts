/**
 * Nodes of Monero that lie about the outputs which a ring is made of: whom a withdrawal waits for, and how it goes on. The tests run at
 * the same time on one honest node, because a refused transaction is offered again only after seconds.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textOf } from '../../daemon/domain/messages.ts';
import { BURIED_BLOCKS } from '../../daemon/domain/withdrawal.ts';
import { parseSigned } from '../../daemon/monero/transaction.ts';
import { hasMonerod, type Monerod, monerodTitle } from '../nodes/monerod.ts';
import { MonerodProxy } from '../nodes/monerod-proxy.ts';
import { startTestDaemon, until } from '../support/daemon.ts';
import { startMonerod } from '../support/monerod.ts';
import type { Operator } from '../support/operator.ts';
import { openShop } from '../support/shop.ts';

const COIN = 10n ** 12n;
const UNLOCK_BLOCKS = 10;

describe.skipIf(!hasMonerod)(monerodTitle('a node that lies about outputs'), () => {
  let node: Monerod;
  beforeAll(async () => {
    node = await startMonerod();
  });
  afterAll(() => node?.remove());

  /** Tells the key of another output for each one, except those of a transaction. */
  async function lie(liar: MonerodProxy, txid: string): Promise<void> {
    const [raw = ''] = await node.raw([txid]);
    const { outputs } = parseSigned(Buffer.from(raw, 'hex')).transaction;
    const known = new Set(outputs.map(({ key }) => Buffer.from(key).toString('hex')));
    liar.change = ({ name }, answer) => {
      if (name !== '/get_outs') return undefined;
      const outs = answer.outs as { key: string }[];
      const [first, second] = outs.map(({ key }) => key).filter((key) => !known.has(key));
      const other = (key: string): string => (known.has(key) ? key : key === first ? second! : first!);
      return { ...answer, outs: outs.map((one) => ({ ...one, key: other(one.key) })) };
    };
  }

  /**
   * A shop that has one XMR, and a withdrawal of a part of it that is approved while its node lies. `others`: the nodes besides that one.
   */
  async function approved(others: readonly string[], work: (scene: Scene) => Promise<void>): Promise<void> {
    const liar = await MonerodProxy.start(node.url);
    const nodes = [liar.url, ...others].map((url) => `"${url}"`).join();
    const config = `[networks.regtest.XMR]\nmonerod = [${nodes}]\n[networks.regtest.rates]\nXMR = "200"\n`;
    const service = await startTestDaemon(config);
    try {
      const { key, operator } = await openShop(service, ['invoices', 'balance', 'withdraw']);
      const call = <Body>(method: string, path: string, body?: unknown) =>
        service.call<Body>(method, path, body, { 'mb-api-key': key });
      const { body } = await call<{ id: string }>('POST', '/invoice', { amount: 200, crypto: 'XMR' });
      const { address } = await until('monerod is followed', async () => {
        const { status, body: payment } = await call<{ address: string }>('POST', `/invoice/rp/${body.id}`);
        return status === 201 && payment;
      });
      const deposit = await node.pay([{ address, units: COIN }]);
      await node.mine(UNLOCK_BLOCKS);
      await until('it can be spent', async () => (await call<{ XMR: number }>('GET', '/balance')).body.XMR === 1);
      await operator.unlock();
      const payee = await node.newAddress();
      const { body: asked } = await call<{ id: string }>('POST', '/withdraw', {
        amount: '0.4',
        crypto: 'XMR',
        address: payee,
      });
      await lie(liar, deposit);
      await operator.approve(asked.id);
      await work({ liar, operator, id: asked.id, payee });
    } finally {
      await service.stop();
      await liar.close();
    }
  }
  type Scene = { liar: MonerodProxy; operator: Operator; id: string; payee: string };

  /** The id of the newest version, once the node has it. */
  const taken = ({ operator, id }: Scene): Promise<string> =>
    until('the node has it', async () => {
      const sent = (await operator.show(id)).versions.at(-1)?.tx_id;
      return sent && (await node.has(sent)) && sent;
    });

  const paid = async (scene: Scene): Promise<void> => {
    const { operator, id, payee } = scene;
    const txid = await taken(scene);
    await node.mine(1);
    await until('it is completed', async () => (await operator.show(id)).state === 'completed');
    expect((await operator.show(id)).tx_id).toBe(txid);
    expect(await node.payments(payee)).toEqual([{ txid, units: (4n * COIN) / 10n }]);
    await until('nothing is left to say', async () => {
      const { alerts } = await operator.call('alert.list', {});
      return alerts.every(({ kind }) => kind !== 'withdrawal.not_sent');
    });
  };

  it.concurrent('alone freezes nothing: the payment is signed anew once by itself, then by the command that the alert names', async () => {
    await approved([], async (scene) => {
      const { liar, operator, id } = scene;
      const refused = await until('it was refused twice', async () => {
        const { versions } = await operator.show(id);
        const { alerts } = await operator.call('alert.list', {});
        const told = alerts.filter(({ kind }) => kind === 'withdrawal.not_sent');
        return versions.length === 2 && told.length === 2 && told;
      });
      for (const { message } of refused) expect(textOf(message)).toContain(`countinghouse withdrawal speed-up ${id}`);
      for (const { tx_id } of (await operator.show(id)).versions) expect(await node.has(tx_id!)).toBe(false);
      liar.change = () => undefined;
      await operator.replace(id, 'speed-up');
      await paid(scene);
      expect((await operator.show(id)).versions).toHaveLength(3);
    });
  });

  it.concurrent('does not keep the operator from canceling it: the money comes back', async () => {
    await approved([], async (scene) => {
      const { liar, operator, id, payee } = scene;
      await until('the alert names the command', async () => {
        const { alerts } = await operator.call('alert.list', {});
        const { versions } = await operator.show(id);
        const told = alerts.some(({ message }) => textOf(message).includes(`countinghouse withdrawal cancel ${id}`));
        return told && versions.length === 2 && versions.every(({ tx_id, problem }) => tx_id !== null && problem);
      });
      liar.change = () => undefined;
      await until('it can be canceled', async () => operator.replace(id, 'cancel').catch(() => null));
      await taken(scene);
      await node.mine(BURIED_BLOCKS.XMR);
      const over = await until('it is over', async () => {
        const now = await operator.show(id);
        return now.state === 'failed' && now;
      });
      expect(over.versions.map(({ kind }) => kind)).toEqual(['pay', 'pay', 'cancel']);
      expect(await node.payments(payee)).toEqual([]);
    });
  });

  it.concurrent('and stops lying after its first lie: the payment goes on by itself, with the same ring', async () => {
    await approved([], async (scene) => {
      const { liar, operator, id } = scene;
      await until('it was refused', async () => (await operator.show(id)).versions.length === 1);
      await until('it was signed', async () => (await operator.show(id)).versions[0]?.tx_id);
      liar.change = () => undefined;
      await paid(scene);
      const { versions } = await operator.show(id);
      expect(versions).toHaveLength(2);
    });
  });

  it.concurrent('beside another one gets nothing signed: the payment says who disagrees, and goes on when they agree', async () => {
    await approved([`http://localhost:${node.port}`], async (scene) => {
      const { liar, operator, id } = scene;
      const why = async () => (await operator.show(id)).versions[0]?.problem;
      const said = await until('it says why', why);
      expect(JSON.stringify(said)).toContain('do not agree on which outputs Monero has');
      expect((await operator.show(id)).state).toBe('approved');
      expect((await operator.show(id)).versions.every(({ tx_id }) => tx_id === null)).toBe(true);
      liar.change = () => undefined;
      await paid(scene);
    });
  });
});
