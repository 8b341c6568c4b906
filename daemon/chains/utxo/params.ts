/**
 * The parameters of the networks of BTC, LTC and BCH: address forms and first blocks.
 *
 * Sources: `chainparams.cpp` of Bitcoin Core, Litecoin Core and Bitcoin Cash Node. The sandbox has the forms of regtest
 * and no genesis block.
 */
import type { Network } from '../../domain/assets.ts';

export type UtxoChain = 'BTC' | 'LTC' | 'BCH';

/**
 * The address forms of a network. `segwit`: the human-readable part of bech32 (BIP-173) and the accepted version bytes
 * of Base58Check. `cashaddr`: the prefix of CashAddr, the only form.
 */
type AddressForm = { kind: 'segwit'; hrp: string; p2pkh: number; p2sh: number } | { kind: 'cashaddr'; prefix: string };

type UtxoParams = {
  address: AddressForm;
  /**
   * Hashes of the first block, one for each public chain of this network, because there are several testnets. Empty on
   * the sandbox. BTC and BCH share theirs.
   */
  genesis: readonly string[];
};

const BITCOIN_GENESIS = '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f';
const BITCOIN_TESTNET3_GENESIS = '000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943';
const BITCOIN_TESTNET4_GENESIS = '00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043';
const BITCOIN_REGTEST_GENESIS = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206';
const LITECOIN_GENESIS = '12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2';
const LITECOIN_TESTNET_GENESIS = '4966625a4b2851d9fdee139e56211a0d88575f59ed816ff5e6a63deb4e3e29a0';
const LITECOIN_REGTEST_GENESIS = '530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9';
/** BCH's testnet4 and chipnet begin with the same block. */
const BCH_TESTNET4_GENESIS = '000000001dd410c49a788668ce26751718cc797474d3152a5fc073dd44fd9f7b';

const segwit = (hrp: string, p2pkh: number, p2sh: number): AddressForm => ({ kind: 'segwit', hrp, p2pkh, p2sh });
const cashaddr = (prefix: string): AddressForm => ({ kind: 'cashaddr', prefix });

const BTC_REGTEST = segwit('bcrt', 0x6f, 0xc4);
// LTC's older p2sh versions (0x05, 0xc4) are BTC's too: money sent there by mistake is stuck, so they are left out
const LTC_REGTEST = segwit('rltc', 0x6f, 0x3a);
const BCH_REGTEST = cashaddr('bchreg');

export const UTXO_PARAMS: Readonly<Record<UtxoChain, Readonly<Record<Network, UtxoParams>>>> = {
  BTC: {
    mainnet: { address: segwit('bc', 0x00, 0x05), genesis: [BITCOIN_GENESIS] },
    testnet: { address: segwit('tb', 0x6f, 0xc4), genesis: [BITCOIN_TESTNET3_GENESIS, BITCOIN_TESTNET4_GENESIS] },
    regtest: { address: BTC_REGTEST, genesis: [BITCOIN_REGTEST_GENESIS] },
    sandbox: { address: BTC_REGTEST, genesis: [] },
  },
  LTC: {
    mainnet: { address: segwit('ltc', 0x30, 0x32), genesis: [LITECOIN_GENESIS] },
    testnet: { address: segwit('tltc', 0x6f, 0x3a), genesis: [LITECOIN_TESTNET_GENESIS] },
    regtest: { address: LTC_REGTEST, genesis: [LITECOIN_REGTEST_GENESIS] },
    sandbox: { address: LTC_REGTEST, genesis: [] },
  },
  BCH: {
    mainnet: { address: cashaddr('bitcoincash'), genesis: [BITCOIN_GENESIS] },
    testnet: { address: cashaddr('bchtest'), genesis: [BITCOIN_TESTNET3_GENESIS, BCH_TESTNET4_GENESIS] },
    regtest: { address: BCH_REGTEST, genesis: [BITCOIN_REGTEST_GENESIS] },
    sandbox: { address: BCH_REGTEST, genesis: [] },
  },
};
