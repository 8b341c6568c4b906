/** The service's messages as the console shows them. */
import { describe, expect, it } from 'vitest';
import { Rejected } from '../../daemon/domain/errors.ts';
import {
  inEnglish,
  MESSAGES,
  type Message,
  type MessageCode,
  message,
  messageOf,
  reasonOf,
  textOf,
} from '../../daemon/domain/messages.ts';
import { GERMAN_WORDS } from '../../renderer/parts/german-words.ts';
import { MESSAGES_DE } from '../../renderer/parts/messages-de.ts';
import { piecesOf } from '../../renderer/parts/told.ts';

const german = (said: Message) => piecesOf(said, GERMAN_WORDS, 'de', 'UTC');
const words = (said: Message): string =>
  german(said)
    .map(({ text }) => text)
    .join('');
const isFromService = (said: Message): boolean => german(said).some(({ from }) => from === 'service');
const codes = Object.keys(MESSAGES) as MessageCode[];

describe('a message', () => {
  it.each(codes)('%s is shown in German with its values', (code) => {
    const names = [...MESSAGES[code].matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
    const named = Object.fromEntries(
      names.map((name) => [name, /^(amount|held|most|fee_now|fee_allowed)$/.test(name) ? '5' : `«${name}»`]),
    );
    const said: Message = { code, values: named };
    const expected = names.reduce((text: string, name) => text.replace(`{${name}}`, named[name]!), MESSAGES_DE[code]);
    expect(words(said)).toBe(expected);
    expect(german(said).filter(({ from }) => from === 'service')).toEqual(
      names.includes('reason') ? [{ from: 'service', text: '«reason»' }] : [],
    );
    expect(piecesOf(said, new Map(), 'en', 'UTC')).toEqual([
      {
        from: 'service',
        text: names.reduce((text: string, name) => text.replace(`{${name}}`, named[name]!), MESSAGES[code]),
      },
    ]);
  });

  it('leaves a command as it is to be typed', () => {
    const values = { address: '0xa', tx: '0xb', chain: 'ETH', business: 'Shop' };
    const said = words(message('gas.halted', values));
    expect(said).toContain('der Plan für Ethereum');
    expect(said).toContain('`countinghouse gas resume Shop ETH`');
  });

  it.each(codes)('%s has the same commands between backticks in German', (code) => {
    const typed = (text: string) =>
      [...text.matchAll(/`([^`]*)`/g)].map(([, command]) => command!.replace('NUMMER', 'NUMBER'));
    expect(typed(MESSAGES_DE[code])).toEqual(typed(MESSAGES[code]));
  });

  it.each(['en', 'de'] as const)('has a command and no other code with a backtick in a name: %s', (language) => {
    const said = message('withdrawal.unsigned', { business: 'A`s', id: 7 });
    const pieces = piecesOf(said, language === 'de' ? GERMAN_WORDS : new Map(), language, 'UTC');
    const shown = pieces.filter(({ from }) => from !== 'value').map(({ text }) => text);
    expect(
      shown
        .join('')
        .split('`')
        .filter((_, at) => at % 2),
    ).toEqual(['countinghouse wallet status']);
  });

  it('keeps the backticks of its reason in English', () => {
    const failed = message('backup.failed', { folder: '/m`nt', reason: 'run `df`' });
    expect(piecesOf(failed, new Map(), 'en', 'UTC').map(({ text }) => text)).toEqual([
      'The scheduled backup into /mˋnt failed: run `df`',
    ]);
  });

  it('shows times, numbers, amounts and chains as a German writes them', () => {
    const at = '2026-03-01T10:20:30.000Z';
    expect(words(message('doctor.drill_at', { at }))).toMatch(/^Die letzte war am 0?1\.0?3\.2026, \d\d:20:30$/);
    expect(words(message('storage.low', { megabytes: 1_412 }))).toContain('noch 1.412 MB');
    expect(words(message('withdrawal.short', { id: 7, amount: '0.5', asset: 'USDT' }))).toContain('hat 0,5 USDT');
    const lowered = message('warning.fee_lowered', { id: 10_299, held: '0.25', most: '0.1' });
    expect(words(lowered)).toMatch(/^Für Auszahlung 10299 .* von 0,25 .* höchstens 0,1$/);
    expect(words(message('chain.halted', { chain: 'mainnet:LTC', reason: 'x' }))).toMatch(/^Litecoin wurde/);
  });

  it('shows times in English in the time zone, too', () => {
    const at = '2026-03-01T10:20:30.840000Z';
    const english = (said: Message) => piecesOf(said, new Map(), 'en', 'Europe/Berlin').map(({ text }) => text);
    expect(english(message('doctor.drill_at', { at }))).toEqual(['the last was on 1 Mar 2026, 11:20:30']);
    const inside = message('chain.away', { chain: 'LTC', minutes: 7, reason: message('doctor.drill_at', { at }) });
    expect(english(inside)).toEqual([expect.stringContaining('1 Mar 2026, 11:20:30')]);
  });

  it('has its reason in German too where that is a message or a known refusal, else in marked English', () => {
    const away = message('chain.away', { chain: 'mainnet:LTC', minutes: 7, reason: message('chain.behind') });
    expect(textOf(away)).toContain('payers are not offered it: its source is behind. See');
    expect([words(away), isFromService(away)]).toEqual([expect.stringContaining('Quelle ist im Rückstand. '), false]);
    const failed = (error: Error) => message('backup.failed', { folder: '/mnt', reason: reasonOf(error) });
    const refused = failed(new Rejected('backup.folder', 'it refuses'));
    expect([textOf(refused), isFromService(refused)]).toEqual([
      'The scheduled backup into /mnt failed: it refuses',
      false,
    ]);
    expect(german(failed(new Error('no space'))).at(-1)).toEqual({ from: 'service', text: 'no space' });
  });

  it('that the console does not know stays in the service’s English', () => {
    for (const code of ['of.a.newer.service', 'toString', '__proto__', 'constructor']) {
      expect(german({ code, values: { text: 'in English' } })).toEqual([{ from: 'service', text: 'in English' }]);
    }
    expect(german(messageOf('of an earlier release'))).toEqual([{ from: 'service', text: 'of an earlier release' }]);
  });

  it('is English words and a code for scripts, wherever it stands in an answer', () => {
    const [locked, away] = [message('wait.locked'), message('coin.left', { coin: 'ab:0' })];
    const row = {
      id: 7,
      reason: null,
      problem: locked,
      versions: [{ problem: message('wait.coin_away', { coin: away }) }],
    };
    expect(inEnglish({ rows: [row], notes: [locked, away], at: [1, 'x'] })).toEqual({
      rows: [
        {
          id: 7,
          reason: null,
          problem: textOf(locked),
          problem_code: 'wait.locked',
          versions: [
            {
              problem: `A coin is missing: ${textOf(away)}. Speed it up to pay it with other coins, or cancel it`,
              problem_code: 'wait.coin_away',
            },
          ],
        },
      ],
      notes: [textOf(locked), textOf(away)],
      at: [1, 'x'],
    });
  });

  it('takes a value that looks like a template as it is, and lacks one without a fault', () => {
    const hostile = message('source.dropped', { server: '{reason}', reason: '{server} {0} $&' });
    expect([textOf(hostile), words(hostile)]).toEqual(Array(2).fill('{reason}: {server} {0} $&'));
    expect(words({ code: 'source.dropped', values: {} })).toBe(': ');
  });
});
