/**
 * The reporter of `npm test` (test/run.mjs): writes what became of each test into the file that TEST_REPORT names, with the
 * errors of each try, their causes and what differed. Vitest's own report has no causes, and a property's fault is one.
 */
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const CAUSES_MAX = 3;
/** Of an error, and of what differed. */
const LINES_MAX = 12;
/** A counterexample can be long. */
const LINE_CHARACTERS_MAX = 1_000;

/** @typedef {{ message: string, diff?: string, cause?: Told, stacks?: { file: string, line: number }[] }} Told an error that vitest serialized */

/** @param {Told | undefined} error */
function linesOf(error, depth = 0) {
  if (error === undefined || depth > CAUSES_MAX) return [];
  const { message, diff = '', stacks = [], cause } = error;
  const own = [message, diff].flatMap((text) => stripVTControlCharacters(text ?? `${error}`).split('\n'));
  const kept = own.filter((line) => line.trim() !== '').slice(0, LINES_MAX);
  const [place] = stacks;
  return [
    ...kept.map((line) => line.slice(0, LINE_CHARACTERS_MAX)),
    ...(place ? [`at ${relative('', place.file)}:${place.line}`] : []),
    ...linesOf(cause, depth + 1),
  ];
}

const textOf = (errors) => errors.flatMap((error) => linesOf(error)).map((line) => `    ${line}`);
const told = (name, errors) => [name, ...textOf(errors)].join('\n');

/** A file that did not load, a group whose hooks failed and an error outside the tests count as one failed test each. */
export default class Report {
  onTestRunEnd(modules, unhandled) {
    const result = { passed: 0, failed: [], again: [], skipped: [] };
    for (const module of modules) {
      for (const test of module.children.allTests()) this.#count(result, module, test);
      for (const group of [module, ...module.children.allSuites()]) {
        const errors = group.errors();
        const name = [module.relativeModuleId, group.fullName].filter(Boolean).join(': ');
        if (errors.length > 0) result.failed.push(told(name, errors));
      }
    }
    result.failed.push(...unhandled.map((error) => told('outside the tests', [error])));
    writeFileSync(process.env.TEST_REPORT, JSON.stringify(result));
  }

  #count(result, module, test) {
    const { state, errors = [] } = test.result();
    const name = `${module.relativeModuleId}: ${test.fullName}`;
    if (state === 'failed') result.failed.push(told(name, errors));
    else if (state !== 'passed') result.skipped.push(test.fullName);
    else {
      result.passed += 1;
      if (errors.length > 0) result.again.push(told(name, errors));
    }
  }
}
