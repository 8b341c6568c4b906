/**
 * A shop for tests: WordPress on PHP's own web server and a MariaDB of its own, with the plug-in. COUNTINGHOUSE_TEST_WOOCOMMERCE
 * names the folder of a WooCommerce as its users install it, and COUNTINGHOUSE_TEST_WORDPRESS that of a WordPress that is new
 * enough for it; with COUNTINGHOUSE_TEST_ORDERS=posts it keeps orders as posts. Without them it is Debian's WordPress and, since
 * Debian has no WooCommerce, a stand-in for it (stand-in/woocommerce.php says what that is worth).
 */
import { type ChildProcess, execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { spawnBound } from '../support/bound-child.ts';
import { until } from '../support/daemon.ts';

const exec = promisify(execFile);

const HERE = import.meta.dirname;
const PLUGIN = join(HERE, '../../resources/woocommerce');
const STAND_IN = 'woocommerce/woocommerce.php';
const GATEWAY = 'countinghouse/countinghouse.php';
const WORKERS = 6;

/** Where Debian's package puts it, and where .ci/run unpacks it, which needs no web server of the system. */
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'countinghouse-tests');
const REAL = process.env.COUNTINGHOUSE_TEST_WOOCOMMERCE;
const WORDPRESS = [
  process.env.COUNTINGHOUSE_TEST_WORDPRESS ?? '/usr/share/wordpress',
  join(CACHE, 'usr/share/wordpress'),
].find((path) => existsSync(path));

export const isReal = REAL !== undefined;

const program = (name: string): string | undefined =>
  [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'].map((folder) => join(folder, name)).find(existsSync);
const PHP = program('php');
const DATABASE = program('mariadbd');

/** With CI=true a missing program fails the tests; otherwise they are skipped, and their name says how to get it. */
export const hasPhp = PHP !== undefined || process.env.CI === 'true';
export const hasShop = (hasPhp && WORDPRESS !== undefined && DATABASE !== undefined) || process.env.CI === 'true';
export const phpTitle = (what: string): string => (hasPhp ? what : `${what} (skipped: apt-get install php-cli)`);
export const shopTitle = (what: string): string =>
  hasShop
    ? `${what}${isReal ? ' (with WooCommerce itself)' : ''}`
    : `${what} (skipped: apt-get install php-cli php-curl php-mysql mariadb-server-core wordpress)`;

/** Runs PHP code with values that it finds in `$argv` from 1 on, and returns what it prints. */
export async function php(code: string, ...values: string[]): Promise<string> {
  return (await exec(PHP!, ['-d', 'display_errors=stderr', '-r', code, '--', ...values])).stdout;
}

export type Order = {
  id: number;
  status: string;
  /** How often the payment was completed. */
  completed: number;
  transaction_id?: string;
  notes: string[];
  /** The amounts of WooCommerce's refunds, newest first. */
  refunds: string[];
  needs_payment: boolean;
  /** Where "Pay" in the list of orders leads; absent without it. */
  pay_url?: string;
  received_url: string;
  edit_url: string;
};

export type Shop = {
  readonly url: string;
  /** Calls a route of site/driver.php. */
  call<Body>(method: string, route: string, body?: unknown): Promise<Body>;
  order(id: number): Promise<Order>;
  /** Runs PHP inside WordPress and returns what it prints. */
  run(code: string): Promise<string>;
  /** Where a REST route is. */
  rest(route: string): string;
  /** What PHP complained about in the plug-in or the stand-in, and whatever ended a script. */
  complaints(about?: RegExp): Promise<string[]>;
  stop(): Promise<void>;
};

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function layOut(folder: string): Promise<void> {
  const own = new Set(['wp-config.php', 'wp-content', '.htaccess']);
  for (const name of (await readdir(WORDPRESS!)).filter((one) => !own.has(one))) {
    await symlink(join(WORDPRESS!, name), join(folder, name));
  }
  await symlink(join(HERE, 'site/wp-config.php'), join(folder, 'wp-config.php'));
  await mkdir(join(folder, 'wp-content/plugins'), { recursive: true });
  await mkdir(join(folder, 'wp-content/themes'));
  await mkdir(join(folder, 'wp-content/mu-plugins'));
  await symlink(join(HERE, 'site/theme'), join(folder, 'wp-content/themes/bare'));
  await symlink(join(HERE, 'site/driver.php'), join(folder, 'wp-content/mu-plugins/driver.php'));
  await symlink(REAL ?? join(HERE, 'stand-in'), join(folder, 'wp-content/plugins/woocommerce'));
  await symlink(PLUGIN, join(folder, 'wp-content/plugins/countinghouse'));
}

function startDatabase(folder: string): ChildProcess {
  const settings = {
    datadir: join(folder, 'database'),
    socket: join(folder, 'db'),
    'pid-file': join(folder, 'db.pid'),
    'innodb-log-file-size': '8M',
    'innodb-buffer-pool-size': '32M',
    'innodb-flush-log-at-trx-commit': '0',
  };
  const args = ['--no-defaults', '--skip-networking', '--skip-grant-tables', '--performance-schema=off'];
  if (process.getuid?.() === 0) args.push('--user=root');
  args.push(...Object.entries(settings).map(([name, value]) => `--${name}=${value}`));
  return spawnBound(DATABASE!, args, { stdio: 'ignore' });
}

/** `group`: with the processes that it started. */
async function end(child: ChildProcess, group = false): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  if (group) process.kill(-child.pid!);
  else child.kill();
  await ended;
}

