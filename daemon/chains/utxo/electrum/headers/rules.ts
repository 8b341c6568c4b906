/**
 * The consensus rules for headers of each public chain: proof of work and difficulty.
 *
 * Sources: `chainparams.cpp` and `pow.cpp` of Bitcoin Core, Litecoin Core and Bitcoin Cash Node; BIP-94 (testnet4); the
 * specification of aserti3-2d. A `retarget` chain adjusts every 2,016 blocks, an `asert` chain with every block, a
 * `constant` one (regtest) never.
 */
import type { Network } from '../../../../domain/assets.ts';
import type { UtxoChain } from '../../params.ts';

export type RetargetRules = {
  kind: 'retarget';
  /** The intended duration of 2,016 blocks. */
  timespanSeconds: number;
  /**
   * The blocks between which the time is measured: Bitcoin from the first to the last of the period (2,015 intervals,
   * an error that became a rule), Litecoin from the last of the period before (2,016 intervals).
   */
  intervals: 2015 | 2016;
  /** BIP-94: adjusts the first target of the period, not the last, and limits how far its time may go back. */
  bip94: boolean;
};

export type AsertRules = {
  kind: 'asert';
  anchorHeight: number;
  anchorBits: number;
  /** The time of the block before the anchor. */
  anchorParentTimeSeconds: number;
  halfLifeSeconds: number;
};

type DifficultyRules = RetargetRules | AsertRules | { kind: 'constant' };

export type HeaderRules = {
  /** The hash of the first block, which identifies a public chain. */
  genesis: string;
  proofOfWork: 'sha256d' | 'scrypt';
  /** The highest target, in compact form. */
  limitBits: number;
  /** The maximum of every adjusted target. It has more digits than its compact form. */
  limit: bigint;
  spacingSeconds: number;
  difficulty: DifficultyRules;
  /** On test networks, a block that comes twice as late as intended may have the highest target. */
  lateBlocksAreEasy: boolean;
  /**
   * How many times higher than at the checkpoint the target may become; null on test networks: without limit. Without
   * it, a miner of one block after an old checkpoint, dated today, could add any number of blocks at no cost,
   * because ASERT's difficulty falls with the time without blocks.
   */
  easingMax: bigint | null;
};

const TWO_WEEKS_SECONDS = 14 * 24 * 60 * 60;
const BITCOIN_LIMIT = (1n << 224n) - 1n;
const LITECOIN_LIMIT = (1n << 236n) - 1n;
const REGTEST_LIMIT = (1n << 255n) - 1n;
const EASING_MAX = 64n;

const BITCOIN_GENESIS = '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f';
const TESTNET3_GENESIS = '000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943';

const bitcoin = (genesis: string, bip94 = false): HeaderRules => ({
  genesis,
  proofOfWork: 'sha256d',
  limitBits: 0x1d00ffff,
  limit: BITCOIN_LIMIT,
  spacingSeconds: 600,
  difficulty: { kind: 'retarget', timespanSeconds: TWO_WEEKS_SECONDS, intervals: 2015, bip94 },
  lateBlocksAreEasy: genesis !== BITCOIN_GENESIS,
  easingMax: genesis === BITCOIN_GENESIS ? EASING_MAX : null,
});

const litecoin = (genesis: string, test: boolean): HeaderRules => ({
  genesis,
  proofOfWork: 'scrypt',
  limitBits: 0x1e0fffff,
  limit: LITECOIN_LIMIT,
  spacingSeconds: 150,
  difficulty: { kind: 'retarget', timespanSeconds: TWO_WEEKS_SECONDS / 4, intervals: 2016, bip94: false },
  lateBlocksAreEasy: test,
  easingMax: test ? null : EASING_MAX,
});

/** `anchor`: its height, its bits, and the time of the block before it. */
const bitcoinCash = (genesis: string, anchor: [number, number, number], halfLifeSeconds: number): HeaderRules => {
  const [anchorHeight, anchorBits, anchorParentTimeSeconds] = anchor;
  return {
    ...bitcoin(genesis),
    difficulty: { kind: 'asert', anchorHeight, anchorBits, anchorParentTimeSeconds, halfLifeSeconds },
  };
};

const regtest = (genesis: string, proofOfWork: HeaderRules['proofOfWork'], spacingSeconds: number): HeaderRules => ({
  genesis,
  proofOfWork,
  limitBits: 0x207fffff,
  limit: REGTEST_LIMIT,
  spacingSeconds,
  difficulty: { kind: 'constant' },
  lateBlocksAreEasy: false,
  easingMax: null,
});

const BITCOIN_REGTEST = regtest('0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206', 'sha256d', 600);
const LITECOIN_REGTEST = regtest('530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9', 'scrypt', 150);

const HOUR_SECONDS = 60 * 60;

const RULES: Readonly<Record<UtxoChain, Partial<Record<Network, readonly HeaderRules[]>>>> = {
  BTC: {
    mainnet: [bitcoin(BITCOIN_GENESIS)],
    testnet: [
      bitcoin(TESTNET3_GENESIS),
      bitcoin('00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043', true),
    ],
    regtest: [BITCOIN_REGTEST],
  },
  LTC: {
    mainnet: [litecoin('12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2', false)],
    testnet: [litecoin('4966625a4b2851d9fdee139e56211a0d88575f59ed816ff5e6a63deb4e3e29a0', true)],
    regtest: [LITECOIN_REGTEST],
  },
  BCH: {
    mainnet: [bitcoinCash(BITCOIN_GENESIS, [661_647, 0x1804dafe, 1_605_447_844], 48 * HOUR_SECONDS)],
    // testnet4 and chipnet share their first block and their anchor
    testnet: [
      bitcoinCash(TESTNET3_GENESIS, [1_421_481, 0x1d00ffff, 1_605_445_400], HOUR_SECONDS),
      bitcoinCash(
        '000000001dd410c49a788668ce26751718cc797474d3152a5fc073dd44fd9f7b',
        [16_844, 0x1d00ffff, 1_605_451_779],
        HOUR_SECONDS,
      ),
    ],
    regtest: [BITCOIN_REGTEST],
  },
};

/**
 * The rules of a chain on a network. If there are several public testnets, `genesis`, from a server's features, chooses
 * one; by default the first. Null if none has that first block.
 */
export function rulesOf(chain: UtxoChain, network: Network, genesis?: string): HeaderRules | null {
  const candidates = RULES[chain][network] ?? [];
  return candidates.find((rules) => genesis === undefined || rules.genesis === genesis) ?? null;
}
