import type { ListedScript, OpenNonce, ScriptList, StoredDebit } from '../../chains/adapter.ts';
import type { AccountKey, Branch } from '../../domain/chain.ts';
import { Rejected } from '../../domain/errors.ts';

const SCRIPTS_MAX = 2_000_000;

export type AddressPath = { account: number; branch: Branch; index: number };

/** The searched addresses, in memory, as a source asks for them. */
export class ScratchList implements ScriptList {
  readonly #ids = new Map<string, number>();
  readonly #scripts: ListedScript[] = [];
  readonly places: AddressPath[] = [];
  paidElsewhere?: (account: AccountKey) => Promise<void>;
  #changes = 0;

  add(script: Uint8Array, place: AddressPath): void {
    if (this.#scripts.length >= SCRIPTS_MAX) throw new Rejected('discovery.too_many', 'Too many addresses are in use');
    const id = this.#scripts.length;
    this.#ids.set(Buffer.from(script).toString('latin1'), id);
    this.#scripts.push({ id, script });
    this.places.push(place);
    this.#changes++;
  }

  targetIdOf = (script: Uint8Array): number | undefined => this.#ids.get(Buffer.from(script).toString('latin1'));
  accountOf = (targetId: number): number | undefined => this.places[targetId]?.account;
  isOurCoin = (): boolean => false;
  get size(): number {
    return this.#scripts.length;
  }

  stamp = (): string => `${this.#changes}`;
  *active(): Iterable<ListedScript[]> {
    yield [...this.#scripts];
  }
  page = (after: number, limit: number): ListedScript[] => this.#scripts.slice(after + 1, after + 1 + limit);
  inBlock = (): ListedScript[] => [];
  hadMoney = (): boolean => false;
  unitsAt = (): bigint => 0n;
  debitsAt = (): StoredDebit[] => [];
  openNonces = (): OpenNonce[] => [];
  coinsOf = (): [] => [];
  coin = (): undefined => undefined;
}
