/**
 * The endpoints of one chain, in the operator's order: which one is asked, and which are not used for a while because
 * they failed, lag, or contradicted themselves.
 */
import { getDomain } from 'tldts';
import { assert, ChainAlert, Malformed, Rejected, Unavailable } from '../domain/errors.ts';
import { RpcError } from './json-rpc.ts';

export { Malformed };

export interface Endpoint {
  /** Its host, without path and credentials: these may be a key. */
  readonly name: string;
  /** Checks, once for each connection, that this is the configured chain. Throws `ChainAlert` when not. */
  identify(signal: AbortSignal): Promise<void>;
  close(): void;
}

/** How long an endpoint is not used after a failure; doubled by each further one, up to a maximum. */
const FAILED_WAIT_MS = 2_000;
const FAILED_WAIT_MS_MAX = 60_000;
/** After an answer that no honest endpoint gives. */
const CAUGHT_WAIT_MS = 10 * 60_000;
const RETRY_SECONDS = 5;
/** How long other operators than the asked one are waited for. */
const OTHERS_MS = 2_000;

/** Endpoints contradict each other, and nobody can tell which one is right. None is blamed, and no other one is asked instead. */
export class Undecided extends ChainAlert {}

/** `lateUntil`: until when it is asked after the others; of several such the one that was put back last comes last. */
type State<E> = {
  endpoint: E;
  operator: string;
  failures: number;
  notBefore: number;
  lateUntil: number;
  error: string | null;
};

export class Endpoints<E extends Endpoint> {
  readonly #label: string;
  readonly #states: State<E>[];
  readonly #alert: (server: string, message: string) => void;
  #asked: State<E>;

