/** The command line against a real daemon, and as a process of its own. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MARKER } from '../../daemon/app/backup/folder.ts';
import { LinkEnded } from '../../daemon/contract/console-client.ts';
import { accountKey } from '../../daemon/wallet/accounts.ts';
import { createWords, seedOf } from '../../daemon/wallet/mnemonic.ts';
import { bundled } from '../support/bundles.ts';
import { buildConsole } from '../support/console.ts';
import { ConsolePage } from '../support/console-page.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { type Answer, cli } from '../unit/cli-kit.ts';

const CONFIG = 'port = 0\n[rates]\nsources = []\n[sandbox]\nblock_seconds = 0\n[payments]\naddress_pool = 20\n';
/** scrypt and new processes on a machine that is busy. */
const READY_MS = 30_000;
const PASSPHRASE = 'correct horse battery';

let daemon: TestDaemon;
let folder: string;
beforeAll(async () => {
  daemon = await startTestDaemon();
  folder = await mkdtemp(join(tmpdir(), 'countinghouse-cli-'));
});
afterAll(async () => {
  await daemon.stop();
  await rm(folder, { recursive: true, force: true });
});

const run = (argv: string[], answers: Answer[] | null = null) => cli(daemon.dataDir, argv, answers);

/** The result of a command that succeeds. */
async function json<T = Record<string, unknown>>(...argv: string[]): Promise<T> {
  const { code, out, err } = await run([...argv, '--json', '--yes']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out.trimEnd().split('\n')).toHaveLength(1);
  return JSON.parse(out) as T;
}

/** The text of a command that succeeds. */
async function text(...argv: string[]): Promise<string> {
  const { code, out } = await run([...argv, '--yes']);
  expect(code).toBe(0);
  return out;
}

async function newInvoice(extra: object = {}): Promise<string> {
  return (await daemon.call<{ id: string }>('POST', '/invoice', { amount: 40, ...extra })).body.id;
}

describe('every command', () => {
  it('has a table for people and JSON for scripts', async () => {
    expect(await text('status')).toMatch(/^Countinghouse {2}0\.1\.0\nAddress {8}http:\/\/127\.0\.0\.1:\d+\n/);
    expect(await json('status')).toMatchObject({ data_dir: daemon.dataDir, open_alerts: 0 });
    expect(await text('business', 'list')).toMatch(/^NO {2}BUSINESS .*\n 1 {2}Sandbox {3}sandbox/);
    expect(await text('webhook', 'list')).toBe('There are no notifications.\n');
    expect(await text('webhook', 'log')).toBe('There are no notifications.\n');
    expect(await text('alert', 'list')).toBe('There are no open alerts.\n');
    expect(await text('alert', 'seen', '--all')).toBe('Marked as seen: 0.\n');
    expect(await text('inbox', 'list')).toBe('The inbox is empty.\n');
    expect(await text('invoice', 'list')).toBe('There are no such invoices.\n');
    expect(await json('invoice', 'list')).toEqual({ invoices: [], next: null });
  });
});

const NEW_ADDRESS = 'rltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kc04jdv';

