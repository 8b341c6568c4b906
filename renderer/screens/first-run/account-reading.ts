/** The key of an account as it was typed, read in this page: a wrong one is told at once, and a private one is never sent. */
import type { Network } from '../../../daemon/domain/assets.ts';
import type { AccountKey, ScriptForm } from '../../../daemon/domain/chain.ts';
import {
  checkMoneroAddress,
  FORMS,
  isOfCoins,
  readExtendedAccount,
  readMoneroAccount,
  type Watchable,
} from '../../../daemon/operator/watch-only.ts';

/** `text`: an extended key, a descriptor, or Monero's primary address. `form`: what its owner says about its addresses. */
export type Typed = { chain: Watchable; text: string; viewKey: string; form: ScriptForm | null };

/** `account.choose`: the key fits several kinds of addresses, and its owner says which. */
export const FAULTS = [
  'account.private',
  'account.checksum',
  'account.key',
  'account.network',
  'account.depth',
  'account.choose',
  'account.script',
  'account.subaddress',
  'account.integrated',
  'account.view_key',
] as const;
export type Fault = (typeof FAULTS)[number];

/** Both null: nothing was typed yet, or not all of it. */
export type Found = { key: AccountKey | null; fault: Fault | null };

/** Shorter texts are still being typed. */
const CHARS_MIN = 16;

const NOTHING: Found = { key: null, fault: null };

export function readTyped(typed: Typed, network: Network): Found {
  const { chain, text, viewKey, form } = typed;
  if (text.trim() === '' && viewKey === '') return NOTHING;
  const found = attempt(() => {
    if (chain !== 'XMR') return readExtendedAccount(text, chain, network, form);
    if (text.trim() !== '') checkMoneroAddress(text, network);
    return text.trim() === '' || viewKey === '' ? null : readMoneroAccount(text, viewKey, network);
  });
  if (found.fault === 'account.key' && isUnfinished(typed)) return NOTHING;
  if (found.fault !== 'account.script' || form !== null || !isOfCoins(chain)) return found;
  const fits = FORMS[chain].some((one) => attempt(() => readExtendedAccount(text, chain, network, one)).key !== null);
  return fits ? { key: null, fault: 'account.choose' } : found;
}

const isUnfinished = ({ text, viewKey }: Typed): boolean =>
  text.trim().length < CHARS_MIN || (viewKey !== '' && viewKey.trim().length < CHARS_MIN);

function attempt(read: () => AccountKey | null): Found {
  try {
    return { key: read(), fault: null };
  } catch (error) {
    const fault = FAULTS.find((one) => one === (error as { code?: unknown }).code);
    if (fault === undefined) throw error;
    return { key: null, fault };
  }
}
