/**
 * `countinghouse restore words`: restores a wallet from its words alone. The used accounts are found and added as
 * businesses, and with them their money. Data that only the database had (invoices, names, keys) is lost.
 *
 * Invariant: only public account keys leave this process.
 */
import { type Command, Option } from 'commander';
import type { Params, Result } from '../contract/operator.ts';
import { CHAINS } from '../domain/assets.ts';
import { GAP, JUMPS_SEARCHED } from '../domain/indices.ts';
import type { OpenedBackup } from '../wallet/backup-key.ts';
import { type Balance, balanceText, isShown } from './balance-text.ts';
import { action } from './commands.ts';
import { clean, EXIT, Failure, type Io } from './io.ts';
import { day, wholeNumber } from './parse.ts';
import { askedWords, bip39In } from './secrets.ts';
import type { Session } from './session.ts';
import { handOver } from './signer.ts';
import { type Look, type WaitOptions, waits, waitUntil } from './wait.ts';
import { newPassphrase } from './wallet.ts';

/** Accounts searched beyond the last used one. */
const ACCOUNTS_AHEAD = 20;
/** Most wallets use only account 0, so that one search is enough for them. */
const ACCOUNTS_FIRST = 1 + ACCOUNTS_AHEAD;
const ROUNDS_MAX = 10;
/** A public server may take hours to answer for every address. */
const SEARCH_SECONDS_MAX = 86_400;

type Network = Params<'wallet.discover'>['network'];
type Discovery = Result<'wallet.discovery'>;
type Options = WaitOptions & {
  network: Exclude<Network, 'sandbox'>;
  birthday: string;
  gap?: number;
  restores?: number;
  fromStart?: boolean;
  name: string;
  wordsFile?: string;
  passphraseFile?: string;
  bip39PassphraseFile?: string;
};
type Restored = { business: string; account_no: number; key: string; balances: Balance[] };

export function restoreWordsCommand(restore: Command, io: Io): void {
  waits(restore.command('words'), SEARCH_SECONDS_MAX)
    .description('restore from the words of a wallet alone; the service must run, with its nodes configured')
    .addOption(
      new Option('--network <network>', 'where the wallet was used')
        .choices(['mainnet', 'testnet', 'regtest'])
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--birthday <day>', 'when it was first used, or before: YYYY-MM-DD')
        .argParser(day)
        .makeOptionMandatory(),
    )
    .option('--gap <addresses>', `addresses looked at past the last one used (default: ${GAP})`, wholeNumber)
    .option(
      '--restores <times>',
      `restores in a row, without a payment in between, behind which is looked (default: ${JUMPS_SEARCHED})`,
      wholeNumber,
    )
    .option('--from-start', 'search from the beginning, also where the same search was interrupted')
    .option('--name <name>', 'what the businesses found are called, with a number', 'Restored')
    .option('--words-file <file>', 'the words; otherwise they are asked for')
    .option('--bip39-passphrase-file <file>', 'the BIP-39 passphrase that belongs to the words, if there is one')
    .option(
      '--passphrase-file <file>',
      'the passphrase that the wallet gets on this machine; otherwise it is asked for',
    )
    .action(action(io, restoreWords));
}

async function restoreWords(session: Session, options: Options): Promise<void> {
  const { network, birthday, gap = GAP, restores = JUMPS_SEARCHED, wait = SEARCH_SECONDS_MAX } = options;
  await session.call('business.nextAccount', { network });
  const { needWalletHere } = await import('./wallet-elsewhere.ts');
  await needWalletHere(session);
  const bip39 = await bip39In(options.bip39PassphraseFile);
  const text = await askedWords(session, options.wordsFile);
  const { openByWords } = await import('../wallet/backup-key.ts');
  const words = await openByWords(text, bip39);
  try {
    await makeWallet(session, options, words, text, bip39);
    const search = { network, birthday, gap, restores, anew: options.fromStart ?? false };
    const { found, added } = await findAccounts(session, words, { ...options, wait }, search);
    const restored = await withBalances(session, added);
    session.print({ used: found.used, businesses: restored }, () => restoredText(found, restored));
  } finally {
    words.close();
  }
}

