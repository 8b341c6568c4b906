/** Scripts that have nothing but a number, for what concerns how a light client asks about many. */
import { createHash } from 'node:crypto';
import type { ListedScript, ScriptList } from '../../daemon/chains/adapter.ts';
import { scriptHashOf } from '../../daemon/chains/utxo/electrum/histories/scripts.ts';

export const scriptOf = (id: number): Uint8Array =>
  Buffer.concat([Buffer.from('0014', 'hex'), createHash('sha1').update(`${id}`).digest()]);
export const hashOfId = (id: number): string => scriptHashOf(scriptOf(id));

/** Scripts by number, of which some are expecting money; there are no coins. */
export class Numbers implements ScriptList {
  /** In the order of urgency. */
  expecting: number[];
  highest: number;

  constructor(expecting: number, highest = expecting) {
    this.expecting = Array.from({ length: expecting }, (_, i) => i + 1);
    this.highest = highest;
  }

  targetIdOf = () => undefined;
  accountOf = () => undefined;
  unitsAt = () => 0n;
  debitsAt = () => [];
  openNonces = () => [];
  isOurCoin = () => false;
  stamp = () => `${this.expecting.length} ${this.expecting[0]}`;
  *active(): Iterable<ListedScript[]> {
    for (let at = 0; at < this.expecting.length; at += 500)
      yield this.expecting.slice(at, at + 500).map((id) => ({ id, script: scriptOf(id) }));
  }
  page = (after: number, limit: number): ListedScript[] =>
    Array.from({ length: Math.max(0, Math.min(limit, this.highest - after)) }, (_, i) => after + 1 + i).map((id) => ({
      id,
      script: scriptOf(id),
    }));
  inBlock = () => [];
  coinsOf = () => [];
  coin = () => undefined;
  hadMoney = () => false;
}
