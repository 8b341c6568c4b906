/**
 * What only a miner or a node can make large: blocks of one transaction of 4 MB, and 20 MB of unconfirmed transactions in
 * one answer. Prints the longest turn of the event loop (CPU) and the whole time of each, in milliseconds. It runs on this
 * tree's sources.
 */
import { parsedList } from '../../daemon/chains/json-list.ts';
import { slices } from '../../daemon/chains/slices.ts';
import { findInBlock } from '../../daemon/chains/utxo/match.ts';
import { writeBlock, writeCoinbase, writeTransaction } from '../adapters/fixtures/serial.ts';
import { turnsOf } from './turns.ts';

const { rounds: ROUNDS = 2 } = JSON.parse(process.argv[2] ?? '{}');
const nothing = Buffer.alloc(0);
const one = [{ txid: '11'.repeat(32), vout: 0 }];
const paid = [{ units: 1n, script: nothing }];
const blocks = {
  '400,000 outputs': { inputs: one, outputs: Array.from({ length: 400_000 }, () => paid[0]) },
  '95,000 inputs': { inputs: Array.from({ length: 95_000 }, (_, vout) => ({ ...one[0], vout })), outputs: paid },
  'a witness of 3,900,000 items': {
    inputs: [{ ...one[0], witness: Array.from({ length: 3_900_000 }, () => nothing) }],
    outputs: paid,
  },
};
const answer = Buffer.from(
  JSON.stringify(
    Array.from({ length: 25 }, (_, id) => ({ result: '0123456789abcdef'.repeat(50_000), error: null, id })),
  ),
);

function read(bytes) {
  const watch = { isOurCoin: () => false, targetIdOf: () => undefined };
  const finder = { chain: 'BTC', watch, fresh: new Set(), pause: slices() };
  return findInBlock(finder, bytes, { height: 1, hash: '00'.repeat(32) }, 0, { credits: [], spends: [] });
}

const works = Object.entries(blocks).map(([name, transaction]) => {
  const transactions = [writeTransaction(writeCoinbase(1, Buffer.of(0x51))), writeTransaction(transaction)];
  const { bytes } = writeBlock({ previous: '00'.repeat(32), timeSeconds: 1_700_000_000, salt: 1, transactions });
  return [`a block with ${name}`, () => read(bytes)];
});
works.push(['20 MB of transactions in an answer', () => parsedList(answer, slices())]);

const steps = [];
for (const [name, work] of works) {
  const measured = [];
  for (let round = 0; round < ROUNDS; round++) measured.push(await turnsOf(work()));
  const most = (key) => Math.max(...measured.map((one) => one[key]));
  steps.push({ name, longest: most('longest'), whole: most('whole') });
}
process.stdout.write(`${JSON.stringify({ longest: Math.max(...steps.map(({ longest }) => longest)), steps })}\n`);