describe('the exit code', () => {
  it.each([
    ['key revoke'],
    ['address-book remove'],
    ['inbox accept'],
    [`inbox refund ? ${NEW_ADDRESS}`],
    ['inbox keep'],
    ['webhook resend'],
    ['endpoint types ? invoice.paid'],
    ['endpoint rotate'],
    ['endpoint enable'],
    ['endpoint pause'],
    ['endpoint test'],
    ['endpoint remove'],
    ['endpoint resend'],
    ['alert seen'],
    ['console end'],
    ['withdrawal show'],
    ['withdrawal approve'],
    ['withdrawal reject'],
    ['withdrawal speed-up'],
    ['withdrawal cancel'],
    ['withdrawal batch 998'],
  ])('of `%s` is 1 for a number that nothing has, and 2 for a text that is no number', async (command) => {
    const words = command.includes('?') ? command : `${command} ?`;
    const asked = (number: string) =>
      run(
        [...words.replace('?', number).split(' '), '--yes', '--pay=x=1', '--pay=y=1'].filter(
          (word) => !word.startsWith('--pay') || command.includes('batch'),
        ),
      );
    expect(await asked('999')).toEqual({ code: 1, out: '', err: expect.stringMatching(/there is no|not found/i) });
    for (const wrong of ['twelve', '0', '1.5', '1e3']) {
      expect(await asked(wrong)).toEqual({ code: 2, out: '', err: expect.stringMatching(/It must be a whole number/) });
    }
  });

  it.each([
    ['invoice show ?'],
    ['invoice cancel ?'],
    ['invoice mark-paid ?'],
    ['client change ? --origin https://a.example'],
    ['client revoke ?'],
    ['key list ?'],
    ['business change ? --name Other'],
    ['business brand ? --name Other'],
    ['policy show ?'],
    ['address-book list ?'],
    [`withdrawal add ? 1 LTC ${NEW_ADDRESS}`],
    [`withdrawal sweep ? LTC ${NEW_ADDRESS}`],
    ['gas forecast ? ETH'],
    ['withdrawal list --business ?'],
    ['invoice list --business ?'],
    ['backup verify ?'],
    ['restore ? --data-dir /tmp/none-of-ours'],
    ['source rescan ?'],
    ['ledger ?'],
  ])('of `%s` is 1 for a name that nothing has', async (command) => {
    expect(await run([...command.replace('?', 'nothing').split(' '), '--yes'])).toMatchObject({ code: 1, out: '' });
  });

  it.each([
    ['withdrawal add 1 many LTC x'],
    ['withdrawal add 1 -5 LTC x'],
    ['withdrawal speed-up 1 --fee-rate fast'],
    ['withdrawal bump 1 LTC x --fee-rate fast'],
    ['withdrawal approve 1 --speed rapid'],
    ['withdrawal approve 1 --wait long'],
    ['withdrawal list --limit 500'],
    ['withdrawal list --state lost'],
    ['invoice list --before x'],
    ['alert list --after x'],
    ['policy set 1 --mode automatic --per-day much'],
    ['address-book add 1 DOGE x y'],
    ['gas forecast 1 LTC'],
    ['gas forecast 1 ETH --min-usd much'],
    ['gas forecast 1 ETH --share 101'],
    ['gas collect 1 ETH --from soon --max-cost 1'],
    ['gas collect 1 ETH --max-price much --max-cost 1'],
    ['key add 1 --name x --scopes all'],
    ['endpoint add 1 https://a.example --types x'],
    ['export --from yesterday'],
  ])('of `%s` is 2: an argument is wrong', async (command) => {
    expect(await run([...command.split(' '), '--yes'])).toMatchObject({ code: 2, out: '' });
  });

  it('of `alert test` is 1 while no channel is configured', async () => {
    const told = { code: 1, out: '', err: expect.stringContaining('no channel is configured') };
    expect(await run(['alert', 'test'])).toEqual(told);
    expect(await run(['alert', 'test', '--json'])).toEqual(told);
  });
});

describe('keys and client IDs', () => {
  it('shows a key once, by which the merchant API answers until it is revoked', async () => {
    const { key } = await json<{ key: { id: number; key: string } }>(
      'key',
      'add',
      'sandbox',
      '--name',
      'till',
      '--scopes',
      'invoices',
    );
    const headers = { 'mb-api-key': key.key };
    expect((await daemon.call('POST', '/invoice', { amount: 20 }, headers)).status).toBe(201);
    const listed = await text('key', 'list', '1');
    expect(listed).toContain(key.key.slice(0, 12));
    expect(listed).not.toContain(key.key);
    expect(await run(['key', 'revoke', `${key.id}`])).toMatchObject({
      code: 1,
      err: 'error: this needs a confirmation: give --yes\n',
    });
    expect(await text('key', 'revoke', `${key.id}`)).toBe(`Key ${key.id} is revoked.\n`);
    expect((await daemon.call('POST', '/invoice', { amount: 20 }, headers)).status).toBe(401);
    expect(await text('key', 'list', '--revoked')).toContain('REVOKED');
    expect(await run(['key', 'revoke', `${key.id}`, '--yes'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^error: There is no such key/),
    });
  });

  it('makes, changes and revokes client IDs', async () => {
    const made = await text(
      'client',
      'add',
      '1',
      '--name',
      'page',
      '--origin',
      'https://a.example',
      '--origin',
      'https://b.example',
    );
    expect(made).toContain('Hosts      a.example b.example\n');
    const id = /ch_client_\w+/.exec(made)?.[0] ?? '';
    expect(await text('client', 'change', id, '--host', 'c.example')).toContain(
      'Origins    https://a.example https://b.example\nHosts      c.example\n',
    );
    expect(await text('client', 'revoke', id)).toBe(`Client ID ${id} is revoked.\n`);
    expect(await text('client', 'list')).not.toContain(id);
  });
});

