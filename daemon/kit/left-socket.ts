/** Unix sockets that a killed process left behind. */
import { lstat, rm } from 'node:fs/promises';
import { connect } from 'node:net';

const PROBE_MS = 1_000;

/** Removes a socket's file that nobody listens on; any other file stays. */
export async function removeLeftSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found?.isSocket() && !(await answers(path))) await rm(path, { force: true });
}

function answers(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const probe = connect({ path, timeout: PROBE_MS });
  probe.once('connect', () => resolve(true));
  probe.once('timeout', () => resolve(true));
  probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED'));
  return promise.finally(() => probe.destroy());
}
