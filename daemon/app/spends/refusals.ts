/** Alerts about transactions that nodes refuse. */

import { type Message, message } from '../../domain/messages.ts';
import { isNonceKey } from '../../domain/spend.ts';
import {
  type SpendRow,
  setVersionProblem,
  setVersionSent,
  type VersionRow,
  withdrawalsOfSpend,
} from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { endIn, raiseOn } from '../alerts.ts';
import type { App } from '../app.ts';
import { versionFacts } from './facts.ts';
import { noteProblem } from './rows.ts';

const NOT_SENT = 'withdrawal.not_sent';
/** How nodes (Nethermind last) say that a block has a transaction with the same nonce. */
const NONCE_USED = /nonce too low|nonce is too low|OldNonce/i;

/** How nodes say that it hangs together with too many unconfirmed transactions: they take it after a block. Bitcoin Core since 31 says the latter. */
const TOO_MANY_UNCONFIRMED = /too-long-mempool-chain|too-large-cluster/;

/** `isOwn`: it was approved as a payment to ourselves. */
type Refused = { spend: SpendRow; version: VersionRow; isOwn: boolean };

/** Records that a node refuses a version, and alerts the operator once it `isKnown` to be in no block. */
export function noteRefusal(app: App, tx: Tx, refused: Refused, reason: string, isKnown: boolean): void {
  const { spend, version } = refused;
  noteProblem(tx, version, reason);
  if (!isKnown || TOO_MANY_UNCONFIRMED.test(reason)) return;
  const { transaction, advice } = wordsFor(app, tx, refused);
  const isUsed = isNonceKey(`${spend.conflict_key}`) && NONCE_USED.test(reason);
  const useful = isUsed ? message('advice.nonce_used') : advice;
  const values = { transaction, reason, advice: useful };
  raiseOn(app, tx, version.chain_key, version.txid ?? `${version.id}`, NOT_SENT, values);
}

/** The description of a version, and the possible reactions to its refusal. */
function wordsFor(
  app: App,
  reader: Reader,
  { spend, version, isOwn }: Refused,
): { transaction: Message; advice: Message } {
  if (spend.purpose === 'collect' || spend.purpose === 'fund') {
    const address = `${spend.subject}`;
    return { transaction: message(`transaction.${spend.purpose}`, { address }), advice: message('advice.later_wait') };
  }
  if (spend.purpose === 'bump') {
    const deposit = `${spend.conflict_key}`;
    return { transaction: message('transaction.bump', { deposit }), advice: message('advice.give_up_bump') };
  }
  const rows = reader.all(withdrawalsOfSpend, { spend_id: spend.id });
  const ids = rows.map(({ id }) => id).join(', ');
  const chain = app.chains.find(spend.chain_key);
  const earlier = chain ? versionFacts(reader, chain, spend.id).filter((known) => known.version.id < version.id) : [];
  const kind = version.kind === 'cancel' ? 'cancel' : earlier.length > 0 ? 'replacement' : 'withdrawal';
  const transaction = message(`transaction.${kind}`, { ids });
  const [row] = rows;
  const isFinal = chain?.adapter.spending?.replacement === 'none';
  if (row && isOwn) return { transaction, advice: message('advice.reclaim', { id: row.id }) };
  // another machine or wallet may have sent it, so that its bytes are not here
  const isSeen = earlier.some(({ depth }) => depth !== null);
  const isUnderWay = kind !== 'replacement' || earlier.some(({ isStored }) => isStored);
  // the earlier ones of such a chain were refused, too
  if (row && !isSeen && (isFinal || !isUnderWay)) {
    // the wallet, which was restored, replaces nothing that it never signed
    const isOthers = row.approved_by === 'restore' && version.approval === null;
    return { transaction, advice: message(isOthers ? 'advice.pay_anew' : 'advice.sign_anew', { id: row.id }) };
  }
  return { transaction, advice: message(kind === 'withdrawal' ? 'advice.cancel' : 'advice.earlier_under_way') };
}

/** Records that a node has a version, which ends what was said about its refusal. `version`: as it is stored now. */
export function noteSent(app: App, tx: Tx, version: VersionRow): void {
  closeRefusals(app, tx, [version]);
  tx.run(setVersionSent, { id: version.id, sent_at: app.now() });
}

/** Closes the alerts once the chain shows a version of the spend, or it is decided. */
export function closeRefusals(app: App, tx: Tx, versions: readonly VersionRow[]): void {
  for (const { id, txid, problem } of versions) {
    if (problem === null) continue;
    endIn(app, tx, NOT_SENT, txid ?? `${id}`);
    tx.run(setVersionProblem, { id, problem: null });
  }
}
