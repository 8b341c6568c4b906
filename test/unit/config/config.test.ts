/** Configuration: where values come from, and what is never shown. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type Config, type ConfigInput, loadConfig, redact } from '../../../daemon/config/config.ts';
import { defaultDataDir } from '../../../daemon/config/paths.ts';
import { envName } from '../../../daemon/config/schema.ts';
import { configuredHosts, manualRates } from '../../../daemon/config/views.ts';
import { FixedRates } from '../../../daemon/rates/fixed.ts';
import { SOURCES } from '../../../daemon/rates/sources/index.ts';

const dirs: string[] = [];
let dataDir = '';
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'countinghouse-config-'));
  dirs.push(dataDir);
});
afterAll(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true });
});

const load = (toml: string | null, input: Partial<ConfigInput> = {}): Config => {
  if (toml !== null) writeFileSync(join(dataDir, 'countinghouse.toml'), toml);
  return loadConfig({ dataDir, env: {}, flags: {}, ...input });
};

describe('the design page example', () => {
  const EXAMPLE = `
public_url = "https://pay.example.com/"
port = 8480
[payments]
quote_minutes = 60
tolerance_percent = 1
[webhook]
allow_hosts = ["127.0.0.1:3000"]
[sandbox]
block_seconds = 10
[rates]
sources = ["kraken", "coinbase", "bitstamp", "coingecko", "binance"]
[networks.regtest.rates]
LTC = "80"
[networks.mainnet.BTC]
electrum = ["ssl://electrum.example:50002"]
[networks.regtest.LTC]
core_rpc = "http://user:password@127.0.0.1:19443"
[networks.regtest.XMR]
monerod = ["http://127.0.0.1:18081"]
[networks.regtest.ETH]
rpc = ["http://127.0.0.1:8545"]
`;

  it('is read', () => {
    const config = load(EXAMPLE);
    expect(config.publicUrl).toBe('https://pay.example.com');
    expect(config.payments).toEqual({
      emailReceipts: false,
      quoteMinutes: 60,
      tolerancePercent: { ppm: 10_000n },
      graceHours: 24,
      addressPool: 1_000,
    });
    expect(config.webhook).toEqual({ allowHosts: ['127.0.0.1:3000'], socksProxy: null });
    expect(config.networks.regtest.rates.LTC).toBe('80');
    expect(manualRates(config)).toEqual({ mainnet: {}, testnet: {}, regtest: { LTC: '80' }, sandbox: {} });
    expect(() => new FixedRates(manualRates(config))).not.toThrow();
    expect(config.networks.mainnet.rates.LTC).toBeNull();
    expect(config.networks.mainnet.BTC.electrum).toEqual(['ssl://electrum.example:50002']);
    expect(config.networks.regtest.LTC.coreRpc).toBe('http://user:password@127.0.0.1:19443');
    expect(config.networks.regtest.ETH.rpc).toEqual(['http://127.0.0.1:8545']);
  });

  it('names what is connected to', () => {
    const config = load(`${EXAMPLE}\n[networks.mainnet.ETH]\nrpc = ["https://rpc.EXAMPLE/key"]`, {
      env: { COUNTINGHOUSE_WEBHOOK_SOCKS_PROXY: 'socks5://127.0.0.1:9050' },
    });
    expect(configuredHosts(config).sort()).toEqual([
      '127.0.0.1:18081',
      '127.0.0.1:19443',
      '127.0.0.1:8545',
      '127.0.0.1:9050',
      'electrum.example:50002',
      'rpc.example:443',
    ]);
  });
});

describe('defaults', () => {
  it('need no file', () => {
    const config = load(null);
    expect(config).toMatchObject({
      publicUrl: null,
      host: '127.0.0.1',
      port: 8480,
      trustedProxies: [],
      log: { level: 'info', format: 'auto' },
      webhook: { allowHosts: [], socksProxy: null },
      sandbox: { blockSeconds: 10 },
      rates: { sources: SOURCES.map((source) => source.name), spreadPercent: { ppm: 0n } },
      operator: { listen: 'socket', port: 0, socket: null },
    });
    expect(config.networks.mainnet.BTC.confirmations).toEqual([
      { fromUsd: 0, confirmations: 1 },
      { fromUsd: 1_000, confirmations: 3 },
      { fromUsd: 10_000, confirmations: 6 },
    ]);
    expect(config.networks.mainnet.USDT_BEP20.confirmations).toEqual([{ fromUsd: 0, confirmations: 15 }]);
    expect(redact(config).every((row) => row.origin === 'default')).toBe(true);
  });

  it('are frozen all the way down', () => {
    const config = load('[networks.regtest.BTC]\nconfirmations = [[0, 2]]');
    const open: string[] = [];
    const visit = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      if (!Object.isFrozen(value)) open.push(path);
      for (const [name, part] of Object.entries(value)) visit(part, `${path}.${name}`);
    };
    visit(config, 'config');
    expect(open).toEqual([]);
    expect(() => Object.assign(config.payments, { quoteMinutes: 1 })).toThrow(TypeError);
  });
});

describe('values from the environment and the command line', () => {
  it.each<[string, string, (config: Config) => unknown, unknown]>([
    ['PAYMENTS_QUOTE_MINUTES', '30', (c) => c.payments.quoteMinutes, 30],
    ['PAYMENTS_TOLERANCE_PERCENT', '0.0001', (c) => c.payments.tolerancePercent.ppm, 1n],
    ['PORT', '0', (c) => c.port, 0],
    ['HOST', '0.0.0.0', (c) => c.host, '0.0.0.0'],
    ['TRUSTED_PROXIES', '10.0.0.0/8, ::1', (c) => c.trustedProxies, ['10.0.0.0/8', '::1']],
    ['LOG_FORMAT', 'json', (c) => c.log.format, 'json'],
    ['WEBHOOK_ALLOW_HOSTS', 'Shop:3000,[0:0::1]:80', (c) => c.webhook.allowHosts, ['shop:3000', '[::1]:80']],
    ['RATES_SOURCES', 'kraken, gemini', (c) => c.rates.sources, ['kraken', 'gemini']],
    ['NETWORKS_REGTEST_RATES_USDT', '0.99980001', (c) => c.networks.regtest.rates.USDT, '0.99980001'],
    ['NETWORKS_REGTEST_RATES_JPY', '150.50', (c) => c.networks.regtest.rates.JPY, '150.5'],
    [
      'NETWORKS_REGTEST_LTC_CORE_RPC',
      'http://u:p@127.0.0.1:19443',
      (c) => c.networks.regtest.LTC.coreRpc,
      'http://u:p@127.0.0.1:19443',
    ],
    [
      'NETWORKS_MAINNET_USDT_ERC20_CONFIRMATIONS',
      '0:6, 500:20',
      (c) => c.networks.mainnet.USDT_ERC20.confirmations,
      [
        { fromUsd: 0, confirmations: 6 },
        { fromUsd: 500, confirmations: 20 },
      ],
    ],
    ['NETWORKS_MAINNET_LTC_ZERO_CONF_USD', '50', (c) => c.networks.mainnet.LTC.zeroConfUsd, 50],
    ['NETWORKS_MAINNET_BTC_ZERO_CONF_USD', '0', (c) => c.networks.mainnet.BTC.zeroConfUsd, 0],
  ])('COUNTINGHOUSE_%s=%s', (name, text, pick, expected) => {
    expect(pick(load(null, { env: { [`COUNTINGHOUSE_${name}`]: text } }))).toEqual(expected);
  });

  it('win over the file in their order, and say so', () => {
    const toml = 'port = 1\n[log]\nlevel = "warn"\n[payments]\nquote_minutes = 5\ngrace_hours = 1';
    const env = { COUNTINGHOUSE_PORT: '2', COUNTINGHOUSE_PAYMENTS_QUOTE_MINUTES: '6', COUNTINGHOUSE_LOG_LEVEL: '' };
    const config = load(toml, { env, flags: { port: '3', host: undefined } });
    expect([config.port, config.payments.quoteMinutes, config.payments.graceHours]).toEqual([3, 6, 1]);
    const rows = new Map(redact(config).map((row) => [row.key, `${row.shown} ${row.origin}`]));
    expect(rows.get('port')).toBe('3 flag');
    expect(rows.get('payments.quote_minutes')).toBe('6 env');
    expect(rows.get('payments.grace_hours')).toBe('1 file');
    expect(rows.get('log.level')).toBe('"warn" file');
    expect(rows.get('host')).toBe('"127.0.0.1" default');
  });

  it('leave the variables alone that are no keys', () => {
    const env = { COUNTINGHOUSE_DATA_DIR: '/x', COUNTINGHOUSE_CONFIG: '/y', COUNTINGHOUSE_SIGNER_DIR: '/z', PORT: 'a' };
    expect(load(null, { env }).port).toBe(8480);
  });

  it('have one variable for each key', () => {
    const names = redact(load(null)).map((row) => envName(row.key));
    expect(names.length).toBeGreaterThan(100);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain('COUNTINGHOUSE_NETWORKS_REGTEST_LTC_CORE_RPC');
  });
});

describe('secrets', () => {
  it('come from files, and are shown nowhere', () => {
    writeFileSync(join(dataDir, 'ltc.url'), 'http://rpc:hunter2@127.0.0.1:19443\n');
    writeFileSync(join(dataDir, 'eth.urls'), 'https://node.example/v3/hunter2\n\nhttps://u:hunter2@b.example\n');
    const config = load(
      '[networks.regtest.LTC]\ncore_rpc_file = "ltc.url"\n[networks.regtest.BTC]\ncore_rpc = "http://rpc:hunter2@h:1/wallet"',
      { env: { COUNTINGHOUSE_NETWORKS_REGTEST_ETH_RPC_FILE: join(dataDir, 'eth.urls') } },
    );
    expect(config.networks.regtest.LTC.coreRpc).toBe('http://rpc:hunter2@127.0.0.1:19443');
    expect(config.networks.regtest.LTC.coreRpcFile).toBe(join(dataDir, 'ltc.url'));
    expect(config.networks.regtest.ETH.rpc).toEqual(['https://node.example/v3/hunter2', 'https://u:hunter2@b.example']);
    const rows = new Map(redact(config).map((row) => [row.key, `${row.shown} ${row.origin}`]));
    expect(rows.get('networks.regtest.LTC.core_rpc')).toBe('"http://***:***@127.0.0.1:19443" file');
    expect(rows.get('networks.regtest.BTC.core_rpc')).toBe('"http://***:***@h:1/***" file');
    expect(rows.get('networks.regtest.ETH.rpc')).toBe('["https://node.example/***","https://***:***@b.example"] env');
    expect(JSON.stringify(redact(config))).not.toContain('hunter2');
  });

  it('given later replace the file named earlier, and the other way round', () => {
    writeFileSync(join(dataDir, 'ltc.url'), 'http://from:file@127.0.0.1:1');
    const key = 'COUNTINGHOUSE_NETWORKS_REGTEST_LTC_CORE_RPC';
    const direct = load('[networks.regtest.LTC]\ncore_rpc_file = "ltc.url"', { env: { [key]: 'http://from:env@h:1' } });
    expect(direct.networks.regtest.LTC.coreRpc).toBe('http://from:env@h:1');
    const pointed = load('[networks.regtest.LTC]\ncore_rpc = "http://a:b@h:1"', {
      env: { [`${key}_FILE`]: 'ltc.url' },
    });
    expect(pointed.networks.regtest.LTC.coreRpc).toBe('http://from:file@127.0.0.1:1');
  });
});

describe('the data directory', () => {
  it.each<[NodeJS.Platform, Record<string, string>, string]>([
    ['linux', { HOME: '/home/m' }, '/home/m/.local/share/countinghouse'],
    ['linux', { HOME: '/home/m', XDG_DATA_HOME: '/data' }, '/data/countinghouse'],
    ['linux', { HOME: '/home/m', XDG_DATA_HOME: 'relative' }, '/home/m/.local/share/countinghouse'],
    ['freebsd', { HOME: '/home/m' }, '/home/m/.local/share/countinghouse'],
    ['darwin', { HOME: '/Users/m', XDG_DATA_HOME: '/data' }, '/Users/m/Library/Application Support/Countinghouse'],
    ['win32', { LOCALAPPDATA: 'C:\\Users\\m\\AppData\\Local' }, 'C:\\Users\\m\\AppData\\Local\\Countinghouse'],
    ['win32', { USERPROFILE: 'C:\\Users\\m' }, 'C:\\Users\\m\\AppData\\Local\\Countinghouse'],
    ['linux', { HOME: '/home/m', COUNTINGHOUSE_DATA_DIR: '/srv/ch' }, '/srv/ch'],
  ])('on %s with %j is %s', (platform, env, expected) => {
    expect(defaultDataDir(env, platform)).toBe(expected);
  });

  it.each<NodeJS.Platform>(['linux', 'darwin', 'win32'])('is asked for on %s when there is no home', (platform) => {
    expect(() => defaultDataDir({}, platform)).toThrow('COUNTINGHOUSE_DATA_DIR');
  });
});