describe('invoices', () => {
  it('lists, shows, cancels and marks them, asking first', async () => {
    await newInvoice();
    const slug = await newInvoice({ webhook_url: 'https://shop.example/\u202epaid' });
    expect(await text('invoice', 'list', '--limit', '1')).toMatch(new RegExp(`${slug}  -      Sandbox`));
    expect((await run(['invoice', 'list', '--limit', '1'])).err).toMatch(/^More: --before \d+\n$/);
    await daemon.call('POST', `/invoice/rp/${slug}`, { crypto: 'LTC' });
    await daemon.call('POST', '/sandbox/pay', { invoice_id: slug, amount: '0.1' });
    const shown = await until('the deposit is shown', async () => {
      const found = await text('invoice', 'show', slug);
      return found.includes('0 of 3') && found.includes('Deposits') && found;
    });
    expect(shown).toMatch(/Amount {7}40 USD \(0\.4 less is enough\)/);
    expect(shown).toMatch(/Received {7}0\.1 LTC \(8 USD\)/);
    expect(shown).not.toMatch(/[^\n\P{Cc}]|\p{Cf}/u);

    const asked = await run(['invoice', 'cancel', slug], [[/\[y\/N\] /, 'n\n']]);
    expect(asked).toMatchObject({ code: 1, out: '' });
    expect(asked.err).toBe(
      `${slug} of Sandbox: 40 USD, unpaid, 0.1 LTC received. Cancel it? [y/N] error: nothing was done\n`,
    );
    expect((await json<{ invoice: { status: string } }>('invoice', 'show', slug)).invoice.status).toBe('unpaid');
    const agreed = await run(['invoice', 'cancel', slug], [[/\[y\/N\] /, 'y\n']]);
    expect(agreed).toMatchObject({ code: 0, out: `Invoice ${slug} is canceled.\n` });
    expect(await text('inbox', 'list')).toMatch(new RegExp(`0\\.1 LTC +8 +short +open, unconfirmed +${slug}`));
    const late = await run(['invoice', 'mark-paid', slug, '--yes', '--json']);
    expect(late).toMatchObject({ code: 1, out: '' });
    expect(JSON.parse(late.err)).toEqual({
      error: { code: 'invoice.not_unpaid', message: 'The invoice is canceled already' },
    });

    const other = await newInvoice();
    expect(await text('invoice', 'mark-paid', other)).toBe(`Invoice ${other} counts as paid.\n`);
    expect(await text('invoice', 'list', '--status', 'paid', '--business', 'Sandbox')).toContain(other);
  });
});

