/** A wallet from published words that plans, signs as the product does, and knows its coins from raw transactions. */
import { childPublicKey } from '../../daemon/chains/hd.ts';
import { addressOfKey } from '../../daemon/chains/utxo/address.ts';
import { parseTransaction } from '../../daemon/chains/utxo/block.ts';
import type { UtxoChain } from '../../daemon/chains/utxo/params.ts';
import { planUtxo } from '../../daemon/chains/utxo/spend/plan.ts';
import type { Network } from '../../daemon/domain/assets.ts';
import type { AccountKey, Branch, DerivedAddress } from '../../daemon/domain/chain.ts';
import type { Coin, SignedSpend, SpendRequest, UtxoPlan } from '../../daemon/domain/spend.ts';
import { accountKey } from '../../daemon/wallet/accounts.ts';
import { seedOf } from '../../daemon/wallet/mnemonic.ts';
import { signPlan } from '../../daemon/wallet/signer/sign.ts';

/** BIP-39's first test vector. */
const WORDS = `${'abandon '.repeat(11)}about`;
const ADDRESSES = 4;

export class SpendWallet {
  readonly chain: UtxoChain;
  readonly network: Network;
  readonly #seed: Uint8Array;
  readonly account: AccountKey;

  private constructor(chain: UtxoChain, network: Network, seed: Uint8Array) {
    this.chain = chain;
    this.network = network;
    this.#seed = seed;
    this.account = accountKey(seed, chain, network, 0);
  }

  static async open(chain: UtxoChain, network: Network): Promise<SpendWallet> {
    return new SpendWallet(chain, network, await seedOf(WORDS, ''));
  }

  target(branch: Branch, index: number): DerivedAddress {
    return addressOfKey(childPublicKey(this.account, branch, index), this.chain, this.network);
  }

  /** Our coins among the outputs of a transaction. */
  coinsIn(raw: string, confirmations: number): Coin[] {
    const parsed = parseTransaction(Buffer.from(raw, 'hex'), this.chain);
    const places = ([0, 1] as const).flatMap((branch) =>
      Array.from({ length: ADDRESSES }, (_, index) => ({ branch, index, script: this.target(branch, index).script })),
    );
    return parsed.outputs.flatMap(({ units, script }, n) => {
      const place = places.find((one) => Buffer.from(one.script).equals(script));
      return place ? [{ outpoint: `${parsed.txid()}:${n}`, units, confirmations, ...place }] : [];
    });
  }

  plan(coins: Coin[], fields: Partial<SpendRequest> & Pick<SpendRequest, 'tipHeight'>): UtxoPlan {
    return planUtxo(
      {
        network: this.network,
        chain: this.chain,
        accountNo: 0,
        asset: this.chain,
        payouts: [],
        requiredInputs: [],
        coins,
        change: { ...this.target(1, 0), index: 0 },
        feeRate: 5_000n,
        feeMin: 0n,
        feeMax: 100_000_000n,
        ...fields,
      },
      this.chain,
    );
  }

  sign(plan: UtxoPlan): SignedSpend {
    return signPlan(this.#seed, plan);
  }
}
