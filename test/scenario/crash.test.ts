/**
 * The whole daemon in a process of its own, killed with SIGKILL at every commit of a business day: before anybody was told
 * of that commit, or after. Started again, it must end the day as if nothing had happened. One day has a death every few
 * commits, and each day begins them one commit later. Migrations are not among them: test/unit/store/migrate.test.ts has theirs.
 * SCENARIO_DEATH replays the one death of a point ("committed 41"). A run has a sample of the days (`support/sample.ts`); where
 * everything is tried, each point has a day for itself.
 */
import { describe, expect, it } from 'vitest';
import { EVERYTHING, REPEAT, sampleOf } from '../support/sample.ts';
import { audit } from './auditor.ts';
import { nameOf, replayed } from './deaths.ts';
import { INVOICES, liveThrough } from './script.ts';
import { Shop } from './shop.ts';
import { type Death, Victim } from './victim.ts';

const AT_ONCE = 2;
const ALL_MS = 900_000;
/** The commits of a start on existing data, and by how many more each life takes the day further. */
const STARTING = 5;
const FURTHER = 5;

type Outcome = { commits: number; deaths: number; exit: number | null; faults: string[] };

/** A day with at most one death, and what the auditor says of it. */
async function day(death: Death | null): Promise<Outcome> {
  const shop = new Shop();
  await shop.open();
  const victim = new Victim(shop, death);
  try {
    const slugs = await liveThrough(victim);
    if (death?.again) await victim.spare();
    const paths = new Map([...slugs].map(([name, slug]) => [slug, `/${name}`]));
    const faults = await audit({
      dataDir: victim.dataDir,
      get: async (path) => (await victim.call('GET', path)).text,
      operator: victim.operator,
      notified: (slug) => shop.counts.get(paths.get(slug) ?? '') ?? 0,
      calm: victim.deaths === 0,
      now: Date.now(),
    });
    const { invoices } = await victim.operator('invoice.list', {});
    // a deleted one is not listed; a request that was repeated made no second one
    if (invoices.length !== INVOICES - 1) faults.push(`there are ${invoices.length} invoices`);
    return { commits: victim.commits, deaths: victim.deaths, exit: await victim.stop(), faults };
  } finally {
    await victim.destroy();
    await shop.close();
  }
}

/** The deaths of the days. Commit 0 is the opening of the database. */
function points(commits: number): Death[] {
  const each = EVERYTHING ? commits + 1 : FURTHER;
  const again = EVERYTHING ? {} : { again: STARTING + FURTHER };
  const at = (moment: Death['moment']) =>
    Array.from({ length: each }, (_, commit): Death => ({ moment, commit, ...again }));
  // one of each moment
  return sampleOf([...at('committed'), ...at('answered')], each);
}

/** Runs `work` on every item, a few at a time. */
async function forAll<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const worker = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

describe('a business day', () => {
  it('ends as it must, whatever commit the process is killed at', { timeout: ALL_MS }, async () => {
    const calm = await day(null);
    expect(calm).toMatchObject({ deaths: 0, exit: 0, faults: [] });
    expect(calm.commits).toBeGreaterThan(45);

    const deaths = replayed() ?? points(calm.commits);
    let died = 0;
    const wrong: string[] = [];
    await forAll(deaths, async (death) => {
      const where = nameOf(death);
      try {
        const outcome = await day(death);
        died += outcome.deaths;
        for (const fault of outcome.faults) wrong.push(`${where}: ${fault}`);
        if (outcome.exit !== 0) wrong.push(`${where}: ended with ${outcome.exit}`);
      } catch (error) {
        wrong.push(`${where}: ${(error as Error).message}`);
      }
    });
    console.info(`${calm.commits} commits, ${deaths.length} days, ${died} deaths`);
    expect(wrong, REPEAT).toEqual([]);
    // Commits share transactions by chance, so a late point may not be reached.
    const least = deaths[0]?.again ? (0.6 * calm.commits) / FURTHER : 0.8;
    expect(died).toBeGreaterThan(deaths.length * least);
  });
});
