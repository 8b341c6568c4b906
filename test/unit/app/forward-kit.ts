/** A plan that sends the takings of the bench's shop on. */
import type { App } from '../../../daemon/app/app.ts';
import type { ChainId } from '../../../daemon/domain/assets.ts';
import { insertForwardPlan } from '../../../daemon/store/queries/forwarding.ts';
import { insertAddress } from '../../../daemon/store/queries/policies.ts';

type Plan = Parameters<(typeof insertForwardPlan)['bind']>[0];
const COMMON = {
  every: 'reached' as const,
  minute: 0,
  weekday: null,
  withdrawal_id: null,
  problem: null,
  run_at: null,
  left_out: 0,
  key_index: null,
  cheap: false,
  cheap_since: null,
};
type Own = Omit<Plan, keyof typeof COMMON | 'business_id' | 'created_at' | 'updated_at' | 'next_at'>;

/** Puts its address into the book as that of `chain`, and nothing into the inbox. Returns its id. */
export function planned(app: App, business_id: number, chain: ChainId, own: Own): Promise<number> {
  const at = app.now();
  const of = { business_id, address: own.address, created_at: at };
  return app.store.write((tx) => {
    tx.run({ sql: "UPDATE inbox SET state = 'kept'", bind: () => [] }, {});
    tx.run(insertAddress, { ...of, chain, label: 'Cold storage', lookalike_key: 'cold' });
    return tx.run(insertForwardPlan, { ...COMMON, ...of, ...own, updated_at: at, next_at: at }).id;
  });
}
