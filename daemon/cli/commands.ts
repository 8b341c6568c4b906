/** Attaches commands to the program: an action gets a session, its options and its arguments. */
import type { Command } from 'commander';
import { type Io, written } from './io.ts';
import { symbol, wholeNumber } from './parse.ts';
import { type GlobalOptions, Session } from './session.ts';

export const BUSINESS = ['<business>', 'number, UUID or name of the business'] as const;

export type Work<O> = (session: Session, options: O, ...names: string[]) => Promise<void>;

/** Commander's action for a function. Commander calls it with the arguments, the options and the command. */
export function action<O>(io: Io, work: Work<O>) {
  return async (...given: unknown[]): Promise<void> => {
    const command = given.at(-1) as Command;
    const names = given.slice(0, -2).filter((name) => name !== undefined) as string[];
    // if a command and its parent have the same option, the parent takes it
    const options = command.optsWithGlobals<GlobalOptions>();
    const session = new Session(io, options);
    const run = (): Promise<void> => work(session, options as O, ...names);
    // a wallet at home is of the service's user, if root set one up; the units themselves are root's
    const isForUnits = command.parent?.name() === 'service';
    await (session.server === null || isForUnits ? run() : session.asDataUser(run));
    // a result that a full disk cut off is no success; a service that ran goes by its own state
    if (command.name() !== 'start') await written(io, '');
  };
}

/** A command about one item of a list, by the item's number. */
export function itemCommand(parent: Command, name: string, description: string): Command {
  return parent.command(name).argument('<number>', 'as listed', wholeNumber).description(description);
}

/** Collects an option that may be repeated, or given once with commas. */
export function list(text: string, before: string[] = []): string[] {
  const parts = text.split(',').map((part) => part.trim());
  return [...before, ...parts.filter((part) => part !== '')];
}

/** Collects symbols as `list` does. */
export const symbols = (text: string, before: string[] = []): string[] => [...before, ...list(text).map(symbol)];
