/**
 * Why a signed withdrawal waits is told by its code. Texts of releases before the codes are dropped: each is derived again from the
 * chain's facts.
 */
export const PROBLEM_CODES: readonly string[] = [
  `UPDATE withdrawal SET problem = NULL
    WHERE problem IS NOT NULL AND problem_template IS NULL AND state IN ('signed', 'broadcast')`,
];
