/** A gas plan of the bench's account, which collects everything for a day. */
import { saveGasPlan } from '../../../daemon/store/queries/gas.ts';
import type { PayBench } from './pay-bench.ts';

export async function beginGasPlan({ app, bench, chain }: PayBench): Promise<void> {
  const { at: now } = bench;
  const plan = {
    account_id: bench.accountId,
    chain_key: bench.chain.key,
    min_usd: 0n,
    price_max: null,
    fee_max: chain.coin,
    used: 0n,
    only_needed: false,
    day_from: null,
    day_to: null,
    halted: false,
    halted_by: 0,
    begins_at: now,
    ends_at: now + 86_400_000,
    created_at: now,
    state: 'open' as const,
    problem: null,
  };
  await app.store.write((tx) => tx.run(saveGasPlan, plan));
}
