/** Withdrawals, what was signed for them, policies and the address book. See `../schema.ts` for what the columns mean. */
export const WITHDRAWALS: readonly string[] = [];
