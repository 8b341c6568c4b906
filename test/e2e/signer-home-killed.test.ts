/**
 * A server and a computer at home as processes of two users, with nothing in common but an https listener behind nginx, on a real litecoind:
 * either is killed with SIGKILL at the steps of a payment. Each payment is made once.
 */
import { watch } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort, hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { bundled } from '../support/bundles.ts';
import { buildConsole } from '../support/console.ts';
import { litecoinConfig, QUIET_CONFIG, until } from '../support/daemon.ts';
import { hasNginx, Nginx, nginxTitle } from '../support/nginx.ts';
import { as, DAEMON_UID, GROUP, isRoot, SIGNER_UID } from '../support/users.ts';
import { cli } from '../unit/cli-kit.ts';
import { ServiceProcess } from './service-process.ts';

const COIN = 100_000_000n;
const AMOUNT = '0.5';

describe.skipIf(!hasLitecoind || !hasNginx || process.platform === 'win32')(
  nginxTitle(litecoindTitle('a payment signed at home')),
  () => {
    let program: string;
    let root: string;
    let node: Litecoind;
    let nginx: Nginx;
    let server: ServiceProcess;
    let home: ServiceProcess;
    let url: string;
    let key: string;
    const at = (name: string): string => join(root, name);
    const journal = () => join(at('home'), 'servers', 'shop', 'vault', 'signer-journal.jsonl');

    /** A command on the server. */
    const ranOnServer = (...argv: string[]) => cli(at('server'), [...argv, '--json', '--yes']);
    const startServer = async (): Promise<void> => {
      server = new ServiceProcess(program, DAEMON_UID, ['start', '--data-dir', at('server'), '--json']);
      await until('it answers its operator', async () => (await ranOnServer('status')).code === 0);
    };
    const atHome = (...argv: string[]) =>
      new ServiceProcess(program, SIGNER_UID, ['--data-dir', at('home'), '--json', '--yes', ...argv], {
        NODE_EXTRA_CA_CERTS: nginx.certificate,
      });
    const startHome = async (): Promise<void> => {
      home = atHome('--server', 'shop', 'signer', 'run', '--passphrase-file', at('passphrase'));
      await home.says('Connected with shop');
    };
    /** A command at home, and what it printed as JSON. */
    const done = async <T>(...argv: string[]): Promise<T> => {
      const said = await atHome(...argv).done();
      return JSON.parse(said.split('\n').find((line) => line.startsWith('{'))!) as T;
    };
    const onServer = async <T>(...argv: string[]): Promise<T> => {
      const { code, out, err } = await ranOnServer(...argv);
      expect(code, err).toBe(0);
      return JSON.parse(out) as T;
    };
    const shop = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
      const response = await fetch(`${url}/api/v1/merchant${path}`, {
        method,
        headers: { 'mb-api-key': key, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return (await response.json()) as T;
    };
    const stateOf = async (id: string) =>
      (await onServer<{ withdrawal: { state: string } }>('withdrawal', 'show', id)).withdrawal.state;
    const approve = (id: string) =>
      done('--server', 'shop', 'withdrawal', 'approve', id, '--passphrase-file', at('passphrase'));
    /** Resolves once the record at home has another line. */
    const signed = async (): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const watcher = watch(journal(), () => resolve());
      await promise;
      watcher.close();
    };
    const signedNow = async (): Promise<Set<string>> => {
      const lines = (await readFile(journal(), 'utf8')).split('\n');
      return new Set(lines.flatMap((line) => /"txid":"([0-9a-f]{64})"/.exec(line)?.[1] ?? []));
    };

    beforeAll(async () => {
      buildConsole();
      program = await bundled('daemon/cli.ts');
      root = await mkdtemp(join(tmpdir(), 'home-killed-'));
      await chmod(root, 0o755);
      for (const [name, uid] of [
        ['server', DAEMON_UID],
        ['home', SIGNER_UID],
      ] as const) {
        await mkdir(at(name), { mode: 0o700 });
        await chown(at(name), uid, GROUP);
      }
      await writeFile(at('passphrase'), 'correct horse battery staple', { mode: 0o600 });
      await chown(at('passphrase'), SIGNER_UID, GROUP);
      node = await Litecoind.start();
      await node.fund();
      const chain = litecoinConfig(`core_rpc = "${node.url}"`);
      const config = join(at('server'), 'countinghouse.toml');
      const [port, ownPort, shownPort] = [await freePort(), await freePort(), await freePort()];
      url = `http://127.0.0.1:${port}`;
      const shown = `https://localhost:${shownPort}`;
      const top = `trusted_proxies = ["127.0.0.1"]\n${QUIET_CONFIG.replace('port = 0', `port = ${port}`)}`;
      await writeFile(
        config,
        `${top}[console]\nport = ${ownPort}\npublic_url = "${shown}"\nelsewhere = true\napprovals = false\n${chain}`,
      );
      await chown(config, DAEMON_UID, GROUP);
      await mkdir(at('nginx'));
      nginx = new Nginx(at('nginx'));
      await nginx.start(nginx.snippet('nginx-console.conf', { at: shownPort, console: ownPort }), shownPort);
      await startServer();
      const { server: address, code } = await onServer<{ server: string; code: string }>('signer', 'invite');
      expect(address).toBe(shown);
      await done('signer', 'join', address, code, '--as', 'shop', '--name', 'Laptop');
      const add = ['business', 'add', '--name', 'Shop', '--network', 'regtest', '--i-have-the-words'];
      const scopes = ['--scopes', 'invoices,balance,withdraw', '--passphrase-file', at('passphrase')];
      ({ key } = (await done<{ key: { key: string } }>('--server', 'shop', ...add, ...scopes)).key);
      await startHome();
      const { id } = await shop<{ id: string }>('POST', '/invoice', { amount: 800, crypto: 'LTC' });
      const paid = await until('litecoind is followed', async () => {
        return (await shop<{ address?: string }>('POST', `/invoice/rp/${id}`)).address;
      });
      await node.pay(Array.from({ length: 10 }, () => ({ address: paid, units: COIN })));
      await node.mine(12);
      await until('it can be spent', async () => (await shop<{ LTC: number }>('GET', '/balance')).LTC === 10);
    });
    afterAll(async () => {
      await home?.end('SIGTERM');
      await server?.end('SIGTERM');
      await nginx?.stop();
      await node?.remove();
      await rm(root, { recursive: true, force: true });
    });

    it.skipIf(!isRoot)('is of two users, neither of whom reads the data of the other', async () => {
      const reads = (uid: number, name: string) => as(uid, `fs.readdirSync(${JSON.stringify(at(name))})`);
      expect(await Promise.all([reads(DAEMON_UID, 'server'), reads(SIGNER_UID, 'home')])).toEqual(['done', 'done']);
      expect(await Promise.all([reads(DAEMON_UID, 'home'), reads(SIGNER_UID, 'server')])).toEqual(['EACCES', 'EACCES']);
    });

    type Died = 'the server' | 'the computer at home' | 'both';
    const kill = async (who: Died): Promise<void> => {
      await Promise.all([
        who === 'the computer at home' ? null : server.end('SIGKILL'),
        who === 'the server' ? null : home.end('SIGKILL'),
      ]);
      if (!server.isRunning) await startServer();
      if (!home.isRunning) await startHome();
    };
    const after = {
      'it was approved': async (id: string) => void (await approve(id)),
      'it was signed': async (id: string) => {
        const line = signed();
        await approve(id);
        await line;
      },
      'it was sent': async (id: string) => {
        await approve(id);
        await until('it is sent', async () => (await stateOf(id)) === 'broadcast');
      },
    };
    const moments = Object.keys(after) as (keyof typeof after)[];
    const deaths: Died[] = ['the server', 'the computer at home', 'both'];

    it.each(moments.flatMap((moment) => deaths.map((who) => [who, moment] as const)))(
      'is made once where %s dies as soon as %s',
      async (who, moment) => {
        const address = await node.newAddress();
        const before = await signedNow();
        const asked = await shop<{ id?: string }>('POST', '/withdraw', { amount: AMOUNT, crypto: 'LTC', address });
        expect(asked).toMatchObject({ id: expect.any(String) });
        const id = asked.id!;
        await after[moment](id);
        await kill(who);
        await until('it is sent', async () => (await stateOf(id)) === 'broadcast');
        await until('the node has it', async () => (await node.rpc<string[]>('getrawmempool', [])).length === 1);
        await node.mine(1);
        await until('it is completed', async () => (await stateOf(id)) === 'completed');
        expect(await node.rpc<number>('getreceivedbyaddress', [address, 1])).toBe(Number(AMOUNT));
        // asked again or not, it was one transaction
        expect((await signedNow()).size - before.size).toBe(1);
      },
      120_000,
    );
  },
);
