/** Configuration: what is told when it is wrong, and what is never told. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError, type ConfigInput, loadConfig } from '../../../daemon/config/config.ts';
import { RATE_SOURCES } from '../../../daemon/config/schema.ts';

let dataDir = '';
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'countinghouse-config-'));
});
beforeEach(() => rmSync(join(dataDir, 'countinghouse.toml'), { force: true }));
afterAll(() => rmSync(dataDir, { recursive: true }));

/** The problems of a configuration, "key: text", with the test's own directory left out. */
function problems(toml: string | null, input: Partial<ConfigInput> = {}): string[] {
  try {
    if (toml !== null) writeFileSync(join(dataDir, 'countinghouse.toml'), toml);
    loadConfig({ dataDir, env: {}, flags: {}, ...input });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ key, text }) => `${key}: ${text}`.replaceAll(`${dataDir}/`, ''));
  }
}

describe('what is wrong is told', () => {
  const IN = '(in countinghouse.toml)';
  const regtest = (chain: string, line: string): string => `[networks.regtest.${chain}]\n${line}`;
  const url = 'a URL such as "http://user:password@127.0.0.1:8332"';
  const tiers = 'pairs of [from USD, confirmations from 1 to 100], such as [[0, 1], [1000, 3]]';
  const price = 'a price in USD per coin in quotes, with at most 8 digits after the point, such as "80.25"';
  const address = 'an http or https address without credentials, query or fragment, such as "https://pay.shop.com"';
  const quote = 'a whole number from 0 to 1440 (minutes; 0 = until the due date), such as 60';
  const tolerance = 'a percentage from 0 to 5 with at most 4 digits after the point, such as 1';
  const sources = `a list of ${RATE_SOURCES.join(', ')}`;
  const hosts = 'a list of host:port, such as ["127.0.0.1:3000", "[::1]:3000"]';

  it.each<[string, string]>([
    [
      'port = 65536',
      `port: 65536 is wrong; it takes a whole number from 0 to 65535 (0 = any free one), such as 8480 ${IN}`,
    ],
    [
      'port = "8480"',
      `port: "8480" is wrong; it takes a whole number from 0 to 65535 (0 = any free one), such as 8480 ${IN}`,
    ],
    [
      'host = "pay.shop.com"',
      `host: "pay.shop.com" is wrong; it takes an IP address of this machine, such as "127.0.0.1" ${IN}`,
    ],
    ['public_url = "pay.shop.com"', `public_url: "pay.shop.com" is wrong; it takes ${address} ${IN}`],
    ['public_url = "ftp://pay.shop.com"', `public_url: "ftp://pay.shop.com" is wrong; it takes ${address} ${IN}`],
    ['public_url = "https://shop.com/?a=b"', `public_url: "https://shop.com/?a=b" is wrong; it takes ${address} ${IN}`],
    ['[payments]\nquote_minutes = 1441', `payments.quote_minutes: 1441 is wrong; it takes ${quote} ${IN}`],
    ['[payments]\nquote_minutes = -1', `payments.quote_minutes: -1 is wrong; it takes ${quote} ${IN}`],
    ['[payments]\nquote_minutes = 1.5', `payments.quote_minutes: 1.5 is wrong; it takes ${quote} ${IN}`],
    ['[payments]\ntolerance_percent = 5.1', `payments.tolerance_percent: 5.1 is wrong; it takes ${tolerance} ${IN}`],
    [
      '[payments]\ntolerance_percent = 0.00001',
      `payments.tolerance_percent: 0.00001 is wrong; it takes ${tolerance} ${IN}`,
    ],
    ['[payments]\ntolerance_percent = "1%"', `payments.tolerance_percent: "1%" is wrong; it takes ${tolerance} ${IN}`],
    [
      '[payments]\naddress_pool = 10',
      `payments.address_pool: 10 is wrong; it takes a whole number from 20 to 100000 (addresses kept ready), such as 1000 ${IN}`,
    ],
    ['payments = 1', `payments: must be a table, [payments] ${IN}`],
    ['[webhook]\nallow_hosts = ["127.0.0.1"]', `webhook.allow_hosts: "127.0.0.1" is wrong; it takes ${hosts} ${IN}`],
    ['[webhook]\nallow_hosts = ["a:1", "b:0"]', `webhook.allow_hosts: "b:0" is wrong; it takes ${hosts} ${IN}`],
    ['[webhook]\nallow_hosts = "a:1"', `webhook.allow_hosts: "a:1" is wrong; it takes ${hosts} ${IN}`],
    [
      '[webhook]\nsocks_proxy = "socks4://127.0.0.1:9050"',
      `webhook.socks_proxy: "socks4://127.0.0.1:9050" is wrong; it takes a proxy such as "socks5://127.0.0.1:9050" ${IN}`,
    ],
    [
      'trusted_proxies = ["10.0.0.0/33"]',
      `trusted_proxies: "10.0.0.0/33" is wrong; it takes a list of addresses or ranges, such as ["127.0.0.1", "10.0.0.0/8"] ${IN}`,
    ],
    [
      '[log]\nlevel = "loud"',
      `log.level: "loud" is wrong; it takes one of fatal, error, warn, info, debug, trace, silent ${IN}`,
    ],
    ['[rates]\nsources = ["krakn"]', `rates.sources: "krakn" is wrong; it takes ${sources} ${IN}`],
    ['[rates]\nsources = ["kraken", "kraken"]', `rates.sources: a name occurs twice; it takes ${sources} ${IN}`],
    [regtest('rates', 'LTC = 80.1'), `networks.regtest.rates.LTC: 80.1 stands without quotes; it takes ${price} ${IN}`],
    [regtest('rates', 'LTC = "0"'), `networks.regtest.rates.LTC: "0" is wrong; it takes ${price} ${IN}`],
    [
      regtest('rates', 'LTC = "1.123456789"'),
      `networks.regtest.rates.LTC: "1.123456789" is wrong; it takes ${price} ${IN}`,
    ],
    [
      regtest('BTC', 'confirmations = [[1, 1]]'),
      `networks.regtest.BTC.confirmations: the tiers must begin at 0 USD and ascend in both numbers; it takes ${tiers} ${IN}`,
    ],
    [
      regtest('BTC', 'confirmations = [[0, 3], [1000, 1]]'),
      `networks.regtest.BTC.confirmations: the tiers must begin at 0 USD and ascend in both numbers; it takes ${tiers} ${IN}`,
    ],
    [
      regtest('BTC', 'confirmations = [[0, 0]]'),
      `networks.regtest.BTC.confirmations: [0,0] is wrong; it takes ${tiers} ${IN}`,
    ],
    [regtest('BTC', 'confirmations = []'), `networks.regtest.BTC.confirmations: [] is wrong; it takes ${tiers} ${IN}`],
    [
      regtest('BTC', 'zero_conf_usd = 50'),
      `networks.regtest.BTC.zero_conf_usd: every unconfirmed transaction on Bitcoin can be replaced; it takes no value there ${IN}`,
    ],
    [
      regtest('BTC', 'electrum = ["electrum.example:50002"]'),
      'networks.regtest.BTC.electrum: "electrum.example:50002" is wrong; it takes a list of servers as ssl://host:port or ' +
        `tcp://host:port, such as ["ssl://electrum.example:50002"] ${IN}`,
    ],
    [
      regtest('ETH', 'electrum = ["ssl://e.example:50002"]'),
      `networks.regtest.ETH.electrum: ETH is no Bitcoin-like chain; it takes no value there ${IN}`,
    ],
    [
      '[networks.sandbox.LTC]\ncore_rpc = "http://u:p@127.0.0.1:1"',
      `networks.sandbox.LTC.core_rpc: the sandbox simulates its chains and connects to nothing; it takes no value there ${IN}`,
    ],
    [
      regtest('LTC', 'core_rpc = "user:hunter2@127.0.0.1"'),
      `networks.regtest.LTC.core_rpc: the value given is wrong; it takes ${url} ${IN}`,
    ],
    [
      regtest('LTC', 'core_rpc = "http://127.0.0.1:1"'),
      'networks.regtest.LTC.core_rpc: give user:password in it, or networks.regtest.LTC.core_rpc_cookie',
    ],
    [
      regtest('LTC', 'core_rpc = "http://u:p@127.0.0.1:1"\ncore_rpc_cookie = "c"'),
      'networks.regtest.LTC.core_rpc: give either user:password in it or networks.regtest.LTC.core_rpc_cookie',
    ],
    [
      regtest('LTC', 'core_rpc_cookie = "c"'),
      'networks.regtest.LTC.core_rpc_cookie: without networks.regtest.LTC.core_rpc it says nothing',
    ],
    [
      regtest('LTC', 'core_rpc = "http://u:p@127.0.0.1:1"\ncore_rpc_file = "f"'),
      `networks.regtest.LTC.core_rpc: give either it or networks.regtest.LTC.core_rpc_file ${IN}`,
    ],
    [regtest('LTC', 'core_rpc_file = "none"'), `networks.regtest.LTC.core_rpc_file: none cannot be read: ENOENT ${IN}`],
    [
      '[rates]\nsources = ["kraken", "er-api", "floatrates"]',
      `rates.sources: kraken stands alone, and two of its kind must agree; it takes ${sources} ${IN}`,
    ],
    [
      '[backup]\nschedule = "0 3 31 2,4,11 *"',
      `backup.schedule: this is no cron expression, or names a day that never comes; it takes five fields of cron, such as "0 3 * * *" (every day at three) ${IN}`,
    ],
    ...['https://ntfy.sh', 'https://ntfy.sh/', 'https://ntfy.sh/a%20b', 'https://me:pw@ntfy.sh/a'].map(
      (url): [string, string] => [
        `[alerts]\nntfy = "${url}"`,
        `alerts.ntfy: the value given is wrong; it takes the URL of a topic without a login, such as "https://ntfy.sh/my-secret-topic" ${IN}`,
      ],
    ),
    [
      '[alerts]\ntelegram_api = "https://me:pw@bots.example.com"',
      `alerts.telegram_api: the value given is wrong; it takes the address of a Bot API server of your own, without a login ${IN}`,
    ],
    [
      `[alerts]\nwebhook = "https://me:pw@ops.example.com/a"\nwebhook_secret = "whsec_${'A'.repeat(32)}"`,
      `alerts.webhook: the value given is wrong; it takes a URL without a login, such as "https://ops.example.com/alerts" ${IN}`,
    ],
    ['port = 8481', 'console.port: 8481 is the port of the key port, too'],
    [
      'host = "0.0.0.0"\nport = 9000\n[metrics]\nport = 9000\n[operator]\nport = 8481',
      'metrics.port: 9000 is the port of the key port, too\noperator.port: 8481 is the port of the key console.port, too',
    ],
    ['host = "192.0.2.1"\nport = 8481', ''],
    ['colour = 1', `colour: there is no such key ${IN}`],
    ['public-url = "x"', `public-url: there is no such key; did you mean public_url? ${IN}`],
    ['quote_minutes = 1', `quote_minutes: there is no such key; did you mean payments.quote_minutes? ${IN}`],
    ['[payment]\nquote_minutes = 1', `payment: there is no such key; did you mean payments? ${IN}`],
    [
      '[payments]\nqoute_minutes = 1',
      `payments.qoute_minutes: there is no such key; did you mean payments.quote_minutes? ${IN}`,
    ],
    [
      '[networks.testnet3.BTC]\nzero_conf_usd = 0',
      `networks.testnet3: there is no such key; did you mean networks.testnet? ${IN}`,
    ],
    [
      '[networks.regtest.btc]\nelectrum = []',
      `networks.regtest.btc: there is no such key; did you mean networks.regtest.BTC? ${IN}`,
    ],
    [
      '[networks.regtest.LCT]\nelectrum = []',
      `networks.regtest.LCT: there is no such key; did you mean networks.regtest.LTC? ${IN}`,
    ],
    [
      '[networks.regtest.rates]\nUSDC = "1"',
      `networks.regtest.rates.USDC: there is no such key; did you mean networks.regtest.rates.USDT? ${IN}`,
    ],
    ['[alerts]\nquiet = "22-07"', `alerts.quiet: there is no such key; did you mean alerts.quiet_hours? ${IN}`],
    [
      '[alerts.email]\nto = "me"',
      `alerts.email: there is no such key; did you mean alerts.email_to or alerts.email_from? ${IN}`,
    ],
    ['"__proto__" = 1', `__proto__: there is no such key ${IN}`],
    ['constructor = 1', `constructor: there is no such key ${IN}`],
    ['a = 1\nport = x', 'countinghouse.toml: not valid TOML at line 2, column 8: invalid value'],
    [
      'port = 1\nport = 2',
      'countinghouse.toml: not valid TOML at line 2, column 1: trying to redefine an already defined table or value',
    ],
  ])('%j', (toml, expected) => {
    expect(problems(toml).join('\n')).toBe(expected);
  });

  it('for the environment and the command line under their own names', () => {
    const tests = { COUNTINGHOUSE_TEST_LITECOIND: '/usr/bin/true' };
    expect(problems(null, { env: tests, flags: {} })).toEqual([]);
    const env = { ...tests, COUNTINGHOUSE_PROT: '1', COUNTINGHOUSE_SANDBOX_BLOCK_SECONDS: 'ten' };
    expect(problems(null, { env, flags: { 'log.levl': 'info', port: '1e3' } })).toEqual([
      'COUNTINGHOUSE_PROT: there is no such key; did you mean COUNTINGHOUSE_PORT? (in the environment)',
      'log.levl: there is no such key; did you mean log.level? (on the command line)',
      'port: "1e3" is wrong; it takes a whole number from 0 to 65535 (0 = any free one), such as 8480 (on the command line)',
      'sandbox.block_seconds: "ten" is wrong; it takes a whole number from 0 to 3600 (seconds; 0 = only when asked), such as 10 (from COUNTINGHOUSE_SANDBOX_BLOCK_SECONDS)',
    ]);
  });

  it('all at once, in one message', () => {
    writeFileSync(join(dataDir, 'countinghouse.toml'), 'colour = 1\nport = -1\n[sandbox]\nblock_seconds = 9999');
    expect(() => loadConfig({ dataDir, env: {}, flags: {} })).toThrow(
      /^The configuration has 3 problems:\n {2}colour: .*\n {2}port: .*\n {2}sandbox\.block_seconds: .*$/,
    );
  });

  it('when a file that was asked for is not there', () => {
    expect(problems(null, { file: join(dataDir, 'other.toml') })).toEqual([
      '--config: other.toml cannot be read: ENOENT (the configuration file)',
    ]);
    expect(problems(null, { file: dataDir })).toEqual([`--config: ${dataDir} is no file (the configuration file)`]);
  });

  it('without repeating secrets', () => {
    const toml = `
[networks.regtest.LTC]
core_rpc = "htp://user:hunter2@127.0.0.1:1"
[networks.regtest.ETH]
rpc = ["https://node.example/v3/hunter2", "nonsense-hunter2"]
[networks.regtest.XMR]
monerod = "http://u:hunter2@127.0.0.1:18081"`;
    expect(problems(toml)).toHaveLength(3);
    expect(problems(toml).join()).not.toContain('hunter2');
    expect(problems('[networks.regtest.LTC]\ncore_rpc = "http://u:hunter2@h:1')).toHaveLength(1);
    expect(problems('[networks.regtest.LTC]\ncore_rpc = "http://u:hunter2@h:1').join()).not.toContain('hunter2');
  });
});

