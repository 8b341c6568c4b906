/** Sends events to shops until they are accepted: at least once, and in order for each subject. */
import type { App } from '../app/app.ts';
import {
  type Delivery,
  dueFor,
  endpointOf,
  recordDelivery,
  signedHeaders,
  testEvent,
} from '../app/notifications/shop-events.ts';
import type { EndpointRow } from '../store/queries/shop-events.ts';
import { sendWebhook, type WebhookOptions } from './notify/send.ts';

/** Per endpoint. */
const SENT_AT_ONCE_MAX = 4;
/** The interval in which due deliveries are looked for. */
const LOOK_MS = 5_000;
const TIMEOUT_MS = 15_000;

export class ShopEventWorker {
  readonly #app: App;
  readonly #policy: Omit<WebhookOptions, 'fromMerchant' | 'signal'>;
  readonly #abort = new AbortController();
  /** Attempts under way by endpoint, then by the delivery's id. */
  readonly #sending = new Map<number, Map<number, Promise<unknown>>>();
  #timer: NodeJS.Timeout | null = null;

  constructor(app: App, policy: Omit<WebhookOptions, 'fromMerchant' | 'signal'>) {
    this.#app = app;
    this.#policy = policy;
  }

  start(): void {
    this.#timer = setInterval(() => this.wake(), LOOK_MS);
    this.#timer.unref();
    this.wake();
  }

  /** Looks for due deliveries. To be called after the commit that queued one. */
  wake(): void {
    this.#look(() => true);
  }

  #look(isAsked: (endpoint: EndpointRow) => boolean): void {
    // an event whose outcome cannot be stored stays due, and would be sent again and again
    if (this.#abort.signal.aborted || this.#app.store.health().trouble !== null) return;
    try {
      for (const endpoint of this.#app.directory.allEndpoints().filter(isAsked)) this.#fill(endpoint);
    } catch (error) {
      this.#app.log.error({ error }, 'the due events could not be read');
    }
  }

  /**
   * Sends an endpoint one event about nothing, even a disabled one, and returns what came of it. Nothing is stored or
   * repeated. Throws `Rejected`: `endpoint.not_found`, `endpoint.quarantine`.
   */
  async test(id: number): Promise<{ status: number | null; error: string | null; ms: number }> {
    const endpoint = endpointOf(this.#app.store, id);
    return this.#post(endpoint, testEvent(this.#app, endpoint));
  }

  /** Aborts attempts under way and waits until their results are stored. */
  async stop(): Promise<void> {
    this.#abort.abort();
    if (this.#timer) clearInterval(this.#timer);
    await Promise.allSettled([...this.#sending.values()].flatMap((underWay) => [...underWay.values()]));
  }

  #fill(endpoint: EndpointRow): void {
    const underWay = this.#sending.get(endpoint.id) ?? new Map<number, Promise<unknown>>();
    this.#sending.set(endpoint.id, underWay);
    const room = SENT_AT_ONCE_MAX - underWay.size;
    if (room <= 0) return;
    const due = dueFor(this.#app, endpoint, SENT_AT_ONCE_MAX + room);
    const fresh = due.filter(({ id }) => !underWay.has(id)).slice(0, room);
    for (const delivery of fresh) underWay.set(delivery.id, this.#send(endpoint, delivery, underWay));
  }

  async #send(endpoint: EndpointRow, delivery: Delivery, underWay: Map<number, Promise<unknown>>): Promise<void> {
    try {
      await this.#attempt(endpoint, delivery);
    } catch (error) {
      // it is still due: tried again at the next look, not at once
      this.#app.log.error({ error }, 'an event’s delivery could not be recorded');
      underWay.delete(delivery.id);
      return;
    }
    underWay.delete(delivery.id);
    this.#look(({ id }) => id === endpoint.id);
  }

  async #attempt(endpoint: EndpointRow, delivery: Delivery): Promise<void> {
    const { status, error, ms } = await this.#post(endpoint, delivery);
    // an attempt that this program's stop aborted does not count
    if (this.#abort.signal.aborted && status === null) return;
    const outcome = { status, error, jitter: Math.random() };
    await this.#app.store.write((tx) => recordDelivery(this.#app, tx, delivery.id, outcome));
    this.#app.log.info({ endpoint: endpoint.id, event: delivery.uuid, status, reason: error, ms }, 'event attempted');
  }

  #post(endpoint: EndpointRow, event: Pick<Delivery, 'uuid' | 'body'>) {
    return sendWebhook(endpoint.url, {
      ...this.#policy,
      // the operator chose this destination, so allow-listed hosts are permitted
      fromMerchant: true,
      timeoutMs: TIMEOUT_MS,
      signal: this.#abort.signal,
      content: {
        body: event.body,
        headers: { 'Content-Type': 'application/json', ...signedHeaders(endpoint, event, this.#app.now()) },
      },
    });
  }
}
