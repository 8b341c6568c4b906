/** What the appliance itself remembers: settings, quarantine, backups. See `../schema.ts` for what the columns mean. */
export const APPLIANCE: readonly string[] = [];
