/** `/metrics` for Prometheus, only on 127.0.0.1: it is for the operator. Collected at most once a second. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { App } from '../../app/app.ts';
import { Rejected } from '../../domain/errors.ts';
import { portFault } from '../../kit/port-fault.ts';
import { collect, LoopDelay } from './collect.ts';
import type { RequestMeter } from './requests.ts';
import { metricsText } from './text.ts';

const HOST = '127.0.0.1';
const KEPT_MS = 1_000;
const CONNECTIONS_MAX = 32;
const REQUEST_TIMEOUT_MS = 5_000;
const TYPE = 'text/plain; version=0.0.4; charset=utf-8';

type MetricsServer = { url: string; port: number; close(): Promise<void> };

/** Listens. Throws `Rejected('port.taken')`. */
export async function serveMetrics(
  app: App,
  meter: RequestMeter,
  version: string,
  startedAt: number,
): Promise<MetricsServer> {
  const loop = new LoopDelay();
  let kept = { at: Number.NEGATIVE_INFINITY, text: '' };
  const text = (): string => {
    const at = performance.now();
    if (at - kept.at >= KEPT_MS) kept = { at, text: metricsText(collect({ app, version, startedAt, meter, loop })) };
    return kept.text;
  };
  const options = { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS };
  const server = createServer(options, (request, response) => answer(app, text, request, response));
  server.maxConnections = CONNECTIONS_MAX;
  const { port } = app.config.metrics;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      loop.stop();
      reject(
        new Rejected(
          'port.taken',
          `Port ${port} of ${HOST} cannot be used for metrics: ${portFault(error)}. Set another as metrics.port`,
        ),
      );
    });
    server.listen(port, HOST, resolve);
  });
  const { port: own } = server.address() as AddressInfo;
  return {
    url: `http://${HOST}:${own}/metrics`,
    port: own,
    close: async () => {
      loop.stop();
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Refuses pages that were rebound to 127.0.0.1 (DNS rebinding): they send their own name as `Host`. */
const namesUs = (host = ''): boolean => /^(?:127\.0\.0\.1|localhost)(?::\d{1,5})?$/.test(host);

function answer(app: App, text: () => string, request: IncomingMessage, response: ServerResponse): void {
  const [status, body] = answerTo(app, text, request);
  response.writeHead(status, { 'Content-Type': TYPE, 'Cache-Control': 'no-store' }).end(body);
}

function answerTo(app: App, text: () => string, { headers, url, method }: IncomingMessage): [number, string] {
  if (!namesUs(headers.host)) return [403, 'only for this machine\n'];
  if (url?.split('?')[0] !== '/metrics') return [404, 'only /metrics is here\n'];
  if (method !== 'GET') return [405, 'only GET\n'];
  try {
    return [200, text()];
  } catch (error) {
    app.log.error({ error }, 'the metrics could not be read');
    return [503, 'the metrics could not be read\n'];
  }
}
