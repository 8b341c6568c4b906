/**
 * Accounts whose spends are not all known. A restored or imported account of Monero has coins of which only the signer can tell
 * whether they were spent. Until it did, their balance is withheld and nothing of them is planned.
 */
import { networkOf } from '../../domain/chain.ts';
import { Rejected } from '../../domain/errors.ts';
import { accountById, accountsOfChain } from '../../store/queries/businesses.ts';
import { coinsWithoutImage, unsearched } from '../../store/queries/key-images.ts';
import { dropSetting, saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { Reader, Tx } from '../../store/store.ts';

/** A connected chain. One without key images reports every spend by itself. */
type Source = { key: string; adapter: { keyImages?: boolean } };

const settingFor = (accountId: number): string => `spends_unknown:${accountId}`;

const UNREAD = 'its past is being read';
const UNASKED = 'unlock the wallet once, because only it can tell which of its coins were spent meanwhile';
const UNSEARCHED = 'blocks are being searched for its coins that were spent meanwhile';

/** Real chains of Monero: the sandbox reports every spend. */
const hasKeyImages = (chain_key: string): boolean => chain_key.endsWith(':XMR') && networkOf(chain_key) !== 'sandbox';

/** To be called when an account is restored, or is imported with a past. */
export function beginUnknownSpends(tx: Tx, account: { id: number; chain_key: string }, now: number): void {
  if (!hasKeyImages(account.chain_key)) return;
  tx.run(saveSetting, { key: settingFor(account.id), value: '1', updated_at: now });
}

/** Why the spends of an account are not known; null if they are. */
export function whySpendsUnknown(reader: Reader, chain: Source | undefined, accountId: number): string | null {
  if (!chain?.adapter.keyImages || !reader.get(settingOf, { key: settingFor(accountId) })) return null;
  return whyStill(reader, accountId) ?? UNSEARCHED;
}

/** Why the spends of a chain's accounts are not known; null if they are. */
export function whyChainUnknown(reader: Reader, chain: Source): string | null {
  for (const { id } of reader.all(accountsOfChain, { chain_key: chain.key })) {
    const why = whySpendsUnknown(reader, chain, id);
    if (why !== null) return why;
  }
  return null;
}

/** Throws `Rejected('spend.unknown')` while the spends of an account are not known. */
export function needKnownSpends(reader: Reader, chain: Source, accountId: number, asset: string): void {
  const why = whySpendsUnknown(reader, chain, accountId);
  if (why !== null) throw new Rejected('spend.unknown', `${asset} cannot be paid out yet: ${why}`);
}

/** Ends it for the accounts whose spends are known now. To be called when every block was read. */
export function endUnknownSpends(tx: Tx, chain_key: string): void {
  for (const { id } of tx.all(accountsOfChain, { chain_key })) {
    if (whyStill(tx, id) === null) tx.run(dropSetting, { key: settingFor(id) });
  }
}

function whyStill(reader: Reader, account_id: number): string | null {
  const account = reader.get(accountById, { id: account_id });
  if (!account) return null;
  if (account.rescan !== null) return UNREAD;
  if (reader.all(coinsWithoutImage, { account_id, asset: 'XMR', limit: 1 }).length > 0) return UNASKED;
  const { from_height = null } = reader.get(unsearched, { chain_key: account.chain_key }) ?? {};
  return from_height === null ? null : UNSEARCHED;
}
