/** Wallets for the tests of spending: coins of a fixed account, and requests that pay from them. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { addressOfKey, scriptOf } from '../../../daemon/chains/utxo/address.ts';
import type { UtxoChain } from '../../../daemon/chains/utxo/params.ts';
import type { Coin, SpendRequest, UtxoPlan } from '../../../daemon/domain/spend.ts';
import { publicKeyOf } from '../../adapters/sandbox-kit.ts';

export const CHAINS_UTXO = ['BTC', 'LTC', 'BCH'] as const;

/** Regtest destinations of every type: the chain's own forms, all paying hashes of nobody. */
export const DESTINATIONS: Readonly<Record<UtxoChain, readonly string[]>> = {
  BTC: [
    'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080',
    'bcrt1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qzf4jry',
    'bcrt1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqc8gma6',
    '2N2JMAg6jYeWqLExwfqAvfKsEgWX5AZWLQw',
    'mpa5USmFCK8MpQ7abArqSfjNBdctgEb6ai',
  ],
  LTC: [
    'rltc1qw508d6qejxtdg4y5r3zarvary0c5xw7k693xs3',
    'rltc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q22ldvf',
    'rltc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqsyzyjh',
    'QVf7HgxyZkZvURizHwCwk2Jfptxu241ErG',
    'mpa5USmFCK8MpQ7abArqSfjNBdctgEb6ai',
  ],
  BCH: [
    'bchreg:qp34qhm03lh4eng69dvvnmjtdw37t79gu5lu0039me',
    'bchreg:pp34qhm03lh4eng69dvvnmjtdw37t79gu5gejqkxqy',
    'bchreg:pvvxx9puznz3v6qyh5vjqv6kmgfkexzk0rx56faphrrr99syjqexy43ndxrhy',
  ],
};

const sha = (text: string): string => createHash('sha256').update(text).digest('hex');

export const ownScript = (chain: UtxoChain, index: number): Uint8Array =>
  addressOfKey(publicKeyOf(index), chain, 'regtest').script;

/** Coins of these amounts, on address 0 of branch 0. */
export function coinsOf(chain: UtxoChain, units: readonly bigint[], confirmations = 6): Coin[] {
  const script = ownScript(chain, 0);
  return units.map((each, i) => ({
    outpoint: `${sha(`coin ${i}`)}:${i % 3}`,
    units: each,
    script,
    branch: 0,
    index: 0,
    confirmations,
  }));
}

const destination = (chain: UtxoChain, nth = 0): { address: string; script: Uint8Array } => {
  const known = DESTINATIONS[chain];
  const address = known[nth % known.length] as string;
  const script = scriptOf(address, chain, 'regtest');
  if (!script) throw new Error(`no address: ${address}`);
  return { address, script };
};

export function requestOf(chain: UtxoChain, fields: Partial<SpendRequest> & { pay?: (bigint | null)[] }): SpendRequest {
  const { pay = [], ...rest } = fields;
  const { address, script } = addressOfKey(publicKeyOf(7), chain, 'regtest');
  return {
    network: 'regtest',
    chain,
    accountNo: 0,
    asset: chain,
    payouts: pay.map((units, i) => ({ ...destination(chain, i), units })),
    requiredInputs: [],
    coins: [],
    change: { address, script, index: 7 },
    feeRate: 5_000n,
    feeMin: 0n,
    feeMax: 1n << 60n,
    tipHeight: 840_000,
    ...rest,
  };
}

export const sum = (amounts: readonly { units: bigint }[]): bigint =>
  amounts.reduce((total, { units }) => total + units, 0n);

export const changeOf = ({ outputs }: UtxoPlan) => outputs.find((output) => output.kind === 'change');

/** Amounts as wallets have them: from dust to whole coins, every size as likely as the others. */
export const amount: fc.Arbitrary<bigint> = fc
  .tuple(fc.integer({ min: 2, max: 9 }), fc.bigInt({ min: 100n, max: 999n }), fc.bigInt({ min: 0n, max: 9n }))
  .map(([zeros, head, tail]) => (head * 10n ** BigInt(zeros)) / 100n + tail);

/** A small generator of pseudo-random numbers (mulberry32): the same seed, the same wallets. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
