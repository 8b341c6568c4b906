/**
 * Reads the configuration once, at the start, from the defaults, the file, the environment and the command line. A
 * later source overrides an earlier one. The result is checked as a whole and frozen.
 *
 * Invariant: the program does not start with a wrong, unknown or contradictory key, and one error lists every problem.
 */
import { readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import type { z } from 'zod';
import { CHAINS, NETWORKS } from '../domain/assets.ts';
import { shellWord } from '../kit/shell.ts';
import { nearest } from './nearest.ts';
import { CONFIG_FILE } from './paths.ts';
import { camel, envName, TREE, type ValuesOf } from './schema.ts';
import { isWide, Setting } from './setting.ts';

const FILE_BYTES_MAX = 1_048_576;
const SECRET_BYTES_MAX = 65_536;
const SHOWN_CHARS_MAX = 80;

/** Variables with this program's prefix that are not configuration keys. */
const PROGRAM_ENV = [
  'COUNTINGHOUSE_DATA_DIR',
  'COUNTINGHOUSE_CONFIG',
  'COUNTINGHOUSE_SIGNER_DIR',
  'COUNTINGHOUSE_SIGNER_SOCKET',
];
/** Variables that only tests set: the program of a node, a latency. */
const TESTS_PREFIX = 'COUNTINGHOUSE_TEST_';

type Origin = 'default' | 'file' | 'env' | 'flag';

/** A key as `countinghouse config` prints it. `shown` contains no secret. */
type ConfigRow = { readonly key: string; readonly shown: string; readonly origin: Origin };

export type Config = ValuesOf<typeof TREE> & { readonly rows: readonly ConfigRow[] };

type Problem = { key: string; text: string };

/** Every problem that was found. The message is for the operator and contains no secret. */
export class ConfigError extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
    super(`The configuration has ${count}:\n${problems.map(({ key, text }) => `  ${key}: ${text}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

export type ConfigInput = {
  /** Absent: the file in the data directory, if there is one. */
  file?: string | undefined;
  dataDir: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Command-line values as text, by key ("payments.quote_minutes"). */
  flags: Readonly<Record<string, string | undefined>>;
};

type Branch = { readonly [name: string]: Branch | Setting<unknown> };
type SettingSource = { value: unknown; origin: Origin; where: string };

/** This walk treats all settings alike; `ValuesOf` knows the type of each value. */
const ROOT = TREE as unknown as Branch;

function leavesOf(tree: Branch, prefix = ''): [string, Setting<unknown>][] {
  return Object.entries(tree).flatMap(([name, node]): [string, Setting<unknown>][] =>
    node instanceof Setting ? [[prefix + name, node]] : leavesOf(node, `${prefix}${name}.`),
  );
}

const SETTINGS = new Map(leavesOf(ROOT));
const USABLE = [...SETTINGS].filter(([, setting]) => !setting.unusable).map(([key]) => key);
const KEY_BY_ENV = new Map([...SETTINGS.keys()].map((key) => [envName(key), key]));

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

class Reader {
  readonly given = new Map<string, SettingSource>();
  readonly problems: Problem[] = [];

  problem(key: string, text: string): void {
    this.problems.push({ key, text });
  }

  /** Reads the values of one table of the file. Reports the first part of a name that is unknown. */
  table(table: Record<string, unknown>, tree: Branch, prefix: string, file: string): void {
    for (const [name, value] of Object.entries(table)) {
      const key = prefix + name;
      const node = Object.hasOwn(tree, name) ? tree[name] : undefined;
      if (node instanceof Setting) this.given.set(key, { value, origin: 'file', where: `in ${file}` });
      else if (node && isTable(value)) this.table(value, node, `${key}.`, file);
      else if (node) this.problem(key, `must be a table, [${key}] (in ${file})`);
      else
        this.unknown(
          key,
          Object.keys(tree).map((known) => prefix + known),
          USABLE,
          `in ${file}`,
        );
    }
  }

  unknown(key: string, siblings: readonly string[], known: readonly string[], where: string): void {
    const guess = nearest(key, siblings) ?? nearest(key, known);
    this.problem(key, `there is no such key${guess ? `; did you mean ${guess}?` : ''} (${where})`);
  }

  environment(env: ConfigInput['env'], other: readonly string[]): void {
    for (const [name, text] of Object.entries(env)) {
      if (!name.startsWith('COUNTINGHOUSE_') || name.startsWith(TESTS_PREFIX)) continue;
      if (other.includes(name) || !text) continue;
      const key = KEY_BY_ENV.get(name);
      if (!key) this.unknown(name, [], [...other, ...USABLE.map(envName)], 'in the environment');
      else this.given.set(key, { value: SETTINGS.get(key)?.fromText(text), origin: 'env', where: `from ${name}` });
    }
  }

  flags(flags: ConfigInput['flags']): void {
    for (const [key, text] of Object.entries(flags)) {
      if (text === undefined) continue;
      const setting = SETTINGS.get(key);
      if (!setting) this.unknown(key, [], USABLE, 'on the command line');
      else this.given.set(key, { value: setting.fromText(text), origin: 'flag', where: 'on the command line' });
    }
  }

  /**
   * Replaces the value of a key by the content of the file that its `…_file` sibling names. If both are given, the
   * later source wins (default, file, environment, flag); both from one source are an error.
   */
  secretFiles(dataDir: string): void {
    for (const [key, setting] of SETTINGS) {
      const pointer = this.given.get(`${key}_file`);
      if (!pointer || typeof pointer.value !== 'string') continue;
      const direct = this.given.get(key);
      if (direct?.origin === pointer.origin) this.problem(key, `give either it or ${key}_file (${pointer.where})`);
      else if (!direct || ORIGIN_RANK[direct.origin] < ORIGIN_RANK[pointer.origin]) {
        const text = this.readText(`${key}_file`, resolve(dataDir, pointer.value), SECRET_BYTES_MAX, pointer.where);
        if (text === null) continue;
        const value = setting.fromText(
          Array.isArray(setting.fallback) ? text.trim().replace(/\s*\n\s*/g, ',') : text.trim(),
        );
        this.given.set(key, { ...pointer, value, where: `in the file of ${key}_file` });
      }
    }
  }

  readText(key: string, path: string, bytesMax: number, where: string): string | null {
    try {
      const stat = statSync(path);
      if (stat.isFile() && stat.size <= bytesMax) return readFileSync(path, 'utf8');
      this.problem(key, `${path} is ${stat.isFile() ? `larger than ${bytesMax} bytes` : 'no file'} (${where})`);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
      const remedy =
        code === 'EACCES' ? `: \`chown ${ownName()} ${shellWord(path)}\`, and let that user enter its folder` : '';
      this.problem(key, `${path} cannot be read: ${code}${remedy} (${where})`);
    }
    return null;
  }

  /** The checked value of a setting; its default if no value, or a wrong one, was given. */
  value(key: string, setting: Setting<unknown>): unknown {
    const given = this.given.get(key);
    if (!given) return setting.fallback;
    const result = setting.schema().safeParse(given.value);
    if (result.success) return result.data;
    const issue = result.error.issues[0];
    this.problem(key, `${whatIsWrong(setting, given.value, issue)}; it takes ${setting.takes} (${given.where})`);
    return setting.fallback;
  }
}

/** The user of this process, who has no name where a container runs as any number. */
function ownName(): string {
  try {
    return userInfo().username;
  } catch {
    return `${process.geteuid?.()}`;
  }
}

const ORIGIN_RANK: Readonly<Record<Origin, number>> = { default: 0, file: 1, env: 2, flag: 3 };

/** Describes a wrong value. Never repeats a value that may be a secret. */
function whatIsWrong(setting: Setting<unknown>, value: unknown, issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'custom' && issue.message && issue.message !== 'Invalid input') return issue.message;
  const index = issue?.path[0];
  const item = Array.isArray(value) && typeof index === 'number' ? value[index] : value;
  if (setting.secret) return 'the value given is wrong';
  const text = JSON.stringify(item, (_, part) => (typeof part === 'bigint' ? `${part}` : part)) ?? String(item);
  return `${text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text} is wrong`;
}

const CHANNEL_KEYS = [
  ['smtp', 'email_to', 'email_from'],
  ['telegram_token', 'telegram_chat'],
  ['webhook', 'webhook_secret'],
];

/** Of each way to tell alerts: the keys that it needs, all or none. A wrong value counts as given. */
function needChannels({ alerts, closing, payments }: Config, reader: Reader): void {
  const wrong = reader.problems.map(({ key }) => key);
  const isMissing = (key: string): boolean => {
    const value = alerts[camel(key) as keyof typeof alerts];
    return (value === null || (Array.isArray(value) && value.length === 0)) && !wrong.includes(`alerts.${key}`);
  };
  for (const keys of CHANNEL_KEYS) {
    const missing = keys.filter(isMissing);
    if (missing.length === keys.length) continue;
    for (const key of missing) reader.problem(`alerts.${key}`, `${keys.join(' and ')} go together: it is missing`);
  }
  if (payments.emailReceipts && alerts.smtp === null) {
    reader.problem('payments.email_receipts', 'it needs alerts.smtp, over which receipts are sent');
  }
  if (closing.mail.length > 0 && alerts.smtp === null) {
    reader.problem('closing.mail', 'it needs alerts.smtp, over which the closings are sent');
  }
  if (alerts.ntfyToken !== null && alerts.ntfy === null)
    reader.problem('alerts.ntfy_token', 'without ntfy it says nothing');
}

/** The console is on loopback, or behind a proxy with TLS if the operator has said so. */
function closedConsole({ console: settings, trustedProxies }: Config, reader: Reader): void {
  const { host, publicUrl, elsewhere } = settings;
  const loopback = host === 'localhost' || host === '::1' || host.startsWith('127.');
  if ((publicUrl !== null || !loopback) && !elsewhere) {
    const key = publicUrl === null ? 'console.host' : 'console.public_url';
    reader.problem(key, 'the console is for this machine only unless console.elsewhere = true');
  }
  if (publicUrl !== null && !publicUrl.startsWith('https:')) {
    reader.problem('console.public_url', 'it must be https: passphrases are typed there');
  }
  if (publicUrl !== null && new URL(publicUrl).pathname !== '/') {
    reader.problem('console.public_url', 'it must have no path: the console needs a host name of its own');
  }
  if (elsewhere && publicUrl === null) reader.problem('console.public_url', 'console.elsewhere needs it');
  if (!loopback && trustedProxies.length === 0) {
    reader.problem('trusted_proxies', 'console.host is not loopback, so it needs the address of the proxy');
  }
}

/** A trusted proxy names the address that limits count by, so two halves of all addresses are no better than all. */
function fewProxies({ trustedProxies }: Config, reader: Reader): void {
  const wide = trustedProxies.find(isWide);
  if (wide === undefined) return;
  const text = `"${wide}" is wider than any network of proxies, so visitors could choose the address that limits count by: name the proxy's`;
  reader.problem('trusted_proxies', text);
}

/** A proxy for all connections has an address: without one they would be straight. */
function namedProxies(config: Config, reader: Reader): void {
  for (const part of ['electrum', 'monero'] as const) {
    const { proxyFor, socksProxy } = config[part];
    const isWrong = reader.problems.some(({ key }) => key === `${part}.socks_proxy`);
    if (proxyFor === 'all' && socksProxy === null && !isWrong)
      reader.problem(`${part}.proxy_for`, `"all" needs ${part}.socks_proxy: without it every connection is straight`);
  }
}

const LOOPBACK = '127.0.0.1';
const EVERY_ADDRESS = ['0.0.0.0', '::'];

/** Each listener has its own port; 0 is any free one. */
function distinctPorts({ host, port, console: page, till, metrics, operator }: Config, reader: Reader): void {
  const listeners: [key: string, host: string, port: number][] = [
    ['port', host, port],
    ['console.port', page.host, page.port],
    ['till.port', till.host, till.port],
    ['metrics.port', LOOPBACK, metrics.port],
    ['operator.port', LOOPBACK, operator.port],
  ];
  for (const [n, [key, on, at]] of listeners.entries()) {
    const same = listeners
      .slice(0, n)
      .find(
        ([, other, taken]) => taken === at && (other === on || [other, on].some((one) => EVERY_ADDRESS.includes(one))),
      );
    if (at !== 0 && same) reader.problem(key, `${at} is the port of the key ${same[0]}, too`);
  }
}

/** Checks that concern several keys. */
function contradictions(config: Config, reader: Reader): void {
  if (config.wallet.unlock === 'file' && config.wallet.passphraseFile === null) {
    reader.problem('wallet.passphrase_file', 'wallet.unlock = "file" needs it');
  }
  needChannels(config, reader);
  closedConsole(config, reader);
  fewProxies(config, reader);
  distinctPorts(config, reader);
  namedProxies(config, reader);
  for (const network of NETWORKS) {
    for (const chain of CHAINS) {
      const { coreRpc, coreRpcCookie } = config.networks[network][chain];
      const key = `networks.${network}.${chain}.core_rpc`;
      if (reader.problems.some((problem) => problem.key.startsWith(key))) continue;
      if (coreRpc === null) {
        if (coreRpcCookie !== null) reader.problem(`${key}_cookie`, `without ${key} it says nothing`);
        continue;
      }
      // a node's login is given exactly once
      const login = Boolean(new URL(coreRpc).password);
      if (login && coreRpcCookie !== null) reader.problem(key, `give either user:password in it or ${key}_cookie`);
      if (!login && coreRpcCookie === null) reader.problem(key, `give user:password in it, or ${key}_cookie`);
    }
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}

/** The values of the tree with camelCase keys and absolute paths. */
function assemble(tree: Branch, prefix: string, values: ReadonlyMap<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(tree).map(([name, node]) => [
      camel(name),
      node instanceof Setting ? values.get(prefix + name) : assemble(node, `${prefix}${name}.`, values),
    ]),
  );
}

function readFile(input: ConfigInput, reader: Reader): void {
  const path = input.file ?? join(input.dataDir, CONFIG_FILE);
  if (input.file === undefined && !statSync(path, { throwIfNoEntry: false })) return;
  const text = reader.readText(
    input.file === undefined ? CONFIG_FILE : '--config',
    path,
    FILE_BYTES_MAX,
    'the configuration file',
  );
  if (text === null) return;
  try {
    reader.table(parse(text), ROOT, '', path);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The other lines quote the file, which may contain passwords.
    const what = error.message.split('\n')[0]?.replace('Invalid TOML document: ', '') ?? '';
    reader.problem(path, `not valid TOML at line ${error.line}, column ${error.column}: ${what}`);
  }
}

/**
 * Loads the configuration from the defaults, `file` (TOML), `env` and `flags`. An empty environment variable counts as
 * not given. As text, lists are separated by commas and tiers are written "0:1,1000:3". Relative paths start at the
 * data directory. Throws `ConfigError` with every problem.
 */
export function loadConfig(input: ConfigInput): Config {
  const reader = new Reader();
  readFile(input, reader);
  reader.environment(input.env, PROGRAM_ENV);
  reader.flags(input.flags);
  reader.secretFiles(input.dataDir);
  const values = new Map<string, unknown>();
  const rows: ConfigRow[] = [];
  for (const [key, setting] of SETTINGS) {
    const checked = reader.value(key, setting);
    const value = setting.isPath && typeof checked === 'string' ? resolve(input.dataDir, checked) : checked;
    values.set(key, value);
    const origin = reader.given.get(key)?.origin ?? 'default';
    if (!setting.unusable) rows.push({ key, shown: setting.show(value), origin });
  }
  // Safe: each value has passed its setting's schema.
  const config = { ...assemble(ROOT, '', values), rows } as unknown as Config;
  contradictions(config, reader);
  if (reader.problems.length > 0) throw new ConfigError(reader.problems);
  return deepFreeze(config);
}

/** Each key with its value, without secrets, and its source. */
export function redact(config: Config): readonly ConfigRow[] {
  return config.rows;
}
