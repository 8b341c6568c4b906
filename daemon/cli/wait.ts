/** Waits for the service, shows the reason, and reports it if the time runs out. */

import type { Command } from 'commander';
import { MS_PER_SECOND } from '../domain/time.ts';
import { EXIT, Failure } from './io.ts';
import { secondsToWait } from './parse.ts';
import type { Session } from './session.ts';

const LOOK_MS = 1_000;

export type WaitOptions = { wait?: number };

export function waits(command: Command, seconds: number): Command {
  // `toLocaleString` would load the rules of all languages, at the start of every command
  const shown = `${seconds}`.replace(/\B(?=(?:\d{3})+$)/g, ',');
  const text = `how many seconds to wait for the result, 0: not at all (default: ${shown})`;
  return command.option('--wait <seconds>', text, secondsToWait);
}

/** The result of a look: done, or the reason to wait; `code`: of the error if the time runs out. */
export type Look<T> = { done: T } | { waitsFor: string; code?: string };

/** Looks every second until it is done. Throws `Failure` with the last reason after `seconds`. */
export async function waitUntil<T>(session: Session, seconds: number, look: () => Promise<Look<T>>): Promise<T> {
  const end = performance.now() + seconds * MS_PER_SECOND;
  for (let told = ''; ; ) {
    const found = await look();
    if ('done' in found) return found.done;
    const { waitsFor, code = 'wait' } = found;
    if (performance.now() >= end) {
      const after = seconds > 0 ? ` (waited ${seconds} s: --wait waits longer)` : '';
      throw new Failure(`${waitsFor}${after}`, EXIT.failed, code);
    }
    if (waitsFor !== told) session.note(`${waitsFor} …`);
    told = waitsFor;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
