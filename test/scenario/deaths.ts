/**
 * Kills a daemon at one point after the other, each time with the same beginning: every commit, and every call of the signer or
 * of a source (`runner.ts`). SCENARIO_DEATH names one point ("committed 41"); else it is a sample (`support/sample.ts`).
 */
import { sampleOf } from '../support/sample.ts';
import type { Death } from './victim.ts';

/** A run with at most one death, and what an auditor says of it. */
export type Outcome = { commits: number; calls: number; deaths: number; faults: string[] };

const numbered = (moment: Death['moment'], count: number): Death[] =>
  Array.from({ length: count }, (_, at) => ({ moment, commit: at + 1 }));

/** The one point of SCENARIO_DEATH, as a failure names it; null: none is named. */
export function replayed(): Death[] | null {
  const match = /^(committed|answered|calling|called) (\d+)$/.exec(process.env.SCENARIO_DEATH ?? '');
  return match && [{ moment: match[1] as Death['moment'], commit: Number(match[2]) }];
}

export const nameOf = ({ moment, commit }: Death): string => `${moment} ${commit}`;

/** `calm`: a run that nobody killed. Returns what went wrong at which point, and a line about the points. */
export async function tryDeaths(
  { commits, calls }: Outcome,
  oneOf: number,
  atOnce: number,
  run: (death: Death) => Promise<Outcome>,
): Promise<{ wrong: string[]; told: string }> {
  const all = [
    ...numbered('committed', commits),
    ...numbered('answered', commits),
    ...numbered('calling', calls),
    ...numbered('called', calls),
  ];
  const chosen = replayed() ?? sampleOf(all, oneOf);
  const wrong: string[] = [];
  let died = 0;
  const rest = [...chosen];
  const worker = async (): Promise<void> => {
    for (let death = rest.shift(); death; death = rest.shift()) {
      try {
        const { deaths, faults } = await run(death);
        died += deaths;
        for (const fault of faults) wrong.push(`${nameOf(death)}: ${fault}`);
      } catch (error) {
        wrong.push(`${nameOf(death)}: ${(error as Error).message}`);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (replayed() && died === 0) wrong.push(`${chosen.map(nameOf)} was not reached: a run has ${commits} commits`);
  const points = `${all.length} points, killed at ${chosen.length}, ${died} deaths`;
  return { wrong, told: `${commits} commits and ${calls} calls: ${points}` };
}
