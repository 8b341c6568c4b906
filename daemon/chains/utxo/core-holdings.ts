/**
 * A node's own record of unspent coins: its set of unspent outputs, searched by descriptors of an account's public keys
 * (`scantxoutset`), so that the node derives the addresses itself. Pruned nodes have the complete set.
 */
import { HDKey } from '@scure/bip32';
import type { Network } from '../../domain/assets.ts';
import type { AccountKey, BlockId, ScriptForm } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import type { HeldCoin, Holdings, HoldingsSource, WatchedAccount } from '../adapter.ts';
import type { CoreNode } from './node.ts';
import type { UtxoChain } from './params.ts';

/** BIP-32's version bytes of an extended public key, as all three nodes read them. */
const VERSIONS = { mainnet: 0x0488b21e, others: 0x043587cf };
/** An account is three levels below the master key (BIP-44). */
const ACCOUNT_DEPTH = 3;

const DESCRIPTORS: Readonly<Record<ScriptForm, (key: string) => string>> = {
  p2pkh: (key) => `pkh(${key})`,
  'p2sh-p2wpkh': (key) => `sh(wpkh(${key}))`,
  p2wpkh: (key) => `wpkh(${key})`,
  p2tr: (key) => `tr(${key})`,
};

/** A node reports its coins as of one block. */
const heldAt = (tip: BlockId, coins: HeldCoin[]): Holdings => ({
  tip,
  until: tip,
  coins,
  untold: [],
  lessMempool: false,
});

export class CoreHoldings implements HoldingsSource {
  readonly #node: CoreNode;
  readonly #chain: UtxoChain;
  readonly #network: Network;

  constructor(node: CoreNode, chain: UtxoChain, network: Network) {
    this.#node = node;
    this.#chain = chain;
    this.#network = network;
  }

  async coins(accounts: readonly WatchedAccount[], signal: AbortSignal): Promise<Holdings> {
    await this.#node.identify(signal);
    const descriptors = accounts.flatMap(({ key, receiving, change }) =>
      [receiving, change].flatMap((count, branch) =>
        count > 0 ? [{ desc: this.#descriptor(key, branch), count }] : [],
      ),
    );
    if (descriptors.length === 0) {
      const { height, hash } = await this.#node.state(signal);
      return heldAt({ height, hash }, []);
    }
    const { height, hash, coins } = await this.#node.unspentOf(descriptors, signal);
    return heldAt({ height, hash }, coins);
  }

  /** BIP-380 ff.: P2WPKH of BTC and LTC, P2PKH of BCH; a watch-only account has its own form. */
  #descriptor(account: AccountKey, branch: number): string {
    assert(account.kind === 'secp256k1', 'an account of this family has a secp256k1 key');
    const version = this.#network === 'mainnet' ? VERSIONS.mainnet : VERSIONS.others;
    const node = new HDKey({
      publicKey: Buffer.from(account.publicKey, 'hex'),
      chainCode: Buffer.from(account.chainCode, 'hex'),
      depth: ACCOUNT_DEPTH,
      // without a parent: only keys derived from this key matter
      parentFingerprint: 0,
      versions: { public: version, private: version },
    });
    const form = account.watch?.form ?? (this.#chain === 'BCH' ? 'p2pkh' : 'p2wpkh');
    return DESCRIPTORS[form](`${node.publicExtendedKey}/${branch}/*`);
  }
}