/** Makes the wallet of the words, unless this directory has it already. */
async function makeWallet(session: Session, options: Options, words: OpenedBackup, text: string, bip39: string) {
  const { createWallet, hasWallet, walletFingerprint } = await import('../wallet/wallet.ts');
  const folder = session.walletFolder;
  if (!(await hasWallet(folder))) {
    const passphrase = await newPassphrase(session, options.passphraseFile, '--passphrase-file');
    await session.asOwner(() => createWallet(folder, { words: text, mnemonicPassphrase: bip39, passphrase }));
    await handOver(session);
    return;
  }
  if ((await walletFingerprint(folder)) !== words.secret.fingerprint) {
    throw new Failure('there is another wallet here already: use another --data-dir', EXIT.failed, 'vault.exists');
  }
}

type Request = Required<Pick<Options, 'network' | 'birthday' | 'gap' | 'restores'>> & { anew: boolean };
type Added = { id: number; account_no: number; key: string }[];

/**
 * Searches more accounts until the last 20 are unused, and adds the used ones: as soon as the likely addresses were searched,
 * because all of them may take a server days, and what is found later then.
 */
export async function findAccounts(
  session: Session,
  words: OpenedBackup,
  options: Options & { wait: number },
  request: Request,
): Promise<{ found: Discovery; added: Added }> {
  const added: Added = [];
  let { anew } = request;
  // an interrupted search may have been of more
  let count = anew ? ACCOUNTS_FIRST : Math.max(ACCOUNTS_FIRST, (await session.call('wallet.discovery', {})).accounts);
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    const numbers = Array.from({ length: count }, (_, account) => account);
    const accounts = Object.fromEntries(
      CHAINS.map((chain) => [chain, numbers.map((account) => words.account(chain, request.network, account))]),
    );
    await session.call('wallet.discover', { ...request, anew, accounts });
    anew = false;
    for (const isEnough of [isNear, isOver]) {
      const found = await waitUntil(session, options.wait, () => discovery(session, isEnough));
      if (found.error !== null && !found.running)
        throw new Failure(`the search ended: ${found.error}`, EXIT.failed, 'discovery');
      const needed = highestAccount(found) + 1 + ACCOUNTS_AHEAD;
      if (needed > count) {
        count = needed;
        break;
      }
      added.push(...(await addAccounts(session, words, options, found)));
      // the past of an account is read while it is used, too
      if (found.running) session.io.stderr.write(USABLE);
      await waitUntil(session, options.wait, () => untilRead(session));
      if (!found.running) return { found, added };
    }
  }
  throw new Failure('too many accounts are used', EXIT.failed, 'discovery');
}

const USABLE =
  'All that was found so far can be used now. Behind several restores in a row, and in accounts that look unused, the service searches on: its ' +
  'log says how long. Leave this command running, or run it again: it goes on, adds what was found, and shows the balances.\n';

const isOver = ({ running }: Discovery): boolean => !running;
const isNear = (state: Discovery): boolean =>
  isOver(state) || (state.chains.length > 0 && state.chains.every(({ near }) => near));

const highestAccount = (found: Discovery): number => Math.max(-1, ...found.used.map(({ account_no }) => account_no));

/** The result of the search once it is enough, or its progress and its problem. */
async function discovery(session: Session, isEnough: (state: Discovery) => boolean): Promise<Look<Discovery>> {
  const state = await session.call('wallet.discovery', {});
  if (isEnough(state)) return { done: state };
  const text = state.chains.map((one) => `${one.chain} ${progressText(one)}`);
  const chains = text.join(', ') || 'no node is connected';
  const why = state.error === null ? '' : ` (${state.error})`;
  const what = state.resumed ? 'Looking on for used accounts, where it was interrupted' : 'Looking for used accounts';
  return { waitsFor: `${what}: ${chains}; found ${state.used.length}${why}` };
}

