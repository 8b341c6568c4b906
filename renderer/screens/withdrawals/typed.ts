/** The recipients, amounts and coins that were typed on this page: the review of such a withdrawal refuses any other, whatever the service says. */
import type { Expected } from '../../../daemon/operator/review.ts';

const TYPED = new Map<string, Expected>();

export function keepTyped(id: number, expected: Expected): void {
  TYPED.set(`${id}`, expected);
}

/** Nothing is expected of a withdrawal that was typed elsewhere. */
export const typedOf = (id: string): Expected => TYPED.get(id) ?? {};
