/**
 * Checks for lost announcements. A server may lose one, or stop announcing a subscribed script. So announced and read
 * statuses are compared, and subscribed scripts are asked for again: those with unconfirmed transactions within a
 * minute, the others in rotation, faster without a second server to check the first. A server that delays its answers is asked
 * about few of them: it gives one client back less than one request's cost each second, and news must not wait for this.
 */
import { repeatedly } from '../../../../kit/async.ts';
import type { Listener } from '../listener.ts';
import { ServerRefusal, unlessOfServer } from '../servers/faults.ts';
import type { Server } from '../servers/server.ts';
import type { ServerSet } from '../servers/server-set.ts';
import { spread } from '../servers/spread.ts';
import type { Script, Scripts } from './scripts.ts';

const LOOK_MS = 5_000;
/** The interval for scripts with unconfirmed transactions. */
const OPEN_MS = 40_000;
const OPEN_PER_LOOK_MAX = 500;
/** Other scripts per look: with a single server, and with a second one that watches too. */
const OTHERS_ALONE = 250;
const OTHERS_CHECKED = 5;
/** On a server that delays its answers. */
const OTHERS_DELAYED = 1;

export class SecondLook {
  readonly #set: ServerSet;
  readonly #scripts: Scripts;
  readonly #listener: Listener;
  readonly #askedAtMs = new WeakMap<Script, number>();
  #turn = 0;
  readonly close: () => void;

  constructor(parts: { set: ServerSet; scripts: Scripts; listener: Listener }) {
    this.#set = parts.set;
    this.#scripts = parts.scripts;
    this.#listener = parts.listener;
    this.close = repeatedly(LOOK_MS, () => this.#look(), unlessOfServer(parts.listener));
  }

  async #look(): Promise<void> {
    const { primary } = this.#set;
    if (!primary) return;
    const before = this.#scripts.dirty.size;
    this.#scripts.compare(primary);
    const chosen = this.#choose(primary);
    await spread([primary], chosen, 'passing', async (server, script) => {
      try {
        const status = await server.subscribe(script.hash, 'passing');
        if (status !== script.status) this.#scripts.dirty.add(script);
      } catch (error) {
        if (!(error instanceof ServerRefusal)) throw error;
      }
    });
    if (this.#scripts.dirty.size > before) this.#listener.wake();
  }

  #choose({ statuses, pace }: Server): Script[] {
    const now = performance.now();
    const others = pace.isDelayed ? OTHERS_DELAYED : this.#set.ready().length > 1 ? OTHERS_CHECKED : OTHERS_ALONE;
    const from = this.#turn;
    const to = from + others;
    const chosen: Script[] = [];
    let open = 0;
    let place = 0;
    for (const script of this.#scripts.all()) {
      const isNext = place >= from && place < to;
      place++;
      const isOpen = script.txids.length > 0 && now - (this.#askedAtMs.get(script) ?? 0) > OPEN_MS;
      if (!isNext && !(isOpen && open < OPEN_PER_LOOK_MAX)) continue;
      if (!statuses.has(script.hash)) continue;
      if (isOpen) open++;
      this.#askedAtMs.set(script, now);
      chosen.push(script);
    }
    this.#turn = to >= this.#scripts.size ? 0 : to;
    return chosen;
  }
}
