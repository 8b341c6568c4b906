/**
 * Tells of many scripts whether they were ever used, without watching them. ElectrumX forgives a client its costs the more
 * slowly the more scripts that has subscribed, so a search that subscribed all would not end.
 *
 * Invariant: a use counts with a proof, or with the bytes of an unconfirmed payment. No use counts when servers of two operators
 * show none, where servers of two are connected at the tip.
 */
import { Unavailable } from '../../../../domain/errors.ts';
import type { ListedScript } from '../../../adapter.ts';
import type { HeaderSync } from '../headers/sync.ts';
import { isOfServer, isTooLong, ServerRefusal } from '../servers/faults.ts';
import type { Server } from '../servers/server.ts';
import type { ServerSet } from '../servers/server-set.ts';
import { spread } from '../servers/spread.ts';
import type { HistoryReader } from './reader.ts';
import { scriptHashOf } from './scripts.ts';

/** Entries of one history that are looked at: its oldest one pays the script. */
const ENTRIES_READ_MAX = 20;
const RETRY_SECONDS = 2;

type Parts = { set: ServerSet; headerSync: HeaderSync; reader: HistoryReader };

/** By script hash, while the same scripts are asked for again: whether it is used, and who showed no use. */
type Answers = Map<string, { isUsed: boolean; silent: Set<string> }>;

export class Lookup {
  readonly #parts: Parts;
  #answers: Answers = new Map();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** In the order of the scripts. After an error, answers that came before it are not asked for again. Throws `Unavailable`. */
  async areUsed(scripts: readonly Uint8Array[]): Promise<boolean[]> {
    const listed = scripts.map((script, id) => ({ id, script, hash: scriptHashOf(script) }));
    const known = this.#answers;
    this.#answers = new Map(listed.map(({ hash }) => [hash, known.get(hash) ?? { isUsed: false, silent: new Set() }]));
    const groups = this.#groups();
    const outcomes = await Promise.allSettled(
      groups.map((servers) => {
        const open = listed.filter(({ hash }) => !this.#isAnswered(hash, servers));
        return spread(servers, open, 'news', (server, one) => this.#ask(server, one));
      }),
    );
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (groups.length === 0 || (failed && isOfServer(failed.reason))) {
      const why = failed?.reason instanceof Error ? `: ${failed.reason.message}` : '';
      throw new Unavailable(`no Electrum server tells whether addresses were used${why}`, RETRY_SECONDS);
    }
    if (failed) throw failed.reason;
    const isUsed = listed.map(({ hash }) => this.#answers.get(hash)?.isUsed === true);
    this.#answers = new Map();
    return isUsed;
  }

  /** The servers at the tip: in two groups of different operators, or in one. */
  #groups(): Server[][] {
    const ready = this.#parts.set.ready().filter((server) => this.#parts.headerSync.behind(server) === 0);
    const operators = [...new Set(ready.map(({ operator }) => operator))];
    const first = new Set(operators.filter((_, i) => i % 2 === 0));
    const groups = [
      ready.filter(({ operator }) => first.has(operator)),
      ready.filter(({ operator }) => !first.has(operator)),
    ];
    return groups.filter(({ length }) => length > 0);
  }

  #isAnswered(hash: string, servers: readonly Server[]): boolean {
    const answer = this.#answers.get(hash);
    return answer !== undefined && (answer.isUsed || servers.some(({ operator }) => answer.silent.has(operator)));
  }

  async #ask(server: Server, { id, script, hash }: ListedScript & { hash: string }): Promise<void> {
    const answer = this.#answers.get(hash);
    if (!answer || answer.isUsed) return;
    const isUsed = await this.#isUsed(server, { id, script }, hash);
    if (isUsed) answer.isUsed = true;
    else answer.silent.add(server.operator);
  }

  /** Throws `ServerRefusal` if a server names transactions that it does not prove now. */
  async #isUsed(server: Server, listed: ListedScript, hash: string): Promise<boolean> {
    const found = await this.#read(server, listed, hash).catch((error: unknown) => {
      // nobody has so many transactions, or so large ones, at an address that was never used
      if (isTooLong(error)) return 'paid' as const;
      throw error;
    });
    if (found === 'paid' || found === null) {
      server.doubts.end(hash);
      return found !== null;
    }
    if (!server.doubts.isLong(hash)) throw new ServerRefusal(0, `it does not prove transaction ${found.unproved}`);
    throw server.leave(`it does not show transaction ${found.unproved}, which it names`);
  }

  /** `unproved`: a transaction that the server does not prove now; null: there is none, and no payment either. */
  async #read(server: Server, listed: ListedScript, hash: string): Promise<'paid' | { unproved: string } | null> {
    const history = await server.history(hash);
    let unproved: string | null = null;
    for (const entry of history.slice(0, ENTRIES_READ_MAX)) {
      const paid = await this.#parts.reader.paysIn(server, listed, entry);
      if (paid === 'pays') return 'paid';
      if (paid === 'unknown') unproved ??= entry.txid;
    }
    return unproved === null ? null : { unproved };
  }
}
