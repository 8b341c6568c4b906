/**
 * Sends alerts on the configured channels, each independently, so that one that hangs does not delay the others. A
 * failed message is sent again at growing intervals. A channel's failure is an alert that the others send.
 */

import { hostname } from 'node:os';
import { end, raise } from '../../app/alerts.ts';
import type { App } from '../../app/app.ts';
import {
  dropSettled,
  isUrgent,
  type News,
  type Notice,
  newsOf,
  recordTold,
  takeInAlerts,
  UNDELIVERED,
} from '../../app/notifications/alert-notices.ts';
import { message, messageOf } from '../../domain/messages.ts';
import { MS_PER_HOUR } from '../../domain/time.ts';
import type { Timetable } from '../timetable.ts';
import { type Channel, type ChannelName, compose } from './channel.ts';
import { email } from './email.ts';
import { ntfy, signedWebhook, telegram } from './post.ts';

const EVERY_MS = 10_000;
const SEND_MS_MAX = 30_000;
const RETRY_MS_MIN = 60_000;
const RETRY_MS_MAX = 60 * 60_000;
/** Failed attempts in a row before a channel's fault raises an alert. */
const FAILS_BEFORE_ALERT = 3;
const MINUTES_A_DAY = 1_440;

/** The channels that the configuration names. */
function channelsOf({ config: { alerts }, now }: App): Channel[] {
  const { smtp, emailTo, emailFrom, telegramToken, telegramChat, webhook, webhookSecret } = alerts;
  return [
    ...(smtp !== null && emailFrom !== null ? [email({ server: smtp, from: emailFrom, to: emailTo })] : []),
    ...(alerts.ntfy === null ? [] : [ntfy(alerts.ntfy, alerts.ntfyToken)]),
    ...(telegramToken !== null && telegramChat !== null
      ? [telegram(alerts.telegramApi ?? 'https://api.telegram.org', telegramToken, telegramChat)]
      : []),
    ...(webhook !== null && webhookSecret !== null ? [signedWebhook(webhook, webhookSecret, now)] : []),
  ];
}

/** Whether only urgent alerts are sent at this instant, by the machine's time zone. */
export function isQuiet({ config, now }: Pick<App, 'config' | 'now'>): boolean {
  const span = config.alerts.quietHours;
  if (span === null) return false;
  const at = new Date(now());
  const minutes = at.getHours() * 60 + at.getMinutes();
  const after = (minutes - span.from + MINUTES_A_DAY) % MINUTES_A_DAY;
  return after < (span.to - span.from + MINUTES_A_DAY) % MINUTES_A_DAY;
}

type State = { channel: Channel; busy: Promise<void> | null; fails: number; notBefore: number };

export class AlertWorker {
  readonly #app: App;
  readonly #passed: () => number;
  readonly #states: State[];
  /** While the database accepts no writes: when each channel reported that, by its name and the kind of trouble. */
  readonly #toldUnstored = new Map<string, number>();
  readonly #abort = new AbortController();

  /** `passed`: milliseconds of a clock that nobody sets. */
  constructor(app: App, passed: () => number = () => performance.now()) {
    this.#app = app;
    this.#passed = passed;
    this.#states = channelsOf(app).map((channel) => ({ channel, busy: null, fails: 0, notBefore: 0 }));
  }

  start(timetable: Timetable): void {
    if (this.#states.length > 0) timetable.every('alerts', EVERY_MS, async () => this.tick());
  }

  /** Starts sending on every channel. */
  tick(): void {
    for (const state of this.#states) {
      if (state.busy || this.#passed() < state.notBefore || this.#abort.signal.aborted) continue;
      state.busy = this.#work(state)
        .catch((error: unknown) => {
          if (this.#abort.signal.aborted) return;
          this.#app.log.error({ channel: state.channel.name, error }, 'alerts could not be told');
        })
        .finally(() => {
          state.busy = null;
        });
    }
  }

  /** Resolves once no message is being sent. */
  async idle(): Promise<void> {
    await Promise.all(this.#states.map(({ busy }) => busy));
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.idle();
  }

  async #work(state: State): Promise<void> {
    const { channel } = state;
    const { trouble } = this.#app.store.health();
    if (trouble !== null) return this.#tellUnstored(state, trouble.kind);
    await takeInAlerts(this.#app, channel.name);
    await dropSettled(this.#app, channel.name);
    const news = newsOf(this.#app, channel.name, isQuiet(this.#app));
    if (news.raised.length + news.ended.length === 0) return;
    if (!(await this.#send(state, news))) return;
    await this.#app.store.write((tx) => recordTold(this.#app, tx, channel.name, news));
  }

  /** Reports that the database accepts no writes, and remembers that in memory. */
  async #tellUnstored(state: State, trouble: string): Promise<void> {
    const key = `${state.channel.name} ${trouble}`;
    const last = this.#toldUnstored.get(key);
    const at = this.#passed();
    if (last !== undefined && at - last < MS_PER_HOUR) return;
    const kind = `storage.${trouble}`;
    const message = 'Nothing can be stored. Payments are not seen and withdrawals not made: see `countinghouse status`';
    const raised: Notice[] = [
      {
        id: 0,
        kind,
        subject: 'data directory',
        message: messageOf(message),
        network: null,
        created_at: this.#app.now(),
        changed_at: null,
        seen_at: null,
        ended_at: null,
      },
    ];
    if (await this.#send(state, { raised, ended: [], passed: [] })) this.#toldUnstored.set(key, at);
  }

  async #send(state: State, news: News): Promise<boolean> {
    const { channel } = state;
    const urgent = news.raised.some(({ kind }) => isUrgent(kind));
    const message = compose(news, this.#host(), urgent);
    try {
      await channel.send(message, AbortSignal.any([this.#abort.signal, AbortSignal.timeout(SEND_MS_MAX)]));
    } catch (error) {
      if (!this.#abort.signal.aborted) await this.#failed(state, (error as Error).message);
      return false;
    }
    state.fails = 0;
    state.notBefore = 0;
    await end(this.#app, UNDELIVERED, channel.name);
    return true;
  }

  async #failed(state: State, why: string): Promise<void> {
    const { channel } = state;
    state.notBefore = this.#passed() + Math.min(RETRY_MS_MIN * 2 ** state.fails, RETRY_MS_MAX);
    state.fails += 1;
    this.#app.log.warn({ channel: channel.name, why, times: state.fails }, 'alerts could not be told');
    if (state.fails < FAILS_BEFORE_ALERT) return;
    const text = message('alert.undelivered', { channel: channel.name, reason: why });
    await raise(this.#app, null, UNDELIVERED, channel.name, text);
  }

  #host(): string {
    const { publicUrl } = this.#app.config;
    return publicUrl === null ? hostname() : new URL(publicUrl).host;
  }

  /** Sends a test message over every channel, also in quiet hours, and returns the results. */
  async test(): Promise<{ channel: ChannelName; error: string | null }[]> {
    const message = compose({ raised: [], ended: [], passed: [] }, this.#host(), false);
    const trial = { ...message, title: `${message.title}a trial`, text: 'Alerts of this service arrive here.' };
    return Promise.all(
      this.#states.map(async ({ channel }) => {
        try {
          await channel.send(trial, AbortSignal.any([this.#abort.signal, AbortSignal.timeout(SEND_MS_MAX)]));
          return { channel: channel.name, error: null };
        } catch (error) {
          return { channel: channel.name, error: (error as Error).message };
        }
      }),
    );
  }
}
