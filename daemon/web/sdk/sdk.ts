/**
 * The browser client: a few functions over `fetch`, without dependencies, in one file of ES2018. It is served as a module
 * and, without its last line, as a classic script (see `http/assets/sdk.ts`), which is why its only `export` stands there
 * and its own address is read in one place.
 *
 * Invariant: it holds no secret, keeps nothing in the browser, and whatever fails rejects with an `Error` whose `message`
 * can be shown.
 */
import type * as Sdk from './types.ts';

/** What is used of a page; a worker or a test may have none. */
type Page = {
  hidden: boolean;
  addEventListener(name: string, listener: () => void): void;
  removeEventListener(name: string, listener: () => void): void;
};
declare const document: Page | undefined;

const REQUEST_TIMEOUT_MS = 30_000;
const CACHE_AGE_MAX_MS = 300_000;
const INTERVAL_MS = 3_000;
const INTERVAL_MIN_MS = 1_000;
const INTERVAL_MAX_MS = 3_600_000;
const SLOW_AFTER_MS = 300_000;
const SLOW_INTERVAL_MS = 15_000;
const RETRY_AFTER_MAX_MS = 60_000;
/** Shops that opened their pages in the same second should not go on asking in the same second. */
const JITTER = 0.2;

const SCRIPT_URL = import.meta.url;

function failure(message: string, details?: NonNullable<Sdk.SdkError['details']>): Sdk.SdkError {
  const error: Sdk.SdkError = new Error(message);
  if (details) error.details = details;
  return error;
}

function aborted(): Error {
  const error = new Error('Aborted');
  error.name = 'AbortError';
  return error;
}

/** The words of a refusal: every endpoint has `message` or `error`. */
function wordsOf(payload: unknown, status: number): string {
  const { message, error } = (payload || {}) as { message?: unknown; error?: unknown };
  if (typeof message === 'string') return message;
  return typeof error === 'string' ? error : `HTTP ${status}`;
}

/** The body as JSON; null when it is none, as from a proxy in between. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (_) {
    return null;
  }
}

async function ask<T>(url: string, init: RequestInit = {}): Promise<T> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), REQUEST_TIMEOUT_MS);
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, { credentials: 'omit', cache: 'no-store', signal: limit.signal, ...init });
    text = await response.text();
  } catch (_) {
    throw failure('Network error');
  } finally {
    clearTimeout(timer);
  }
  const payload = parse(text);
  // a success that is not JSON came from a proxy or a portal in between, not from the service
  if (response.ok) {
    if (payload === null) throw failure('Network error');
    return payload as T;
  }
  const seconds = Number(response.headers.get('Retry-After'));
  const { status } = response;
  throw failure(wordsOf(payload, status), seconds > 0 ? { status, payload, retryAfter: seconds } : { status, payload });
}

/** Whether the same question may be answered later: the service was not reached, is busy, or is being restarted. */
function mayRetry({ details }: Sdk.SdkError): boolean {
  return !details || details.status >= 500 || details.status === 429 || details.status === 408;
}

function jittered(ms: number): number {
  return ms * (1 - JITTER + 2 * JITTER * Math.random());
}

/** A listener that throws is the page's bug: it is reported as one, and the polling goes on. */
function tell<T>(listener: ((value: T) => void) | undefined, value: T): void {
  if (!listener) return;
  try {
    listener(value);
  } catch (error) {
    setTimeout(() => {
      throw error;
    });
  }
}

type PollingOptions<T> = Sdk.PollOptions<T> & { wake?: (askNow: () => void) => void };

/** How long to wait for the next question: a few seconds, longer after a while, or as long as the service asked for. */
function pauseMs(begun: number, wanted: number | undefined, retryAfter = 0): number {
  if (retryAfter > 0) return Math.min(retryAfter * 1000, RETRY_AFTER_MAX_MS) + jittered(INTERVAL_MIN_MS);
  // what is no number, or one that timers do not know, must not become a question every millisecond
  const interval = Math.min(Math.max(INTERVAL_MIN_MS, Number(wanted) || INTERVAL_MS), INTERVAL_MAX_MS);
  return jittered(Date.now() - begun < SLOW_AFTER_MS ? interval : Math.max(interval, SLOW_INTERVAL_MS));
}

