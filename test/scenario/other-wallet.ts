/** The wallet that has the keys of a watch-only account, for tests: its account, and its private keys as a node imports them. */
import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check, hex } from '@scure/base';
import { HDKey } from '@scure/bip32';
import type { Branch, ScriptForm } from '../../daemon/domain/chain.ts';
import { descriptorOf, type WatchOnlyKey } from '../../daemon/wallet/watch-only.ts';

/** BIP-32's version bytes of the test networks. */
const VERSIONS = { public: 0x043587cf, private: 0x04358394 };
/** Of private keys of the test networks in WIF, and behind them: the public key is compressed. */
const WIF_VERSION = 0xef;
const COMPRESSED = 1;
const base58check = createBase58check(sha256);

/** `wif`: the private key at an index. */
export function otherWallet(seed: number, form: ScriptForm) {
  const account = HDKey.fromMasterSeed(new Uint8Array(32).fill(seed), VERSIONS).derive("m/84'/1'/0'");
  const key: WatchOnlyKey = {
    kind: 'secp256k1',
    publicKey: hex.encode(account.publicKey!),
    chainCode: hex.encode(account.chainCode!),
    watch: { form, origin: null },
  };
  const at = (index: number, branch: Branch): HDKey => account.deriveChild(branch).deriveChild(index);
  return {
    descriptor: descriptorOf(key, 'regtest'),
    extended: account.publicExtendedKey,
    secret: account.privateExtendedKey,
    wif: (index: number, branch: Branch = 0) =>
      base58check.encode(Uint8Array.of(WIF_VERSION, ...at(index, branch).privateKey!, COMPRESSED)),
    publicKey: (index: number) => hex.encode(at(index, 0).publicKey!),
  };
}
