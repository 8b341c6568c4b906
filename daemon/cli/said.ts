/** The service's messages on a terminal: their times are local, as those of tables. */
import { textOf as inWords, type Value } from '../domain/messages.ts';
import { when } from './table.ts';

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

export const textOf = (value: Value): string => inWords(dated(value));
export const textIn = (value: Value | null): string | null => (value === null ? null : textOf(value));

function dated(value: Value): Value {
  if (typeof value === 'string' && TIME.test(value)) return when(value);
  if (typeof value !== 'object') return value;
  const values = Object.entries(value.values).map(([name, one]) => [name, dated(one)]);
  return { code: value.code, values: Object.fromEntries(values) };
}
