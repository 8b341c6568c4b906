/**
 * The alert about deposits in the inbox: one for each business, with their number and sum. It counts deposits in blocks that
 * are worth a dollar, so that neither dust nor a server's word about unconfirmed transactions raises it. Each deposit
 * raises it once. A business gets at most one new alert an hour; meanwhile the text of the open one is corrected.
 */

import { isDeepStrictEqual } from 'node:util';
import { type AssetId, assetOf } from '../../domain/assets.ts';
import { type Message, message } from '../../domain/messages.ts';
import { formatUnits } from '../../domain/money.ts';
import { MS_PER_HOUR } from '../../domain/time.ts';
import { inTurns } from '../../kit/async.ts';
import { openAlertOf } from '../../store/queries/alert-notices.ts';
import { depositsToDecide, forgetTold, markTold, untoldDeposits } from '../../store/queries/credits.ts';
import { closeAlert, rewordAlert } from '../../store/queries/effects.ts';
import type { Tx } from '../../store/store.ts';
import { endIn, raiseIn } from '../alerts.ts';
import type { App } from '../app.ts';
import { rescannedPart } from '../recovery/rescan.ts';
import type { Business } from '../shops/directory.ts';

const KIND = 'inbox.deposit';
/** More deposits than that are not summed. */
const COUNTED_MAX = 500;
/** Deposits that one transaction marks. */
const MARKED_MAX = 500;

/** To be called every minute. */
export async function tellInbox(app: App): Promise<void> {
  for await (const business of inTurns(app.directory.businesses()))
    if (business.network !== 'sandbox') await tellBusiness(app, business);
}

type Waiting = { told: boolean; asset: AssetId; units: bigint; part: bigint | null; chain_key: string };

async function tellBusiness(app: App, { id, name, network }: Business): Promise<void> {
  const waiting = app.store.all(depositsToDecide, { business_id: id, limit: COUNTED_MAX + 1 });
  const open = app.store.get(openAlertOf, { kind: KIND, subject: `${id}` });
  if (waiting.length === 0) {
    if (open) await app.store.write((tx) => endAlert(app, tx, id));
    return;
  }
  const text = sentenceOf(name, waiting);
  const reading = new Set([...new Set(waiting.map((row) => row.chain_key))].filter((key) => isReading(app, key)));
  const isNews = waiting.some(({ told, chain_key }) => !told && !reading.has(chain_key));
  if (isNews && (!open || Math.abs(app.now() - open.created_at) >= MS_PER_HOUR)) {
    await app.store.write((tx) => {
      if (open) tx.run(closeAlert, { id: open.id, seen_at: app.now() });
      raiseIn(app, tx, network, KIND, `${id}`, text);
    });
    await markAll(app, id, reading);
  } else if (open && !isDeepStrictEqual(open.message, text)) {
    await app.store.write((tx) => tx.run(rewordAlert, { id: open.id, message: text }));
  }
}

function endAlert(app: App, tx: Tx, business_id: number): void {
  endIn(app, tx, KIND, `${business_id}`);
  tx.run(forgetTold, { business_id });
}

/** Whether a chain's past is still being read: all that is found until then is one piece of news. */
function isReading(app: App, key: string): boolean {
  const chain = app.chains.find(key);
  return chain !== undefined && (chain.syncedAt === 0 || rescannedPart(app, chain) !== null);
}

async function markAll(app: App, business_id: number, reading: ReadonlySet<string>): Promise<void> {
  for (let after = 0; ; ) {
    const page = app.store.all(untoldDeposits, { business_id, after, limit: MARKED_MAX });
    const last = page.at(-1);
    if (!last) return;
    await app.store.write((tx) => {
      for (const { id, chain_key } of page) if (!reading.has(chain_key)) tx.run(markTold, { id });
    });
    after = last.id;
  }
}

function sentenceOf(business: string, waiting: readonly Waiting[]): Message {
  const symbols = [...new Set(waiting.map(({ asset }) => asset))].sort();
  const assets = symbols.join(', ');
  if (waiting.length > COUNTED_MAX) return message('inbox.deposits_many', { business, count: COUNTED_MAX, assets });
  const count = waiting.length;
  const [asset] = symbols;
  if (symbols.length > 1 || asset === undefined) return message('inbox.deposits_mixed', { business, count, assets });
  const units = waiting.reduce((sum, row) => sum + (row.part ?? row.units), 0n);
  const amount = formatUnits(units, assetOf(asset));
  return count === 1
    ? message('inbox.deposit', { business, amount, asset })
    : message('inbox.deposits', { business, count, amount, asset });
}
