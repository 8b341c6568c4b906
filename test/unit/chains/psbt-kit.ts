/** Accounts of another wallet, whose keys are known here, and plans that spend their coins. */
import { HDKey } from '@scure/bip32';
import { Transaction } from 'bitcoinjs-lib';
import { addressAt } from '../../../daemon/chains/utxo/address.ts';
import { planUtxo } from '../../../daemon/chains/utxo/spend/plan.ts';
import type { AccountKey, Branch, ScriptForm } from '../../../daemon/domain/chain.ts';
import type { UtxoPlan } from '../../../daemon/domain/spend.ts';
import { requestOf } from './spend-kit.ts';

export const FORMS = ['p2pkh', 'p2sh-p2wpkh', 'p2wpkh', 'p2tr'] as const satisfies ScriptForm[];
export const PATH = "84'/1'/0'";
export const master = HDKey.fromMasterSeed(new Uint8Array(32).fill(7));
export const node = master.derive(`m/${PATH}`);
export const FINGERPRINT = master.fingerprint.toString(16).padStart(8, '0');

export const accountOf = (form: ScriptForm, origin = true): AccountKey => ({
  kind: 'secp256k1',
  publicKey: Buffer.from(node.publicKey!).toString('hex'),
  chainCode: Buffer.from(node.chainCode!).toString('hex'),
  watch: { form, origin: origin ? { fingerprint: FINGERPRINT, path: PATH.replaceAll("'", 'h') } : null },
});

/** A plan that spends two coins for one payment and change, and the transactions of its coins. */
export function planned(form: ScriptForm, rate = 5_000n): { plan: UtxoPlan; previous: { [txid: string]: string } } {
  const own = (branch: Branch, index: number) => addressAt(accountOf(form), branch, index, 'BTC', 'regtest');
  const previous: { [txid: string]: string } = {};
  const coins = [60_000n, 70_000n].map((units, index) => {
    const made = new Transaction();
    made.version = 2;
    made.addInput(Buffer.alloc(32, index + 1), 0);
    made.addOutput(own(0, index).script, units);
    previous[made.getId()] = made.toHex();
    return {
      outpoint: `${made.getId()}:0`,
      units,
      script: own(0, index).script,
      branch: 0 as const,
      index,
      confirmations: 6,
    };
  });
  const change = { ...own(1, 4), index: 4 };
  const request = requestOf('BTC', { pay: [100_000n], coins, change, feeRate: rate });
  return { plan: planUtxo(request, 'BTC'), previous };
}
