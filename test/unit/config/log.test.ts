/** The log: both formats, and that no way of handing a secret over brings it out. */
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../daemon/config/config.ts';
import { createLog, LOG_PARTS, type LogOptions, partLog } from '../../../daemon/log.ts';

function capture(options: Partial<LogOptions> & { isTTY?: boolean } = {}) {
  const lines: string[] = [];
  const stream = { write: (line: string) => lines.push(line), isTTY: options.isTTY ?? false };
  return { lines, log: createLog({ level: 'debug', format: 'json', ...options, stream }) };
}

const SECRET = 'hunter2secret';

describe('secrets', () => {
  const nested = Object.assign(new Error('outer', { cause: new Error(`http://u:${SECRET}@h/`) }), {
    config: { headers: { authorization: SECRET } },
  });
  const cases: [string, (log: ReturnType<typeof createLog>) => void][] = [
    ['a header', (log) => log.info({ headers: { 'mb-api-key': SECRET, 'MB-API-KEY': SECRET } }, 'x')],
    ['another header', (log) => log.info({ req: { headers: { Authorization: SECRET, cookie: SECRET } } }, 'x')],
    ['a field', (log) => log.info({ passphrase: SECRET, password: SECRET, privateViewKey: SECRET }, 'x')],
    ['words in a list', (log) => log.info({ a: { b: { words: [SECRET] } } }, 'x')],
    ['a mnemonic', (log) => log.info({ list: [{ mnemonic: SECRET }] }, 'x')],
    ['a child', (log) => log.child({ api_key: SECRET, url: `http://u:${SECRET}@h/` }).info('x')],
    ['a URL in a message', (log) => log.info(`asking http://user:${SECRET}@127.0.0.1:8332/`)],
    ['a URL in a placeholder', (log) => log.info('asking %s', `ssl://${SECRET}@h:1`)],
    ['an API key in a message', (log) => log.info(`key ch_live_${SECRET}`)],
    ['an error', (log) => log.error({ err: new Error(`at https://u:${SECRET}@h/`) }, 'x')],
    ['an error with baggage', (log) => log.error({ err: nested }, 'x')],
    ['an error alone', (log) => log.error(nested)],
    ['an error elsewhere', (log) => log.error({ reason: { inner: nested } }, 'x')],
    ['bytes', (log) => log.info({ bytes: Buffer.from(SECRET) }, 'x')],
  ];
  for (const format of ['json', 'text'] as const) {
    it.each(cases)(`do not come out of %s as ${format}`, (_, act) => {
      const { lines, log } = capture({ format });
      act(log);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain(
        _ === 'bytes' ? `<${SECRET.length} bytes>` : _.startsWith('an error') ? 'rror' : '***',
      );
      expect(lines[0]).not.toContain(SECRET);
    });
  }
});

describe('the JSON format', () => {
  it('is one object a line', () => {
    const { lines, log } = capture();
    log.child({ worker: 'sync' }).warn({ height: 5, units: 10n ** 20n, none: undefined }, 'two\nlines');
    expect(lines).toHaveLength(1);
    expect(lines[0]?.split('\n')).toHaveLength(2);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      worker: 'sync',
      height: 5,
      units: '100000000000000000000',
      msg: 'two\nlines',
    });
  });

  it('tells an error by name, message, code and cause', () => {
    const { lines, log } = capture();
    log.error({ err: Object.assign(new RangeError('bad', { cause: new Error('deep') }), { code: 'EX' }) }, 'failed');
    const { err } = JSON.parse(lines[0] ?? '') as { err: Record<string, unknown> };
    expect(err).toMatchObject({ type: 'RangeError', message: 'bad', code: 'EX', cause: { message: 'deep' } });
    expect(err.stack).toContain('RangeError: bad');
  });

  it('survives what refers to itself', () => {
    const loop: Record<string, unknown> = { name: 'loop' };
    loop.self = loop;
    const { lines, log } = capture();
    log.info({ loop }, 'x');
    expect(lines[0]).toContain('"name":"loop"');
  });
});

