/** What watches the service: `/health` for everybody, `/metrics` for Prometheus on this machine. */
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../nodes/litecoind.ts';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';

let metricsPort: number;
let it_: TestDaemon;
beforeAll(async () => {
  metricsPort = await freePort();
  it_ = await startTestDaemon(`[metrics]\nport = ${metricsPort}\nbalances = true\n`);
});
afterAll(() => it_?.stop());

const until = async (look: () => Promise<boolean>): Promise<void> => {
  const deadline = performance.now() + 90_000;
  while (!(await look())) {
    if (performance.now() > deadline) throw new Error(`not seen within 90 s: ${JSON.stringify(await health())}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

const health = async () => {
  const response = await fetch(`${it_.url}/health`);
  return { status: response.status, body: (await response.json()) as { status: string; reasons: string[] } };
};

const metrics = async (): Promise<Map<string, number>> => {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const rows = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    rows.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
};

describe('/health', () => {
  it('is 200 without a key while payments can be taken, and names a coin that cannot', async () => {
    expect(await health()).toEqual({ status: 200, body: { status: 'ok', reasons: [] } });
    await it_.call('POST', '/sandbox/outage', { crypto: 'LTC', down: true });
    it_.advance(120_000);
    await until(async () => (await health()).body.reasons.length === 1);
    expect(await health()).toEqual({
      status: 200,
      body: { status: 'ok', reasons: [expect.stringMatching(/^sandbox LTC: .* behind$/)] },
    });
  });

  it('is 503 with the reason when nothing can be taken', async () => {
    for (const crypto of ['BTC', 'BCH', 'LTC', 'XMR', 'ETH', 'BNB']) {
      await it_.call('POST', '/sandbox/outage', { crypto, down: true });
    }
    it_.advance(120_000);
    await until(async () => (await health()).status === 503);
    expect((await health()).body).toMatchObject({ status: 'unavailable' });
    for (const crypto of ['BTC', 'BCH', 'LTC', 'XMR', 'ETH', 'BNB']) {
      await it_.call('POST', '/sandbox/outage', { crypto, down: false });
    }
    await until(async () => (await health()).status === 200);
  });

  it('takes GET and HEAD at its exact path', async () => {
    expect((await fetch(`${it_.url}/health`, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${it_.url}/health`, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(`${it_.url}/health/`)).status).toBe(404);
  });
});

describe('/metrics', () => {
  it('is text that Prometheus reads: families with help and type, samples of the right names, histograms that add up', async () => {
    const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const types = new Map<string, string>();
    for (const line of (await response.text()).split('\n').slice(0, -1)) {
      const [, name, type] = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line) ?? [];
      if (name) types.set(name, type!);
      if (line.startsWith('#')) continue;
      const sample = /^([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})? (?:-?[\d.]+(?:e[+-]?\d+)?)$/.exec(line);
      expect(sample, line).not.toBeNull();
      const name_ = sample![1]!;
      expect(types.has(name_) || types.get(name_.replace(/_(bucket|sum|count)$/, '')) === 'histogram', name_).toBe(
        true,
      );
    }
    expect(types.get('countinghouse_http_requests_total')).toBe('counter');
  });

  it('tells requests and their times by area, chains, queues, alerts, disk and balances', async () => {
    const before = await metrics();
    const key = 'countinghouse_http_requests_total{area="merchant",method="POST",status="2xx"}';
    for (let n = 0; n < 3; n++) expect((await it_.call('POST', '/invoice', { amount: 10 })).status).toBe(201);
    await until(async () => (await metrics()).get(key) === (before.get(key) ?? 0) + 3);
    const after = await metrics();
    const count = after.get('countinghouse_http_request_duration_seconds_count{area="merchant"}');
    expect(after.get('countinghouse_http_request_duration_seconds_bucket{area="merchant",le="+Inf"}')).toBe(count);
    expect(after.get('countinghouse_chain_withheld{network="sandbox",chain="LTC"}')).toBe(0);
    expect(after.get('countinghouse_chain_tip_height{network="sandbox",chain="BTC"}')).toBeGreaterThanOrEqual(0);
    expect(after.get('countinghouse_webhooks_waiting{lane="shop"}')).toBe(0);
    expect(after.get('countinghouse_withdrawals_waiting{state="requested"}')).toBe(0);
    expect(after.get('countinghouse_storage_free_bytes')).toBeGreaterThan(0);
    expect(after.get('countinghouse_balance{business="1",network="sandbox",crypto="BTC"}')).toBe(0);
    expect(after.get('countinghouse_event_loop_delay_seconds{quantile="0.99"}')).toBeGreaterThanOrEqual(0);
    expect(after.get('process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
  });

  it('has every name that the dashboard asks for', async () => {
    const file = join(import.meta.dirname, '..', '..', 'resources', 'monitoring', 'grafana.json');
    const { panels } = JSON.parse(readFileSync(file, 'utf8')) as { panels: { targets: { expr: string }[] }[] };
    const asked = panels
      .flatMap(({ targets }) => targets)
      .flatMap(({ expr }) => expr.match(/(?:countinghouse|process)_[a-z_]+/g) ?? []);
    const told = new Set([...(await metrics()).keys()].map((key) => key.replace(/\{.*/, '')));
    expect(asked.length).toBeGreaterThan(15);
    expect([...new Set(asked)].filter((name) => !told.has(name))).toEqual([]);
  });

  it('answers nothing but GET /metrics of this machine, and makes no label of a stranger’s path', async () => {
    const hosts = ['evil.example', `127.0.0.1:${metricsPort}`];
    const statuses = await Promise.all(
      hosts.map(
        (host) =>
          new Promise<number>((resolve, reject) => {
            request({ host: '127.0.0.1', port: metricsPort, path: '/metrics', headers: { host } }, (response) => {
              response.resume();
              resolve(response.statusCode!);
            })
              .on('error', reject)
              .end();
          }),
      ),
    );
    expect(statuses).toEqual([403, 200]);
    expect((await fetch(`http://127.0.0.1:${metricsPort}/`)).status).toBe(404);
    await fetch(`${it_.url}/some"path{}`);
    expect([...(await metrics()).keys()].filter((key) => key.includes('some'))).toEqual([]);
  });

  it('reads the database once a second at most, however often it is asked', async () => {
    const first = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()),
    );
    expect(new Set([first, ...answers]).size).toBeLessThanOrEqual(2);
  });
});
