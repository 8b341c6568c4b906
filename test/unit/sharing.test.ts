/** Test files share processes, and with them the loaded modules: none may leave there what changes another one. */
import { globSync, readFileSync } from 'node:fs';
import { join, matchesGlob, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ALONE } from '../support/alone.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const OWN = 'test/unit/sharing.test.ts';
const FILES = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['**/node_modules'] })
  .map((path) => path.replaceAll(sep, '/'))
  .filter((path) => path !== OWN)
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
const isAlone = (path: string): boolean => ALONE.some((glob) => matchesGlob(path, glob));

describe('test files that share a process', () => {
  it.each([
    ['replace a module', /\bvi\.(?:mock|doMock)\(/],
    ['measure turns of the event loop', /\bturnsOf\(/],
    ['measure memory', /\bprocess\.memoryUsage\(/],
    ['look at the modules that are loaded', /\.cache\)|\{ cache \} = createRequire/],
  ])('are not those that %s', (_, does) => {
    const doing = FILES.filter(({ text }) => does.test(text)).map(({ path }) => path);
    expect(doing).not.toEqual([]);
    expect(doing.filter((path) => !isAlone(path))).toEqual([]);
  });

  it.each([
    ['home-kit.ts', /\/home-kit\.ts'/, /^stageEach\(\);$/m],
    ['the clock of signer-kit.ts', /\buseClock\(/, /\buseClock\(Date\.now\)/],
    ['the seed of signer-kit.ts', /\buseSeed\(/, /\buseSeed\(SEED\)/],
  ])('begin and end with %s as it was', (_kit, uses, restores) => {
    const using = FILES.filter(({ text }) => uses.test(text));
    expect(using).not.toEqual([]);
    expect(using.filter(({ text }) => !restores.test(text)).map(({ path }) => path)).toEqual([]);
  });

  it('are all but those of a list, each of which there is', () => {
    expect(ALONE.filter((glob) => !FILES.some(({ path }) => matchesGlob(path, glob)))).toEqual([]);
  });
});
