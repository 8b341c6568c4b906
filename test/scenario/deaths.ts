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

/** The others, from the last chosen one on and around. */
function after(all: readonly Death[], chosen: readonly Death[]): Death[] {
  const at = all.indexOf(chosen.at(-1)!) + 1;
  return [...all.slice(at), ...all.slice(0, at)].filter((death) => !chosen.includes(death));
}

/**
 * `calm`: a run that nobody killed. Returns what went wrong at which point, and a line about the points. Where nobody died, the next
 * points are tried until one did: a run without a death shows nothing.
 */
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
  const named = replayed();
  const chosen = named ?? sampleOf(all, Math.min(oneOf, all.length));
  const wrong: string[] = [];
  let tried = 0;
  let died = 0;
  const kill = async (death: Death): Promise<void> => {
    tried += 1;
    try {
      const { deaths, faults } = await run(death);
      died += deaths;
      for (const fault of faults) wrong.push(`${nameOf(death)}: ${fault}`);
    } catch (error) {
      wrong.push(`${nameOf(death)}: ${(error as Error).message}`);
    }
  };
  const rest = [...chosen];
  const worker = async (): Promise<void> => {
    for (let death = rest.shift(); death; death = rest.shift()) await kill(death);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  // commits share transactions by chance, so that late points may not be reached
  for (const death of named ? [] : after(all, chosen)) if (died === 0 && wrong.length === 0) await kill(death);
  const counted = `${commits} commits and ${calls} calls`;
  if (died === 0) wrong.push(`nobody died${named ? ` at ${named.map(nameOf)}` : ''}: ${counted}`);
  return { wrong, told: `${counted}: ${all.length} points, killed at ${tried}, ${died} deaths` };
}