describe('business', () => {
  it('adds and changes one in the sandbox', async () => {
    const added = await text(
      'business',
      'add',
      '--name',
      'Bäckerei',
      '--network',
      'sandbox',
      '--origin',
      'https://b.example',
      '--time-zone',
      'Europe/Berlin',
    );
    expect(added).toMatch(/Business {3}Bäckerei \(number 2\)/);
    expect(added).toMatch(/API key {2}ch_test_\w{32}/);
    expect(added).toMatch(/Client ID {2}ch_client_/);
    const changed = await json<{ business: object }>(
      'business',
      'change',
      'bäckerei',
      '--disable',
      'XMR,ETH',
      '--disable',
      'BNB',
      '--name',
      'Café',
    );
    expect(changed.business).toMatchObject({
      name: 'Café',
      cryptos: ['BTC', 'BCH', 'LTC', 'USDT_ERC20', 'USDT_BEP20', 'XAUT', 'PAXG'],
    });
  });

  it('makes a wallet whose words are proved, over as many attempts as it takes', async () => {
    const own = await startTestDaemon();
    const add = ['business', 'add', '--name', 'Live', '--network', 'mainnet'];
    const start = async (argv: string[], answers: Answer[] | null) => cli(own.dataDir, argv, answers);
    const words = (err: string) => [...err.matchAll(/^ +\d+ {2}([a-z]+)$/gm)].map((match) => match[1] as string);
    try {
      const alone = await start(add, null);
      expect(alone).toMatchObject({ code: 1, err: expect.stringContaining('--i-have-the-words') });
      expect(await readdir(join(own.dataDir, 'vault'))).not.toContain('wallet.json');
      const first = await start(add, [
        [/New passphrase: /, 'too short\r'],
        [/New passphrase: /, `${PASSPHRASE}\r`],
        [/Once more: /, `${PASSPHRASE}\r`],
        [/on paper\. /, '\r'],
        [/Word \d+: /, 'wrong\n'],
        [/Word \d+: /, 'wrong\n'],
        [/Word \d+: /, 'wrong\n'],
      ]);
      expect(first).toMatchObject({ code: 1, out: '' });
      expect(first.err).toContain('at least 10 characters');
      expect(words(first.err)).toHaveLength(24);
      expect((await start(['business', 'list'], null)).out).not.toContain('Live');

      const shown: string[] = [];
      const remember = (match: RegExpExecArray) => {
        shown.push(...words(` ${match[1]}`));
        return '\r';
      };
      const typeBack = (match: RegExpExecArray) => `${shown[Number(match[1]) - 1]}\n`;
      const second = await start(add, [
        [/Passphrase of the wallet: /, `${PASSPHRASE}\r`],
        [/\s(1 {2}[a-z]+\n(?: +\d+ {2}[a-z]+\n)+)/, remember],
        [/Word (\d+): /, typeBack],
        [/Word (\d+): /, typeBack],
        [/Word (\d+): /, typeBack],
      ]);
      expect(second).toMatchObject({ code: 0, out: expect.stringMatching(/Live \(number 2\)[\s\S]*ch_live_/) });
      expect(words(second.err)).toEqual(words(first.err));
      expect(second.out).not.toContain(words(first.err).join(' '));
      // the screen with the words is left before anything else is said
      expect(second.err.indexOf('\u001b[?1049l')).toBeLessThan(second.err.indexOf('Word '));

      const third = await start(
        ['business', 'add', '--name', 'Second', '--network', 'mainnet'],
        [[/Passphrase/, `${PASSPHRASE}\r`]],
      );
      expect(third).toMatchObject({ code: 0 });
      expect(words(third.err)).toEqual([]);
      const wrong = await start(add, [[/Passphrase/, 'something else\r']]);
      expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('does not open this wallet') });
    } finally {
      await own.stop();
    }
  });

  it('gives a script the words of a new wallet, and only the public keys to the daemon', async () => {
    const file = join(folder, 'passphrase');
    await writeFile(file, `${PASSPHRASE}\n`);
    const made = await json<{ wallet: { words: string[] }; business: object; key: { key: string } }>(
      'business',
      'add',
      '--name',
      'Live',
      '--network',
      'testnet',
      '--passphrase-file',
      file,
      '--i-have-the-words',
    );
    expect(made.wallet.words).toHaveLength(24);
    expect(made.business).toMatchObject({ network: 'testnet', account_no: 0, cryptos: [] });
    expect(made.key.key).toMatch(/^ch_test_/);
    const again = await json<{ wallet: object; business: object }>(
      'business',
      'add',
      '--name',
      'Live 2',
      '--network',
      'testnet',
      '--passphrase-file',
      file,
      '--i-have-the-words',
    );
    expect(again.wallet).not.toHaveProperty('words');
    expect(again.business).toMatchObject({ account_no: 1 });
    expect(await readdir(join(daemon.dataDir, 'vault'))).toEqual([
      expect.stringMatching(/^backup-key-[0-9a-f]{8}\.json$/),
      'sandbox-wallet.json',
      'sandbox-wallet.key',
      // The journal begins with the wallet: approvals are bound to it.
      'signer-journal.head',
      'signer-journal.jsonl',
      'wallet.json',
    ]);
  });

  it('imports words, and derives what they stand for', async () => {
    const own = await startTestDaemon('[networks.regtest.LTC]\ncore_rpc = "http://u:p@127.0.0.1:9"\n');
    try {
      const words = await createWords(12);
      const [wordsFile, passphraseFile] = [join(folder, 'words'), join(folder, 'pw')];
      await writeFile(wordsFile, `${words.toUpperCase()}\n`);
      await writeFile(passphraseFile, PASSPHRASE);
      const add = [
        'business',
        'add',
        '--name',
        'Old',
        '--network',
        'regtest',
        '--import',
        '--passphrase-file',
        passphraseFile,
      ];
      expect(await cli(own.dataDir, add)).toMatchObject({
        code: 1,
        err: 'error: there is no terminal to ask on: give --words-file\n',
      });
      const done = await cli(own.dataDir, [...add, '--words-file', wordsFile, '--birthday', '2024-05-01', '--json']);
      expect(done).toMatchObject({ code: 0, err: '' });
      expect(JSON.parse(done.out).business).toMatchObject({ cryptos: ['LTC'] });
      expect(done.out).not.toContain(words.split(' ').slice(0, 2).join(' '));
      // another account of the same words may have been used as well
      const more = ['business', 'add', '--name', 'More', '--network', 'regtest', '--passphrase-file', passphraseFile];
      const second = await cli(own.dataDir, more);
      expect(second).toMatchObject({ code: 0, err: expect.stringContaining('The words were made elsewhere') });
      const expected = accountKey(await seedOf(words, ''), 'LTC', 'regtest', 0);
      await own.daemon.stop();
      const { Store } = await import('../../daemon/store/store.ts');
      const { allAccounts } = await import('../../daemon/store/queries/businesses.ts');
      const store = await Store.open(own.dataDir);
      const [account, other] = store.all(allAccounts, {}).filter(({ chain_key }) => chain_key === 'regtest:LTC');
      await store.close();
      expect(other).toMatchObject({ next_index: 13_000, next_change: 13_000, rescan: null });
      expect(account?.key).toEqual(expected);
      expect(account?.birthday).toBe(Date.UTC(2024, 4, 1));
    } finally {
      await own.stop();
    }
  });
});

