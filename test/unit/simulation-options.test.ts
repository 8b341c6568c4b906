/** The command line of the simulator. */
import { expect, it } from 'vitest';
import { optionsOf, rowText, unknownNames, WrongOption } from '../simulation/options.ts';

it.each<[string[], object]>([
  [[], { seeds: { from: 1, to: 1 }, steps: 400, kind: 'any', rows: null, minutes: Number.POSITIVE_INFINITY }],
  [['--seed', '7', '--kind', 'liars'], { seeds: { from: 7, to: 7 }, kind: 'liars' }],
  [['--seeds', '5..9', '--steps', '200', '--minutes', '0.5'], { seeds: { from: 5, to: 9 }, steps: 200, minutes: 0.5 }],
  [['--seeds', '5..', '--keep-going'], { seeds: { from: 5, to: Number.POSITIVE_INFINITY }, keepGoing: true }],
  [['--rows', '[{"seed":1,"steps":2}]'], { rows: [{ seed: 1, steps: 2 }] }],
])('%j is understood', (args, options) => {
  expect(optionsOf(args)).toMatchObject(options);
});

it('--help asks for the usage', () => {
  expect(optionsOf(['--help', '--seed', '1'])).toBeNull();
});

it.each<[string[], string]>([
  [['--kind', 'evm'], '--kind is one of any, core'],
  [['--seed', 'one'], '--seed is a whole number'],
  [['--seeds', '9..5'], '--seeds is a range'],
  [['--seeds', '1..2..3'], '--seeds is a range'],
  [['--steps', '0'], '--steps is a whole number from 1 on'],
  [['--minutes', ''], '--minutes is a number above 0'],
  [['--rows', '{'], '--rows is a list'],
  [['--sed', '1'], '--sed'],
])('%j is refused, and said what is wrong', (args, text) => {
  expect(() => optionsOf(args)).toThrow(WrongOption);
  expect(() => optionsOf(args)).toThrow(text);
});

it('a fault is printed as a row that repeats it', () => {
  expect(rowText({ seed: 3, steps: 200, kind: 'any', also: '', without: '' })).toBe('{ seed: 3, steps: 200 }');
  const row = { seed: 3, steps: 200, kind: 'accounts', also: 'pay:8' } as const;
  expect(rowText(row)).toBe("{ seed: 3, steps: 200, kind: 'accounts', also: 'pay:8' }");
});

it('names of actions that there are not are found', () => {
  expect(unknownNames('pay:8,fly,', ['pay', 'mine'])).toEqual(['fly']);
});
