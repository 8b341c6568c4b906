/**
 * `business add --account`: accounts whose private keys are in another wallet. The operator compares their first addresses with
 * that wallet before anything is added. Monero's private view key is asked for or read from a file: in an argument, every program
 * of the machine could read it, and the shell would keep it.
 */
import { CHAINS, type ChainId, type Network } from '../domain/assets.ts';
import { type AccountKey, SCRIPT_FORMS, type ScriptForm } from '../domain/chain.ts';
import type { Accounts } from '../operator/open-business.ts';
import { ownAddress } from '../wallet/own-address.ts';
import { readPrimary, readViewOnly } from '../wallet/view-only.ts';
import { FORM_NAMES, FORMS, readWatchOnly } from '../wallet/watch-only.ts';
import { usage } from './io.ts';
import { confirm } from './prompt.ts';
import { secretFrom } from './secrets.ts';
import type { Session } from './session.ts';

export type WatchOptions = { account?: string[]; script?: string[]; viewKeyFile?: string };

type Scripted = keyof typeof FORMS;
type Watchable = Scripted | 'XMR';

const SHOWN = 3;

/** Collects an option that may be repeated. A descriptor may contain a comma. */
export const each = (text: string, before: string[] = []): string[] => [...before, text];

const SCRIPTED = Object.keys(FORMS) as Scripted[];

/** `BTC=text`. Throws `Failure` for another chain, and for one that was given before. */
function byChain<C extends Watchable>(option: string, chains: readonly C[], texts: readonly string[]): Map<C, string> {
  const found = new Map<C, string>();
  for (const text of texts) {
    const at = text.indexOf('=');
    const chain = chains.find((one) => one === text.slice(0, at).trim().toUpperCase());
    if (at < 0 || !chain) throw usage(`${option} names one of ${chains.join(', ')} first, such as ${option} BTC=…`);
    if (found.has(chain)) throw usage(`${option} gives ${chain} twice`);
    found.set(chain, text.slice(at + 1).trim());
  }
  return found;
}

function formsOf(texts: readonly string[]): Map<Scripted, ScriptForm> {
  const forms = new Map<Scripted, ScriptForm>();
  for (const [chain, text] of byChain('--script', SCRIPTED, texts)) {
    const form = SCRIPT_FORMS.find((one) => one === text);
    if (!form || !FORMS[chain].includes(form)) throw usage(`--script ${chain}= takes ${FORMS[chain].join(', ')}`);
    forms.set(chain, form);
  }
  return forms;
}

/**
 * The accounts of `--account`, once the operator said that their first addresses are the other wallet's. Throws `Failure`, and
 * `Rejected` as `readWatchOnly` and `readViewOnly`.
 */
export async function watchedAccounts(
  session: Session,
  network: Network,
  { account = [], script = [], viewKeyFile }: WatchOptions,
): Promise<Accounts> {
  const forms = formsOf(script);
  const given = byChain('--account', [...SCRIPTED, 'XMR'] as const, account);
  for (const chain of forms.keys()) {
    if (!given.has(chain)) throw usage(`--script ${chain}= goes with --account ${chain}=`);
  }
  const address = given.get('XMR');
  if (viewKeyFile !== undefined && address === undefined) throw usage('--view-key-file goes with --account XMR=');
  const keys: Accounts = {};
  const shown: string[] = [];
  for (const chain of SCRIPTED) {
    const text = given.get(chain);
    if (text === undefined) continue;
    const key = readWatchOnly(text, chain, network, forms.get(chain) ?? null);
    keys[chain] = key;
    shown.push(`${chain}, ${FORM_NAMES[key.watch.form]}:`, ...firstAddresses(chain, network, key));
  }
  if (address !== undefined) {
    const key = await viewOnly(session, network, address, viewKeyFile);
    keys.XMR = key;
    shown.push('XMR, subaddresses 1 and later of account 0:', ...firstAddresses('XMR', network, key));
  }
  if (given.size === 0) return {};
  session.note(shown.join('\n'));
  await confirm(session.io, session.yes, 'Does the wallet that has the keys show the same first receiving addresses?');
  return keys;
}

async function viewOnly(session: Session, network: Network, address: string, file: string | undefined) {
  if (/[:,;\s]/.test(address)) {
    throw usage(
      '--account XMR= takes the primary address alone: the private view key is asked for, or read from --view-key-file. ' +
        'The shell may have kept this line: remove it from its history',
    );
  }
  // a wrong address is told before a key is asked for
  readPrimary(address, network);
  const viewKey = await secretFrom(session, file, 'Private view key of that address:', '--view-key-file');
  return readViewOnly(address, viewKey, network);
}

/** Numbered as the other wallet numbers them. */
function firstAddresses(chain: Watchable, network: Network, key: AccountKey): string[] {
  const first = chain === 'XMR' ? 1 : 0;
  return Array.from({ length: SHOWN }, (_, at) => `  ${at + first}  ${ownAddress(key, chain, network, at)}`);
}

/** The chains of a business that the wallet derives: a watch-only account came from elsewhere. */
export const walletChains = (watchOnly: readonly ChainId[]): ChainId[] =>
  CHAINS.filter((chain) => !watchOnly.includes(chain));
