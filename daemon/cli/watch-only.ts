/**
 * `business add --account`: accounts whose private keys are in another wallet. The operator compares their first addresses with
 * that wallet before anything is added. Monero's private view key is asked for or read from a file: in an argument, every program
 * of the machine could read it, and the shell would keep it.
 */
import type { ChainId, Network } from '../domain/assets.ts';
import { type AccountKey, SCRIPT_FORMS, type ScriptForm } from '../domain/chain.ts';
import { isEvm, NATIVE_COIN } from '../domain/evm.ts';
import { isMovedElsewhere } from '../domain/watch-only.ts';
import type { Accounts } from '../operator/open-business.ts';
import {
  COIN_CHAINS,
  checkMoneroAddress,
  FORM_NAMES,
  FORMS,
  firstAddresses,
  readExtendedAccount,
  readMoneroAccount,
  WATCHABLE,
  type Watchable,
} from '../operator/watch-only.ts';
import { usage } from './io.ts';
import { confirm } from './prompt.ts';
import { secretFrom } from './secrets.ts';
import type { Session } from './session.ts';

export type WatchOptions = { account?: string[]; script?: string[]; viewKeyFile?: string };

/** How wallets name the place of these addresses. */
const EVM_PLACE = "m/44'/60'/account'/0/index";
const XMR_PLACE = 'subaddresses 1 and later of account 0';

/** Collects an option that may be repeated. A descriptor may contain a comma. */
export const each = (text: string, before: string[] = []): string[] => [...before, text];

/** `BTC=text`; a chain of accounts may be named by its coin. Throws `Failure` for another chain, and for one that was given before. */
function byChain<Chain extends Watchable>(
  option: string,
  chains: readonly Chain[],
  texts: readonly string[],
): Map<Chain, string> {
  const found = new Map<Chain, string>();
  for (const text of texts) {
    const at = text.indexOf('=');
    const name = text.slice(0, at).trim().toUpperCase();
    const chain = at < 0 ? undefined : chains.find((one) => one === name || (isEvm(one) && NATIVE_COIN[one] === name));
    if (!chain) throw usage(`${option} names one of ${chains.join(', ')} first, such as ${option} BTC=…`);
    if (found.has(chain)) throw usage(`${option} gives ${chain} twice`);
    found.set(chain, text.slice(at + 1).trim());
  }
  return found;
}

function formsOf(texts: readonly string[]): Map<Watchable, ScriptForm> {
  const forms = new Map<Watchable, ScriptForm>();
  for (const [chain, text] of byChain('--script', COIN_CHAINS, texts)) {
    const form = SCRIPT_FORMS.find((one) => one === text);
    if (!form || !FORMS[chain].includes(form)) throw usage(`--script ${chain}= takes ${FORMS[chain].join(', ')}`);
    forms.set(chain, form);
  }
  return forms;
}

/**
 * The accounts of `--account`, once the operator said that their first addresses are the other wallet's. Throws `Failure`, and
 * `Rejected` as `readExtendedAccount` and `readMoneroAccount`.
 */
export async function watchedAccounts(
  session: Session,
  network: Network,
  { account = [], script = [], viewKeyFile }: WatchOptions,
): Promise<Accounts> {
  const forms = formsOf(script);
  const given = byChain('--account', WATCHABLE, account);
  for (const chain of forms.keys()) {
    if (!given.has(chain)) throw usage(`--script ${chain}= goes with --account ${chain}=`);
  }
  if (viewKeyFile !== undefined && !given.has('XMR')) throw usage('--view-key-file goes with --account XMR=');
  const keys: [Watchable, AccountKey][] = [];
  for (const [chain, text] of given) {
    const key =
      chain === 'XMR'
        ? await viewOnly(session, network, text, viewKeyFile)
        : readExtendedAccount(text, chain, network, forms.get(chain) ?? null);
    keys.push([chain, key]);
  }
  if (keys.length === 0) return {};
  session.note(keys.map(([chain, key]) => addressesText(chain, network, key)).join('\n'));
  const chains = keys.map(([chain]) => chain).filter(isMovedElsewhere);
  if (chains.length > 0)
    session.note(`${movedElsewhere(chains)} Nothing is paid out, refunded, collected or sent on here.`);
  await confirm(session.io, session.yes, 'Does the wallet that has the keys show the same first receiving addresses?');
  return Object.fromEntries(keys);
}

async function viewOnly(session: Session, network: Network, address: string, file: string | undefined) {
  if (/[:,;\s]/.test(address)) {
    throw usage(
      '--account XMR= takes the primary address alone: the private view key is asked for, or read from --view-key-file. ' +
        'The shell may have kept this line: remove it from its history',
    );
  }
  // a wrong address is told before a key is asked for
  checkMoneroAddress(address, network);
  const viewKey = await secretFrom(session, file, 'Private view key of that address:', '--view-key-file');
  return readMoneroAccount(address, viewKey, network);
}

const movedElsewhere = (chains: readonly ChainId[]): string =>
  `Money of ${chains.join(' and ')} is moved by the wallet that has the keys${
    chains.includes('XMR') ? '' : '; the books follow'
  }.`;

/** Says of which watch-only accounts the other wallet alone makes payments; null: of none. */
export function movedElsewhereText(watchOnly: readonly ChainId[]): string | null {
  const chains = watchOnly.filter(isMovedElsewhere);
  return chains.length > 0 ? movedElsewhere(chains) : null;
}

function addressesText(chain: Watchable, network: Network, key: AccountKey): string {
  const addresses = firstAddresses(chain, network, key).map(({ number, address }) => `  ${number}  ${address}`);
  const form = key.kind === 'secp256k1' ? key.watch?.form : null;
  return [`${chain}, ${form ? FORM_NAMES[form] : chain === 'XMR' ? XMR_PLACE : EVM_PLACE}:`, ...addresses].join('\n');
}