const share = (done: number, of: number): string => `${of === 0 ? 100 : Math.floor((100 * done) / of)} %`;
const count = (number: number): string => number.toLocaleString('en');

/** About how long, in the largest fitting unit. */
export function durationText(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  const hours = Math.ceil(minutes / 60);
  if (minutes < 120) return minutes === 1 ? '1 minute' : `${minutes} minutes`;
  return hours < 48 ? `${hours} hours` : `${Math.ceil(hours / 24)} days`;
}

/** How far the search of a chain is, as a share of what is known. */
export function progressText({ derived, from, height, tip, addresses, done }: Discovery['chains'][number]): string {
  if (done) return 'done';
  if (derived) return `derives addresses: ${share(derived.done, derived.of)} of ${count(derived.of)}`;
  if (addresses) {
    const { asked, of, seconds_left } = addresses;
    if (of === 0) return 'begins';
    return `${share(asked, of)} of ${count(of)} addresses${seconds_left === null ? '' : `, ${durationText(seconds_left)} to go`}`;
  }
  if (from === null || height === null || tip === null) return 'waits for its node';
  return `${share(height - from, tip - from)} (block ${count(height)} of ${count(tip)})`;
}

/** Adds all accounts up to the last used one, so that their numbers have no gaps. */
async function addAccounts(session: Session, words: OpenedBackup, options: Options, found: Discovery): Promise<Added> {
  const { network, birthday, gap = GAP, name } = options;
  const added: Added = [];
  for (;;) {
    const { account_no } = await session.call('business.nextAccount', { network });
    if (account_no > highestAccount(found)) return added;
    const { business, key } = await session.call('business.add', {
      name: `${name} ${account_no + 1}`,
      network,
      account_no,
      accounts: Object.fromEntries(CHAINS.map((chain) => [chain, words.account(chain, network, account_no)])),
      birthday,
      gap,
      used: Object.fromEntries(
        found.used
          .filter((one) => one.account_no === account_no)
          .map(({ chain, receiving, change }) => [chain, { receiving, change }]),
      ),
      key: { name: 'restored', scopes: ['invoices', 'balance'] },
    });
    // at once: the service shows no key a second time, and reading what it holds may take hours
    session.io.stderr.write(`${clean(`${business.name}: API key ${key.key}`)}\n`);
    added.push({ id: business.id, account_no, key: key.key });
  }
}

async function untilRead(session: Session): Promise<Look<true>> {
  const { rescans } = await session.call('wallet.discovery', {});
  if (rescans.length === 0) return { done: true };
  const chains = rescans.map(({ chain, height }) => `${chain} ${height === null ? 'is prepared' : `at ${height}`}`);
  return { waitsFor: `Reading what they hold: ${chains.join(', ')}` };
}

async function withBalances(
  session: Session,
  added: readonly { id: number; account_no: number; key: string }[],
): Promise<Restored[]> {
  const { businesses } = await session.call('business.list', {});
  return added.map(({ id, account_no, key }) => {
    const business = businesses.find((one) => one.id === id);
    const balances = business?.balances.filter(isShown) ?? [];
    return { business: business?.name ?? '', account_no, key, balances };
  });
}

function restoredText(found: Discovery, restored: readonly Restored[]): string {
  if (found.used.length === 0) return 'No account of these words was ever used on this network.\n';
  const lines = restored.map(({ business, account_no, key, balances }) => {
    const held = balances.map(balanceText).join(', ') || 'nothing';
    return `${business} (account ${account_no}): ${held}\n  API key  ${key}`;
  });
  return `${lines.join('\n') || 'Every account that was used is here already.'}\n`;
}
