/** A test file that shares its process begins as in a new one, and fails if it leaves the process changed for the next one. */
import { afterAll, expect } from 'vitest';

/** Debian's, whatever the shell that began the tests has. */
const UMASK = 0o022;

process.umask(UMASK);
const before = state();

afterAll(() => {
  const after = state();
  process.umask(UMASK);
  process.chdir(before.folder);
  expect(after).toEqual(before);
});

function state() {
  return {
    umask: process.umask(),
    folder: process.cwd(),
    environment: { ...process.env },
    exitCode: process.exitCode,
    listeners: ['uncaughtException', 'unhandledRejection', 'warning'].map((name) => process.listenerCount(name)),
    globals: [fetch, setTimeout, clearTimeout, setInterval, Date, Date.now, Math.random, performance.now],
  };
}
