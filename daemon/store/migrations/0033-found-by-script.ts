/**
 * Addresses are found by their scripts, whose index exists. The removed one had a random place for each address, so that each
 * payment wrote a page of it when its address was given out.
 */
export const FOUND_BY_SCRIPT: readonly string[] = ['DROP INDEX target_address'];
