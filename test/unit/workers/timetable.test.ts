/** What is done by the clock, when the clock is set and when the machine was off. The time that passes is the test's. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseSchedule } from '../../../daemon/kit/schedule.ts';
import { createLog } from '../../../daemon/log.ts';
import { Store } from '../../../daemon/store/store.ts';
import { Timetable } from '../../../daemon/workers/timetable.ts';
import { cpuMs } from '../../bench/turns.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NIGHTLY = parseSchedule('40 2 * * *')!;
const NOON = Date.parse('2026-05-05T12:00:00');

let store: Store;
/** What the clock says, and what has passed since the machine was switched on. */
let now: number;
let passed: number;
let runs: { job: string; at: string }[];
let failing: boolean;
let steps: number;
let table: Timetable;

beforeEach(async () => {
  store = await Store.inMemory();
  now = NOON;
  passed = 0;
  runs = [];
  failing = false;
  steps = 0;
  table = switchOn();
});
afterEach(() => store.close());

/** A start of the service on the same database. */
function switchOn(): Timetable {
  const app = { store, now: () => now, log: createLog({ level: 'silent', format: 'json' }) };
  const fresh = new Timetable(app, { passed: () => passed });
  fresh.onStep = () => {
    steps++;
  };
  fresh.at('proof', NIGHTLY, async () => ran('proof'));
  fresh.every('minute', MINUTE, async () => ran('minute'));
  return fresh;
}

function ran(job: string): void {
  if (failing) throw new Error('not now');
  const text = new Date(now - new Date(now).getTimezoneOffset() * MINUTE).toISOString();
  runs.push({ job, at: text.slice(5, 16) });
}

const of = (job: string): string[] => runs.filter((run) => run.job === job).map(({ at }) => at);

/** Lets time pass, the clock with it, in ticks of a few seconds. */
async function pass(ms: number, tickMs = 10 * SECOND): Promise<void> {
  for (let left = ms; left > 0; left -= tickMs) {
    now += tickMs;
    passed += tickMs;
    table.tick();
    await table.idle();
  }
  // whatever is to be stored is
  await store.write(() => null);
}

describe('a job of a schedule', () => {
  it('is done once a slot', async () => {
    await pass(3 * DAY, MINUTE);
    expect(of('proof')).toEqual(['05-06T02:40', '05-07T02:40', '05-08T02:40']);
  });

  it('is not done for what was before it was known', async () => {
    await pass(HOUR);
    expect(of('proof')).toEqual([]);
  });

  it('goes on after the clock was put back by a day, and by forty', async () => {
    await pass(DAY, MINUTE);
    now -= DAY;
    await pass(DAY, MINUTE);
    now -= 40 * DAY;
    await pass(DAY, MINUTE);
    expect(of('proof')).toEqual(['05-06T02:40', '05-06T02:40', expect.stringMatching(/T02:40$/)]);
    expect(steps).toBe(2);
  });

  it('is made up for once when the clock is put forward by forty days', async () => {
    now += 40 * DAY;
    const began = cpuMs();
    await pass(MINUTE);
    expect(cpuMs() - began).toBeLessThan(1_000);
    expect(of('proof')).toEqual(['06-14T12:00']);
    expect(of('minute').length).toBeLessThanOrEqual(2);
    await pass(DAY, MINUTE);
    expect(of('proof')).toHaveLength(2);
  });

  it('does not come again when the clock is put right by seconds', async () => {
    await pass(14 * HOUR + 40 * MINUTE + 10 * SECOND);
    expect(of('proof')).toHaveLength(1);
    now -= 30 * SECOND;
    await pass(HOUR);
    expect(of('proof')).toHaveLength(1);
  });

  it('is made up for after the start when the machine was off, once', async () => {
    await pass(MINUTE);
    now += 3 * DAY;
    passed = 0;
    table = switchOn();
    table.tick();
    await table.idle();
    expect(of('proof')).toEqual([]);
    await pass(MINUTE);
    expect(of('proof')).toHaveLength(1);
    await pass(HOUR);
    expect(of('proof')).toHaveLength(1);
  });

  it('is done on a machine that is switched on for an hour a day, and none of its nights', async () => {
    for (let day = 0; day < 3; day++) {
      passed = 0;
      table = switchOn();
      await pass(HOUR, MINUTE);
      now += 23 * HOUR;
    }
    expect(of('proof')).toHaveLength(2);
  });

  it('is not made up for by a machine that starts in 1970 before it knows the time, until it does', async () => {
    await pass(DAY, MINUTE);
    expect(of('proof')).toHaveLength(1);
    const real = now;
    passed = 0;
    now = 12 * HOUR;
    table = switchOn();
    await pass(10 * MINUTE);
    expect(of('proof')).toHaveLength(1);
    now = real + DAY;
    await pass(MINUTE);
    expect(of('proof')).toHaveLength(2);
  });

  it('that fails is tried again, less and less often, until it succeeds', async () => {
    failing = true;
    await pass(14 * HOUR + 40 * MINUTE);
    failing = false;
    await pass(10 * MINUTE);
    expect(of('proof')).toEqual([]);
    await pass(10 * MINUTE);
    expect(of('proof')).toHaveLength(1);
    await pass(2 * HOUR);
    expect(of('proof')).toHaveLength(1);
  });
});

describe('a job of an interval', () => {
  it('is done at once, then by the time that passes, whatever the clock says', async () => {
    table.tick();
    await table.idle();
    await pass(5 * MINUTE);
    expect(of('minute')).toHaveLength(6);
    now -= DAY;
    await pass(5 * MINUTE);
    expect(of('minute')).toHaveLength(11);
    now += 40 * DAY;
    await pass(5 * MINUTE);
    expect(of('minute')).toHaveLength(16);
  });

  it('that fails is done the next time', async () => {
    failing = true;
    await pass(MINUTE);
    failing = false;
    await pass(2 * MINUTE);
    expect(of('minute').length).toBeGreaterThan(0);
  });

  it('is not begun while it is under way', async () => {
    let open = 0;
    let most = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    table.every('slow', SECOND, async () => {
      most = Math.max(most, ++open);
      await promise;
      open--;
    });
    for (let i = 0; i < 5; i++) {
      passed += 2 * SECOND;
      table.tick();
    }
    resolve();
    await table.idle();
    expect(most).toBe(1);
  });
});
