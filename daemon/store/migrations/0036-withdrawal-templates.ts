/** The code and values of why a withdrawal waits or ended, and why a transaction was not sent. */
export const WITHDRAWAL_TEMPLATES: readonly string[] = [
  'ALTER TABLE withdrawal ADD COLUMN problem_template TEXT',
  'ALTER TABLE withdrawal ADD COLUMN reason_template TEXT',
  'ALTER TABLE spend_version ADD COLUMN problem_template TEXT',
];
