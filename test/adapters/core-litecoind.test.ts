/** The Core-RPC adapter on a real litecoind: the conformance suite, and what only a node of this kind shows. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scriptOf } from '../../daemon/chains/utxo/address.ts';
import { coreAdapter } from '../../daemon/chains/utxo/core.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { type ChainControls, conformance, until } from './conformance.ts';
import { FactBook } from './fact-book.ts';
import { testAccount } from './keys.ts';
import { litecoindControls } from './litecoind-controls.ts';

const signal = () => AbortSignal.timeout(25_000);

async function controls(): Promise<ChainControls> {
  const node = await Litecoind.start();
  await node.fund();
  return litecoindControls(node, (watch) =>
    coreAdapter({ chain: 'LTC', network: 'regtest', url: node.url, watch, pollMs: 100 }),
  );
}

describe.skipIf(!hasLitecoind)(litecoindTitle('on a real litecoind'), () => {
  conformance({ name: 'Core RPC on litecoind', start: controls, rewardMaturity: 100 });

  describe('a node without MWEB', () => {
    let node: Litecoind;
    beforeAll(async () => {
      node = await Litecoind.start();
      await node.fund();
    });
    afterAll(() => node?.remove());

    it('says of a payment whether it signals that it may be replaced', async () => {
      const book = new FactBook();
      const adapter = coreAdapter({ chain: 'LTC', network: 'regtest', url: node.url, watch: book, pollMs: 100 });
      const targets = [0, 1].map((index) => adapter.deriveAddress(testAccount, 0, index));
      const [final, signalled] = (await Promise.all(targets)).map((target) => ({ id: book.watch(target), ...target }));
      book.checkpoint = await adapter.begin(null, signal());
      await node.pay([{ address: final?.address ?? '', units: 100_000n }], { replaceable: false });
      await node.pay([{ address: signalled?.address ?? '', units: 100_000n }], { replaceable: true });
      await book.catchUp(adapter);
      expect(book.creditOf(final?.id ?? 0).replaceable).toBe(false);
      expect(book.creditOf(signalled?.id ?? 0).replaceable).toBe(true);
      await node.mine(1);
      await adapter.close();
    });

    it('refuses to go on after a reorganisation below its checkpoint, and goes on when it is undone', async () => {
      const book = new FactBook();
      const adapter = coreAdapter({ chain: 'LTC', network: 'regtest', url: node.url, watch: book, pollMs: 100 });
      await node.mine(150);
      book.checkpoint = await adapter.begin(null, signal());
      await book.catchUp(adapter);
      const lowest = book.tip.height - 125;
      const hash = await node.rpc<string>('getblockhash', [lowest]);
      await node.rpc('invalidateblock', [hash]);
      await node.mine(127, await node.newAddress());
      await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(/has none of the last 120 blocks/);
      expect(adapter.health().error).toMatch(/reorganisation deeper/);
      await node.rpc('invalidateblock', [await node.rpc<string>('getblockhash', [lowest])]);
      await node.rpc('reconsiderblock', [hash]);
      await book.catchUp(adapter);
      expect(adapter.health().error).toBeNull();
      await adapter.close();
    });

    it('says which setting is wrong when the node is of another coin or the password is wrong', async () => {
      const watch = new FactBook();
      const other = coreAdapter({ chain: 'BTC', network: 'regtest', url: node.url, watch });
      await expect(other.begin(null, signal())).rejects.toThrow(
        /^\[networks\.regtest\.BTC\] core_rpc points at a node of another chain: its first block is 530827f3/,
      );
      expect(other.health().error).toMatch(/another chain/);
      await other.close();
      const url = node.url.replace('word@', 'secret@');
      const stranger = coreAdapter({ chain: 'LTC', network: 'regtest', url, watch });
      await expect(stranger.begin(null, signal())).rejects.toThrow(
        '[networks.regtest.LTC] core_rpc: the node refuses the user name or password',
      );
      expect(JSON.stringify(stranger.health())).not.toContain('secret');
      await stranger.close();
    });

    it('recovers after the node was killed', async () => {
      const book = new FactBook();
      const adapter = coreAdapter({ chain: 'LTC', network: 'regtest', url: node.url, watch: book, pollMs: 100 });
      book.checkpoint = await adapter.begin(null, signal());
      await book.catchUp(adapter);
      await node.kill();
      await until(() => adapter.health().error !== null, 'an error in the health');
      expect(adapter.health().error).toMatch(/nothing answers|ended the connection/);
      await node.launch();
      await until(() => adapter.health().error === null, 'the node to be noticed again');
      // What the node had not yet written is lost; regtest has nobody to fetch it from, so its tip may be lower.
      const update = await adapter.sync(book.checkpoint, signal());
      expect(update === null || update.orphaned.length === 0).toBe(true);
      await adapter.close();
    });
  });

  describe('a node with MWEB', () => {
    it('reads blocks with an extension block, and reports a peg-out with its maturity', async () => {
      const node = await Litecoind.start({ mweb: true });
      const warnings: string[] = [];
      const log = (message: string) => warnings.push(message);
      const book = new FactBook();
      const adapter = coreAdapter({ chain: 'LTC', network: 'regtest', url: node.url, watch: book, pollMs: 100, log });
      const target = await adapter.deriveAddress(testAccount, 0, 0);
      const id = book.watch(target);
      expect(Buffer.from(target.script)).toEqual(Buffer.from(scriptOf(target.address, 'LTC', 'regtest') ?? []));
      await node.mine(431);
      book.checkpoint = await adapter.begin(null, signal());
      await node.launchBroadcasting();
      const mweb = await node.rpc<string>('getnewaddress', ['', 'mweb']);
      await node.rpc('sendtoaddress', [mweb, 5]);
      await book.catchUp(adapter);
      await node.mine(3);
      await book.catchUp(adapter);
      expect(book.tip.height).toBe(434);
      await node.lockTransparentCoins();
      await node.rpc('sendtoaddress', [target.address, 0.5]);
      // An extension transaction has no output on the chain before it is mined.
      await book.catchUp(adapter);
      expect(book.paid(id)).toEqual([]);
      await node.mine(1);
      await book.catchUp(adapter);
      expect(book.creditOf(id)).toMatchObject({
        amount: { asset: 'LTC', units: 50_000_000n },
        maturity: 6,
        block: book.tip,
      });
      await node.rpc('lockunspent', [true]);
      expect(warnings).toEqual([]);
      await adapter.close();
      await node.remove();
    });
  });
});
