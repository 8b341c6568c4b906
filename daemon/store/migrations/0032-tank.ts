/** Finds the tank of an account, which is watched before all its other addresses. */
export const TANK: readonly string[] = ['CREATE INDEX target_tank ON target (account_id) WHERE branch = 1 AND idx = 0'];
