/** Bits of `payment.flags`. */
export const FLAG = { underpaid: 1, overpaid: 2, late: 4, undone: 8, markedPaid: 16 } as const;
