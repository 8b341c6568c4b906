/**
 * Electrum servers' own books of coins, script by script: asked of another server than the one that is followed where
 * there is one, so that the two check each other. Only what ever had money is asked for; that nothing came to the rest is
 * `rotation.ts`'s to find out.
 *
 * Invariant: the answer is as of the block that was the tip when the reading began, however many follow meanwhile: what came
 * later is left out, and what was spent later, up to `until`, may be missing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BlockId } from '../../../domain/chain.ts';
import { Unavailable } from '../../../domain/errors.ts';
import type { HeldCoin, Holdings, HoldingsSource, ListedScript, ScriptList, WatchedAccount } from '../../adapter.ts';
import type { LightClient } from './client.ts';
import { scriptHashOf } from './histories/scripts.ts';
import { isCostly, isOfServer, ServerRefusal } from './servers/faults.ts';
import type { Server } from './servers/server.ts';
import type { WithClient } from './spending.ts';

const TRIES_MAX = 3;
const RETRY_SECONDS = 60;
const PAGE = 200;
/** So many are asked for without a pause: servers count what they are asked, and forget it again slowly. */
const UNPACED_MAX = 300;
/** Between two requests after those; longer on the server that payments are read from, which is to have time for them. */
const PAUSE_MS = 40;
const PAUSE_ASKED_MS = 200;

type Reading = { coins: HeldCoin[]; untold: number[]; asked: number };

export class ElectrumHoldings implements HoldingsSource {
  readonly #list: ScriptList;
  readonly #with: WithClient;

  constructor(list: ScriptList, withClient: WithClient) {
    this.#list = list;
    this.#with = withClient;
  }

  /** The accounts are not needed: the list names what they were paid at. */
  coins(_accounts: readonly WatchedAccount[], signal: AbortSignal): Promise<Holdings> {
    return this.#with(signal, async (client, asked) => {
      for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
        await client.look(asked);
        const { tip } = client.headers;
        const { coins, untold } = await this.#read(client, asked, tip, signal);
        await client.look(asked);
        const until = client.headers.tip;
        if (client.headers.hashAt(tip.height) === tip.hash) return { tip, until, coins, untold, lessMempool: true };
      }
      throw new Unavailable('the chain was reorganised whenever its coins were read', RETRY_SECONDS);
    });
  }

  /** The coins in blocks up to a tip of every script that ever had money. */
  async #read(client: LightClient, asked: Server, tip: BlockId, signal: AbortSignal): Promise<Reading> {
    const reading: Reading = { coins: [], untold: [], asked: 0 };
    for (let after = 0; ; ) {
      const page = this.#list.page(after, PAGE);
      for (const script of page.filter(({ id }) => this.#list.hadMoney(id))) {
        signal.throwIfAborted();
        await this.#ask(client, asked, tip, script, reading);
      }
      const last = page.at(-1);
      if (!last) return reading;
      after = last.id;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Asks one server after the other for one script's coins. What befalls another server than the asked one ends nothing. */
  async #ask(
    client: LightClient,
    asked: Server,
    tip: BlockId,
    { id, script }: ListedScript,
    reading: Reading,
  ): Promise<void> {
    let refused = false;
    for (const server of [...client.set.others(asked), asked]) {
      // It tells of blocks up to the tip at the least.
      if (client.headerSync.behind(server) > client.headers.tip.height - tip.height) continue;
      if (reading.asked++ >= UNPACED_MAX) await sleep(server === asked ? PAUSE_ASKED_MS : PAUSE_MS);
      try {
        const coins = await server.unspent(scriptHashOf(script));
        for (const coin of coins) if (coin.height > 0 && coin.height <= tip.height) reading.coins.push(coin);
        return;
      } catch (error) {
        // One that was asked too much says nothing of the coins.
        if (error instanceof ServerRefusal) refused ||= !isCostly(error);
        else if (!isOfServer(error) || server === asked) throw error;
      }
    }
    if (!refused) throw new Unavailable('no server is at the tip and has time', RETRY_SECONDS);
    reading.untold.push(id);
  }
}
