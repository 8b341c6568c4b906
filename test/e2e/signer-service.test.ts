/**
 * The signer as a service of its own user, from the wallet's making to a completed withdrawal on a real litecoind, with
 * processes that are killed on the way. With two users where the superuser runs the tests, otherwise with one.
 */
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../daemon/cli/program.ts';
import { createWords } from '../../daemon/wallet/mnemonic.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { bundled } from '../support/bundles.ts';
import { litecoinConfig, QUIET_CONFIG, until } from '../support/daemon.ts';
import { as, DAEMON_UID, GROUP, isRoot, SIGNER_UID } from '../support/users.ts';
import { fakeIo } from '../unit/cli-kit.ts';
import { ServiceProcess } from './service-process.ts';

const PASSPHRASE = 'a passphrase of the operator';
const COIN = 100_000_000n;
const CONFIRMATIONS = 12;

type Shown = { state: string; problem: string | null; versions: { tx_id: string | null }[] };

const newestOf = ({ versions }: Shown): string | null => versions.at(-1)?.tx_id ?? null;

let program: string;
beforeAll(async () => {
  program = await bundled('daemon/cli.ts');
});

describe.skipIf(!hasLitecoind || process.platform === 'win32')(
  litecoindTitle('a withdrawal where the signer is a service of its own user'),
  () => {
    let root: string;
    let place: Record<'wallet' | 'run' | 'data' | 'socket' | 'passphrase' | 'words', string>;
    let node: Litecoind;
    let signer: ServiceProcess;
    let daemon: ServiceProcess;
    let url: string;
    let key: string;

    const startSigner = async (): Promise<void> => {
      signer = new ServiceProcess(program, SIGNER_UID, ['signer', '--folder', place.wallet, '--socket', place.socket]);
      await signer.says('is served on');
    };
    const startDaemon = async (): Promise<void> => {
      daemon = new ServiceProcess(program, DAEMON_UID, ['start', '--data-dir', place.data, '--json']);
      const said = await daemon.says('"url"');
      url = (JSON.parse(said.split('\n').find((line) => line.includes('"url"'))!) as { url: string }).url;
    };

    beforeAll(async () => {
      root = await mkdtemp(join(tmpdir(), 'two-users-'));
      await chmod(root, 0o755);
      const at = (name: string): string => join(root, name);
      const socket = join(root, 'run', 'signer.sock');
      const secret = { passphrase: at('passphrase'), words: at('words') };
      place = { wallet: at('wallet'), run: at('run'), data: at('data'), socket, ...secret };
      for (const [folder, uid, mode] of [
        [place.wallet, SIGNER_UID, 0o700],
        [place.run, SIGNER_UID, 0o750],
        [place.data, DAEMON_UID, 0o700],
      ] as const) {
        await mkdir(folder, { mode });
        await chown(folder, uid, GROUP);
      }
      await writeFile(place.passphrase, PASSPHRASE, { mode: 0o600 });
      await writeFile(place.words, await createWords(12), { mode: 0o600 });
      node = await Litecoind.start();
      await node.fund();
      const chain = litecoinConfig(`core_rpc = "${node.url}"`);
      const config = join(place.data, 'countinghouse.toml');
      await writeFile(config, `${QUIET_CONFIG}${chain}[wallet]\nsigner = "${socket}"\n`);
      await chown(config, DAEMON_UID, GROUP);
      await startSigner();
      await startDaemon();
    });
    afterAll(async () => {
      await daemon?.end('SIGTERM');
      await signer?.end('SIGTERM');
      await node?.remove();
      await rm(root, { recursive: true, force: true });
    });

    /** A command of the operator's: on a server, the superuser's. */
    async function command(...argv: string[]) {
      const { io, ran } = fakeIo({
        COUNTINGHOUSE_DATA_DIR: place.data,
        COUNTINGHOUSE_SIGNER_DIR: place.wallet,
        COUNTINGHOUSE_SIGNER_SOCKET: place.socket,
      });
      const code = await runCli([...argv, '--json', '--yes'], io);
      return { code, out: ran.out, err: ran.err };
    }
    async function operator<T = Record<string, unknown>>(...argv: string[]): Promise<T> {
      const { code, out, err } = await command(...argv);
      expect(code, err).toBe(0);
      return JSON.parse(out) as T;
    }
    const unlock = () => operator('wallet', 'unlock', '--passphrase-file', place.passphrase);
    const shown = async (id: string): Promise<Shown> =>
      (await operator<{ withdrawal: Shown }>('withdrawal', 'show', id)).withdrawal;
    const when = (id: string, what: string, is: (now: Shown) => boolean): Promise<Shown> =>
      until(`withdrawal ${id} ${what}`, async () => {
        const now = await shown(id);
        return is(now) && now;
      });
    const approval = (id: string, address: string, amount: string): string[] => [
      'withdrawal',
      'approve',
      id,
      '--to',
      address,
      '--amount',
      amount,
      '--passphrase-file',
      place.passphrase,
    ];

    async function shop<T>(method: string, path: string, body?: unknown): Promise<T> {
      const response = await fetch(`${url}/api/v1/merchant${path}`, {
        method,
        headers: { 'mb-api-key': key, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return (await response.json()) as T;
    }
    const withdraw = async (amount: string, address: string): Promise<string> =>
      (await shop<{ id: string }>('POST', '/withdraw', { amount, crypto: 'LTC', address })).id;
    const mempool = (): Promise<string[]> => node.rpc<string[]>('getrawmempool', []);
    const received = (address: string): Promise<number> => node.rpc<number>('getreceivedbyaddress', [address, 1]);

    it('takes a payment to a wallet that the daemon never sees', async () => {
      const add = ['business', 'add', '--name', 'Shop', '--network', 'regtest', '--words-file', place.words];
      const scopes = ['--scopes', 'invoices,balance,withdraw'];
      const added = await operator<{ key: { key: string } }>(...add, ...scopes, '--passphrase-file', place.passphrase);
      key = added.key.key;
      expect(await unlock()).toMatchObject({ wallet: { state: 'unlocked' } });
      const { id } = await shop<{ id: string }>('POST', '/invoice', { amount: 800, crypto: 'LTC' });
      const address = await until('litecoind is followed', async () => {
        return (await shop<{ address?: string }>('POST', `/invoice/rp/${id}`)).address;
      });
      await node.pay([{ address, units: 10n * COIN }]);
      await node.mine(CONFIRMATIONS);
      await until('the invoice is paid', async () => {
        return (await shop<{ status: string }>('GET', `/invoice/${id}`)).status === 'paid';
      });
      expect(await shop('GET', '/balance')).toMatchObject({ LTC: 10 });
    });

    it('is approved while the wallet is locked, and completed through every kill', async () => {
      const address = await node.newAddress();
      const id = await withdraw('1.5', address);
      await signer.end('SIGKILL');
      // the passphrase goes to the signer alone: while it does not run, nothing is approved
      expect(await command(...approval(id, address, '1.5'))).toMatchObject({
        code: 1,
        err: expect.stringContaining('The separate signer does not answer at its socket'),
      });
      expect(await shown(id)).toMatchObject({ state: 'requested', versions: [] });
      await startSigner();
      await operator(...approval(id, address, '1.5'));
      expect(await when(id, 'waits', ({ problem }) => problem !== null)).toMatchObject({
        state: 'approved',
        problem: 'the wallet is locked',
      });
      await signer.end('SIGKILL');
      await daemon.end('SIGKILL');
      await startDaemon();
      await startSigner();
      await unlock();
      const first = newestOf(await when(id, 'is sent', ({ state }) => state === 'broadcast'));
      await until('the node has it', async () => (await mempool()).includes(first!));
      // what was signed is known to the signer's next life: the same payment takes its own place
      await signer.end('SIGKILL');
      await daemon.end('SIGTERM');
      await startSigner();
      await startDaemon();
      await unlock();
      await until('the restarted service looks at the chain', async () => {
        const { chains } = await operator<{ chains: { network: string; synced_at: string | null }[] }>('status');
        return chains.some(({ network, synced_at }) => network === 'regtest' && synced_at !== null);
      });
      await operator('withdrawal', 'speed-up', id, '--fee-rate', '60', '--passphrase-file', place.passphrase);
      const second = newestOf(await when(id, 'is replaced', ({ versions }) => versions[1]?.tx_id != null));
      await until('the replacement is alone', async () => (await mempool()).join() === second);
      await node.mine(1);
      await when(id, 'is completed', ({ state }) => state === 'completed');
      expect(await received(address)).toBe(1.5);
      expect(await shop('GET', `/withdrawal/${id}`)).toMatchObject({ status: 'completed', tx_id: second });
    });

    it("leaves no file of the wallet in the daemon's folder", async () => {
      const own = await readdir(join(place.data, 'vault'));
      // the sandbox's wallet, which has no money, is the daemon's
      expect(own.filter((name) => !name.startsWith('sandbox-wallet.'))).toEqual([
        expect.stringMatching(/^backup-key-[0-9a-f]{8}\.json$/),
      ]);
      const wallet = (await readdir(place.wallet)).filter((name) => !name.startsWith('backup-key-'));
      const files = ['operator.sock', 'signer-journal.head', 'signer-journal.jsonl', 'signer.lock', 'wallet.json'];
      expect(wallet.sort()).toEqual(files);
    });

    it.runIf(isRoot)(
      "shows the daemon's user neither the wallet, nor the passphrase, nor the signer's memory",
      async () => {
        const files = (await readdir(place.wallet)).map((name) => join(place.wallet, name));
        for (const file of [...files, place.passphrase, place.words]) {
          expect(await as(DAEMON_UID, `fs.readFileSync(${JSON.stringify(file)})`), file).toBe('EACCES');
        }
        expect(await as(DAEMON_UID, `fs.readdirSync(${JSON.stringify(place.wallet)})`)).toBe('EACCES');
        // the process that listens, and the one that holds the words
        const children = await readFile(`/proc/${signer.pid}/task/${signer.pid}/children`, 'utf8');
        const pids = [`${signer.pid}`, ...children.trim().split(' ')];
        expect(pids).toHaveLength(2);
        for (const path of pids.flatMap((pid) => ['mem', 'environ', 'maps'].map((file) => `/proc/${pid}/${file}`))) {
          expect(['EACCES', 'EPERM'], path).toContain(await as(DAEMON_UID, `fs.openSync('${path}', 'r')`));
        }
      },
    );
  },
);
