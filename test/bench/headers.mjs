/**
 * How fast chains of headers are verified and stored, in runs of as many as a server sends at once, and how long the
 * event loop was held meanwhile. The headers are mined on the easiest target first. Prints headers per second, the
 * longest hold in ms and bytes on disk per header.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeHeader } from '../unit/chains/headers-kit.ts';

const { dist, folder, sha256d: SHA256D, scrypt: SCRYPT, rounds: ROUNDS } = JSON.parse(process.argv[2] ?? '{}');
const PER_REQUEST = 2_016;
const HEADER_BYTES = 80;
const LIMIT_BITS = 0x207fffff;
const ANCHOR_BITS = 0x207fffff;

const load = (name) => import(pathToFileURL(join(dist, '../daemon/chains/utxo/electrum', name)).href);
const { HeaderChain } = await load('headers/chain.ts');
const { asNumber, scryptHash } = await load('headers/header.ts');
const { reversedHex, sha256d } = await load('../../../kit/bytes.ts');
const { rulesOf } = await load('headers/rules.ts');

/** Easiest targets, but with the arithmetic of mainnet: ASERT computes one for every block. */
const easy = (rules) => ({ ...rules, limit: (1n << 255n) - 1n, limitBits: LIMIT_BITS, easingMax: null });
const asert = easy(rulesOf('BCH', 'mainnet'));
const KINDS = [
  { label: 'BTC (SHA-256d, retarget)', chain: 'BTC', count: SHA256D, rules: easy(rulesOf('BTC', 'mainnet')) },
  {
    label: 'BCH (SHA-256d, ASERT)',
    chain: 'BCH',
    count: SHA256D,
    rules: { ...asert, difficulty: { ...asert.difficulty, anchorHeight: 0, anchorBits: ANCHOR_BITS } },
  },
  { label: 'LTC (scrypt)', chain: 'LTC', count: SCRYPT, rules: easy(rulesOf('LTC', 'mainnet')) },
];

const FIRST = { version: 1, previous: '00'.repeat(32), merkleRoot: '11'.repeat(32), bits: LIMIT_BITS };

/** Blocks as late as it takes for the target to stay at its limit. */
async function mine({ rules, count }) {
  const proof = rules.proofOfWork === 'scrypt' ? scryptHash : async (header) => sha256d(header);
  const spacing = rules.spacingSeconds * 2;
  let timeSeconds = 1_607_000_000;
  let header = writeHeader({ ...FIRST, timeSeconds, nonce: 0 });
  const headers = [header];
  while (headers.length <= count) {
    timeSeconds += spacing;
    const previous = reversedHex(sha256d(header));
    for (let nonce = 0; ; nonce++) {
      header = writeHeader({ ...FIRST, previous, timeSeconds, nonce });
      if (asNumber(await proof(header)) <= rules.limit >> 1n) break;
    }
    headers.push(header);
  }
  return headers;
}

async function syncAll({ chain, rules }, headers) {
  const data = mkdtempSync(join(folder, 'headers-'));
  const checkpoint = { height: 0, hash: reversedHex(sha256d(headers[0])) };
  const now = () => 4_000_000_000_000;
  const synced = await HeaderChain.open({ chain, network: 'mainnet', folder: data, rules, checkpoint, now });
  await synced.prepend(headers[0], 0);
  let held = 0;
  let last = performance.now();
  const watch = setInterval(() => {
    held = Math.max(held, performance.now() - last);
    last = performance.now();
  }, 1);
  const began = performance.now();
  for (let from = 1; from < headers.length; from += PER_REQUEST) {
    const result = await synced.connect(Buffer.concat(headers.slice(from, from + PER_REQUEST)), from);
    if (result.kind !== 'extended') throw new Error(`headers were not taken: ${result.kind}`);
  }
  const seconds = (performance.now() - began) / 1_000;
  clearInterval(watch);
  await synced.close();
  const bytes = readdirSync(data).reduce((sum, name) => sum + statSync(join(data, name)).size, 0);
  rmSync(data, { recursive: true, force: true });
  return { perSecond: (headers.length - 1) / seconds, held, bytesEach: bytes / headers.length };
}

const middle = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const results = [];
for (const kind of KINDS) {
  const headers = await mine(kind);
  if (headers.some((header) => header.length !== HEADER_BYTES)) throw new Error('a header of another length');
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await syncAll(kind, headers));
  results.push({
    label: kind.label,
    perSecond: middle(rounds.map(({ perSecond }) => perSecond)),
    heldMs: middle(rounds.map(({ held }) => held)),
    bytesEach: rounds[0].bytesEach,
  });
}
process.stdout.write(`${JSON.stringify({ results })}\n`);