describe('the console stays on this machine unless it is said', () => {
  const open = 'trusted_proxies = ["10.0.0.5"]\n[console]\nelsewhere = true\n';
  it.each<[string, string[]]>([
    ['[console]\nhost = "127.0.0.2"', []],
    [`${open}host = "10.0.0.2"\npublic_url = "https://console.shop.com"`, []],
    ['[console]\nelsewhere = true\npublic_url = "https://console.shop.com"', []],
    ['[console]\nelsewhere = true\npublic_url = "https://shop.com/console"', ['console.public_url']],
    ['[console]\nhost = "0.0.0.0"', ['console.host', 'trusted_proxies']],
    ['[console]\npublic_url = "https://console.shop.com"', ['console.public_url']],
    [`${open}public_url = "http://console.shop.com"`, ['console.public_url']],
    [`${open}host = "10.0.0.2"`, ['console.public_url']],
    ['[console]\nelsewhere = true\nhost = "10.0.0.2"\npublic_url = "https://console.shop.com"', ['trusted_proxies']],
  ])('%s', (toml, keys) => {
    expect(problems(toml).map((problem) => problem.split(':')[0])).toEqual(keys);
  });
});

it.each(['0.0.0.0/0', '::/0', '0.0.0.0/1', '::ffff:0:0/96', '::ffff:128.0.0.0/97', '::/1', '2000::/3'])(
  'what is too wide for a network of proxies is not trusted: %s',
  (wide) => {
    expect(problems(`trusted_proxies = ["127.0.0.1", "${wide}"]`)).toEqual([
      `trusted_proxies: "${wide}" is wider than any network of proxies, so visitors could choose the address that limits count by: name the proxy's`,
    ]);
  },
);

it('the widest private networks may be trusted as proxies', () => {
  expect(problems('trusted_proxies = ["10.0.0.0/8", "::ffff:10.0.0.0/104", "fc00::/7", "::1"]')).toEqual([]);
});

it('no proxy is asked for that stands nowhere', () => {
  const all = (part: string): string => `[${part}]\nproxy_for = "all"\n`;
  for (const part of ['electrum', 'monero']) {
    expect(problems(all(part))).toEqual([
      `${part}.proxy_for: "all" needs ${part}.socks_proxy: without it every connection is straight`,
    ]);
    expect(problems(`${all(part)}socks_proxy = "socks5://127.0.0.1:9050"`)).toEqual([]);
  }
});
