/**
 * A message is its code and values, in one column; before, its English text was beside them. A text of releases before the codes
 * becomes a message that has only words. `message_of` is a function of `../migrations.ts`.
 */
const joined = (table: string, text: string, template: string): string[] => [
  `UPDATE ${table} SET ${text} = message_of(${text}, ${template}) WHERE ${text} IS NOT NULL`,
  `ALTER TABLE ${table} DROP COLUMN ${template}`,
];

export const MESSAGES: readonly string[] = [
  ...joined('withdrawal', 'problem', 'problem_template'),
  ...joined('withdrawal', 'reason', 'reason_template'),
  ...joined('spend_version', 'problem', 'problem_template'),
  ...joined('alert', 'message', 'template'),
];
