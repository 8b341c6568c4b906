import type { ScriptForm } from '../../../daemon/domain/chain.ts';

/** The texts that name the addresses of an account. */
export const FORM_TEXTS = {
  p2pkh: 'p2pkh',
  'p2sh-p2wpkh': 'p2sh_p2wpkh',
  p2wpkh: 'p2wpkh',
  p2tr: 'p2tr',
} as const satisfies Record<ScriptForm, string>;
