/** The command line without a daemon: how it prints, asks, and refuses. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { InvalidArgumentError } from 'commander';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { list } from '../../daemon/cli/commands.ts';
import { clean, EXIT, jsonLine } from '../../daemon/cli/io.ts';
import { day, lockMinutes, port, time, wholeNumber } from '../../daemon/cli/parse.ts';
import { askHidden, askLine, confirm } from '../../daemon/cli/prompt.ts';
import { readyText } from '../../daemon/cli/start.ts';
import { pairs, span, table, when, widthOf } from '../../daemon/cli/table.ts';
import { businessCalled } from '../../daemon/cli/unlock.ts';
import { anyCharacter } from '../support/characters.ts';
import { startTestDaemon } from '../support/daemon.ts';
import { Operator } from '../support/operator.ts';
import { cli, fakeIo } from './cli-kit.ts';

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'countinghouse-cli-'));
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

const DANGEROUS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

describe('what reaches a terminal', () => {
  it.each([
    ['\u001b[2J\u001b[1;31mpaid', '\ufffd[2J\ufffd[1;31mpaid'],
    ['a\nerror: forged', 'a error: forged'],
    ['\u009b31m', '\ufffd31m'],
    ['https://shop.example/\u202egpj.exe', 'https://shop.example/\ufffdgpj.exe'],
    ['Läden 商店', 'Läden 商店'],
  ])('%j becomes %j', (text, expected) => {
    expect(clean(text)).toBe(expected);
  });

  it('is never obeyed by it, and JSON says the same as before', () => {
    const anything = fc.string({ unit: anyCharacter });
    fc.assert(
      fc.property(anything, anything, (a, b) => {
        expect(clean(a)).not.toMatch(DANGEROUS);
        expect(table(['A', 'B'], [[a, b]], '').split('\n')).toHaveLength(3);
        const line = jsonLine({ a, list: [b] });
        expect(line.slice(0, -1)).not.toMatch(DANGEROUS);
        expect(JSON.parse(line)).toEqual({ a, list: [b] });
      }),
    );
  });
});

describe('tables', () => {
  it('are aligned, also where characters are wide', () => {
    expect(
      table(
        ['>NO', 'NAME', 'TAKES'],
        [
          ['1', '商店', 'BTC'],
          ['12', 'Shop', '-'],
        ],
        'none',
      ),
    ).toBe('NO  NAME  TAKES\n 1  商店  BTC\n12  Shop  -\n');
    expect(table(['A'], [], 'There is nothing.')).toBe('There is nothing.\n');
    expect(
      pairs([
        ['Name', 'x'],
        ['Longer', 'y'],
        ['Left out', null],
      ]),
    ).toBe('Name    x\nLonger  y\n');
    expect([widthOf('abc'), widthOf('한국'), widthOf('é'), widthOf('e\u0301'), widthOf('🙂')]).toEqual([3, 4, 1, 1, 2]);
  });

  it.each([
    [0, '0 s'],
    [59, '59 s'],
    [60, '1 min'],
    [61, '1 min 1 s'],
    [3_600, '1 h'],
    [11_520, '3 h 12 min'],
    [90_061, '1 d 1 h'],
  ])('%d seconds are %s', (seconds, text) => {
    expect(span(seconds)).toBe(text);
  });

  it("shows instants on this machine's clock", () => {
    const at = new Date(2026, 2, 9, 8, 5, 59);
    expect(when(at.toISOString())).toBe('2026-03-09 08:05');
    expect(when(null)).toBe('-');
  });
});

describe('what is typed', () => {
  it('is taken as days, ports, numbers and lists', () => {
    expect(day('2024-02-29')).toBe('2024-02-29T00:00:00.000Z');
    for (const wrong of ['2023-02-29', '2024-2-9', '29.02.2024', '', '2024-13-01', '2024-01-01T00:00']) {
      expect(() => day(wrong)).toThrow(InvalidArgumentError);
    }
    expect([port('0'), port('65535')]).toEqual([0, 65_535]);
    for (const wrong of ['65536', '-1', '80.5', 'http', '']) expect(() => port(wrong)).toThrow(InvalidArgumentError);
    expect([lockMinutes('0'), lockMinutes('1440')]).toEqual([0, 1_440]);
    expect([time('2026-01-31T02:00Z'), time('2026-02-01T00:30:00+01:00')]).toEqual([
      1_769_824_800_000, 1_769_902_200_000,
    ]);
    expect(wholeNumber('1')).toBe(1);
    for (const wrong of ['0', '1e3', '9'.repeat(16), ''])
      expect(() => wholeNumber(wrong)).toThrow(InvalidArgumentError);
    expect(list('b, c,', ['a'])).toEqual(['a', 'b', 'c']);
  });

  it.each([
    ['secret\r', 'secret'],
    ['secret\n', 'secret'],
    ['secrett\u007f\r', 'secret'],
    ['wrong\u0015right\r', 'right'],
    ['pa\u001b[Dss\u001b[3~\r', 'pass'],
    ['pass wörd 🙂x\b\r', 'pass wörd 🙂'],
    ['🙂\u007fa\r', 'a'],
    ['\r', ''],
  ])('%j is read as %j', async (typed, expected) => {
    const { io, ran } = fakeIo({}, [[/Secret: /, typed]]);
    expect(await askHidden(io, 'Secret:')).toBe(expected);
    expect(ran.raw).toEqual([true, false]);
    expect(ran.err).toBe('Secret: \n');
  });

  it('may come ahead of its question', async () => {
    const { io } = fakeIo({}, [[/One/, 'first\r\nsecond\r']]);
    expect(await askHidden(io, 'One:')).toBe('first');
    expect(await askHidden(io, 'Two:')).toBe('second');
  });

  it('may be Ctrl-C, Ctrl-D, or the end of input', async () => {
    for (const typed of ['\u0003', 'abc\u0003', '\u0004']) {
      const { io, ran } = fakeIo({}, [[/Q/, typed]]);
      await expect(askHidden(io, 'Q')).rejects.toMatchObject({ exitCode: EXIT.canceled });
      expect(ran.raw).toEqual([true, false]);
    }
    const { io } = fakeIo({}, []);
    const asked = askLine(io, 'Q');
    io.stdin.push(null);
    await expect(asked).rejects.toMatchObject({ exitCode: EXIT.canceled });
  });

  it('agrees only by a clear yes', async () => {
    for (const [typed, agreed] of [
      ['y\n', true],
      ['YES\n', true],
      ['\n', false],
      ['yeah\n', false],
      ['n\n', false],
    ] as const) {
      const { io } = fakeIo({}, [[/N\]/, typed]]);
      const asked = confirm(io, false, 'Sure?');
      if (agreed) await expect(asked).resolves.toBeUndefined();
      else await expect(asked).rejects.toMatchObject({ exitCode: EXIT.failed, message: 'nothing was done' });
    }
    await expect(confirm(fakeIo().io, false, 'Sure?')).rejects.toThrow('give --yes');
    await expect(confirm(fakeIo().io, true, 'Sure?')).resolves.toBeUndefined();
  });
});

describe('how a command fails', () => {
  it.each<[string[], number, RegExp]>([
    [[], EXIT.usage, /^Usage: countinghouse/],
    [['burn'], EXIT.usage, /^error: unknown command 'burn'/],
    [['invoice', 'lst'], EXIT.usage, /^error: unknown command 'lst'/],
    [['status', '--verbose'], EXIT.usage, /^error: unknown option '--verbose'/],
    [['status', '--data-di', 'x'], EXIT.usage, /^error: unknown option '--data-di' \(Did you mean --data-dir\?\)\n$/],
    [['withdrawal', 'show', '1\u001b[2K\nall is well'], EXIT.usage, /^error: .* '1\ufffd\[2K all is well' .*\n$/],
    [['invoice', 'show'], EXIT.usage, /^error: missing required argument 'invoice'/],
    [['invoice', 'list', '--status', 'lost'], EXIT.usage, /^error: .*Allowed choices are unpaid, paid, canceled/],
    [['start', '--port', 'http'], EXIT.usage, /^error: .*a port from 0/],
    [['business', 'add', '--network', 'sandbox'], EXIT.usage, /^error: required option '--name <name>'/],
    [['alert', 'seen'], EXIT.usage, /^error: give the number of an alert, or --all\n$/],
    [
      ['export', '--from', '2026-02-01', '--to', '2026-01-31'],
      EXIT.usage,
      /^error: --from 2026-02-01 is after --to 2026-01-31\n$/,
    ],
    [['events', '--count', 'few'], EXIT.usage, /^error: .*It must be a whole number from 1/],
    [['client', 'change', '1'], EXIT.usage, /^error: nothing to change/],
    [['status', '--data-dir', ''], EXIT.usage, /^error: --data-dir is empty: name a folder\n$/],
    [
      ['signer', '--folder', 'a', '--socket', 'b', '--auto-lock-minutes', '1441'],
      EXIT.usage,
      /^error: .*It must be a whole number of minutes from 0 \(never\) to 1440/,
    ],
    ...['2026-02-30T02:00:00Z', '2026-01-31T02:00:00', '1', 'tomorrow', '2026-01-31'].map(
      (text): [string[], number, RegExp] => [
        ['gas', 'collect', '1', 'ETH', '--from', text],
        EXIT.usage,
        /^error: .*It must be a time with its zone, such as 2026-01-31T02:00:00Z/,
      ],
    ),
    [
      ['wallet', 'unlock', '--passphrase-file', '/dev/zero'],
      EXIT.usage,
      /^error: --passphrase-file: \/dev\/zero is too large\n$/,
    ],
    [['wallet', 'unlock', '--passphrase-file', '/'], EXIT.usage, /^error: --passphrase-file: \/ cannot be read\n$/],
    [['business', 'brand', '1', '--logo', '/dev/zero'], EXIT.usage, /^error: \/dev\/zero is too large for a logo\n$/],
    [
      ['business', 'add', '--name', 'x', '--network', 'sandbox', '--import'],
      EXIT.usage,
      /^error: the sandbox has a wallet of its own/,
    ],
    [
      ['business', 'add', '--name', 'x', '--network', 'mainnet', '--time-zone', 'Mars'],
      EXIT.usage,
      /^error: Mars is no time zone/,
    ],
    [
      ['business', 'add', '--name', 'x', '--network', 'mainnet', '--restore-height', '2026-01-31'],
      EXIT.usage,
      /^error: .*It must be the number of a block, such as 3100000/,
    ],
    [
      ['status'],
      EXIT.failed,
      /^error: no Countinghouse is running on \S+: start it with `npm start` or `countinghouse start`\n$/,
    ],
  ])('%j: exit %d, and the same in JSON', async (argv, code, told) => {
    const { err } = await cli(dataDir, ['--json', ...argv]);
    expect(JSON.parse(err)).toEqual({
      error: expect.objectContaining({ code: expect.any(String), message: expect.any(String) }),
    });
    if (argv.length > 0)
      expect(`error: ${(JSON.parse(err) as { error: { message: string } }).error.message}\n`).toMatch(told);
    const ran = await cli(dataDir, argv);
    expect(ran).toEqual({ code, out: '', err: expect.stringMatching(told) });
    expect(ran.err).not.toMatch(/\n\s+at /);
  });

  it('tells scripts in JSON, on stderr', async () => {
    const ran = await cli(dataDir, ['invoice', 'list', '--json']);
    expect(ran).toMatchObject({ code: EXIT.failed, out: '' });
    expect(JSON.parse(ran.err)).toEqual({ error: { code: 'no_daemon', message: expect.stringContaining(dataDir) } });
  });

  it('prints its version, in JSON too', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(await cli(dataDir, ['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
    expect(await cli(dataDir, ['-V', '--json'])).toEqual({ code: 0, out: `{"version":"${version}"}\n`, err: '' });
  });

  it('shows help on stdout when asked', async () => {
    const ran = await cli(dataDir, ['business', 'add', '--help']);
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(ran.out).toContain('--i-have-the-words');
    expect(ran.out).toContain('--data-dir <folder>');
  });

  it('finds the command behind options, whatever their values are called', async () => {
    const usages = async (...argv: string[]) =>
      /^Usage: (countinghouse.*)$/m.exec((await cli(dataDir, [...argv, '--help'])).out)?.[1];
    expect(await usages('export')).toBe('countinghouse export [options]');
    expect(await usages('--server', 'wallet', '--json', 'export')).toBe('countinghouse export [options]');
    expect(await usages('--data-dir=invoice', '-y', 'address-book')).toBe(
      'countinghouse address-book [options] [command]',
    );
    expect(await usages('--server', 'wallet')).toBe('countinghouse [options] [command]');
  });

  it('makes and restores no backup of a server by a path of this computer', async () => {
    for (const command of ['backup', 'restore']) {
      const { code, err } = await cli(dataDir, ['--server', 'shop', command, 'x.backup']);
      expect([code, err]).toEqual([2, expect.stringContaining(`countinghouse ${command} FILE\` on the server itself`)]);
    }
  });

  it('names a server that this computer has not joined', async () => {
    const { code, err } = await cli(dataDir, ['--server', 'shpo', 'status']);
    expect([code, err]).toEqual([1, expect.stringContaining('has joined no server called shpo')]);
  });

  it('has every command in its help, in one order, and guesses among all', async () => {
    const { out } = await cli(dataDir, ['--help']);
    const listed = [...out.slice(out.indexOf('Commands:')).matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name]) => name);
    expect(listed.join(' ')).toBe(
      'start status doctor console maintenance business key client invoice inbox link refund-link withdrawal gas forward policy ' +
        'address-book rates events webhook endpoint alert source wallet signer service backup restore ledger export statement ' +
        'closing releases verify config help',
    );
    const ran = await cli(dataDir, ['exprot']);
    expect([ran.code, ran.err]).toEqual([2, expect.stringContaining('export')]);
  });

  it('loads no module of a command before it is asked for', () => {
    const loaded = new Map<string, string>();
    const load = (file: string): void => {
      if (loaded.has(file)) return;
      const text = readFileSync(file, 'utf8');
      loaded.set(file, text);
      for (const [, other] of text.matchAll(/^import (?:[^"]* from )?"(\.[^"]+)";$/gm))
        load(join(dirname(file), other!));
    };
    load(join(import.meta.dirname, '../../dist/daemon/cli.js'));
    const text = [...loaded.values()].join();
    expect(text).toContain('Takes payments in cryptocurrency');
    for (const foreign of ['export receipts, withdrawals and fees', 'secp256k1']) expect(text).not.toContain(foreign);
  });

  it('tells an operator.json that is damaged', async () => {
    const broken = await mkdtemp(join(tmpdir(), 'countinghouse-cli-'));
    await writeFile(join(broken, 'operator.json'), '{"url":');
    const ran = await cli(broken, ['status']);
    expect(ran).toEqual({
      code: EXIT.failed,
      out: '',
      err: expect.stringMatching(/^error: \S+operator\.json is damaged: restart the daemon\n$/),
    });
    await rm(broken, { recursive: true });
  });
});

describe('a business', () => {
  const all = [
    { id: 1, uuid: 'a-1', name: '2' },
    { id: 2, uuid: 'a-2', name: 'Shop' },
    { id: 3, uuid: 'a-3', name: 'shop' },
    { id: 4, uuid: 'a-4', name: 'Bar' },
  ];
  it('is found by number before its name, as the service finds it', () => {
    expect(['2', '1', 'A-3', ' bar '].map((ref) => businessCalled(all, ref).id)).toEqual([2, 1, 3, 4]);
  });
  it('is none that nobody has, or that several have', () => {
    expect(() => businessCalled(all, '9')).toThrow('there is no business 9');
    expect(() => businessCalled(all, 'SHOP')).toThrow('several businesses are called SHOP: use a number (2, 3)');
  });
});

describe('config', () => {
  it('prints what is in force and where it came from, without secrets', async () => {
    const own = await mkdtemp(join(tmpdir(), 'countinghouse-cli-'));
    await writeFile(
      join(own, 'countinghouse.toml'),
      'port = 9\n[networks.regtest.LTC]\ncore_rpc = "http://u:hunter2@127.0.0.1:1"\n',
    );
    const { io, ran } = fakeIo({ COUNTINGHOUSE_DATA_DIR: own, COUNTINGHOUSE_SANDBOX_BLOCK_SECONDS: '3' });
    const { runCli } = await import('../../daemon/cli/program.ts');
    expect(await runCli(['config', '--json'], io)).toBe(0);
    const { settings } = JSON.parse(ran.out) as { settings: { key: string; value: string; origin: string }[] };
    expect(JSON.parse(ran.out).running).toBe(false);
    expect(settings).toContainEqual({ key: 'port', value: '9', origin: 'file' });
    expect(settings).toContainEqual({ key: 'sandbox.block_seconds', value: '3', origin: 'env' });
    expect(ran.out).toContain('networks.regtest.LTC.core_rpc');
    expect(ran.out).not.toContain('hunter2');
    await rm(own, { recursive: true });
  });

  it('leaves out the prices that nobody has set, and counts them', async () => {
    const own = await mkdtemp(join(tmpdir(), 'countinghouse-cli-'));
    await writeFile(join(own, 'countinghouse.toml'), '[networks.regtest.rates]\nLTC = "80"\n');
    const { out } = await cli(own, ['config']);
    expect(out.match(/^networks\.\w+\.rates\..*$/gm)).toEqual([expect.stringMatching(/rates\.LTC +"80" +file$/)]);
    expect(out).toMatch(/\n\nPrices of your own that are not set: \d{3}, in networks\.NETWORK\.rates\n$/);
    expect((await cli(own, ['config', '--json'])).out).toContain('"networks.mainnet.rates.EUR"');
    await rm(own, { recursive: true });
  });

  it('prints what the running service has, whatever the environment of the command', async () => {
    const service = await startTestDaemon();
    const read = async (...more: string[]) => {
      const { io, ran } = fakeIo({ COUNTINGHOUSE_DATA_DIR: service.dataDir, COUNTINGHOUSE_PORT: '9999' });
      const { runCli } = await import('../../daemon/cli/program.ts');
      expect(await runCli(['config', '--json', ...more], io)).toBe(0);
      return JSON.parse(ran.out) as { running: boolean; settings: { key: string; value: string }[] };
    };
    const portIn = ({ settings }: Awaited<ReturnType<typeof read>>) =>
      settings.find(({ key }) => key === 'port')?.value;
    const running = await read();
    const { settings } = await new Operator(service.dataDir).call('settings.show', {});
    expect([running.running, running.settings]).toEqual([true, settings]);
    expect(portIn(running)).not.toBe('9999');
    const file = join(service.dataDir, 'other.toml');
    await writeFile(file, 'host = "127.0.0.1"\n');
    const named = await read('--config', file);
    expect([named.running, portIn(named)]).toEqual([false, '9999']);
    await service.stop();
  });

  it('tells every problem on a line of its own', async () => {
    const own = await mkdtemp(join(tmpdir(), 'countinghouse-cli-'));
    await writeFile(join(own, 'countinghouse.toml'), 'prt = 9\nhost = "example.com"\n');
    for (const command of ['config', 'start']) {
      const ran = await cli(own, [command]);
      expect(ran).toMatchObject({ code: EXIT.usage, out: '' });
      expect(ran.err.split('\n')).toEqual([
        'error: The configuration has 2 problems:',
        expect.stringMatching(/^ {2}prt: there is no such key; did you mean port\?/),
        expect.stringMatching(/^ {2}host: "example.com" is wrong/),
        '',
      ]);
    }
    const other = await cli(own, ['config', '--config', join(own, 'other.toml')]);
    expect(other.err).toMatch(/--config: \S+other\.toml cannot be read: ENOENT/);
    await rm(own, { recursive: true });
  });
});

describe('start', () => {
  it('shows keys only when they are new', () => {
    const daemon = {
      url: 'http://127.0.0.1:8480',
      dataDir: '/data',
      stop: async () => true,
      acknowledgeKeys: async () => {},
      wantsFirstLink: false,
    };
    const first = readyText({ ...daemon, firstKeys: { apiKey: 'ch_test_K', clientId: 'ch_client_C' } });
    expect(first).toContain('ch_client_C');
    expect(first).toContain('http://127.0.0.1:8480/api/v1/openapi.json');
    expect(first).toContain('curl -X POST http://127.0.0.1:8480/api/v1/merchant/invoice -H "MB-API-KEY: ch_test_K"');
    expect(first).not.toMatch(/^\{/m);
    expect(first).toContain(`${daemon.url}/demo`);
    expect(readyText({ ...daemon, firstKeys: null })).not.toContain('ch_');
  });
});
