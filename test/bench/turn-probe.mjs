/**
 * Loaded by Node before the daemon (`--import`): between two signals of SIGUSR2 it measures the longest turn of the event
 * loop, in milliseconds of processor time, and writes it to the file that TURN_PROBE_FILE names.
 */
import { writeFileSync } from 'node:fs';

const MS = 1_000;
const cpu = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / MS;
};
let before = 0;
let longest = null;

function look() {
  if (longest === null) return;
  const now = cpu();
  longest = Math.max(longest, now - before);
  before = now;
  setImmediate(look);
}

process.on('SIGUSR2', () => {
  if (longest === null) {
    longest = 0;
    before = cpu();
    look();
    return;
  }
  writeFileSync(process.env.TURN_PROBE_FILE, `${longest}`);
  longest = null;
});
