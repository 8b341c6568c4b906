/**
 * The image of the Containerfile, built by buildah on a bare Debian and run as its user on a read-only file system. Asked for by a
 * variable, because it takes minutes: debootstrap, npm and the build of the console.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWords } from '../../daemon/wallet/mnemonic.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { litecoinConfig, QUIET_CONFIG, until } from '../support/daemon.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const MIRROR = 'http://deb.debian.org/debian';
const PATH = `${process.env.PATH ?? ''}:/usr/sbin:/sbin`;
const LIMIT_MS = 1_500_000;
const READY_MS = 120_000;
const USER = 8480;
const PASSPHRASE = 'a passphrase of the operator';
const SOCKET = '/run/countinghouse-signer/signer.sock';

/** As whom a container runs, and what of root's rights it keeps. `network`: its own, without a way out, or this machine's. */
type As = { uid: number; rights: readonly string[]; network: 'none' | 'host' };
const SERVICE: As = { uid: USER, rights: [], network: 'host' };
/** As `compose.signer.yaml` says. */
const SIGNER: As = { uid: 8482, rights: [], network: 'none' };
const OPERATOR: As = { uid: 0, rights: ['chown', 'dac_override', 'setgid', 'setuid'], network: 'none' };
/** Folders of this machine by the place where a container has them. */
type Volumes = Record<string, string>;

const placeOf = (program: string): string | undefined =>
  PATH.split(':')
    .map((folder) => join(folder || '/', program))
    .find(existsSync);
const has = (program: string): boolean => placeOf(program) !== undefined;
const isPossible =
  process.env.COUNTINGHOUSE_TEST_CONTAINER === '1' &&
  process.getuid?.() === 0 &&
  ['buildah', 'debootstrap', 'npm', 'setpriv', 'unshare'].every(has);
const TITLE = isPossible
  ? 'the image'
  : 'the image (skipped: needs a networked machine, root, buildah, debootstrap, and COUNTINGHOUSE_TEST_CONTAINER=1)';

const exec = promisify(execFile);
const run = async (program: string, args: readonly string[]): Promise<string> => {
  const limits = { timeout: LIMIT_MS, maxBuffer: 100_000_000 };
  return (await exec(program, args, { ...limits, cwd: ROOT, env: { ...process.env, PATH } })).stdout.trim();
};

/** Calls of buildah with storage of their own, and what is made with them. */
class Images {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  buildah = (...args: string[]): Promise<string> => {
    const [store, runs] = ['store', 'run'].map((name) => join(this.folder, name));
    return run('buildah', ['--root', store!, '--runroot', runs!, '--storage-driver', 'vfs', ...args]);
  };

  /** `localhost/base`: a bare Debian; `localhost/build`: the same with npm, and with the authorities that this machine trusts. */
  async base(): Promise<void> {
    const debian = join(this.folder, 'debian');
    const packages = '--include=ca-certificates,libatomic1';
    await run('debootstrap', ['--variant=minbase', packages, 'bookworm', debian, MIRROR]);
    const bare = await this.buildah('from', 'scratch');
    await this.buildah('add', '--quiet', bare, debian, '/');
    await this.buildah('commit', '--quiet', bare, 'localhost/base');
    await rm(debian, { recursive: true });
    await this.buildah('add', '--quiet', bare, process.execPath, '/usr/local/bin/node');
    // its folder, of which bin/npm-cli.js is the program
    const npm = dirname(dirname(await realpath(placeOf('npm')!)));
    await this.buildah('add', '--quiet', bare, npm, '/usr/local/lib/node_modules/npm');
    const link = ['ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', '/usr/local/bin/npm'];
    await this.buildah('run', '--isolation', 'chroot', bare, ...link);
    const authorities = process.env.NODE_EXTRA_CA_CERTS;
    if (authorities !== undefined) {
      await this.buildah('add', '--quiet', bare, authorities, '/etc/authorities.pem');
      await this.buildah('config', '--env', 'NODE_EXTRA_CA_CERTS=/etc/authorities.pem', bare);
    }
    await this.buildah('commit', '--quiet', bare, 'localhost/build');
    await this.buildah('rm', bare);
  }

