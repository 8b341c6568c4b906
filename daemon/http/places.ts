/**
 * A limited number of places, shared out by address and network.
 *
 * Invariants: no network has more than its share. When all places are taken, whoever has the most of them gives up the oldest, so that
 * nobody keeps others out with however many addresses of one network. Each step takes the same time, whatever the number of places.
 */
import ipaddr from 'ipaddr.js';
import { groupOf, networksOf } from './limits.ts';

/** The most of one address (IPv6: of its /64), of a /56, and of a /48. */
export type Shares = readonly [address: number, site: number, provider: number];

type Place = { networks: readonly string[]; group: string; leave(): void };

type PlacesOptions = {
  total: number;
  shares: Shares;
  /** Of one local network: each address is another device, so each is a network of its own. */
  isLocal?: boolean;
  /** Who goes when the newcomer's network would have as many as the largest: the oldest place of that one, or the newcomer. */
  equals: 'oldest' | 'newcomer';
};

/** An IPv4 address is the same one mapped. All invalid ones share one. */
const wholeOf = (address: string): string => (ipaddr.isValid(address) ? ipaddr.process(address).toString() : '');

export class Places {
  readonly #options: PlacesOptions;
  readonly #counts = new Map<string, number>();
  /** In the order in which they were taken. */
  readonly #groups = new Map<string, Set<Place>>();
  readonly #groupsBySize = new Map<number, Set<string>>();
  #largest = 0;
  #taken = 0;

  constructor(options: PlacesOptions) {
    this.#options = options;
  }

  get taken(): number {
    return this.#taken;
  }

  /**
   * Takes a place and returns the function that gives it back; null if there is none for this address. `leave`: called
   * once if the place has to go to another.
   */
  take(address: string, leave: () => void): (() => void) | null {
    const { total, shares, isLocal = false } = this.#options;
    const networks = isLocal ? [wholeOf(address)] : networksOf(address);
    if (networks.some((network, at) => (this.#counts.get(network) ?? 0) >= shares[at]!)) return null;
    const place: Place = { networks, group: isLocal ? networks[0]! : groupOf(address), leave };
    if (this.#taken >= total && !this.#makeRoom(place.group)) return null;
    this.#move(place, 1);
    return () => this.#free(place);
  }

  #makeRoom(group: string): boolean {
    const size = (this.#groups.get(group)?.size ?? 0) + 1;
    const isFair = this.#options.equals === 'oldest' ? this.#largest >= size : this.#largest > size;
    const [largest] = this.#groupsBySize.get(this.#largest) ?? [];
    const [oldest] = (largest !== undefined && this.#groups.get(largest)) || [];
    if (!isFair || !oldest) return false;
    this.#free(oldest);
    oldest.leave();
    return true;
  }

  #free(place: Place): void {
    if (this.#groups.get(place.group)?.has(place)) this.#move(place, -1);
  }

  #move(place: Place, by: 1 | -1): void {
    const { networks, group } = place;
    for (const network of networks) {
      const count = (this.#counts.get(network) ?? 0) + by;
      if (count > 0) this.#counts.set(network, count);
      else this.#counts.delete(network);
    }
    const places = this.#groups.get(group) ?? new Set();
    const before = places.size;
    if (by > 0) places.add(place);
    else places.delete(place);
    this.#taken += by;
    this.#resize(group, before, places.size);
    if (places.size > 0) this.#groups.set(group, places);
    else this.#groups.delete(group);
  }

  #resize(group: string, before: number, after: number): void {
    const left = this.#groupsBySize.get(before);
    left?.delete(group);
    if (left?.size === 0) this.#groupsBySize.delete(before);
    if (after > 0) {
      const joined = this.#groupsBySize.get(after) ?? new Set();
      this.#groupsBySize.set(after, joined.add(group));
    }
    // sizes change by one, so the next largest is at most one below
    if (after > this.#largest) this.#largest = after;
    else if (!this.#groupsBySize.has(this.#largest)) this.#largest = after;
  }
}
