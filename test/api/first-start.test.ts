/** What a fresh data directory gets, and what is asked of the Internet before anybody needs it: nothing. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import { createLog } from '../../daemon/log.ts';
import { type Daemon, startDaemon } from '../../daemon/main.ts';
import type { RatesService } from '../../daemon/rates/refresher.ts';
import { LiveRates } from '../../daemon/workers/live-rates.ts';
import { QUIET_CONFIG } from '../support/daemon.ts';
import { Bench } from '../unit/app/bench.ts';

let dataDir: string;
const running: Daemon[] = [];
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'countinghouse-first-'));
  await writeFile(join(dataDir, 'countinghouse.toml'), QUIET_CONFIG);
});
afterEach(async () => {
  for (const daemon of running.splice(0)) await daemon.stop();
  await rm(dataDir, { recursive: true, force: true });
});

async function start(port?: number): Promise<Daemon> {
  const daemon = await startDaemon({ dataDir, port, log: createLog({ level: 'silent', format: 'json' }) });
  running.push(daemon);
  return daemon;
}
const statusWith = async ({ url }: Daemon, key: string): Promise<number> =>
  (await fetch(`${url}/api/v1/merchant/cryptos`, { headers: { 'mb-api-key': key } })).status;

describe('the first keys', () => {
  it('are shown by the start that works, after one that found its port taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    await expect(start((other.address() as AddressInfo).port)).rejects.toMatchObject({ code: 'port.taken' });
    other.close();
    const daemon = await start();
    expect(await statusWith(daemon, daemon.firstKeys!.apiKey)).toBe(200);
  });

  it('are none where the address to listen on is not of this machine, and the start names the key', async () => {
    await writeFile(join(dataDir, 'countinghouse.toml'), `host = "192.0.2.1"\n${QUIET_CONFIG}`);
    await expect(start()).rejects.toThrow(
      /^Port \d+ of 192\.0\.2\.1 cannot be used: the address is none of this machine \(EADDRNOTAVAIL\)\. Set host to an/,
    );
  });

  it('are shown anew while nobody said that they were, and the former key is none', async () => {
    const first = await start();
    const { apiKey, clientId } = first.firstKeys!;
    await first.stop();
    const second = await start();
    expect(second.firstKeys!.clientId).toBe(clientId);
    expect(second.firstKeys!.apiKey).not.toBe(apiKey);
    expect(await statusWith(second, apiKey)).toBe(401);
    expect(await statusWith(second, second.firstKeys!.apiKey)).toBe(200);
    await second.acknowledgeKeys();
    await second.stop();
    const third = await start();
    expect(third.firstKeys).toBeNull();
    expect(await statusWith(third, second.firstKeys!.apiKey)).toBe(200);
  });
});

it('a proof of the books connects to nothing that no business needs', async () => {
  await writeFile(join(dataDir, 'countinghouse.toml'), '[log]\nlevel = "silent"\n');
  await start(0);
  const { chains } = await operatorClient(dataDir)('ledger.prove', {});
  expect(chains.map(({ chain }) => chain).filter((chain) => !chain.startsWith('sandbox:'))).toEqual([]);
  expect(chains).not.toEqual([]);
  await expect(operatorClient(dataDir)('ledger.prove', { chain: 'mainnet:BTC' })).rejects.toThrow('is not connected');
});

describe('live rates', () => {
  const started = (network: string, live: boolean): number => {
    let count = 0;
    const app = { config: { rates: { live } }, directory: { businesses: () => [{ network }] } };
    const rates = new LiveRates(app as unknown as Bench['app'], () => {
      count += 1;
      return {} as RatesService;
    });
    rates.begin();
    rates.begin();
    return count;
  };

  it.each([
    ['sandbox', false, 0],
    ['regtest', false, 0],
    ['testnet', false, 0],
    ['mainnet', false, 1],
    ['sandbox', true, 1],
  ])('of a business on %s, live = %s, are asked for %i times', (network, live, times) => {
    expect(started(network, live)).toBe(times);
  });

  it('begin when a mainnet business is added', async () => {
    const { app } = await Bench.open();
    let count = 0;
    const rates = new LiveRates(app, () => {
      count += 1;
      return {} as RatesService;
    });
    rates.begin();
    expect(count).toBe(1);
  });
});
