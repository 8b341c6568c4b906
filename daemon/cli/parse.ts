/** Parsers of options and arguments. A wrong value is reported in commander's own way. */
import { InvalidArgumentError } from 'commander';
import { EARLIER_RESTORES_MAX } from '../domain/indices.ts';

const PORT_MAX = 65_535;

/** An id or a limit. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text) || Number(text) < 1) throw new InvalidArgumentError('It must be a whole number from 1.');
  return Number(text);
}

/** The number of a withdrawal, as the operator API takes it. */
export const withdrawalNumber = (text: string): string => `${wholeNumber(text)}`;

const BLOCK_HEIGHT_MAX = 1_000_000_000;

export function blockHeight(text: string): number {
  if (!/^\d{1,10}$/.test(text) || Number(text) > BLOCK_HEIGHT_MAX) {
    throw new InvalidArgumentError('It must be the number of a block, such as 3100000.');
  }
  return Number(text);
}

const WAIT_SECONDS_MAX = 604_800;

/** Seconds, from 0 to a week. */
export function secondsToWait(text: string): number {
  if (!/^\d{1,6}$/.test(text) || Number(text) > WAIT_SECONDS_MAX) {
    throw new InvalidArgumentError(`It must be a whole number of seconds from 0 to ${WAIT_SECONDS_MAX}.`);
  }
  return Number(text);
}

/** How often a shop was restored since a backup was made: 0 to EARLIER_RESTORES_MAX. */
export function earlierRestores(text: string): number {
  if (!/^\d{1,2}$/.test(text) || Number(text) > EARLIER_RESTORES_MAX) {
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${EARLIER_RESTORES_MAX}.`);
  }
  return Number(text);
}

export function port(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > PORT_MAX) {
    throw new InvalidArgumentError(`It must be a port from 0 (any free one) to ${PORT_MAX}.`);
  }
  return Number(text);
}

/** The beginning (UTC) of an existing day written YYYY-MM-DD. */
export function day(text: string): string {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(at) || !new Date(at).toISOString().startsWith(text)) {
    throw new InvalidArgumentError('It must be a day such as 2026-01-31.');
  }
  return new Date(at).toISOString();
}