describe('the text format', () => {
  const AT = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ /;
  it.each<[string, (log: ReturnType<typeof createLog>) => void, string]>([
    ['a message', (log) => log.info('synced'), 'INFO  synced\n'],
    [
      'fields',
      (log) => log.warn({ height: 5, chain: 'BTC', note: 'two words' }, 'slow'),
      'WARN  slow height=5 chain=BTC note="two words"\n',
    ],
    ['quotes', (log) => log.info('say "hi"'), 'INFO  say "hi"\n'],
    [
      'a forged line',
      (log) => log.info('a\n2026-01-01 00:00:00Z INFO  forged'),
      'INFO  a\\n2026-01-01 00:00:00Z INFO  forged\n',
    ],
    [
      'terminal codes',
      (log) => log.info({ agent: '\u001b[31m\u009b2J' }, 'x\u001b[0m'),
      'INFO  x\\u001b[0m agent=\\u001b[31m\\u009b2J\n',
    ],
    ['no message', (log) => log.debug({ a: [1, 'b'] }), 'DEBUG a=[1,"b"]\n'],
    ['a reason as text', (log) => log.info({ err: 'down' }, 'x'), 'INFO  x err=down\n'],
  ])('prints %s', (_, act, expected) => {
    const { lines, log } = capture({ format: 'text' });
    act(log);
    expect(lines.map((line) => line.replace(AT, ''))).toEqual([expected]);
  });

  it('puts the stack below, indented', () => {
    const { lines, log } = capture({ format: 'text' });
    log.error({ err: new Error('bad', { cause: new Error('deep') }) }, 'failed');
    const [first, second, ...rest] = (lines[0] ?? '').trimEnd().split('\n');
    expect(first).toMatch(/Z ERROR failed$/);
    expect(second).toBe('    Error: bad');
    expect(rest.every((line) => line.startsWith('    '))).toBe(true);
    expect(rest.at(-1)).toBe('    caused by: deep');
  });
});

describe('the format is chosen', () => {
  it.each<[LogOptions['format'], boolean, boolean]>([
    ['auto', true, false],
    ['auto', false, true],
    ['json', true, true],
    ['text', false, false],
  ])('%s with a terminal %s: JSON %s', (format, isTTY, json) => {
    const { lines, log } = capture({ format, isTTY });
    log.info('x');
    expect(lines[0]?.startsWith('{')).toBe(json);
  });

  it('and the level silences', () => {
    const { lines, log } = capture({ level: 'warn' });
    log.info('x');
    log.warn('y');
    expect(lines).toHaveLength(1);
  });
});

describe('a part of the program', () => {
  it('is named on its lines, and may be louder or quieter than the rest', () => {
    const lines: string[] = [];
    const log = createLog({ level: 'info', format: 'json', stream: { write: (line) => lines.push(line) } });
    const levels = ['chains:debug', 'rates:error'];
    partLog(log, 'chains', levels).debug('heard');
    partLog(log, 'rates', levels).warn('not heard');
    partLog(log, 'http', levels).debug('not heard');
    partLog(log, 'http', levels).info({ token: 'x' }, 'heard too');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { part: 'chains', level: 'debug', msg: 'heard' },
      { part: 'http', token: '***', msg: 'heard too' },
    ]);
  });

  it('is one that there is, with a level that there is, once', () => {
    const load = (parts: string[]) =>
      loadConfig({ dataDir: '/x', env: {}, flags: { 'log.parts': parts.join(',') } }).log.parts;
    expect(load(['chains:debug', 'http:warn'])).toEqual(['chains:debug', 'http:warn']);
    for (const part of LOG_PARTS) expect(load([`${part}:silent`])).toHaveLength(1);
    for (const wrong of [['chain:debug'], ['chains'], ['chains:loud'], ['chains:debug', 'chains:info']]) {
      expect(() => load(wrong)).toThrow(/log\.parts/);
    }
  });
});
