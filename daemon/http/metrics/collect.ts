/** Collects the metrics of one moment. */

import { type ELDHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import type { App } from '../../app/app.ts';
import { type Monitor, monitor } from '../../app/operator/monitor.ts';
import { MS_PER_SECOND } from '../../domain/time.ts';
import type { RequestMeter } from './requests.ts';
import type { Family, Sample } from './text.ts';

const NS_PER_SECOND = 1e9;
const US_PER_SECOND = 1e6;
const LOOP_RESOLUTION_MS = 20;
/** The delay's quantiles cover this span and the one before it, so that requests do not influence them. */
const LOOP_SPAN_MS = 60_000;
const QUANTILES = [50, 99, 100];

/** Measures how late the event loop runs its timers. */
export class LoopDelay {
  readonly #histogram: ELDHistogram = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  #before: number[] = [0, 0, 0];
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#histogram.enable();
    this.#timer = setInterval(() => {
      this.#before = this.#read();
      this.#histogram.reset();
    }, LOOP_SPAN_MS).unref();
  }

  /** Seconds above the resolution of the measurement. */
  #read(): number[] {
    if (this.#histogram.count === 0) return QUANTILES.map(() => 0);
    return QUANTILES.map((at) =>
      Math.max(0, this.#histogram.percentile(at) / NS_PER_SECOND - LOOP_RESOLUTION_MS / MS_PER_SECOND),
    );
  }

  samples(): Sample[] {
    return this.#read().map((now, n) => ({
      labels: { quantile: `${QUANTILES[n]! / 100}` },
      value: Math.max(now, this.#before[n]!),
    }));
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#histogram.disable();
  }
}

const gauge = (name: string, help: string, samples: Sample[]): Family => ({
  name: `countinghouse_${name}`,
  type: 'gauge',
  help,
  samples,
});
const one = (value: number): Sample[] => [{ value }];
const known = (samples: (Omit<Sample, 'value'> & { value: number | null })[]): Sample[] =>
  samples.flatMap(({ labels, value }) => (value === null ? [] : [{ ...(labels ? { labels } : {}), value }]));

type Collected = { app: App; version: string; startedAt: number; meter: RequestMeter; loop: LoopDelay };

export function collect({ app, version, startedAt, meter, loop }: Collected): Family[] {
  return [
    gauge('build_info', 'The release that runs, and its Node.', [
      { labels: { version, node: process.versions.node }, value: 1 },
    ]),
    ...processFamilies(startedAt, loop),
    ...meter.families(),
    ...serviceFamilies(app),
  ];
}

function processFamilies(startedAt: number, loop: LoopDelay): Family[] {
  const { user, system } = process.cpuUsage();
  const plain = (name: string, type: Family['type'], help: string, value: number): Family => ({
    name,
    type,
    help,
    samples: one(value),
  });
  return [
    plain(
      'process_start_time_seconds',
      'gauge',
      'When the service was started, in Unix time.',
      startedAt / MS_PER_SECOND,
    ),
    plain('process_cpu_seconds_total', 'counter', 'Processor time of the service.', (user + system) / US_PER_SECOND),
    plain('process_resident_memory_bytes', 'gauge', 'Memory of the service.', process.memoryUsage.rss()),
    gauge('event_loop_delay_seconds', 'How late the event loop was, in the last one to two minutes.', loop.samples()),
  ];
}

function serviceFamilies(app: App): Family[] {
  const now = monitor(app, app.config.metrics.balances);
  const { webhooks, deliveries, withdrawals, alerts, storage } = now;
  return [
    ...chainFamilies(now),
    gauge('webhooks_waiting', 'Webhooks that wait to be sent (10000: or more).', [
      ...webhooks.map(({ lane, waiting }) => ({ labels: { lane }, value: waiting })),
    ]),
    gauge('events_waiting', 'Signed events that no endpoint has taken yet.', one(deliveries)),
    gauge('withdrawals_waiting', 'Withdrawals that wait for the operator (requested) or the signer (approved).', [
      ...withdrawals.map(({ state, waiting }) => ({ labels: { state }, value: waiting })),
    ]),
    gauge('alerts_open', 'Alerts that nobody has marked as seen.', one(alerts)),
    gauge('storage_free_bytes', 'Room on the disk of the data directory.', known([{ value: storage.freeBytes }])),
    gauge('storage_log_bytes', 'The size of the write-ahead log.', one(storage.logBytes)),
    gauge('storage_failing', '1 while nothing can be stored.', one(storage.fails ? 1 : 0)),
    gauge('balance', 'The spendable balance of a business, in coins.', [
      ...now.balances.map(({ businessId, network, asset, amount }) => ({
        labels: { business: `${businessId}`, network, crypto: asset },
        value: Number(amount),
      })),
    ]),
  ];
}

const seconds = (ms: number | null): number | null => (ms === null ? null : ms / MS_PER_SECOND);

function chainFamilies({ chains, rates, pools }: Monitor): Family[] {
  type Chain = Monitor['chains'][number];
  const perChain = (name: string, help: string, value: (chain: Chain) => number | null): Family =>
    gauge(
      name,
      help,
      known(chains.map((chain) => ({ labels: { network: chain.network, chain: chain.chain }, value: value(chain) }))),
    );
  return [
    perChain('chain_tip_height', 'The newest block known.', ({ tip }) => tip?.height ?? null),
    perChain('chain_tip_age_seconds', 'The age of that block.', ({ tipAgeMs }) => seconds(tipAgeMs)),
    perChain('chain_sync_age_seconds', 'Since the last sync that was complete.', ({ syncAgeMs }) => seconds(syncAgeMs)),
    perChain('chain_withheld', '1 while payers are not offered it.', ({ withheld }) => (withheld === null ? 0 : 1)),
    perChain('payments_unburied', 'Own payments that may still be undone.', ({ spendsOpen }) => spendsOpen),
    gauge('rate_age_seconds', 'The age of the rate in dollars.', [
      ...known(
        rates.map((rate) => ({ labels: { network: rate.network, crypto: rate.asset }, value: seconds(rate.ageMs) })),
      ),
    ]),
    gauge('addresses_ready', 'Addresses that are derived and given to nobody.', [
      ...pools.map((pool) => ({ labels: { business: `${pool.businessId}`, chain: pool.chainKey }, value: pool.ready })),
    ]),
  ];
}
