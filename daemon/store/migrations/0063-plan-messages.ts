/** Why a gas plan or a refund link waits becomes a message; what is stored keeps its English words. `message_of`: see 0062. */
export const PLAN_MESSAGES: readonly string[] = ['gas_plan', 'refund_link'].map(
  (table) => `UPDATE ${table} SET problem = message_of(problem, NULL) WHERE problem IS NOT NULL`,
);
