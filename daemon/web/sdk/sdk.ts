/**
 * The browser client: a few functions over `fetch`, without dependencies, in one file of ES2018. It is served as a
 * module and, without its last line, as a classic script (see `http/assets/sdk.ts`); therefore its only `export` is
 * there and its own address is read in one place.
 *
 * Invariant: it has no secret and stores nothing in the browser. Every failure rejects with an `Error` whose `message`
 * can be shown.
 */
import type * as Sdk from './types.ts';

/** The used parts of a page; a worker or a test may have none. */
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
/** Spreads the requests of pages that were opened at the same time. */
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

/** The text of a refusal: every endpoint has `message` or `error`. */
function wordsOf(payload: unknown, status: number): string {
  const { message, error } = (payload || {}) as { message?: unknown; error?: unknown };
  if (typeof message === 'string') return message;
  return typeof error === 'string' ? error : `HTTP ${status}`;
}

/** The body as JSON; null if it is not JSON, for example from a proxy. */
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
  // a success that is not JSON came from a proxy or a captive portal
  if (response.ok) {
    if (payload === null) throw failure('Network error');
    return payload as T;
  }
  const seconds = Number(response.headers.get('Retry-After'));
  const { status } = response;
  throw failure(wordsOf(payload, status), seconds > 0 ? { status, payload, retryAfter: seconds } : { status, payload });
}

/** Whether the same request may succeed later: the service was not reached, is busy, or is being restarted. */
function mayRetry({ details }: Sdk.SdkError): boolean {
  return !details || details.status >= 500 || details.status === 429 || details.status === 408;
}

function jittered(ms: number): number {
  return ms * (1 - JITTER + 2 * JITTER * Math.random());
}

/** An exception of a listener is the page's bug: it is reported, and the polling continues. */
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

/** The pause before the next request: a few seconds, longer after a while, or as long as the service asked for. */
function pauseMs(begun: number, wanted: number | undefined, retryAfter = 0): number {
  if (retryAfter > 0) return Math.min(retryAfter * 1000, RETRY_AFTER_MAX_MS) + jittered(INTERVAL_MIN_MS);
  // an invalid interval must not cause a request every millisecond
  const interval = Math.min(Math.max(INTERVAL_MIN_MS, Number(wanted) || INTERVAL_MS), INTERVAL_MAX_MS);
  return jittered(Date.now() - begun < SLOW_AFTER_MS ? interval : Math.max(interval, SLOW_INTERVAL_MS));
}

/** Polls and settles a promise with the result. */
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
  /** True if an answer newer than the running request's is wanted. */
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
    // the listener may have ended it, and a hidden page waits until it is shown
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
  // without this, users of onUpdate alone would see an unhandled rejection
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

/** The client of the last `init`, used by the functions without a client. */
let current: Sdk.Client | undefined;

const init: typeof Sdk.init = async (options) => {
  const client = createClient(options);
  current = client;
  await client.load();
  return client;
};

/** Calls the client of `init`; rejects if there is none. */
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
