/**
 * Electrum servers' own record of unspent coins, script by script. If there are several servers, another one than the
 * asked one is used, so that the two check each other. Only scripts that ever had money are asked for; `rotation.ts`
 * finds money at the others.
 *
 * Invariant: the answer is as of the block that was the tip at the beginning of the reading. Later coins are left out,
 * and coins spent later, up to `until`, may be missing.
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
/** Requests without a pause: servers count requests and forget them slowly. */
const UNPACED_MAX = 300;
/** The pause between further requests; longer on the asked server, whose time is for payments. */
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

  /** The accounts are not needed, because the list has the scripts that were paid. */
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

  /** The confirmed coins up to a tip of every script that ever had money. */
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

  /**
   * Asks one server after another for one script's coins. A failure of another server than the asked one is ignored.
   */
  async #ask(
    client: LightClient,
    asked: Server,
    tip: BlockId,
    { id, script }: ListedScript,
    reading: Reading,
  ): Promise<void> {
    let refused = false;
    for (const server of [...client.set.others(asked), asked]) {
      // its answer covers blocks at least up to the tip
      if (client.headerSync.behind(server) > client.headers.tip.height - tip.height) continue;
      if (reading.asked++ >= UNPACED_MAX) await sleep(server === asked ? PAUSE_ASKED_MS : PAUSE_MS);
      try {
        const coins = await server.unspent(scriptHashOf(script));
        for (const coin of coins) if (coin.height > 0 && coin.height <= tip.height) reading.coins.push(coin);
        return;
      } catch (error) {
        // a server that is too busy says nothing about the coins
        if (error instanceof ServerRefusal) refused ||= !isCostly(error);
        else if (!isOfServer(error) || server === asked) throw error;
      }
    }
    if (!refused) throw new Unavailable('no server that is at the tip has answered', RETRY_SECONDS);
    reading.untold.push(id);
  }
}
