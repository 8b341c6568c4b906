/** Sends queued notifications at most once each, a few at a time. */
import type { App } from '../app/app.ts';
import { LANES, type Lane, recordAttempt, type WebhookAttempt, WebhookTurns } from '../app/notifications/webhooks.ts';
import { sendWebhook, type WebhookOptions } from './notify/send.ts';

/** Concurrent attempts by lane. */
const SENT_AT_ONCE_MAX: Readonly<Record<Lane, number>> = { shop: 16, public: 4 };
/** A host that answers slowly takes no more places than these. */
const SENT_TO_HOST_MAX = 2;
const RETAKE_MS = 5_000;

export class WebhookWorker {
  readonly #app: App;
  readonly #policy: Omit<WebhookOptions, 'fromMerchant' | 'signal'>;
  readonly #abort = new AbortController();
  readonly #sending: Readonly<Record<Lane, Set<Promise<unknown>>>> = { shop: new Set(), public: new Set() };
  readonly #turns = new WebhookTurns();
  /** Attempts under way by host. */
  readonly #byHost = new Map<string, number>();
  #taking = false;
  #again = false;

  constructor(app: App, policy: Omit<WebhookOptions, 'fromMerchant' | 'signal'>) {
    this.#app = app;
    this.#policy = policy;
  }

  /** Looks for queued notifications. To be called after the commit that queued one, and at the start. */
  wake(): void {
    if (this.#taking) {
      this.#again = true;
      return;
    }
    this.#taking = true;
    this.#take().catch((error: unknown) => {
      this.#app.log.error({ error }, 'queued notifications could not be read');
      if (!this.#abort.signal.aborted) setTimeout(() => this.wake(), RETAKE_MS).unref();
    });
  }

  /** Makes one recorded attempt and records its result. */
  async send(attempt: WebhookAttempt): Promise<{ status: number | null; error: string | null }> {
    const { fromMerchant, url } = attempt;
    const { status, error, ms } = await sendWebhook(url, {
      ...this.#policy,
      fromMerchant,
      signal: this.#abort.signal,
    });
    await this.#app.store.write((tx) => recordAttempt(this.#app, tx, attempt.attemptId, { status, error }));
    this.#app.log.info({ attempt: attempt.attemptId, status, reason: error, ms }, 'webhook attempted');
    return { status, error };
  }

  /** Aborts attempts under way and waits until their results are stored. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await Promise.allSettled(LANES.flatMap((lane) => [...this.#sending[lane]]));
  }

  async #take(): Promise<void> {
    try {
      do {
        this.#again = false;
        for (const lane of LANES) {
          const room = SENT_AT_ONCE_MAX[lane] - this.#sending[lane].size;
          if (this.#abort.signal.aborted) return;
          if (room <= 0) continue;
          const isFull = (host: string): boolean => (this.#byHost.get(host) ?? 0) >= SENT_TO_HOST_MAX;
          const taken = await this.#app.store.write((tx) => this.#turns.take(this.#app, tx, lane, room, isFull));
          for (const attempt of taken) this.#track(attempt);
          // a host may have room for another one
          this.#again ||= taken.length > 0;
        }
      } while (this.#again);
    } finally {
      this.#taking = false;
    }
  }

  /** The end of an attempt wakes the worker, which fills the free place. */
  #track(attempt: WebhookAttempt): void {
    const sending = this.#sending[attempt.lane];
    const { host } = attempt;
    this.#byHost.set(host, (this.#byHost.get(host) ?? 0) + 1);
    const tracked = this.send(attempt)
      .catch((error: unknown) => this.#app.log.error({ error }, 'a webhook attempt could not be recorded'))
      .finally(() => {
        sending.delete(tracked);
        const left = (this.#byHost.get(host) ?? 1) - 1;
        if (left > 0) this.#byHost.set(host, left);
        else this.#byHost.delete(host);
        this.wake();
      });
    sending.add(tracked);
  }
}