  /** `label`: how messages name the setting. Throws `Rejected` for an invalid URL. At least one URL is needed. */
  constructor(
    label: string,
    urls: readonly string[],
    open: (url: string) => E,
    alert: (server: string, message: string) => void,
  ) {
    this.#label = label;
    this.#alert = alert;
    this.#states = urls.map((url) => {
      const endpoint = open(url);
      const { hostname } = new URL(url);
      const operator = getDomain(hostname, { allowPrivateDomains: true }) ?? hostname;
      return { endpoint, operator, failures: 0, notBefore: 0, lateUntil: 0, error: null };
    });
    const [first] = this.#states;
    assert(first, 'a chain has an endpoint');
    this.#asked = first;
  }

  get asked(): E {
    return this.#asked.endpoint;
  }

  operatorOf(endpoint: E): string | undefined {
    return this.#states.find((one) => one.endpoint === endpoint)?.operator;
  }

  get operators(): number {
    return new Set(this.#states.map(({ operator }) => operator)).size;
  }

  /**
   * The result of `use` with the first endpoint that gives one. An endpoint that lags gives `undefined`. If none gives
   * a result, throws the last error, or returns undefined if none threw. Throws `Undecided` at once.
   */
  async first<T>(use: (endpoint: E) => Promise<T | undefined>, signal: AbortSignal): Promise<T | undefined> {
    let thrown: unknown;
    for (const state of this.#inOrder()) {
      this.#asked = state;
      try {
        const result = await this.#used(state, use, signal);
        if (result !== undefined) return result;
      } catch (error) {
        if (!(error instanceof Unavailable) || error instanceof Undecided) throw error;
        thrown = error;
      }
    }
    if (thrown) throw thrown;
    return undefined;
  }

  /**
   * The result of `use` with endpoints of other operators than this one: the first that is not false, so that a single
   * endpoint cannot deny. Undefined if no other answers.
   */
  async other<T>(than: E, use: (endpoint: E) => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
    const mine = this.operatorOf(than);
    let said: T | undefined;
    for (const state of this.#inOrder().filter(({ operator }) => operator !== mine)) {
      try {
        said = await this.#used(state, use, signal);
        if (said !== false) return said;
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
      }
    }
    return said;
  }

  /** The result of `use` with this endpoint; undefined if it does not answer, or may not be asked now. */
  async with<T>(endpoint: E, use: (endpoint: E) => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
    const state = this.#inOrder().find((one) => one.endpoint === endpoint);
    try {
      return state && (await this.#used(state, use, signal));
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return undefined;
    }
  }

  /**
   * The statements of different operators' endpoints, one of each, the asked one first, until that `isEnough`. The others have `OTHERS_MS`
   * together. Like `first` where nobody says anything.
   */
  async several<T>(
    use: (endpoint: E, signal: AbortSignal) => Promise<T>,
    isEnough: (said: readonly T[]) => boolean,
    signal: AbortSignal,
  ): Promise<T[]> {
    const own = await this.first(async (endpoint) => ({ endpoint, said: await use(endpoint, signal) }), signal);
    assert(own, 'an endpoint that answers says something');
    const heard = new Set([this.operatorOf(own.endpoint)]);
    const said = [own.said];
    const soon = AbortSignal.any([signal, AbortSignal.timeout(OTHERS_MS)]);
    for (const state of this.#inOrder()) {
      if (isEnough(said)) break;
      if (heard.has(state.operator)) continue;
      try {
        said.push(await this.#used(state, (endpoint) => use(endpoint, soon), soon));
        heard.add(state.operator);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof Unavailable || soon.aborted)) throw error;
      }
    }
    return said;
  }

  /**
   * Endpoints of other operators than this one that deny something, one of each; null if one affirms it. Undecided
   * ones, and those that do not answer, have no vote.
   */
  async deniers(than: E, affirms: (endpoint: E) => Promise<boolean | null>, signal: AbortSignal): Promise<E[] | null> {
    const asked = new Set([this.operatorOf(than)]);
    const denying: E[] = [];
    for (const state of this.#inOrder()) {
      if (asked.has(state.operator)) continue;
      try {
        const said = await this.#used(state, affirms, signal);
        if (said === null) continue;
        asked.add(state.operator);
        if (said) return null;
        denying.push(state.endpoint);
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
      }
    }
    return denying;
  }

  /** The results of a use by an endpoint of each operator, in order, until there are enough. Throws the last error when none has one. */
  async ofOperators<T>(
    use: (endpoint: E) => Promise<T>,
    isEnough: (results: readonly T[]) => boolean,
    signal: AbortSignal,
  ): Promise<T[]> {
    const told = new Set<string>();
    const results: T[] = [];
    let thrown: unknown;
    for (const state of this.#inOrder()) {
      if (told.has(state.operator)) continue;
      try {
        results.push(await this.#used(state, use, signal));
        told.add(state.operator);
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        thrown = error;
      }
      if (isEnough(results)) break;
    }
    if (results.length === 0) throw thrown;
    return results;
  }

  /** The results of a use by every endpoint that may be asked now; at least one. Throws the last error when none has one. */
  async each<T>(use: (endpoint: E) => Promise<T>, signal: AbortSignal): Promise<T[]> {
    const results: T[] = [];
    let thrown: unknown;
    for (const state of this.#inOrder()) {
      try {
        results.push(await this.#used(state, use, signal));
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        thrown = error;
      }
    }
    if (results.length === 0) throw thrown;
    return results;
  }

  /** Operators of endpoints that did not fail when they were asked last, and are not left alone for what they said. */
  get speaking(): number {
    const now = performance.now();
    const well = this.#states.filter(({ failures, notBefore }) => failures === 0 && notBefore <= now);
    return new Set(well.map(({ operator }) => operator)).size;
  }

  servers(): { name: string; asked: boolean; failures: number; error: string | null; waiting: boolean }[] {
    const now = performance.now();
    return this.#states.map((state) => ({
      name: state.endpoint.name,
      asked: state === this.#asked,
      failures: state.failures,
      error: state.error,
      waiting: state.notBefore > now,
    }));
  }

  /** Records that an endpoint's statement was disproved. It is not used for a while. */
  caught(endpoint: E, what: string): void {
    const state = this.#states.find((one) => one.endpoint === endpoint);
    if (!state) return;
    state.notBefore = performance.now() + CAUGHT_WAIT_MS;
    state.error = what;
    this.#alert(endpoint.name, what);
  }

  /** Records that another endpoint contradicts it, without a proof: it is asked after the others for a while, and keeps its vote. */
  accused(endpoint: E, what: string): void {
    this.askLater(endpoint);
    this.#alert(endpoint.name, what);
  }

  /** Has an endpoint asked after the others for a while, without blame. */
  askLater(endpoint: E): void {
    const state = this.#states.find((one) => one.endpoint === endpoint);
    if (state) state.lateUntil = performance.now() + CAUGHT_WAIT_MS;
  }

  close(): void {
    for (const { endpoint } of this.#states) endpoint.close();
  }

  /** Those that may be asked now; if none may, all of them, the longest waiting first. */
  #inOrder(): State<E>[] {
    const now = performance.now();
    const lateness = ({ lateUntil }: State<E>): number => (lateUntil > now ? lateUntil : 0);
    const all = this.#states.toSorted((a, b) => lateness(a) - lateness(b));
    const ready = all.filter(({ notBefore }) => notBefore <= now);
    return ready.length > 0 ? ready : this.#states.toSorted((a, b) => a.notBefore - b.notBefore);
  }

  async #used<T>(state: State<E>, use: (endpoint: E) => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      await state.endpoint.identify(signal);
      const result = await use(state.endpoint);
      state.failures = 0;
      state.error = null;
      return result;
    } catch (caught) {
      if (signal.aborted || caught instanceof Undecided) throw caught;
      const error = this.#unavailable(caught);
      if (error instanceof Unavailable) this.#failed(state, error, caught instanceof Malformed);
      throw error;
    }
  }

  /** Converts a failure of an endpoint: a refusal or a malformed answer becomes `Unavailable`. */
  #unavailable(error: unknown): unknown {
    if (error instanceof Rejected || error instanceof Unavailable) return error;
    if (!(error instanceof Malformed) && !(error instanceof RpcError)) return error;
    return new Unavailable(`${this.#label}: ${error.message}`, RETRY_SECONDS);
  }

  #failed(state: State<E>, error: Unavailable, isMalformed: boolean): void {
    state.error = error.message;
    state.failures++;
    if (isMalformed && this.#states.length > 1) {
      this.caught(state.endpoint, error.message);
      return;
    }
    const waitMs = Math.min(FAILED_WAIT_MS * 2 ** (state.failures - 1), FAILED_WAIT_MS_MAX);
    // An endpoint of another chain does not change by itself, but its operator may correct it.
    state.notBefore = performance.now() + (error instanceof ChainAlert ? FAILED_WAIT_MS_MAX : waitMs);
  }
}
