/**
 * Whether endpoints of two operators show no further payment to an address: after a block that was read here, both have no more there
 * than the books, of the coin and of each token. A deadline that cancels an invoice rests on this, and one endpoint alone may keep a
 * payment back, or its newest blocks.
 */
import type { AssetId } from '../../domain/assets.ts';
import type { BlockId, Checkpoint } from '../../domain/chain.ts';
import type { AbsenceSource, ListedScript, ScriptList } from '../adapter.ts';
import type { Endpoints } from '../endpoints.ts';
import { type EvmEndpoint, hexOfScript } from './endpoint.ts';
import type { Held } from './left-out.ts';
import type { Token } from './params.ts';

const WITNESSES = 2;

/**
 * `nothing`: it has no more than the books. `more`: it has more. `unknown`: it does not have that block, or not its state, or it is so
 * far ahead that its blocks must be read first.
 */
type Answer = 'nothing' | 'more' | 'unknown';

type Parts = {
  endpoints: Pick<Endpoints<EvmEndpoint>, 'ofOperators'>;
  list: Pick<ScriptList, 'unitsAt' | 'hadMoney'>;
  native: AssetId;
  tokens: readonly Token[];
  /** Blocks below the newest one that was read, so that an endpoint that is a little behind has the block, too. */
  lag: number;
  /** The most blocks that an endpoint may be ahead of the newest one that was read. */
  ahead: number;
  /** Called with an address where an endpoint has more, and what it has of those tokens. */
  hasMore: (script: ListedScript, held: Held) => void;
};

export class EvmAbsence implements AbsenceSource {
  readonly #parts: Parts;
  #readTo: BlockId | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Called when every block of the asked endpoint was read. */
  noteRead(checkpoint: Checkpoint): void {
    this.#readTo = checkpoint.at(-1 - this.#parts.lag) ?? checkpoint[0] ?? null;
  }

  async showNothing(script: ListedScript, signal: AbortSignal): Promise<readonly string[] | null> {
    const block = this.#readTo;
    if (block === null) return null;
    const silent = (said: readonly { name: string; answer: Answer }[]): string[] =>
      said.flatMap(({ name, answer }) => (answer === 'nothing' ? [name] : []));
    const said = await this.#parts.endpoints.ofOperators(
      async (endpoint) => ({ name: endpoint.name, answer: await this.#ask(endpoint, script, block, signal) }),
      (answers) => silent(answers).length >= WITNESSES,
      signal,
    );
    const names = silent(said);
    return names.length < WITNESSES ? null : names.slice(0, WITNESSES);
  }

  async #ask(
    endpoint: EvmEndpoint,
    { id, script }: ListedScript,
    block: BlockId,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { list, native, tokens, lag, ahead, hasMore } = this.#parts;
    const head = await endpoint.head(signal);
    if (head.height - block.height > lag + ahead) return 'unknown';
    const address = hexOfScript(script);
    if (!list.hadMoney(id)) {
      // one call, where the endpoint runs the program
      const contracts = tokens.map(({ contract }) => contract);
      const [isUsed] = (await endpoint.usedAmong(contracts, [address], block, signal)) ?? [];
      if (isUsed === false) return 'nothing';
    }
    const held: [AssetId, bigint | null | undefined][] = [
      [native, (await endpoint.balances([address], block, signal))[0]],
    ];
    for (const { asset, contract } of tokens) {
      held.push([asset, (await endpoint.tokenBalances(contract, [address], block, signal))[0]]);
    }
    let answer: Answer = 'nothing';
    const more = new Map<AssetId, bigint>();
    for (const [asset, units] of held) {
      if (units === null || units === undefined) answer = 'unknown';
      else if (units > list.unitsAt(id, asset)) more.set(asset, units);
    }
    if (more.size === 0) return answer;
    more.delete(native);
    hasMore({ id, script }, more);
    return 'more';
  }
}
