/**
 * Every configuration key, as one tree of settings. The file's tables, the names of environment variables, the checks,
 * defaults, types and the output of `countinghouse config` derive from it.
 *
 * Invariant: keys, and the environment names made from them, are distinct.
 */
import {
  ASSETS,
  type Asset,
  type AssetId,
  CHAINS,
  type ChainId,
  type ConfirmationTier,
  NETWORKS,
  type Network,
} from '../domain/assets.ts';
import { FIAT } from '../domain/currencies.ts';
import { isEvm } from '../domain/evm.ts';
import { COIN_SOURCES, FIAT_SOURCES } from '../domain/rate-sources.ts';
import type { Setting } from './setting.ts';
import * as setting from './setting.ts';

/** The live price sources by name. */
export const RATE_SOURCES = [...COIN_SOURCES, ...FIAT_SOURCES] as const;

const ADDRESS_POOL_MIN = 20;
const ADDRESS_POOL_MAX = 100_000;
const ZERO_CONF_USD_MAX = 10_000;
const AGREE_USD_MAX = 1_000_000_000;

type NodeLeaves = {
  electrum: Setting<readonly string[]>;
  electrum_agree_usd: Setting<number>;
  core_rpc: Setting<string | null>;
  core_rpc_file: Setting<string | null>;
  core_rpc_cookie: Setting<string | null>;
  monerod: Setting<readonly string[]>;
  monerod_file: Setting<string | null>;
  monerod_agree_usd: Setting<number>;
  rpc: Setting<readonly string[]>;
  rpc_file: Setting<string | null>;
  rpc_agree_usd: Setting<number>;
};
type AssetLeaves = { confirmations: Setting<readonly ConfirmationTier[]> };
type TokenLeaves = AssetLeaves & { contract: Setting<string | null> };
type ChainLeaves = NodeLeaves & AssetLeaves & { zero_conf_usd: Setting<number> };
type NetworkLeaves = { [C in ChainId]: ChainLeaves } & {
  [A in Exclude<AssetId, ChainId>]: TokenLeaves;
} & {
  rates: Record<string, Setting<string | null>>;
};

const UTXO_CHAINS: readonly ChainId[] = ['BTC', 'BCH', 'LTC'];

const REPLACEABLE: Partial<Record<ChainId, string>> = {
  BTC: 'every unconfirmed transaction on Bitcoin can be replaced',
  ETH: 'every unconfirmed transaction on Ethereum can be replaced',
  BSC: 'every unconfirmed transaction on BSC can be replaced',
};

/** The keys that connect a chain to its nodes. A key of another chain family only explains why it is not available. */
function nodeLeaves(network: Network, chain: ChainId): NodeLeaves {
  const why = (family: string): string =>
    network === 'sandbox'
      ? 'the sandbox simulates its chains and connects to nothing'
      : `${chain} is no ${family} chain`;
  const no = (family: string) => ({
    one: setting.unusable<string | null>(why(family), null),
    list: setting.unusable<readonly string[]>(why(family), []),
  });
  const real = network !== 'sandbox';
  const bitcoin = real && UTXO_CHAINS.includes(chain);
  const monero = real && chain === 'XMR';
  const evm = real && isEvm(chain);
  const utxo = no('Bitcoin-like');
  return {
    electrum: bitcoin ? setting.electrumServers() : utxo.list,
    electrum_agree_usd: bitcoin
      ? setting.whole(0, AGREE_USD_MAX, 1_000, 'USD; from there two servers must agree; 0 = always')
      : setting.unusable<number>(why('Bitcoin-like'), 0),
    core_rpc: bitcoin
      ? setting.secretUrl('a URL such as "http://user:password@127.0.0.1:8332"', { login: true })
      : utxo.one,
    core_rpc_file: bitcoin ? setting.path('a file that holds the URL of core_rpc') : utxo.one,
    core_rpc_cookie: bitcoin ? setting.path("the node's .cookie file") : utxo.one,
    monerod: monero ? setting.secretUrls('a list of URLs such as ["http://127.0.0.1:18081"]') : no('Monero').list,
    monerod_file: monero ? setting.path('a file that holds the URLs of monerod, one a line') : no('Monero').one,
    monerod_agree_usd: monero
      ? setting.whole(0, AGREE_USD_MAX, 1_000, 'USD; from there two nodes must agree; 0 = always')
      : setting.unusable<number>(why('Monero'), 0),
    rpc: evm
      ? setting.secretUrls('a list of URLs such as ["http://127.0.0.1:8545", "ws://127.0.0.1:8546"]', true)
      : no('Ethereum-like').list,
    rpc_file: evm ? setting.path('a file that holds the URLs of rpc, one a line') : no('Ethereum-like').one,
    rpc_agree_usd: evm
      ? setting.whole(0, AGREE_USD_MAX, 1_000, 'USD; from there two endpoints must agree; 0 = always')
      : setting.unusable<number>(why('Ethereum-like'), 0),
  };
}

