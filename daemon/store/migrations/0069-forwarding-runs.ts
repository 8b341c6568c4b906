/** A run of a plan on an account chain has a payment of each address: when it began; null: none goes on. */
export const FORWARDING_RUNS: readonly string[] = ['ALTER TABLE forward_plan ADD COLUMN run_at INTEGER'];