type Started = {
  child: ChildProcess;
  dataDir: string;
  out: () => string;
  err: () => string;
  ended: Promise<number | null>;
};

/** `preload`: a module that is loaded before the program. `within`: a program with arguments that runs this one. */
async function startProcess(
  argv: string[],
  dataDir?: string,
  settings = '',
  { preload = '', within = [] as string[] } = {},
): Promise<Started> {
  const own = dataDir ?? (await mkdtemp(join(folder, 'data-')));
  if (!dataDir) await writeFile(join(own, 'countinghouse.toml'), CONFIG + settings);
  const env = { PATH: process.env.PATH, HOME: folder, COUNTINGHOUSE_DATA_DIR: own };
  // the program strips the types of the browser's code, of which Node warns
  const flags = [
    '--disable-warning=ExperimentalWarning',
    '--import',
    `data:text/javascript,${encodeURIComponent(preload)}`,
  ];
  const [program = '', ...args] = [...within, process.execPath, ...flags, await bundled('daemon/cli.ts'), ...argv];
  const child = spawn(program, args, {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let [out, err] = ['', ''];
  child.stdout?.on('data', (part) => (out += part));
  child.stderr?.on('data', (part) => (err += part));
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  return { child, dataDir: own, out: () => out, err: () => err, ended };
}

const ready = (started: Started) =>
  until(
    'the daemon is ready',
    async () => {
      if (started.child.exitCode !== null) throw new Error(started.err());
      return started.out().includes('\n') && started.out();
    },
    READY_MS,
  );

describe('start', () => {
  it('prints one line of JSON, with keys on the first start only, and stops cleanly', async () => {
    const first = await startProcess(['start', '--json']);
    const line = await ready(first);
    const { url, data_dir, api_key, client_id } = JSON.parse(line) as Record<string, string>;
    expect(data_dir).toBe(first.dataDir);
    expect(client_id).toMatch(/^ch_client_/);
    const answer = await fetch(`${url}/api/v1/merchant/cryptos`, { headers: { 'mb-api-key': api_key ?? '' } });
    expect(answer.status).toBe(200);
    expect((await stat(join(first.dataDir, 'countinghouse.db'))).mode & 0o077).toBe(0);

    const second = await startProcess(['start', '--json'], first.dataDir);
    expect(await second.ended).toBe(3);
    expect(JSON.parse(second.err())).toMatchObject({ error: { code: 'store.locked' } });
    expect(await cli(first.dataDir, ['status'])).toMatchObject({ code: 0 });

    // one Ctrl-C arrives from the terminal and through the launcher
    first.child.kill('SIGINT');
    first.child.kill('SIGINT');
    expect(await first.ended).toBe(0);
    expect(first.out()).toBe(line);
    expect(existsSync(join(first.dataDir, 'operator.json'))).toBe(false);

    const again = await startProcess(['start', '--json'], first.dataDir);
    expect(Object.keys(JSON.parse(await ready(again)))).toEqual(['url', 'data_dir']);
    again.child.kill('SIGTERM');
    expect(await again.ended).toBe(0);
  });

  it('stops although the disk of the backups does not answer', async () => {
    const silent = await mkdtemp(join(folder, 'silent-'));
    // opening it waits for another one who does, as a network disk that is away does for ever
    execFileSync('mkfifo', [join(silent, MARKER)]);
    const started = await startProcess(['start', '--json'], undefined, `[backup]\nfolder = "${silent}"\n`);
    try {
      await ready(started);
      started.child.kill('SIGTERM');
      expect(await Promise.race([started.ended, sleep(10_000, 'late')])).not.toBe('late');
    } finally {
      started.child.kill('SIGKILL');
    }
  });

  it.runIf(spawnSync('unshare', ['--mount', 'true']).status === 0)(
    'stops although no name server answers',
    async () => {
      const names = join(folder, 'resolv.conf');
      await writeFile(names, 'nameserver 127.0.0.77\n');
      const silent = createSocket('udp4').bind(53, '127.0.0.77');
      await once(silent, 'listening');
      const preload = `import { lookup } from 'node:dns'; setInterval(() => lookup('shop.example', () => {}), 100).unref();`;
      const within = ['unshare', '--mount', 'sh', '-c', `mount --bind ${names} /etc/resolv.conf && exec "$@"`, 'sh'];
      const started = await startProcess(['start', '--json'], undefined, '', { preload, within });
      try {
        await ready(started);
        started.child.kill('SIGTERM');
        expect(await Promise.race([started.ended, sleep(6_000, 'late')])).not.toBe('late');
      } finally {
        started.child.kill('SIGKILL');
        silent.close();
      }
    },
  );

  it('gives people a curl line that works when pasted', async () => {
    const started = await startProcess(['start']);
    const out = await until(
      'the curl line is printed',
      async () => started.out().includes('curl ') && started.out(),
      READY_MS,
    );
    expect(out).not.toMatch(/^\{/m);
    const line = /^ {2}curl (.*)$/m.exec(out)?.[1] ?? '';
    const shell = spawn('sh', ['-c', `set -- ${line}; printf '%s\\n' "$@"`], { stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    shell.stdout.on('data', (part) => (printed += part));
    await new Promise((resolve) => shell.once('close', resolve));
    const [, method, url, , key, , type, , body] = printed.split('\n') as string[];
    const [keyName, keyValue] = key!.split(': ') as [string, string];
    const answer = await fetch(url!, {
      method: method!,
      headers: { [keyName]: keyValue, 'content-type': type!.split(': ')[1]! },
      body: body!,
    });
    expect(answer.status).toBe(201);
    expect(await answer.json()).toMatchObject({ amount: '25' });
    // whoever supervises it goes away
    started.child.disconnect();
    expect(await started.ended).toBe(0);
  });

  it('prints a sign-in link without a terminal where it is asked to, until a browser has used one', async () => {
    buildConsole();
    const settings = '[console]\nport = 0\nfirst_link = true\n';
    const linkIn = (out: string): string | undefined => /http:\S+#sign-in=\S+/.exec(out)?.[0];
    const printed = (started: Started): Promise<string> =>
      until('the link is printed', async () => linkIn(started.out()), READY_MS);
    const unused = await startProcess(['start'], undefined, settings);
    const first = await printed(unused);
    unused.child.kill('SIGTERM');
    expect(await unused.ended).toBe(0);

    const used = await startProcess(['start'], unused.dataDir);
    const second = await printed(used);
    expect(second).not.toBe(first);
    const page = await ConsolePage.signIn(second);
    expect((await page.ask('/call/status')).status).toBe(200);
    // a thief who reads the log later
    await expect(ConsolePage.signIn(second)).rejects.toThrow(LinkEnded);
    used.child.kill('SIGTERM');
    expect(await used.ended).toBe(0);

    const later = await startProcess(['start'], unused.dataDir);
    await until('it is ready', async () => later.out().includes('Make more keys'), READY_MS);
    await until('it answers', async () => (await cli(unused.dataDir, ['status'])).code === 0, READY_MS);
    later.child.kill('SIGTERM');
    expect(await later.ended).toBe(0);
    expect(linkIn(later.out())).toBeUndefined();
  });

  it('ends with the code of what is wrong', async () => {
    const own = await mkdtemp(join(folder, 'data-'));
    await writeFile(join(own, 'countinghouse.toml'), 'prt = 1\n');
    const wrong = await startProcess(['start'], own);
    expect(await wrong.ended).toBe(2);
    expect(wrong.err()).toMatch(/^error: The configuration has a problem:\n {2}prt: /);
    const taken = await startProcess(['start', '--port', new URL(daemon.url).port]);
    expect(await taken.ended).toBe(1);
    expect(taken.err()).toMatch(
      /^error: Port \d+ of \S+ cannot be used: another program uses it \(EADDRINUSE\)\. Give another/m,
    );
    expect(taken.err()).not.toMatch(/\n\s+at /);
  });
});
