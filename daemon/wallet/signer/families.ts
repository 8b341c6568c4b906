/**
 * The families of chains that the signer signs for, by the kind of their plans. A new one adds a row here, and its shape to
 * `wire.ts`; the compiler asks for both.
 */
import { Rejected } from '../../domain/errors.ts';
import type { Judged } from './judged.ts';
import type { Witness } from './permission.ts';
import type { RealOrder, SignOrder } from './port.ts';

type Kind = RealOrder['plan']['kind'];
type OrderOf<K extends Kind> = Extract<RealOrder, { plan: { kind: K } }>;
type Judge<O> = (order: O, seed: Buffer, witness: Witness) => Judged | Promise<Judged>;

/** Loaded on first use, because unlocking does not need it. */
const JUDGES: { readonly [K in Kind]: () => Promise<Judge<OrderOf<K>>> } = {
  utxo: async () => (await import('./utxo.ts')).judgeUtxo,
  evm: async () => (await import('./evm.ts')).judgeEvm,
  monero: async () => (await import('./xmr/judge.ts')).judgeMonero,
};

/** Checks an order by the rules of its family. Throws `Rejected`: see `Signer.sign`. */
export async function judgeOrder(order: SignOrder, seed: Buffer, witness: Witness): Promise<Judged> {
  // the compiler does not relate the kind of an order to its row
  const rows = JUDGES as Partial<Record<string, () => Promise<Judge<SignOrder>>>>;
  const judge = await rows[order.plan.kind]?.();
  if (judge) return judge(order, seed, witness);
  throw new Rejected('signer.unsupported', `The wallet does not sign for ${order.plan.chain} yet`);
}
