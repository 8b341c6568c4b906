/**
 * How long it takes to choose coins and to sign, with wallets of different sizes. Choosing holds the event loop for as
 * long as it takes; signing happens in a process of its own, and is measured here without it. Prints milliseconds.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { dist, wallets, rounds: ROUNDS } = JSON.parse(process.argv[2] ?? '{}');
const INPUTS_MAX = 500;
const FEE_RATE = 5_000n;
const CHAIN = 'BTC';
const NETWORK = 'regtest';

const load = (path) => import(pathToFileURL(join(dist, '..', 'daemon', path)).href);
const { planUtxo } = await load('chains/utxo/spend/plan.ts');
const { addressOfKey } = await load('chains/utxo/address.ts');
const { childPublicKey } = await load('chains/hd.ts');
const { accountKey } = await load('wallet/accounts.ts');
const { signPlan } = await load('wallet/signer/sign.ts');

const seed = createHash('sha512').update('bench').digest();
const account = accountKey(seed, CHAIN, NETWORK, 0);
const addressAt = (branch, index) => addressOfKey(childPublicKey(account, branch, index), CHAIN, NETWORK);
const sha = (text) => createHash('sha256').update(text).digest();
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** Amounts from 10^4 to 10^8 units, each size as likely as the others, always the same ones. */
function coinsOf(count) {
  return Array.from({ length: count }, (_, i) => {
    const digest = sha(`coin ${i}`);
    const { script } = addressAt(0, i % 50);
    const units = BigInt(Math.floor(10 ** (4 + (4 * digest.readUInt32LE(0)) / 2 ** 32)));
    return { outpoint: `${digest.toString('hex')}:0`, units, script, branch: 0, index: i % 50, confirmations: 6 };
  });
}

function timed(work) {
  const began = performance.now();
  const result = work();
  return { result, ms: performance.now() - began };
}

function measure(count) {
  const coins = coinsOf(count);
  const units = coins.map((coin) => coin.units).sort((a, b) => (a < b ? 1 : -1));
  const reach = units.slice(0, INPUTS_MAX).reduce((sum, each) => sum + each, 0n);
  const { address, script } = addressAt(0, 60);
  const change = { ...addressAt(1, 0), index: 0 };
  const request = {
    network: NETWORK,
    chain: CHAIN,
    accountNo: 0,
    asset: CHAIN,
    requiredInputs: [],
    coins,
    change,
    feeRate: FEE_RATE,
    feeMin: 0n,
    feeMax: 1n << 60n,
    tipHeight: 800_000,
    payouts: [{ address, script, units: reach / 2n }],
  };
  const plans = Array.from({ length: ROUNDS }, () => timed(() => planUtxo(request, CHAIN)));
  const plan = plans[0].result;
  const signed = Array.from({ length: Math.min(3, ROUNDS) }, () => timed(() => signPlan(seed, plan)));
  return {
    coins: count,
    inputs: plan.inputs.length,
    planMs: median(plans.map(({ ms }) => ms)),
    signMs: median(signed.map(({ ms }) => ms)),
  };
}

process.stdout.write(`${JSON.stringify({ results: wallets.map(measure) })}\n`);
