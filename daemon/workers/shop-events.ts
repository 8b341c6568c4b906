/** Sends events to shops, until they are taken: at least once, and of one subject in order. */
import type { App } from '../app/app.ts';
import { type Delivery, dueFor, recordDelivery, signedHeaders } from '../app/shop-events.ts';
import type { EndpointRow } from '../store/queries/shop-events.ts';
import { sendWebhook, type WebhookOptions } from './notify/send.ts';

/** Of one endpoint, so that none waits for another's. */
const SENT_AT_ONCE_MAX = 4;
/** How often what is due by the clock is looked for. */
const LOOK_MS = 5_000;
const TIMEOUT_MS = 15_000;

export class ShopEventWorker {
  readonly #app: App;
  readonly #policy: Omit<WebhookOptions, 'fromMerchant' | 'signal'>;
  readonly #abort = new AbortController();
  readonly #sending = new Map<number, Promise<unknown>>();
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

  /** Looks for what is due; called after the commit that queued something. */
  wake(): void {
    if (this.#abort.signal.aborted) return;
    for (const endpoint of this.#app.directory.allEndpoints()) this.#fill(endpoint);
  }

  /** Ends attempts under way and waits until how they ended is recorded. */
  async stop(): Promise<void> {
    this.#abort.abort();
    if (this.#timer) clearInterval(this.#timer);
    await Promise.allSettled(this.#sending.values());
  }

  #fill(endpoint: EndpointRow): void {
    const underWay = this.#underWay.get(endpoint.id) ?? 0;
    const room = SENT_AT_ONCE_MAX - underWay;
    if (room <= 0) return;
    const due = dueFor(this.#app, endpoint, SENT_AT_ONCE_MAX + room);
    const fresh = due.filter(({ id }) => !this.#sending.has(id)).slice(0, room);
    for (const delivery of fresh) this.#send(endpoint, delivery);
  }

  readonly #underWay = new Map<number, number>();

  #send(endpoint: EndpointRow, delivery: Delivery): void {
    const count = (by: number) => this.#underWay.set(endpoint.id, (this.#underWay.get(endpoint.id) ?? 0) + by);
    count(1);
    const sending = this.#attempt(endpoint, delivery)
      .catch((error: unknown) => this.#app.log.error({ error }, 'an event’s delivery could not be recorded'))
      .finally(() => {
        this.#sending.delete(delivery.id);
        count(-1);
        this.wake();
      });
    this.#sending.set(delivery.id, sending);
  }

  async #attempt(endpoint: EndpointRow, delivery: Delivery): Promise<void> {
    const { status, error, ms } = await sendWebhook(endpoint.url, {
      ...this.#policy,
      // the operator named the place: what is allow-listed may be reached
      fromMerchant: true,
      timeoutMs: TIMEOUT_MS,
      signal: this.#abort.signal,
      content: {
        body: delivery.body,
        headers: { 'Content-Type': 'application/json', ...signedHeaders(endpoint, delivery, this.#app.now()) },
      },
    });
    // an attempt that our own stop ended is none
    if (this.#abort.signal.aborted && status === null) return;
    const outcome = { status, error, jitter: Math.random() };
    await this.#app.store.write((tx) => recordDelivery(this.#app, tx, delivery.id, outcome));
    this.#app.log.info({ endpoint: endpoint.id, event: delivery.uuid, status, reason: error, ms }, 'event attempted');
  }
}
