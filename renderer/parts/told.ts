/** The service's messages in the reader's language, in pieces; in its own English words where the language has none. */
import { type Message, textOf, type Value } from '../../daemon/domain/messages.ts';
import type { Language } from '../i18n.ts';
import { exact, times } from './format.ts';
import { chainName } from './names.ts';
import type { Words } from './words.ts';

/** `own`: of the console. `value`: a name, a number or a time. `service`: English words of the service. */
export type Piece = { from: 'own' | 'value' | 'service'; text: string };

/** After a split by it, names stand at the odd places. */
const HOLE = /\{(\w+)\}/;
/** Amounts of money, in the coin's own decimals. */
const AMOUNTS: ReadonlySet<string> = new Set(['amount', 'held', 'most', 'fee_now', 'fee_allowed']);
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** A message in the words of a language. Times are of a time zone. */
export function piecesOf(said: Message, words: Words, language: Language, timeZone: string): Piece[] {
  const template = words.get(said.code);
  if (template === undefined) return [{ from: 'service', text: textOf(dated(said, language, timeZone)) }];
  let isCode = false;
  return template.split(HOLE).flatMap((part, at): Piece[] => {
    const value = said.values[part] ?? '';
    // what is to be typed is not translated
    if (at % 2 === 1 && isCode && typeof value !== 'object') return [{ from: 'value', text: `${value}` }];
    if (at % 2 === 1) return piecesOfValue(part, value, words, language, timeZone);
    isCode = isCode !== (part.split('`').length % 2 === 0);
    return part === '' ? [] : [{ from: 'own', text: part }];
  });
}

/** Values that are words of the service, and not a name, a number or a time. */
const WORDS: ReadonlySet<string> = new Set(['reason', 'text']);

/** The same message with its times as a reader writes them, and no backtick in a name, which would begin or end a command. */
function dated({ code, values }: Message, language: Language, timeZone: string): Message {
  const shown = Object.entries(values).map(([name, value]): [string, Value] => {
    if (typeof value === 'object') return [name, dated(value, language, timeZone)];
    if (typeof value === 'number' || WORDS.has(name)) return [name, value];
    return [name, TIME.test(value) ? times(language, timeZone).full(value) : value.replaceAll('`', 'ˋ')];
  });
  return { code, values: Object.fromEntries(shown) };
}

function piecesOfValue(name: string, value: Value, words: Words, language: Language, timeZone: string): Piece[] {
  if (typeof value === 'object') return piecesOf(value, words, language, timeZone);
  if (typeof value === 'number')
    return [{ from: 'value', text: name === 'id' ? `${value}` : value.toLocaleString(language) }];
  if (name === 'reason') return [{ from: 'service', text: value }];
  if (AMOUNTS.has(name)) return [{ from: 'value', text: exact(value, language) }];
  if (name === 'chain') return [{ from: 'value', text: chainName(value.split(':').at(-1)!) }];
  return [{ from: 'value', text: TIME.test(value) ? times(language, timeZone).full(value) : value }];
}
