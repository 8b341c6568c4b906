/**
 * `business add --account`: accounts whose private keys are in another wallet. The operator compares their first addresses with
 * that wallet before anything is added.
 */
import { CHAINS, type ChainId, type Network } from '../domain/assets.ts';
import { SCRIPT_FORMS, type ScriptForm } from '../domain/chain.ts';
import type { Accounts } from '../operator/open-business.ts';
import { ownAddress } from '../wallet/own-address.ts';
import { FORM_NAMES, FORMS, readWatchOnly, type WatchOnlyKey } from '../wallet/watch-only.ts';
import { usage } from './io.ts';
import { confirm } from './prompt.ts';
import type { Session } from './session.ts';

export type WatchOptions = { account?: string[]; script?: string[] };

type Watchable = keyof typeof FORMS;

const SHOWN = 3;

/** Collects an option that may be repeated. A descriptor may contain a comma. */
export const each = (text: string, before: string[] = []): string[] => [...before, text];

const isChain = (text: string): text is Watchable => text in FORMS;

/** `BTC=text`. Throws `Failure` for another chain, and for one that was given before. */
function byChain(option: string, texts: readonly string[]): Map<Watchable, string> {
  const found = new Map<Watchable, string>();
  for (const text of texts) {
    const at = text.indexOf('=');
    const chain = text.slice(0, at).trim().toUpperCase();
    if (at < 0 || !isChain(chain)) {
      throw usage(`${option} names one of ${Object.keys(FORMS).join(', ')} first, such as ${option} BTC=…`);
    }
    if (found.has(chain)) throw usage(`${option} gives ${chain} twice`);
    found.set(chain, text.slice(at + 1).trim());
  }
  return found;
}

function formsOf(texts: readonly string[]): Map<Watchable, ScriptForm> {
  const forms = new Map<Watchable, ScriptForm>();
  for (const [chain, text] of byChain('--script', texts)) {
    const form = SCRIPT_FORMS.find((one) => one === text);
    if (!form || !FORMS[chain].includes(form)) throw usage(`--script ${chain}= takes ${FORMS[chain].join(', ')}`);
    forms.set(chain, form);
  }
  return forms;
}

/**
 * The accounts of `--account`, once the operator said that their first addresses are the other wallet's. Throws `Failure`, and
 * `Rejected` as `readWatchOnly`.
 */
export async function watchedAccounts(
  session: Session,
  network: Network,
  { account = [], script = [] }: WatchOptions,
): Promise<Accounts> {
  const forms = formsOf(script);
  const keys = [...byChain('--account', account)].map(
    ([chain, text]) => [chain, readWatchOnly(text, chain, network, forms.get(chain) ?? null)] as const,
  );
  for (const chain of forms.keys()) {
    if (!keys.some(([one]) => one === chain)) throw usage(`--script ${chain}= goes with --account ${chain}=`);
  }
  if (keys.length === 0) return {};
  session.note(keys.map(([chain, key]) => firstAddresses(chain, network, key)).join('\n'));
  await confirm(session.io, session.yes, 'Does the wallet that has the keys show the same first receiving addresses?');
  return Object.fromEntries(keys);
}

function firstAddresses(chain: Watchable, network: Network, key: WatchOnlyKey): string {
  const addresses = Array.from(
    { length: SHOWN },
    (_, index) => `  ${index}  ${ownAddress(key, chain, network, index)}`,
  );
  return [`${chain}, ${FORM_NAMES[key.watch.form]}:`, ...addresses].join('\n');
}

/** The chains of a business that the wallet derives: a watch-only account came from elsewhere. */
export const walletChains = (watchOnly: readonly ChainId[]): ChainId[] =>
  CHAINS.filter((chain) => !watchOnly.includes(chain));