/** Manual rates: coins in USD, by market or by asset; currencies in units per USD. */
function rateLeaves(): Record<string, Setting<string | null>> {
  const coins = new Set(ASSETS.flatMap((asset) => [asset.priceSymbol, asset.symbol]));
  const currencies = Object.keys(FIAT).filter((code) => code !== 'USD');
  return Object.fromEntries([
    ...[...coins].map((symbol) => [symbol, setting.price('a price in USD per coin', '80.25')]),
    ...currencies.map((code) => [code, setting.price(`${code} per USD`, '1.5')]),
  ]);
}

/** Contracts are pinned on mainnet; on networks for tests there are others, and in the sandbox there are none. */
function contractSetting(network: Network, asset: Asset): Setting<string | null> {
  if (asset.contract === undefined) return setting.unusable<string | null>(`${asset.symbol} is no token`, null);
  if (network === 'mainnet')
    return setting.unusable<string | null>(`the contract of ${asset.symbol} on mainnet is fixed`, null);
  if (network === 'sandbox') return setting.unusable<string | null>('the sandbox simulates its chains', null);
  return setting.contract(asset.symbol);
}

function networkLeaves(network: Network): NetworkLeaves {
  const tree: Record<string, unknown> = { rates: rateLeaves() };
  for (const asset of ASSETS) {
    tree[asset.symbol] = {
      confirmations: setting.tiers(
        asset.confirmations.map((tier) => ({ ...tier })),
        isEvm(asset.chain),
      ),
      ...(asset.symbol !== asset.chain && { contract: contractSetting(network, asset) }),
    };
  }
  for (const chain of CHAINS) {
    const replaceable = REPLACEABLE[chain];
    tree[chain] = {
      ...nodeLeaves(network, chain),
      confirmations: setting.unusable(`${chain} is a chain: give its assets' own`, []),
      ...(tree[chain] ?? {}),
      zero_conf_usd: replaceable
        ? setting.unusable(replaceable, 0)
        : setting.whole(
            0,
            ZERO_CONF_USD_MAX,
            0,
            'USD; for an invoice below it, what nothing can replace counts unconfirmed, and can still be taken back; 0 = none',
          ),
    };
  }
  return tree as NetworkLeaves;
}

