/** A test file that shares its process begins as in a new one, and fails if it leaves the process changed for the next one. */
import { afterAll, expect } from 'vitest';

/** Debian's, whatever the shell that began the tests has. */
const UMASK = 0o022;

/** The listeners of the browser that the files of a process share, which lasts. */
const OF_BROWSER = ['exitHandler', 'sigintHandler', 'sighupHandler', 'endBrowser'];

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
    listeners: process.eventNames().flatMap((event) =>
      process
        .listeners(event as NodeJS.Signals)
        .filter(({ name }) => !OF_BROWSER.includes(name))
        .map((listener) => [event, listener]),
    ),
    now: performance.now,
    functions: [globalThis, Date, Math, console].map((of) =>
      Object.values(Object.getOwnPropertyDescriptors(of)).filter(({ value }) => typeof value === 'function'),
    ),
  };
}
