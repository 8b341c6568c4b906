/** Counts the requests of the public server and their times; only if metrics are configured. */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { MS_PER_SECOND } from '../../domain/time.ts';
import type { Family } from './text.ts';

/** Upper bounds in seconds; the last one is open. */
const BOUNDS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** The parts of the server by path prefix. Unknown paths share one label. */
const AREAS: readonly [prefix: string, area: string][] = [
  ['/api/v1/merchant/', 'merchant'],
  ['/api/v1/sdk/', 'browser'],
  ['/pay/', 'page'],
  ['/js/', 'script'],
  ['/health', 'health'],
];
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']);

type Times = { buckets: number[]; sum: number; count: number };

export class RequestMeter {
  /** Answers by area, method and status class. */
  readonly #answers = new Map<string, number>();
  readonly #times = new Map<string, Times>();

  /** Counts the requests that `handle` answers. */
  watching(handle: RequestListener): RequestListener {
    return (request, response) => {
      this.#watch(request, response);
      handle(request, response);
    };
  }

  #watch(request: IncomingMessage, response: ServerResponse): void {
    const begun = performance.now();
    const [path = ''] = (request.url ?? '').split('?');
    const area = AREAS.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'other';
    const isStream = path.endsWith('/events');
    response.once('close', () => {
      const { method: asked = '' } = request;
      const method = METHODS.has(asked) ? asked : 'other';
      const status =
        response.writableFinished || isStream ? `${Math.floor(response.statusCode / 100)}xx` : 'broken off';
      const key = `${area}\n${method}\n${status}`;
      this.#answers.set(key, (this.#answers.get(key) ?? 0) + 1);
      if (!isStream) this.#note(area, (performance.now() - begun) / MS_PER_SECOND);
    });
  }

  #note(area: string, seconds: number): void {
    let times = this.#times.get(area);
    if (!times) {
      times = { buckets: BOUNDS_SECONDS.map(() => 0), sum: 0, count: 0 };
      this.#times.set(area, times);
    }
    const at = BOUNDS_SECONDS.findIndex((bound) => seconds <= bound);
    if (at >= 0) times.buckets[at]! += 1;
    times.sum += seconds;
    times.count += 1;
  }

  families(): Family[] {
    const answers = [...this.#answers].map(([key, value]) => {
      const [area = '', method = '', status = ''] = key.split('\n');
      return { labels: { area, method, status }, value };
    });
    const times = [...this.#times].flatMap(([area, { buckets, sum, count }]) => {
      let below = 0;
      const rows = BOUNDS_SECONDS.map((bound, n) => {
        below += buckets[n]!;
        return { suffix: '_bucket', labels: { area, le: `${bound}` }, value: below };
      });
      return [
        ...rows,
        { suffix: '_bucket', labels: { area, le: '+Inf' }, value: count },
        { suffix: '_sum', labels: { area }, value: sum },
        { suffix: '_count', labels: { area }, value: count },
      ];
    });
    return [
      {
        name: 'countinghouse_http_requests_total',
        type: 'counter',
        help: 'Requests of the public server, by area, method and class of status.',
        samples: answers,
      },
      {
        name: 'countinghouse_http_request_duration_seconds',
        type: 'histogram',
        help: 'From a request to the end of its answer; streams are left out.',
        samples: times,
      },
    ];
  }
}