  async build(): Promise<void> {
    const images = ['BUILD_IMAGE=localhost/build', 'BASE_IMAGE=localhost/base'];
    const options = ['--isolation', 'chroot', '--format', 'docker', '--tag', 'localhost/countinghouse'];
    await this.buildah('build', ...options, ...images.flatMap((image) => ['--build-arg', image]), ROOT);
  }
}

/** As buildah tells it; only what is asked for below. */
type Docker = {
  architecture: string;
  config: {
    User: string;
    Env: string[];
    Cmd: string[];
    Entrypoint: string[];
    Volumes: Record<string, unknown>;
    Healthcheck: { Test: string[] };
  };
};

describe.skipIf(!isPossible)(TITLE, { timeout: LIMIT_MS }, () => {
  let folder: string;
  let images: Images;
  let docker: Docker;
  let rootFs: string;
  let container: string;
  const running: { stop(): Promise<number | null> }[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countinghouse-container-'));
    images = new Images(folder);
    await images.base();
    await images.build();
    docker = (
      JSON.parse(await images.buildah('inspect', '--type', 'image', 'localhost/countinghouse')) as { Docker: Docker }
    ).Docker;
    container = await images.buildah('from', 'localhost/countinghouse');
    rootFs = await images.buildah('mount', container);
  }, LIMIT_MS);
  afterAll(async () => {
    for (const one of running) await one.stop();
    if (container) await images.buildah('umount', container);
    await rm(folder, { recursive: true, force: true });
  }, LIMIT_MS);

  /** The command that runs `argv` as a runtime of containers would: the image's variables and user, and nothing to write but the volumes. */
  function inContainer(volumes: Volumes, argv: string[], environment: Record<string, string>, as = SERVICE): string[] {
    const env = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    const inside = ['env', '-i', ...docker.config.Env, ...env, ...argv];
    const user = [
      'setpriv',
      `--reuid=${as.uid}`,
      `--regid=${as.uid === 0 ? 0 : USER}`,
      '--clear-groups',
      `--bounding-set=${['-all', ...as.rights.map((right) => `+${right}`)].join()}`,
      '--no-new-privs',
    ];
    const mounts = Object.entries(volumes).map(([place, folder]) => `mount --bind '${folder}' "$1${place}"`);
    const script = `set -e
      mount --rbind "$1" "$1"; ${mounts.join('; ')}; mount -t tmpfs tmpfs "$1/tmp"; mount --rbind /dev "$1/dev"
      mount -t proc proc "$1/proc"; mount -o remount,bind,ro "$1"; root="$1"; shift
      exec chroot "$root" ${user.join(' ')} "$@"`;
    const alone = ['--mount', '--pid', '--fork', '--kill-child=SIGTERM', '--propagation', 'private'];
    const network = as.network === 'none' ? ['--net'] : [];
    return ['unshare', ...alone, ...network, 'sh', '-c', script, 'sh', rootFs, ...inside];
  }

  /** A new volume for a place: a runtime gives it the owner and the rights that the image's folder has. */
  async function newVolume(place = '/data'): Promise<string> {
    const volume = await mkdtemp(join(folder, 'volume-'));
    const { uid, gid, mode } = await stat(join(rootFs, place));
    await chown(volume, uid, gid);
    await chmod(volume, mode);
    return volume;
  }

  async function start(volumes: Volumes, environment: Record<string, string> = {}) {
    const ports = { COUNTINGHOUSE_PORT: '8480', COUNTINGHOUSE_CONSOLE_PORT: '0' };
    return stays(volumes, docker.config.Cmd, { ...ports, ...environment }, 'Countinghouse is running');
  }

  /** A container that stays, once it has said that it is ready. */
  async function stays(
    volumes: Volumes,
    command: readonly string[],
    environment: Record<string, string>,
    ready: string,
    as = SERVICE,
  ) {
    const argv = [...docker.config.Entrypoint, ...command];
    const [program, ...args] = inContainer(volumes, argv, environment, as);
    const child = spawn(program!, args, { env: { PATH }, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    child.stdout.on('data', (part) => (out += part));
    child.stderr.on('data', (part) => (out += part));
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const one = {
      out: () => out,
      /** Ends it as a runtime does: by a signal to its first process. */
      stop: () => {
        const pid = spawnSync('pgrep', ['-P', `${child.pid}`], { encoding: 'utf8' }).stdout.trim();
        if (child.exitCode === null && pid) process.kill(Number(pid), 'SIGTERM');
        return ended;
      },
    };
    running.push(one);
    await until(`it says ${ready}`, async () => out.includes(ready), READY_MS);
    return one;
  }

  const command = (data: string, argv: string[]): string => {
    const [program, ...args] = inContainer({ '/data': data }, argv, {});
    const { status, stdout, stderr } = spawnSync(program!, args, { encoding: 'utf8', env: { PATH } });
    return `${status} ${stdout}${stderr}`;
  };

  it('has a user that is not root, one volume, and a build for this processor', () => {
    expect(docker.config.User).toBe(`${USER}:${USER}`);
    expect(Object.keys(docker.config.Volumes)).toEqual(['/data']);
    expect(docker.architecture).toBe(process.arch === 'x64' ? 'amd64' : 'arm64');
    const found = spawnSync('find', [join(rootFs, 'opt'), '-perm', '/6000'], {
      encoding: 'utf8',
    });
    expect(found.stdout).toBe('');
  });

  it('runs by buildah as its user', async () => {
    const version = await images.buildah('run', '--isolation', 'chroot', container, '--', 'countinghouse', '--version');
    expect(version).toMatch(/^\d+\.\d+\.\d+/);
    expect(await images.buildah('run', '--isolation', 'chroot', container, '--', 'id', '-u')).toBe(`${USER}`);
  });

  it('serves from a read-only file system, is healthy, and keeps its data over a new container', async () => {
    const data = await newVolume();
    const first = await start({ '/data': data });
    expect(first.out()).toMatch(/http:\S+#sign-in=[\w-]{43}/);
    expect(command(data, ['sh', '-c', 'touch /opt/x'])).toMatch(/^1 .*Read-only file system/);
    const [kind, ...health] = docker.config.Healthcheck.Test;
    expect(kind).toBe('CMD');
    await until('it is healthy', async () => command(data, health).startsWith('0'), READY_MS);
    const [, key = ''] = /API key +(\S+)/.exec(first.out()) ?? [];
    const made = await fetch('http://127.0.0.1:8480/api/v1/merchant/invoice', {
      method: 'POST',
      headers: { 'mb-api-key': key, 'content-type': 'application/json' },
      body: '{"amount":25}',
    });
    expect(made.status).toBe(201);
    const { id } = (await made.json()) as { id: string };
    expect(await first.stop()).toBe(0);
    expect(command(data, health)).not.toMatch(/^0/);

    const second = await start({ '/data': data });
    const found = await fetch(`http://127.0.0.1:8480/api/v1/merchant/invoice/${id}`, {
      headers: { 'mb-api-key': key },
    });
    expect([found.status, ((await found.json()) as { id: string }).id]).toEqual([200, id]);
    expect(await second.stop()).toBe(0);
  });

  it.skipIf(!hasLitecoind)(litecoindTitle('pays with a wallet that a second container has'), async () => {
    const [data, wallet, sockets] = [await newVolume(), await newVolume('/signer'), await newVolume(dirname(SOCKET))];
    const node = await Litecoind.start();
    try {
      await node.fund();
      const config = join(data, 'countinghouse.toml');
      await writeFile(config, `${QUIET_CONFIG}${litecoinConfig(`core_rpc = "${node.url}"`)}`);
      await chown(config, USER, USER);
      const signerCommand = ['signer', '--folder', '/signer', '--socket', SOCKET];
      const signers = { '/signer': wallet, [dirname(SOCKET)]: sockets };
      const signs = () => stays(signers, signerCommand, {}, 'is served on', SIGNER);
      const signer = await signs();
      const services = { '/data': data, [dirname(SOCKET)]: sockets };
      const service = await start(services, { COUNTINGHOUSE_WALLET_SIGNER: SOCKET });

      const words = await createWords(12);
      /** A command of the operator's container, which has passphrase and words from stdin. */
      const operator = <T>(...argv: string[]): T => {
        const said =
          'umask 77; read -r secret; printf %s "$secret" > /tmp/passphrase; cat > /tmp/words; exec countinghouse "$@"';
        const asked = ['sh', '-c', said, 'sh', ...argv, '--json', '--yes'];
        const signed = { COUNTINGHOUSE_SIGNER_DIR: '/signer', COUNTINGHOUSE_SIGNER_SOCKET: SOCKET };
        const [program, ...args] = inContainer({ ...services, '/signer': wallet }, asked, signed, OPERATOR);
        const { status, stdout, stderr } = spawnSync(program!, args, {
          encoding: 'utf8',
          env: { PATH },
          input: `${PASSPHRASE}\n${words}`,
        });
        expect(status, stderr).toBe(0);
        return JSON.parse(stdout) as T;
      };
      const secret = ['--passphrase-file', '/tmp/passphrase'];
      const scopes = ['--scopes', 'invoices,balance,withdraw'];
      const add = [
        'business',
        'add',
        '--name',
        'Shop',
        '--network',
        'regtest',
        '--words-file',
        '/tmp/words',
        ...scopes,
      ];
      const { key } = operator<{ key: { key: string } }>(...add, ...secret).key;
      operator('wallet', 'unlock', ...secret);
      const shop = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
        const response = await fetch(`http://127.0.0.1:8480/api/v1/merchant${path}`, {
          method,
          headers: { 'mb-api-key': key, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        return (await response.json()) as T;
      };
      const invoice = await shop<{ id: string }>('POST', '/invoice', { amount: 800, crypto: 'LTC' });
      const address = await until('the invoice has its address', async () => {
        return (await shop<{ address?: string }>('POST', `/invoice/rp/${invoice.id}`)).address;
      });
      await node.pay([{ address, units: 1_000_000_000n }]);
      await node.mine(12);
      await until('the invoice is paid', async () => {
        return (await shop<{ status: string }>('GET', `/invoice/${invoice.id}`)).status === 'paid';
      });
      const to = await node.newAddress();
      const { id } = await shop<{ id: string }>('POST', '/withdraw', { amount: '1.5', crypto: 'LTC', address: to });
      // a container of the signer that is replaced takes nothing with it
      expect(await signer.stop()).toBe(0);
      const next = await signs();
      operator('wallet', 'unlock', ...secret);
      operator('withdrawal', 'approve', id, '--to', to, '--amount', '1.5', ...secret);
      await until('it is sent', async () => (await node.rpc<string[]>('getrawmempool', [])).length === 1);
      await node.mine(1);
      expect(await node.rpc<number>('getreceivedbyaddress', [to, 1])).toBe(1.5);

      const refused = (place: string, as: As, volumes: Volumes): string => {
        const [program, ...args] = inContainer(volumes, ['ls', place], {}, as);
        return spawnSync(program!, args, { encoding: 'utf8', env: { PATH } }).stderr;
      };
      // even where a runtime gave it the volume
      expect(refused('/signer', SERVICE, { ...services, '/signer': wallet })).toMatch(/Permission denied/);
      expect(refused('/data', SIGNER, { ...signers, '/data': data })).toMatch(/Permission denied/);
      expect(await service.stop()).toBe(0);
      expect(await next.stop()).toBe(0);
    } finally {
      await node.remove();
    }
  });
});
