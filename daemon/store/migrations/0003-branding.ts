/** How a business looks to its payers. See `../schema.ts` for what the columns mean. */
export const BRANDING: readonly string[] = [];
