/**
 * Asks servers of two operators whether a block pays a script what the store does not have. A deadline that cancels an
 * invoice rests on this absence, and one server alone may keep a payment back, or lose it.
 */
import type { ListedScript } from '../../../adapter.ts';
import type { HeaderSync } from '../headers/sync.ts';
import type { Listener } from '../listener.ts';
import { isOfServer } from '../servers/faults.ts';
import type { Server } from '../servers/server.ts';
import type { ServerSet } from '../servers/server-set.ts';
import type { Auditor } from './auditor.ts';
import type { HistoryReader } from './reader.ts';
import { type Scripts, scriptHashOf } from './scripts.ts';

/** Entries of one history that the store does not have and that are looked at. */
const UNKNOWN_READ_MAX = 20;

/** `nothing`: its history has no further payment. `more`: it proves one. `unknown`: it does not answer, or proves nothing. */
type Answer = 'nothing' | 'more' | 'unknown';

type Parts = {
  set: ServerSet;
  scripts: Scripts;
  headerSync: HeaderSync;
  reader: HistoryReader;
  auditor: Auditor;
  listener: Listener;
};

export class Absence {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The names of two servers of different operators that show nothing more; null if one proves more, or too few answer. */
  async showNothing(listed: ListedScript): Promise<readonly string[] | null> {
    const { set, headerSync } = this.#parts;
    const { primary } = set;
    if (!primary) return null;
    const silent: Server[] = [];
    for (const server of [primary, ...set.others(primary)]) {
      if (silent.some(({ operator }) => operator === server.operator) || headerSync.behind(server) !== 0) continue;
      const answer = await this.#ask(server, listed);
      if (answer === 'more') {
        await this.#readAgain(listed);
        return null;
      }
      if (answer === 'nothing') silent.push(server);
      if (silent.length === 2) return silent.map(({ name }) => name);
    }
    return null;
  }

  async #ask(server: Server, listed: ListedScript): Promise<Answer> {
    const { reader } = this.#parts;
    try {
      const history = await server.history(scriptHashOf(listed.script));
      // who leaves out one may leave out more
      if (reader.leavesOut(listed, history)) return 'unknown';
      const unknown = reader.notStored(listed, history).filter(({ height }) => height > 0);
      if (unknown.length > UNKNOWN_READ_MAX) return 'unknown';
      let answer: Answer = 'nothing';
      for (const entry of unknown) {
        const paid = await reader.paysIn(server, listed, entry);
        if (paid === 'pays') return 'more';
        if (paid === 'unknown') answer = 'unknown';
      }
      return answer;
    } catch (error) {
      if (!isOfServer(error)) throw error;
      return 'unknown';
    }
  }

  /** Reads a script's history again, and finds out which server kept the payment back. */
  async #readAgain(listed: ListedScript): Promise<void> {
    const { scripts, auditor, listener } = this.#parts;
    scripts.pin(listed);
    const script = scripts.byId(listed.id);
    if (script) {
      scripts.touch(script);
      await auditor.compare(script);
    }
    listener.wake();
  }
}
