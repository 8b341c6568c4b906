import { Rejected } from '../../domain/errors.ts';

/** The message for a crypto that cannot be used, with the valid ones. */
export function invalidCrypto(valid: readonly string[]): string {
  if (valid.length === 0) return 'The selected crypto is invalid: none can be used here.';
  const last = valid.at(-1);
  const list = valid.length === 1 ? last : `${valid.slice(0, -1).join(', ')} or ${last}`;
  return `The selected crypto is invalid: use ${list}.`;
}

export const cryptoRejected = (valid: readonly string[]): Rejected =>
  new Rejected('validation', invalidCrypto(valid), 'crypto');
