/** The service's messages in the reader's language, in pieces; in its own English words where the language has none. */
import { type Message, textOf, type Value } from '../../daemon/domain/messages.ts';
import type { Language } from '../i18n.ts';
import { ERRORS_DE } from './errors-de.ts';
import { exact, times } from './format.ts';
import { MESSAGES_DE } from './messages-de.ts';
import { chainName } from './names.ts';

/** `own`: of the console. `value`: a name, a number or a time. `service`: English words of the service. */
export type Piece = { from: 'own' | 'value' | 'service'; text: string };

const TEXTS_DE: ReadonlyMap<string, string> = new Map(Object.entries({ ...ERRORS_DE, ...MESSAGES_DE }));
/** After a split by it, names stand at the odd places. */
const HOLE = /\{(\w+)\}/;
/** Amounts of money, in the coin's own decimals. */
const AMOUNTS: ReadonlySet<string> = new Set(['amount', 'held', 'most', 'fee_now', 'fee_allowed']);
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** Times are of a time zone. */
export function piecesOf(said: Message, language: Language, timeZone: string): Piece[] {
  const template = language === 'de' ? TEXTS_DE.get(said.code) : undefined;
  if (template === undefined) return [{ from: 'service', text: textOf(dated(said, language, timeZone)) }];
  return template.split(HOLE).flatMap((part, at): Piece[] => {
    if (at % 2 === 1) return piecesOfValue(part, said.values[part] ?? '', language, timeZone);
    return part === '' ? [] : [{ from: 'own', text: part }];
  });
}

/** The same message with its times as a reader writes them. */
function dated(value: Value, language: Language, timeZone: string): Value {
  if (typeof value === 'string' && TIME.test(value)) return times(language, timeZone).full(value);
  if (typeof value !== 'object') return value;
  const values = Object.entries(value.values).map(([name, one]) => [name, dated(one, language, timeZone)]);
  return { code: value.code, values: Object.fromEntries(values) };
}

function piecesOfValue(name: string, value: Value, language: Language, timeZone: string): Piece[] {
  if (typeof value === 'object') return piecesOf(value, language, timeZone);
  if (typeof value === 'number')
    return [{ from: 'value', text: name === 'id' ? `${value}` : value.toLocaleString(language) }];
  if (name === 'reason') return [{ from: 'service', text: value }];
  if (AMOUNTS.has(name)) return [{ from: 'value', text: exact(value, language) }];
  if (name === 'chain') return [{ from: 'value', text: chainName(value.split(':').at(-1)!) }];
  return [{ from: 'value', text: TIME.test(value) ? times(language, timeZone).full(value) : value }];
}
