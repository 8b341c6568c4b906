/** Programs of the system, as `countinghouse service` runs them. */
import { spawnSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '../io.ts';
import type { Session } from '../session.ts';
import { DATA_DIR } from './units.ts';

const SERVING_MS_MAX = 60_000;
const SERVING_LOOK_MS = 200;
const LOG_LINES_SHOWN = 5;

/** Runs a program of the system. Throws `Failure` with its output if it fails, unless `mayFail`. */
export function run(command: string, args: readonly string[], mayFail = false): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0 && !mayFail) {
    const words = (stderr ?? '').trim() || error?.message || `it ended with ${status}`;
    throw new Failure(`\`${[command, ...args].join(' ')}\` failed: ${words}`);
  }
  return (stdout ?? '').trim();
}

/**
 * Waits until the service answers. Throws `Failure` with the end of its log if it ended, and if it takes longer than
 * SERVING_MS_MAX, as the upgrade of a large database may.
 */
export async function untilServing(session: Session, unit: string): Promise<void> {
  const { operatorClient } = await import('../../contract/client.ts');
  for (const until = performance.now() + SERVING_MS_MAX; performance.now() < until; await pause(SERVING_LOOK_MS)) {
    const isServing = await operatorClient(DATA_DIR)('status', {}).then(
      () => true,
      () => false,
    );
    if (isServing) return;
    // systemd waits to start it again, or has given up
    const hasEnded = ['auto-restart', 'failed', 'dead'].includes(
      run('systemctl', ['show', '-p', 'SubState', '--value', unit]),
    );
    if (!hasEnded) continue;
    const log = run('journalctl', ['-u', unit, '-n', `${LOG_LINES_SHOWN}`, '-o', 'cat', '--no-pager'], true);
    throw new Failure(`the service was installed, and does not run:\n${log}`);
  }
  session.note(
    'The service is still starting, as after the upgrade of a large database: `countinghouse service status`.',
  );
}
