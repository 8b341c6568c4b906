/**
 * One transaction with thousands of outputs to one address, as anybody can send it: how long a turn of the event loop
 * lasts while it is seen, seen again, mined, confirmed and reorganised away. It runs on this tree's sources, with a
 * database in memory. Prints the longest turn of each step in CPU time, and the whole time, in milliseconds.
 */
import { Bench } from '../unit/app/bench.ts';
import { turnsOf } from './turns.ts';

const { outputs: OUTPUTS, rounds: ROUNDS } = JSON.parse(process.argv[2] ?? '{}');
const INPUTS = Array.from({ length: 100 }, (_, n) => `${'a'.repeat(64)}:${n}`);
const TXID = 'f'.repeat(64);

async function round(outputs) {
  const bench = await Bench.open('LTC');
  const { targetId } = await bench.invoice();
  const facts = (back) => () =>
    Array.from({ length: outputs }, (_, n) => bench.credit(targetId, 546n, back, { n, txid: TXID, inputs: INPUTS }));
  const steps = [];
  // what makes the facts is no part of what is measured
  for (const [name, told, back] of [
    ['seen', {}, null],
    ['seen again', {}, null],
    ['mined', { blocks: 1 }, 0],
    ['confirmed', { blocks: 12 }, undefined],
    ['reorganised', { orphan: 13, blocks: 14 }, null],
  ]) {
    const credits = back === undefined ? undefined : facts(back);
    steps.push({ name, ...(await turnsOf(bench.tell({ ...told, ...(credits && { credits }) }))) });
  }
  return steps;
}

// the first turns of a process compile what they run
await round(OUTPUTS / 10);
const rounds = [];
for (let n = 0; n < ROUNDS; n++) rounds.push(await round(OUTPUTS));
const steps = rounds[0].map(({ name }, n) => ({
  name,
  longest: Math.max(...rounds.map((steps) => steps[n].longest)),
  whole: Math.max(...rounds.map((steps) => steps[n].whole)),
}));
process.stdout.write(`${JSON.stringify({ longest: Math.max(...steps.map(({ longest }) => longest)), steps })}\n`);
