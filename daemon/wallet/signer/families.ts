/**
 * The families of chains that the signer signs for, by the kind of their plans. A new one adds a row here, and its
 * shape to `wire.ts`; the compiler asks for both.
 */
import { Rejected } from '../../domain/errors.ts';
import type { ImportedMonero } from '../accounts.ts';
import type { Judged } from './judged.ts';
import type { Witness } from './permission.ts';
import type { RealOrder, SignOrder } from './port.ts';

type Kind = RealOrder['plan']['kind'];
type OrderOf<K extends Kind> = Extract<RealOrder, { plan: { kind: K } }>;
type Judge<O> = (order: O, keys: WalletKeys, witness: Witness) => Judged | Promise<Judged>;
/** The seed, and the keys that do not follow from it. */
type WalletKeys = { seed: Buffer; imported: readonly ImportedMonero[] };

/** Loaded on first use, because unlocking does not need it. */
const JUDGES: { readonly [K in Kind]: () => Promise<Judge<OrderOf<K>>> } = {
  utxo: async () => ofSeed((await import('./utxo.ts')).judgeUtxo),
  evm: async () => ofSeed((await import('./evm.ts')).judgeEvm),
  monero: async () => (await import('./xmr/judge.ts')).judgeMonero,
};

function ofSeed<O>(judge: (order: O, seed: Buffer, witness: Witness) => Judged | Promise<Judged>): Judge<O> {
  return (order, { seed }, witness) => judge(order, seed, witness);
}

/** Checks an order by the rules of its family. Throws `Rejected`: see `Signer.sign`. */
export async function judgeOrder(order: SignOrder, keys: WalletKeys, witness: Witness): Promise<Judged> {
  // the compiler does not relate the kind of an order to its row
  const rows = JUDGES as Partial<Record<string, () => Promise<Judge<SignOrder>>>>;
  const judge = await rows[order.plan.kind]?.();
  if (judge) return judge(order, keys, witness);
  throw new Rejected('signer.unsupported', `The wallet does not sign for ${order.plan.chain} yet`);
}
