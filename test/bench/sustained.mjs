/**
 * Pairs for as long as addresses have to be derived for them: more is given out than is kept ready. The longest turn of the event loop is
 * measured in a round of its own, because the probe takes the processor time that others leave.
 */
import { median } from './report.mjs';
import { PROBE, probed, runTool, startDaemon, workFolder } from './servers.mjs';
import { poolFull } from './stores.mjs';

/** The default of `payments.address_pool`. */
const POOL = 1_000;
/** Pairs that empty the pool, and those until the service runs at full speed. */
const WARMUP = POOL + 2_000;
export const SUSTAINED = 'pairs, sustained (empty pool)';

/** A daemon that has its pool, for the length of `work`, which gets the job for the load generator. */
async function withDaemon({ dist, job, connections }, flags, work) {
  const dataDir = workFolder();
  const server = await startDaemon(dist, dataDir, POOL, flags);
  await poolFull(dataDir, POOL);
  const { url, pid, api_key: apiKey } = server;
  const result = await work({ ...job, kind: 'pairs', url, apiKey, random: true, pid, connections });
  await server.stop();
  return result;
}

/** `job`: path and body of the creation. */
export async function measureSustained({ rounds, ms, nodeFlags, say, ...measured }) {
  const done = [];
  for (let no = 1; no <= rounds; no++) {
    say(`Sustained load, round ${no} of ${rounds} …`);
    done.push(await withDaemon(measured, nodeFlags, (load) => runTool('load.mjs', { ...load, warmup: WARMUP, ms })));
  }
  say('Sustained load, the longest turn …');
  const { turnMs } = await withDaemon(measured, [...PROBE, ...nodeFlags], async (load) => {
    await runTool('load.mjs', { ...load, warmup: 0, units: WARMUP });
    return probed(load.pid, () => runTool('load.mjs', { ...load, warmup: 0, ms }));
  });
  return { rounds: done, turnMs };
}

const of = ({ rounds }, field) => median(rounds.map((one) => one[field]));

export const sustainedLines = (sustained) => [
  [`${SUSTAINED}: processor time of the event loop's thread`, of(sustained, 'mainCpuUs'), 'us'],
];

export const sustainedAims = (sustained) => [
  ['pairs a second, sustained', of(sustained, 'perSecond'), '≥', 4_000],
  ["pairs, sustained: processor time of the event loop's thread, us", of(sustained, 'mainCpuUs'), '≤', 185],
  ['pairs, sustained: event loop held meanwhile, CPU ms', sustained.turnMs, '<', 10],
];
