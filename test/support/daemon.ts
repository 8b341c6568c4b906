/**
 * A whole daemon inside the test's process, on a data directory and a port of its own, with a clock that the test moves.
 * Nothing leaves the machine: no rate source is asked, and no public server.
 */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Maker } from '../../daemon/app/operator/releases.ts';
import { createLog } from '../../daemon/log.ts';
import { type Daemon, startDaemon } from '../../daemon/main.ts';
import { beginDatabase } from './database.ts';
import { exchange } from './exchange.ts';

export { until } from './until.ts';

export const QUIET_CONFIG = `
port = 0
[rates]
sources = []
[sandbox]
block_seconds = 0
[payments]
address_pool = 20
[electrum]
public_servers = "never"
[evm]
public_endpoints = "never"
`;

/** Instead of 10,000 addresses, which take a minute to derive. */
const JUMP = 25;

/** Litecoin of regtest with these settings of its source, at 80 dollars a coin. */
export const litecoinConfig = (source: string): string =>
  `[networks.regtest.LTC]\n${source}\n[networks.regtest.rates]\nLTC = "80"\n`;

export type Answer<Body = Record<string, unknown>> = { status: number; headers: Headers; body: Body };

export type TestDaemon = {
  readonly dataDir: string;
  readonly url: string;
  readonly apiKey: string;
  readonly clientId: string;
  daemon: Daemon;
  /** Calls the merchant API with the first key, unless other headers are given. */
  call<Body = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer<Body>>;
  /** Moves the daemon's clock forward. */
  advance(ms: number): void;
  /**
   * Has the daemon's clock stand still, but for `advance`, until the returned function is called: what is limited by time does then
   * not depend on the machine's pace.
   */
  holdClock(): () => void;
  now(): number;
  /** Stops the daemon and starts it again on the same data. */
  restart(): Promise<void>;
  /** Starts it again after the test stopped it itself. */
  resume(): Promise<void>;
  stop(): Promise<void>;
};

/** Begins with nothing, or with a copy of the data of an earlier life. `maker`: of the notices of releases; null: there is no key. */
export async function startTestDaemon(
  config = '',
  earlier: string | null = null,
  maker: Maker = null,
): Promise<TestDaemon> {
  const dataDir = await mkdtemp(join(tmpdir(), 'countinghouse-test-'));
  if (earlier === null) await beginDatabase(dataDir);
  else await cp(earlier, dataDir, { recursive: true });
  await writeFile(join(dataDir, 'countinghouse.toml'), merge(QUIET_CONFIG, config));
  let offset = 0;
  let heldAt: number | null = null;
  const now = (): number => (heldAt ?? Date.now()) + offset;
  const start = (): Promise<Daemon> =>
    startDaemon({ dataDir, now, jump: JUMP, maker, log: createLog({ level: 'silent', format: 'json' }) });
  const first = await start().catch(async (error: unknown) => {
    await rm(dataDir, { recursive: true, force: true });
    throw error;
  });
  const { apiKey, clientId } = first.firstKeys ?? { apiKey: '', clientId: '' };
  await first.acknowledgeKeys();
  const self: TestDaemon = {
    dataDir,
    apiKey,
    clientId,
    daemon: first,
    get url() {
      return self.daemon.url;
    },
    now,
    advance: (ms) => {
      offset += ms;
    },
    holdClock: () => {
      heldAt = Date.now();
      return () => {
        heldAt = null;
      };
    },
    async restart() {
      await self.daemon.stop();
      await self.resume();
    },
    async resume() {
      self.daemon = await start();
    },
    async stop() {
      await self.daemon.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
    async call<Body>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
      const answer = await exchange(`${self.url}/api/v1/merchant${path}`, {
        method,
        headers: {
          'mb-api-key': apiKey,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const headersOf = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, `${value}`]);
      const json = JSON.parse(answer.body.toString()) as Body;
      return { status: answer.status, headers: new Headers(headersOf), body: json };
    },
  };
  return self;
}

/**
 * MM/DD/YYYY of so many days from now, in UTC. An invoice without a due date is due at the end of the month: a test that moves the
 * clock by days needs one.
 */
export function dayFromNow(service: Pick<TestDaemon, 'now'>, days: number): string {
  const date = new Date(service.now() + days * 86_400_000);
  return `${date.getUTCMonth() + 1}/${date.getUTCDate()}/${date.getUTCFullYear()}`;
}

/** A test's own tables replace the quiet ones of the same name. */
function merge(base: string, own: string): string {
  const tables = new Set([...own.matchAll(/^\[([^\]]+)\]/gm)].map((match) => match[1]));
  const kept = base.split(/^(?=\[)/m).filter((part) => !tables.has(/^\[([^\]]+)\]/.exec(part)?.[1] ?? ''));
  // the keys without a table must stand before the first table
  const [top, ...rest] = own.split(/^(?=\[)/m);
  return [
    kept[0],
    top?.startsWith('[') ? '' : top,
    ...kept.slice(1),
    ...(top?.startsWith('[') ? [top] : []),
    ...rest,
  ].join('\n');
}
