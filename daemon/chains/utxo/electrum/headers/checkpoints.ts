/**
 * Checkpoints of the chains of headers, deep enough that no reorganisation reaches them. Headers below one are believed
 * by hash. Mainnet's are each in two published sources that agree; those of test networks, whose coins are worthless,
 * in one.
 */
import type { BlockId } from '../../../../domain/chain.ts';
import type { HeaderRules } from './rules.ts';

type Checkpoint = BlockId & {
  /** Identifies the chain with its proof of work: BTC and BCH have the same first block. */
  genesis: string;
  cash: boolean;
  sources: readonly string[];
};

const BITCOIN_GENESIS = '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f';
const TESTNET3_GENESIS = '000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943';

const CORE = 'Bitcoin Core, src/kernel/chainparams.cpp, m_assumeutxo_data';
const BCHN = 'Bitcoin Cash Node, src/chainparams.cpp, checkpointData';
const LITECOIN_CORE = 'Litecoin Core, src/chainparams.cpp, checkpointData';

/** The last block of every 2,016, as in Electrum's lists. Litecoin's 1,250th, of 2 August 2023, is 2,519,999. */
export const CHECKPOINTS: readonly Checkpoint[] = [
  {
    genesis: BITCOIN_GENESIS,
    cash: false,
    height: 935_000,
    hash: '0000000000000000000147034958af1652b2b91bba607beacc5e72a56f0fb5ee',
    sources: [CORE, "getblockhash of a reviewer's own node in github.com/bitcoin/bitcoin/pull/34677"],
  },
  {
    genesis: TESTNET3_GENESIS,
    cash: false,
    height: 4_840_000,
    hash: '00000000000000f4971a7fb37fbdff89315b69a2e1920c467654a382f0d64786',
    sources: [CORE],
  },
  {
    genesis: '00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043',
    cash: false,
    height: 120_000,
    hash: '000000000bd2317e51b3c5794981c35ba894ce27d3e772d5c39ecd9cbce01dc8',
    sources: [CORE],
  },
  {
    genesis: '12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2',
    cash: false,
    height: 2_929_247,
    hash: '4de41f59968c3d6bb2ecb6e64b15f52ba0b54e21f74039d518a30e4ea5045e96',
    sources: [
      'github.com/ltc-electrum/electrum-ltc, electrum/chains/mainnet/checkpoints.json',
      'github.com/bitcart/electrum-ltc, electrum/chains/mainnet/checkpoints.json',
    ],
  },
  {
    genesis: '4966625a4b2851d9fdee139e56211a0d88575f59ed816ff5e6a63deb4e3e29a0',
    cash: false,
    height: 2_352_616,
    hash: '7540437e7bf7831fa872ba8cfae85951a1e5dbb04c201b6f5def934d9299f3c2',
    sources: [LITECOIN_CORE],
  },
  {
    genesis: BITCOIN_GENESIS,
    cash: true,
    height: 951_145,
    hash: '000000000000000000f64dbed68370486f945097ba90b17e30d7bf5c43df7a60',
    sources: [BCHN, 'Knuth (k-nuth/kth), default checkpoints of kth::domain::config'],
  },
  {
    genesis: TESTNET3_GENESIS,
    cash: true,
    height: 1_710_483,
    hash: '00000000078fe0c74ffa0c5221081c34774aa7d17a3c14c36f952f829463f120',
    sources: [BCHN],
  },
  {
    // Chipnet forked from testnet4 at 115,252
    genesis: '000000001dd410c49a788668ce26751718cc797474d3152a5fc073dd44fd9f7b',
    cash: true,
    height: 284_827,
    hash: '000000007af65a6e8853f858b3f2a8e7edabe41e6264410276705b324267d7d8',
    sources: [BCHN],
  },
];

/** The checkpoint of a chain; its first block if no later one is built in. */
export function checkpointOf(rules: HeaderRules): BlockId {
  const cash = rules.difficulty.kind === 'asert';
  const found = CHECKPOINTS.find((checkpoint) => checkpoint.genesis === rules.genesis && checkpoint.cash === cash);
  return found ? { height: found.height, hash: found.hash } : { height: 0, hash: rules.genesis };
}
