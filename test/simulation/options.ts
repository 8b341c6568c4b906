/** The command line of the simulator. */
import { parseArgs } from 'node:util';
import { KINDS, type Kind, type Row } from './seeds.ts';

export const USAGE = `npm run simulate -- [options]: runs a machine against invented chains, and prints each fault with its trail.

  --kind KIND        what the appliance asks: ${KINDS.join(', ')} (any without it)
  --seed N           one run (default: 1)
  --seeds A..B       a run of each seed from A to B; \`A..\` has no end
  --steps M          the steps of a run (default: 400)
  --minutes T        begins no run after that time
  --keep-going       does not end at a fault
  --trail            prints the trail of every run
  --without NAME,…   leaves actions out
  --only NAME[:WEIGHT],…  leaves all others out
  --also NAME:WEIGHT,…    adds actions
  --rows JSON        the rows of test/simulation/seeds.ts, in place of the above
  --help             prints this

Ends with 1 after a fault, and with 2 for a wrong option or if the simulator itself fails.
`;

export type Options = {
  rows: Row[] | null;
  /** `to`: Infinity for a range without end. */
  seeds: { from: number; to: number };
  steps: number;
  minutes: number;
  kind: Kind;
  only: string;
  also: string;
  without: string;
  trail: boolean;
  keepGoing: boolean;
};

/** Of the command line that is wrong: what is, and what would be right. */
export class WrongOption extends Error {}

function wholeOf(name: string, text: string, least: number): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number) || number < least) {
    throw new WrongOption(`--${name} is a whole number from ${least} on, and not "${text}"`);
  }
  return number;
}

function seedsOf(text: string): Options['seeds'] {
  const [from = '', to, ...more] = text.split('..');
  const first = wholeOf('seeds', from, 0);
  const last = to === undefined ? first : to === '' ? Number.POSITIVE_INFINITY : wholeOf('seeds', to, 0);
  if (more.length > 0 || last < first) throw new WrongOption(`--seeds is a range such as 1..20, and not "${text}"`);
  return { from: first, to: last };
}

/** Null: the usage was asked for. Throws `WrongOption`. */
export function optionsOf(args: readonly string[]): Options | null {
  const { values } = parsed(args);
  if (values.help) return null;
  const kind = KINDS.find((one) => one === values.kind);
  if (kind === undefined) throw new WrongOption(`--kind is one of ${KINDS.join(', ')}, and not "${values.kind}"`);
  const minutes = values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes || Number.NaN);
  if (!(minutes > 0)) throw new WrongOption(`--minutes is a number above 0, and not "${values.minutes}"`);
  const { only, also, without, trail } = values;
  const seeds = values.seed === undefined ? seedsOf(values.seeds ?? '1') : oneSeed(values.seed);
  const steps = wholeOf('steps', values.steps, 1);
  const rows = values.rows === undefined ? null : rowsOf(values.rows);
  return { rows, seeds, steps, minutes, kind, only, also, without, trail, keepGoing: values['keep-going'] };
}

function oneSeed(text: string): Options['seeds'] {
  const seed = wholeOf('seed', text, 0);
  return { from: seed, to: seed };
}

function rowsOf(text: string): Row[] {
  try {
    return JSON.parse(text) as Row[];
  } catch {
    throw new WrongOption('--rows is a list of rows in JSON');
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', default: false },
        seed: { type: 'string' },
        seeds: { type: 'string' },
        steps: { type: 'string', default: '400' },
        minutes: { type: 'string' },
        without: { type: 'string', default: '' },
        kind: { type: 'string', default: 'any' },
        only: { type: 'string', default: '' },
        rows: { type: 'string' },
        also: { type: 'string', default: '' },
        trail: { type: 'boolean', default: false },
        'keep-going': { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new WrongOption((error as Error).message);
  }
}

/** The names of actions in `--only`, `--also` and `--without` that no action has. */
export const unknownNames = (named: string, actions: readonly string[]): string[] =>
  named
    .split(',')
    .map((text) => text.split(':')[0] ?? '')
    .filter((name) => name !== '' && !actions.includes(name));

/** A run as a row of test/simulation/seeds.ts. */
export function rowText({ seed, steps, kind = 'any', also = '', without = '' }: Row): string {
  const parts = [`seed: ${seed}`, `steps: ${steps}`];
  if (kind !== 'any') parts.push(`kind: '${kind}'`);
  if (also !== '') parts.push(`also: '${also}'`);
  if (without !== '') parts.push(`without: '${without}'`);
  return `{ ${parts.join(', ')} }`;
}
