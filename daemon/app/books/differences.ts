/**
 * The differences that the latest proof of each chain found: kept for the doctor, also while nobody looks at the alert, and told in one
 * alert for each chain, which lists the differences and ends with them.
 */
import { networkOf } from '../../domain/chain.ts';
import { type Message, message } from '../../domain/messages.ts';
import { saveSetting, settingOf } from '../../store/queries/settings.ts';
import { end, raise } from '../alerts.ts';
import type { App } from '../app.ts';
import { isQuarantined } from '../recovery/quarantine.ts';
import type { Reconciliation } from './reconcile.ts';

const NAMED_IN_ALERT_MAX = 20;

/** `count`: of the differences. `first`: the first one, in words. */
type Noted = { count: number; first: string };

const settingFor = (chain: string): string => `proof.differences.${chain}`;
const NONE = '';

/** Notes the result of a proof. In quarantine, when payments may still be missing, it raises no alert. */
export async function noteDifferences(app: App, report: Reconciliation): Promise<void> {
  const { chain, problems, differences } = report;
  const [first] = problems;
  const value = first === undefined ? NONE : JSON.stringify({ count: differences, first } satisfies Noted);
  const key = settingFor(chain);
  if ((app.store.get(settingOf, { key })?.value ?? NONE) !== value)
    await app.store.write((tx) => tx.run(saveSetting, { key, value, updated_at: app.now() }));
  if (first === undefined) await end(app, 'ledger.differs', chain);
  else if (!isQuarantined(app.store)) await raise(app, networkOf(chain), 'ledger.differs', chain, sentenceOf(report));
}

/** The differences that the latest proof of a chain found; null: none, or it was never proved. */
export function differencesOf(app: App, chain: string): Noted | null {
  const value = app.store.get(settingOf, { key: settingFor(chain) })?.value ?? NONE;
  return value === NONE ? null : (JSON.parse(value) as Noted);
}

function sentenceOf({ chain, tip, problems, differences, missed, offers }: Reconciliation): Message {
  const [network, name] = chain.split(':');
  const named = { chain, height: tip.height, reason: problems.slice(0, NAMED_IN_ALERT_MAX).join('; ') };
  const count = differences - NAMED_IN_ALERT_MAX;
  const found = count > 0 ? message('ledger.differs_more', { ...named, count }) : message('ledger.differs', named);
  if (offers.length > 0) {
    const adopting = `countinghouse ledger ${chain} --adopt`;
    return message('ledger.differs_adopt', { found, count: offers.length, command: adopting });
  }
  const command = `countinghouse source rescan ${name} --network ${network}`;
  return missed ? message('ledger.differs_missed', { found, command }) : found;
}
