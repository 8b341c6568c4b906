/**
 * `npm test`: the compiler and the linter, the nodes that tests use (test/nodes), then vitest, then the names of failures
 * and one line that counts the results (test/report.mjs). Fails when a test fails, a file does not load, nothing ran or,
 * with CI=true, anything was skipped that a networked machine could have run. Arguments go on to vitest. Valid on Node 18:
 * it starts everything else with the Node that the product runs on.
 */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NODE_MAJOR_MIN, runToEnd, usableNodes } from '../daemon/launcher/runtime.mjs';
import { installForTests } from './install.mjs';

/** In the name of a test that CI may skip. */
const MAY_BE_SKIPPED = 'needs a networked machine';

/** A file system in memory: tests make tens of thousands of commits, each of which would wait for a disk. */
const MEMORY = '/dev/shm';
/** Those tests whose files are the largest (a clone with its modules, nodes, restores) had 1.0 GB of them at one time. */
const ROOM_BYTES_MIN = 4e9;
/** For them and for the processes of six workers, their nodes and browsers. */
const MEMORY_BYTES_MIN = 12e9;

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const [node] = usableNodes();

/** Where the tests' folders are made. Tests start programs there. */
function placeOfFiles() {
  if (process.env.TMPDIR !== undefined || !existsSync(MEMORY) || freemem() < MEMORY_BYTES_MIN) return tmpdir();
  const mounted = readFileSync('/proc/mounts', 'utf8').split('\n');
  const [, , , options = 'noexec'] = mounted.findLast((line) => line.split(' ')[1] === MEMORY)?.split(' ') ?? [];
  const { bavail, bsize } = statfsSync(MEMORY);
  return options.split(',').includes('noexec') || bavail * bsize < ROOM_BYTES_MIN ? tmpdir() : MEMORY;
}

/** Runs a tool of node_modules to its end and resolves to its exit code. `files`: where it makes temporary files. */
function run(script, args, files = tmpdir()) {
  // Tests that start `node` get the one that runs them.
  const env = { ...process.env, TMPDIR: files, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}` };
  return runToEnd(node, [join(root, 'node_modules', ...script), ...args], { cwd: root, env, stdio: 'inherit' });
}

/** The daemon with the tests, the web pages, and the console. */
const COMPILED = 3;
const TOOLS = { tsc: ['typescript', 'bin', 'tsc'], biome: ['@biomejs', 'biome', 'bin', 'biome'] };

/** The commands of `npm run check`, of which none may be lost unseen. */
function checkCommands(script) {
  const commands = script.split(' && ');
  const compilers = commands.filter((command) => command.startsWith('tsc ')).length;
  if (!commands.includes('biome check .') || compilers !== COMPILED || commands.length > COMPILED + 1) {
    throw new Error(`\`npm run check\` is not \`biome check .\` and ${COMPILED} times \`tsc\`: ${script}`);
  }
  return commands.map((command) => command.split(' '));
}

/** As `npm run check` does, but all at once and to the end. */
async function check() {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const commands = checkCommands(scripts.check);
  const codes = await Promise.all(commands.map(([tool, ...args]) => run(TOOLS[tool], args)));
  return codes.every((code) => code === 0);
}

async function runTests() {
  // short, because sockets are made in it, and open to the other users that some tests run programs as
  const folder = mkdtempSync(join(placeOfFiles(), 'ch'));
  chmodSync(folder, 0o755);
  const file = join(folder, 'report.json');
  try {
    const reporters = ['--reporter=default', `--reporter=${join(root, 'test', 'report.mjs')}`];
    process.env.TEST_REPORT = file;
    const code = await run(['vitest', 'vitest.mjs'], ['run', ...reporters, ...process.argv.slice(2)], folder);
    return { code, ...JSON.parse(readFileSync(file, 'utf8')) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** With CI=true, a test that is skipped though a networked machine can run it has failed. */
function judged(result) {
  const { failed, skipped } = result;
  const isAvoidable = (name) => process.env.CI === 'true' && !name.includes(MAY_BE_SKIPPED);
  const avoidable = skipped
    .filter(isAvoidable)
    .map((name) => `${name}: skipped, though a networked machine can run it`);
  return { ...result, failed: [...failed, ...avoidable], skipped: skipped.filter((name) => !isAvoidable(name)) };
}

/** Why the run is not a success, or null. */
function fault({ code, passed, failed }) {
  if (failed.length > 0) return `Failed:\n${failed.map((one) => `  ${one}`).join('\n')}`;
  if (passed === 0) return 'No test passed: that is no success.';
  return code === 0 ? null : `vitest ended with ${code}.`;
}

async function main() {
  if (!node) throw new Error(`Node.js ${NODE_MAJOR_MIN} is needed: \`npm test\` installs it.`);
  const none = {
    code: 1,
    passed: 0,
    failed: ['the compiler or the linter objects (see above)'],
    again: [],
    skipped: [],
  };
  const [checked] = await Promise.all([check(), installForTests()]);
  const result = judged(checked ? await runTests() : none);
  for (const [title, names] of Object.entries({ Skipped: result.skipped, 'Passed when tried again': result.again })) {
    if (names.length > 0) process.stdout.write(`${title}:\n${names.map((name) => `  ${name}\n`).join('')}`);
  }
  const reason = fault(result);
  if (reason) process.stdout.write(`${reason}\n`);
  process.stdout.write(`${result.passed} passed, ${result.failed.length} failed, ${result.skipped.length} skipped\n`);
  process.exitCode = reason ? 1 : 0;
}

main().catch((error) => {
  process.stderr.write(`The tests could not be run: ${error.message}\n`);
  process.stdout.write('0 passed, 1 failed, 0 skipped\n');
  process.exitCode = 1;
});