/** The polling, told to a promise that it settles. */
function startPolling<T>(
  read: () => Promise<T>,
  isEnd: (value: T) => boolean,
  { onUpdate, signal, interval, wake }: PollingOptions<T>,
  resolve: (value: T) => void,
  reject: (error: Error) => void,
): void {
  const begun = Date.now();
  const page = typeof document === 'undefined' ? undefined : document;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asking = false;
  /** Somebody wants an answer that is newer than the one under way. */
  let again = false;
  let over = false;

  function end(): void {
    over = true;
    clearTimeout(timer);
    page?.removeEventListener('visibilitychange', shown);
    signal?.removeEventListener('abort', abort);
  }
  function abort(): void {
    end();
    reject(aborted());
  }
  function answered(value: T): void {
    if (over) return;
    tell(onUpdate, value);
    if (!isEnd(value)) {
      next();
    } else {
      end();
      resolve(value);
    }
  }
  function failed(error: Sdk.SdkError): void {
    if (over) return;
    if (mayRetry(error)) {
      next(error.details?.retryAfter);
    } else {
      end();
      reject(error);
    }
  }
  function next(retryAfter?: number): void {
    asking = false;
    // the listener may have ended it, and a hidden page waits for being shown
    if (over || page?.hidden) return;
    if (again && !retryAfter) step();
    else timer = setTimeout(step, pauseMs(begun, interval, retryAfter));
  }
  function step(): void {
    clearTimeout(timer);
    again = asking;
    if (over || asking || page?.hidden) return;
    asking = true;
    read().then(answered, failed);
  }
  function shown(): void {
    if (page?.hidden) clearTimeout(timer);
    else step();
  }

  signal?.addEventListener('abort', abort);
  page?.addEventListener('visibilitychange', shown);
  wake?.(step);
  if (signal?.aborted) abort();
  else step();
}

function poll<T>(read: () => Promise<T>, isEnd: (value: T) => boolean, options: PollingOptions<T> = {}): Promise<T> {
  const done = new Promise<T>((resolve, reject) => startPolling(read, isEnd, options, resolve, reject));
  // whoever only listens to onUpdate has no use for the promise: it must not complain that nobody caught it
  done.catch(() => {});
  return done;
}

type Loaded = { at: number; rates: Sdk.Rates; cryptos: Sdk.Crypto[] };

const isDecided = ({ status }: Sdk.InvoiceStatus): boolean => status !== 'unpaid';

function createClient({ clientId, apiBase }: Sdk.ClientOptions): Sdk.Client {
  if (!clientId) throw failure('clientId is required');
  const base = (apiBase || new URL('../api/v1/sdk', SCRIPT_URL).href).replace(/\/+$/, '');
  const headers = { 'MB-CLIENT-ID': clientId, Accept: 'application/json', 'Content-Type': 'application/json' };
  const get = <T>(path: string): Promise<T> => ask<T>(base + path, { headers });
  const post = <T>(path: string, body: object): Promise<T> =>
    ask<T>(base + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const named = (path: string, slug: string): string => path + encodeURIComponent(slug);

  let loaded: Loaded = { at: 0, rates: {}, cryptos: [] };
  let loading: Promise<void> | undefined;
  const load = (): Promise<void> => {
    const forget = (): void => {
      loading = undefined;
    };
    if (!loading) {
      loading = Promise.all([get<Sdk.Crypto[]>('/cryptos'), get<Sdk.Rates>('/rates')]).then(([cryptos, rates]) => {
        loaded = { at: Date.now(), rates, cryptos };
      });
      loading.then(forget, forget);
    }
    return loading;
  };
  const cached = (): Loaded => {
    if (Date.now() - loaded.at > CACHE_AGE_MAX_MS) load().catch(() => {});
    return loaded;
  };

  const getInvoiceStatus = (slug: string): Promise<Sdk.InvoiceStatus> => get(named('/invoice/status/', slug));
  return {
    load,
    createInvoice: (invoice) => post('/invoice', invoice),
    getInvoice: (slug) => get(named('/invoice/', slug)),
    getInvoiceStatus,
    requestPayment: (slug, crypto) =>
      post(named('/invoice/rp/', slug), typeof crypto === 'string' ? { crypto } : crypto || {}),
    pollInvoice: (slug, options) => poll(() => getInvoiceStatus(slug), isDecided, options),
    rates: () => cached().rates,
    cryptos: () => cached().cryptos,
  };
}

/** The client that `init` made last: what the functions without a client call. */
let current: Sdk.Client | undefined;

const init: typeof Sdk.init = async (options) => {
  const client = createClient(options);
  current = client;
  await client.load();
  return client;
};

/** Calls the client of `init`; without one, the promise that comes back is rejected. */
function call<T>(use: (client: Sdk.Client) => Promise<T>): Promise<T> {
  return current ? use(current) : Promise.reject(failure('Call init first'));
}

const createInvoice: typeof Sdk.createInvoice = (invoice) => call((client) => client.createInvoice(invoice));
const getInvoice: typeof Sdk.getInvoice = (slug) => call((client) => client.getInvoice(slug));
const getInvoiceStatus: typeof Sdk.getInvoiceStatus = (slug) => call((client) => client.getInvoiceStatus(slug));
const requestPayment: typeof Sdk.requestPayment = (slug, crypto) =>
  call((client) => client.requestPayment(slug, crypto));
const pollInvoice: typeof Sdk.pollInvoice = (slug, options) => call((client) => client.pollInvoice(slug, options));
const rates: typeof Sdk.rates = () => (current ? current.rates() : {});
const cryptos: typeof Sdk.cryptos = () => (current ? current.cryptos() : []);

// biome-ignore format: one line, which the classic script does without
export { ask, createClient, createInvoice, cryptos, getInvoice, getInvoiceStatus, init, poll, pollInvoice, rates, requestPayment };