/** Starts one on a free port of 127.0.0.1. */
export async function startShop(port: number): Promise<Shop> {
  const folder = await mkdtemp(join(tmpdir(), 'shop-'));
  await mkdir(join(folder, 'database'));
  await layOut(folder);
  const url = `http://127.0.0.1:${port}`;
  const env = {
    ...process.env,
    SHOP_FOLDER: folder,
    SHOP_URL: url,
    SHOP_DATABASE: join(folder, 'db'),
    PHP_CLI_SERVER_WORKERS: `${WORKERS}`,
  };
  const settings = {
    auto_prepend_file: join(HERE, 'site/prepend.php'),
    error_log: join(folder, 'debug.log'),
    'opcache.enable_cli': '1',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-d', `${name}=${value}`]);
  const database = startDatabase(folder);
  await until('the database listens', async () => existsSync(join(folder, 'db')));
  await exec(PHP!, [...options, join(HERE, 'site/install.php'), STAND_IN, GATEWAY], { env });
  const run = async (code: string): Promise<string> => {
    const before = "$_SERVER['HTTP_HOST'] = '127.0.0.1'; require ABSPATH . 'wp-load.php'; ";
    const args = ['-d', `error_log=${settings.error_log}`, '-r', `require getenv('SHOP_PREPEND'); ${before}${code}`];
    return (await exec(PHP!, args, { env: { ...env, SHOP_PREPEND: settings.auto_prepend_file } })).stdout;
  };
  if (isReal) await run(`require '${join(HERE, 'site/real.php')}';`);
  const arguments_ = [...options, '-S', `127.0.0.1:${port}`, '-t', folder];
  // a group of its own, because PHP does not end its workers at a SIGTERM
  const server = spawnBound(PHP!, arguments_, { env, stdio: 'ignore', detached: true });
  await until('the shop answers', async () => (await fetch(`${url}/wp-login.php`).catch(() => null))?.ok);

  const rest = (route: string): string => `${url}/index.php?rest_route=${route}`;
  const call = async <Body>(method: string, route: string, body?: unknown): Promise<Body> => {
    const response = await fetch(rest(`/driver/v1${route}`), {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${route}: ${response.status} ${text.slice(0, 500)}`);
    return JSON.parse(text) as Body;
  };
  return {
    url,
    rest,
    call,
    order: (id) => call<Order>('GET', `/orders/${id}`),
    run,
    async complaints(about = /PHP (Fatal|Parse)|PHP .*(resources|test)\/woocommerce\/(?!site\/wp-config)/) {
      const log = await readFile(settings.error_log, 'utf8').catch(() => '');
      return log.split('\n').filter((line) => about.test(line));
    },
    async stop() {
      await end(server, true);
      await end(database);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** An administrator's browser, as far as cookies and forms go. */
export class Visitor {
  readonly #shop: Shop;
  readonly #cookies = new Map<string, string>();

  constructor(shop: Shop) {
    this.#shop = shop;
  }

  async go(path: string, form?: Record<string, string>): Promise<{ status: number; text: string; location: string }> {
    const response = await fetch(new URL(path, this.#shop.url), {
      redirect: 'manual',
      headers: { cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form ? { method: 'POST', body: new URLSearchParams(form) } : {}),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      this.#cookies.set(name!, value!);
    }
    return { status: response.status, text: await response.text(), location: response.headers.get('location') ?? '' };
  }

  async logIn(): Promise<void> {
    await this.go('/wp-login.php');
    await this.go('/wp-login.php', { log: 'admin', pwd: 'a password', testcookie: '1' });
  }
}

/** The value of a form's field, as HTML has it. */
export const fieldOf = (html: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';