export const TREE = {
  public_url: setting.publicUrl(),
  host: setting.listenHost('127.0.0.1'),
  port: setting.whole(0, 65_535, 8480, '0 = any free one'),
  trusted_proxies: setting.addressRanges(),
  log: {
    level: setting.choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
    format: setting.choice(['auto', 'json', 'text'], 'auto'),
    /** Of `LOG_PARTS`. */
    parts: setting.partLevels(
      ['alerts', 'backup', 'chains', 'http', 'rates', 'signer', 'webhooks', 'withdrawals'],
      ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    ),
  },
  payments: {
    quote_minutes: setting.whole(0, 1_440, 60, 'minutes; 0 = until the due date'),
    tolerance_percent: setting.percent(5, 1),
    grace_hours: setting.whole(0, 720, 24, 'hours'),
    email_receipts: setting.flag(false, 'whether payers may have a receipt by e-mail, over alerts.smtp'),
    address_pool: setting.whole(ADDRESS_POOL_MIN, ADDRESS_POOL_MAX, 1_000, 'addresses kept ready'),
  },
  closing: { mail: setting.emails() },
  webhook: { allow_hosts: setting.hostPorts(), socks_proxy: setting.socksProxy() },
  browser: {
    reads_per_minute: setting.whole(1, 60_000, 120, 'reads of the browser API per minute and address'),
    reads_burst: setting.whole(1, 10_000, 60, 'reads at once'),
    creations_per_minute: setting.whole(1, 6_000, 10, 'invoices made through the browser API per minute and address'),
    creations_burst: setting.whole(1, 1_000, 10, 'invoices at once'),
    open_invoices_max: setting.whole(1, 100_000, 1_000, 'unpaid invoices with an address, per client ID'),
  },
  backup: {
    folder: setting.path('a folder for scheduled backups'),
    schedule: setting.cron('0 3 * * *'),
    keep: setting.whole(1, 10_000, 14, 'backups kept in the folder'),
  },
  wallet: {
    unlock: setting.choice(['prompt', 'keychain', 'file', 'systemd'], 'prompt'),
    passphrase_file: setting.path('a file that holds the passphrase of the wallet, for unlock = "file"'),
    signer: setting.path('the unix socket of a signer that is a service of its own'),
    away_alert_hours: setting.whole(
      1,
      144,
      24,
      'hours; a signing machine at home may be away so long without an alert',
    ),
    auto_lock_minutes: setting.whole(0, 1_440, 15, 'minutes without a withdrawal, for unlock = "prompt"; 0 = never'),
  },
  sandbox: {
    block_seconds: setting.whole(0, 3_600, 10, 'seconds; 0 = only when asked'),
    public: setting.flag(false, 'whether strangers may use the example shop and the buttons of sandbox pages'),
  },
  rates: {
    sources: setting.choices<(typeof RATE_SOURCES)[number]>(COIN_SOURCES, FIAT_SOURCES),
    spread_percent: setting.percent(20, 0),
    live: setting.flag(false, 'whether live rates are asked for before there is a mainnet business'),
  },
  electrum: {
    public_servers: setting.choice(['use', 'never'], 'use'),
    socks_proxy: setting.socksProxy(),
    proxy_for: setting.choice(['onion', 'all'], 'onion'),
  },
  /** Of Ethereum and BNB Smart Chain. */
  evm: {
    public_endpoints: setting.choice(['use', 'never'], 'use'),
    dear_percent: setting.whole(1, 100, 10, 'percent; a payment is marked whose collecting costs a larger share of it'),
  },
  monero: {
    public_nodes: setting.choice(['use', 'never'], 'never'),
    socks_proxy: setting.socksProxy(),
    proxy_for: setting.choice(['onion', 'all'], 'onion'),
  },
  releases: { socks_proxy: setting.socksProxy() },
  alerts: {
    /** Of the machine's time zone. */
    quiet_hours: setting.quietHours(),
    smtp: setting.smtpUrl(),
    smtp_file: setting.path('a file that holds the URL of smtp'),
    email_to: setting.emails(),
    email_from: setting.email(),
    ntfy: setting.secretUrl('the URL of a topic without a login, such as "https://ntfy.sh/my-secret-topic"', {
      // as ntfy's server takes them: https://docs.ntfy.sh/publish/
      path: /^\/(?:[^?]*\/)?[-\w]{1,64}$/,
    }),
    ntfy_file: setting.path('a file that holds the URL of ntfy'),
    ntfy_token: setting.secretText('an access token of the ntfy server'),
    ntfy_token_file: setting.path('a file that holds ntfy_token'),
    telegram_chat: setting.telegramChat(),
    telegram_token: setting.secretText('the token of a bot, as @BotFather gave it'),
    telegram_token_file: setting.path('a file that holds telegram_token'),
    telegram_api: setting.secretUrl('the address of a Bot API server of your own, without a login', {
      path: /^[^?]*$/,
    }),
    webhook: setting.secretUrl('a URL without a login, such as "https://ops.example.com/alerts"'),
    webhook_file: setting.path('a file that holds the URL of webhook'),
    webhook_secret: setting.webhookSecret(),
    webhook_secret_file: setting.path('a file that holds webhook_secret'),
  },
  metrics: {
    port: setting.whole(0, 65_535, 0, 'a port of 127.0.0.1 for Prometheus; 0 = none'),
    balances: setting.flag(false, 'whether the balances of businesses are among the metrics'),
  },
  console: {
    approvals: setting.flag(true, 'whether a browser may approve withdrawals with the passphrase'),
    host: setting.listenHost('127.0.0.1'),
    port: setting.whole(0, 65_535, 8481, '0 = any free one'),
    /** Its address behind a proxy with TLS. */
    public_url: setting.publicUrl(),
    elsewhere: setting.flag(false, 'whether the console may be used from other machines, through a proxy with TLS'),
    /** For a container, in which nobody has a terminal. */
    first_link: setting.flag(
      false,
      'whether each start prints a link to sign in, until a browser has signed in or a business is set up',
    ),
  },
  /** The counter for devices of the shop's network. It listens once a till is paired. */
  till: {
    host: setting.listenHost('0.0.0.0'),
    port: setting.whole(0, 65_535, 8482, '0 = any free one'),
  },
  operator: {
    /** With a port, and on Windows, the API listens on loopback. */
    listen: setting.choice(['socket', 'loopback'], 'socket'),
    port: setting.whole(0, 65_535, 0, '0 = any free one'),
    socket: setting.path('a unix socket'),
  },
  networks: Object.fromEntries(NETWORKS.map((network) => [network, networkLeaves(network)])) as Record<
    Network,
    NetworkLeaves
  >,
};

/** snake_case to camelCase. The capitalised symbols of networks and assets stay. */
type Camel<S> = S extends `${infer A}_${infer B}`
  ? S extends Uppercase<S>
    ? S
    : `${A}${Capitalize<Camel<B> & string>}`
  : S;

export type ValuesOf<T> = {
  readonly [K in keyof T as Camel<K>]: T[K] extends Setting<infer V> ? V : ValuesOf<T[K]>;
};

export function camel(name: string): string {
  return name === name.toUpperCase() ? name : name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The environment variable of a key: `payments.quote_minutes` is COUNTINGHOUSE_PAYMENTS_QUOTE_MINUTES. */
export function envName(key: string): string {
  return `COUNTINGHOUSE_${key.replaceAll('.', '_').toUpperCase()}`;
}
