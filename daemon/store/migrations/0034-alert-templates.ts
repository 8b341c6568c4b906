/** The code and values of an alert's message, by which it is told in other languages. */
export const ALERT_TEMPLATES: readonly string[] = ['ALTER TABLE alert ADD COLUMN template TEXT'];
