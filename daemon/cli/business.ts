/**
 * `countinghouse business`: the merchant's shops.
 *
 * Invariant: only public account keys of a wallet leave this process; the daemon gets neither words nor passphrase.
 */
import { type Command, Option } from 'commander';
import type { Params, Result } from '../contract/operator.ts';
import { SCRIPT_FORMS } from '../domain/chain.ts';
import { GAP } from '../domain/indices.ts';
import { type Accounts, openBusiness, openWithMonero } from '../operator/open-business.ts';
import { balanceText, isShown } from './balance-text.ts';
import { brandCommand } from './brand.ts';
import { clientText } from './clients.ts';
import { action, BUSINESS, list, symbols } from './commands.ts';
import { type Io, usage } from './io.ts';
import { keyImagesCommand } from './key-images.ts';
import { newKeyText, SCOPES_HELP, scopesOf } from './keys.ts';
import { blockHeight, day, wholeNumber } from './parse.ts';
import { secretFile, withPassphrase } from './secrets.ts';
import type { Session } from './session.ts';
import { pairs, table } from './table.ts';
import type { Unlocked, WalletOptions } from './wallet.ts';
import { each, movedElsewhereText, type WatchOptions, watchedAccounts } from './watch-only.ts';

type Network = Params<'business.add'>['network'];
type Business = Result<'business.list'>['businesses'][number];
type NewBusiness = Result<'business.add'>;

type AddOptions = WalletOptions &
  WatchOptions & {
    /** False: no account of this wallet. */
    wallet: boolean;
    name: string;
    network: Network;
    timeZone?: string;
    birthday?: string;
    restoreHeight?: number;
    gap?: number;
    scopes?: string[];
    origin?: string[];
    host?: string[];
    moneroWordsFile?: string;
  };

type ChangeOptions = { name?: string; timeZone?: string; enable?: string[]; disable?: string[] };

export function businessCommands(root: Command, io: Io): void {
  const business = root.command('business').description('businesses (shops): their names, coins and balances');
  business.command('list').description('list the businesses, with their balances').action(action(io, listBusinesses));
  const add = business
    .command('add')
    .description('add a business, with an account of its own in the wallet and an API key')
    .requiredOption('--name <name>', 'the name of the business')
    .addOption(
      new Option('--network <network>', 'the network of its money')
        .choices(['mainnet', 'testnet', 'regtest', 'sandbox'])
        .makeOptionMandatory(),
    )
    .option('--time-zone <zone>', 'its time zone, such as Europe/Berlin (default: UTC)')
    .option('--scopes <scopes>', `of its API key: ${SCOPES_HELP}`, list)
    .option('--origin <origin>', 'also make a client ID for this page, such as https://shop.example; repeatable', list)
    .option('--host <host>', "a host that the client ID's URLs may name; repeatable (default: the origins')", list);
  withPassphrase(add)
    .option('--import', 'import an existing wallet; its words are asked for')
    .option('--words-file <file>', 'a file that holds the words to import')
    .option('--birthday <day>', 'the day when an imported wallet was first used: YYYY-MM-DD', day)
    .option('--restore-height <block>', 'in place of the day: the first block of Monero to read', blockHeight)
    .option(
      '--gap <addresses>',
      `of an imported wallet: how many addresses past the last used one are searched (default: ${GAP})`,
      wholeNumber,
    )
    .option(
      '--monero-words-file <file>',
      'a file that holds the 25 words of an existing Monero wallet, for the Monero account',
    )
    .option(
      '--account <coin=key>',
      'receive BTC, LTC, BCH, ETH, BSC or XMR in another wallet, such as a hardware wallet: LTC= and its extended public key or ' +
        'output descriptor, XMR= and its primary address; repeatable. Of ETH and BSC (one key serves both, with their tokens) money ' +
        'is moved by that wallet alone',
      each,
    )
    .option(
      '--view-key-file <file>',
      'with --account XMR=: a file that holds the private view key, or - for the input; otherwise it is asked for',
    )
    .option(
      '--script <coin=form>',
      `what addresses that wallet has, if the key does not say it: ${SCRIPT_FORMS.join(', ')}`,
      each,
    )
    .option('--no-wallet', 'with --account: no other coins, so that this machine needs no words')
    .option('--i-have-the-words', 'for scripts: print the words of a new wallet and do not ask for them')
    .action(action(io, addBusiness));
  business
    .command('change')
    .argument(...BUSINESS)
    .option('--name <name>', 'its new name')
    .option('--time-zone <zone>', 'its new time zone')
    .option('--enable <cryptos>', 'coins to take from now on, such as BTC,LTC', symbols)
    .option('--disable <cryptos>', 'coins to take no longer', symbols)
    .description('change the name, time zone or coins of a business')
    .action(action(io, changeBusiness));
  brandCommand(business, io);
  keyImagesCommand(business, io);
}

async function listBusinesses(session: Session) {
  const found = await session.call('business.list', {});
  session.print(found, () =>
    table(
      ['>NO', 'BUSINESS', 'NETWORK', 'TIME ZONE', 'TAKES', 'HAS'],
      found.businesses.map((business) => [
        `${business.id}`,
        business.name,
        business.network,
        business.time_zone,
        business.cryptos.join(' ') || '-',
        balancesText(business),
      ]),
      'There is no business yet.',
    ),
  );
}

function balancesText({ balances }: Business): string {
  return balances.filter(isShown).map(balanceText).join(', ') || '-';
}

function businessText(business: Business): string {
  const { watch_only: watchOnly } = business;
  return pairs([
    ['Business', `${business.name} (number ${business.id})`],
    ['UUID', business.uuid],
    ['Network', business.network],
    ['Time zone', business.time_zone],
    ['Takes', business.cryptos.join(' ') || 'nothing yet'],
    ['Watch-only', watchOnly.length > 0 ? `${watchOnly.join(' ')} (the keys are in another wallet)` : null],
    ['Paid out', movedElsewhereText(watchOnly)],
  ]);
}

async function addBusiness(session: Session, options: AddOptions) {
  const { name, network, timeZone = 'UTC', scopes, origin, host } = options;
  const { isTimeZone } = await import('../domain/calendar.ts');
  if (!isTimeZone(timeZone)) {
    throw usage(`${timeZone} is no time zone: use one such as Europe/Berlin`);
  }
  if (host && !origin) throw usage('--host goes with --origin');
  const wanted: Params<'business.add'> = {
    name,
    network,
    time_zone: timeZone,
    key: { name: 'first key', scopes: scopesOf(scopes) },
    client: origin && { name: 'first client', origins: origin, hosts: host },
  };
  if (network === 'sandbox') {
    refuseWalletOptions(options);
    const added = await session.call('business.add', wanted);
    session.print(added, () => addedText(session, added, null));
    return;
  }
  // checks that a daemon runs before a wallet is made for it
  await session.call('business.nextAccount', { network });
  const watched = await watchedAccounts(session, network, options);
  if (!options.wallet) {
    await addWithoutWallet(session, options, wanted, watched);
    return;
  }
  const [{ unlockWallet, wordsWereSeen }, { needWalletHere }] = await Promise.all([
    import('./wallet.ts'),
    import('./wallet-elsewhere.ts'),
  ]);
  await needWalletHere(session);
  const wallet = await unlockWallet(session, options);
  const { birthday = null, restoreHeight, gap = GAP } = options;
  const moneroWords = options.moneroWordsFile && (await secretFile(options.moneroWordsFile, '--monero-words-file'));
  const isNew = birthday === null && restoreHeight === undefined;
  if ((wallet.wasUsed || moneroWords) && isNew) session.note(NO_PAST);
  if (moneroWords) session.note(KEEP_MONERO_WORDS);
  const past = { birthday, gap, restore_height: restoreHeight };
  const derive = async (on: Network, accountNo: number) => {
    const accounts = { ...(await wallet.accounts(on, accountNo)), ...watched };
    await keepAtHome(session, on, accountNo, accounts);
    return { accounts, used: wallet.wasUsed };
  };
  await keepOthersAtHome(session, wallet);
  const added = moneroWords
    ? await openWithMonero(session.call, { ...wanted, ...past }, derive, wallet.monero(moneroWords))
    : await openBusiness(session.call, { ...wanted, ...past }, derive);
  const { words, fingerprint } = wallet;
  session.print({ ...added, wallet: { fingerprint, words: words ?? undefined } }, () =>
    addedText(session, added, words),
  );
  if (words) await wordsWereSeen(session);
}

/** A business that only receives, in other wallets. */
async function addWithoutWallet(
  session: Session,
  options: AddOptions,
  wanted: Params<'business.add'>,
  watched: Accounts,
): Promise<void> {
  if (Object.keys(watched).length === 0) throw usage('--no-wallet goes with --account');
  const { passphraseFile, wordsFile, moneroWordsFile, iHaveTheWords, birthday, restoreHeight, gap } = options;
  if (
    passphraseFile ||
    wordsFile ||
    options.import ||
    moneroWordsFile ||
    iHaveTheWords ||
    (restoreHeight !== undefined && !watched.XMR)
  ) {
    throw usage("--no-wallet goes with none of the options about words, passphrases and Monero's wallet");
  }
  const added = await openBusiness(
    session.call,
    { ...wanted, birthday: birthday ?? null, gap, restore_height: restoreHeight },
    async (on, accountNo) => {
      await keepAtHome(session, on, accountNo, watched);
      return { accounts: watched, used: false };
    },
  );
  session.print(added, () => addedText(session, added, null));
}

/** A computer at home keeps the public keys: it compares the addresses with them that the server gives to payers. */
async function keepAtHome({ server, dataDir }: Session, network: Network, accountNo: number, accounts: Accounts) {
  if (server === null) return;
  const { keepAccount } = await import('../home/accounts.ts');
  await keepAccount(dataDir, network, accountNo, accounts);
}

/** The same for the businesses that the server has already, as when a computer takes the place of a lost one. */
async function keepOthersAtHome(session: Session, wallet: Pick<Unlocked, 'accounts'>): Promise<void> {
  if (session.server === null) return;
  const { businesses } = await session.call('business.list', {});
  const { keepOthers } = await import('../home/accounts.ts');
  await keepOthers(session.dataDir, businesses, wallet.accounts);
}

const KEEP_MONERO_WORDS =
  'The words of this wallet do not give that Monero account: keep its 25 words, or a backup of this service.';

const NO_PAST =
  'The words were made elsewhere, or were restored here. Only payments from now on are looked for, and the first addresses are left ' +
  'out. --birthday or --restore-height looks further back; `countinghouse restore words` finds all that was used.';

function refuseWalletOptions(options: AddOptions): void {
  const {
    import: imported,
    wordsFile,
    passphraseFile,
    birthday,
    restoreHeight,
    iHaveTheWords,
    moneroWordsFile,
    account,
    script,
    viewKeyFile,
  } = options;
  if (account || script || viewKeyFile !== undefined || !options.wallet)
    throw usage('a sandbox has no accounts of other wallets');
  const isOfPast = birthday !== undefined || restoreHeight !== undefined;
  if (moneroWordsFile || imported || wordsFile || passphraseFile || isOfPast || iHaveTheWords) {
    throw usage('the sandbox has a wallet of its own: leave out what is about wallets');
  }
}

function addedText(session: Session, { business, key, client }: NewBusiness, words: readonly string[] | null): string {
  const parts = [businessText(business), newKeyText(key)];
  if (client) parts.push(clientText(client));
  if (words) parts.push(`The words of the wallet: ${words.join(' ')}\n`);
  const { possible_cryptos: possible } = business;
  if (business.cryptos.length === 0 && possible.length > 0) {
    parts.push(
      `It takes nothing yet, because only public endpoints connect it, which see its addresses. Say what it takes:\n` +
        `\`${session.commandText(`business change ${business.id} --enable ${possible.join(',')}`)}\`.\n`,
    );
  } else if (business.cryptos.length === 0) {
    const table = `[networks.${business.network}.BTC]`;
    parts.push(
      `No chain of ${business.network} is connected. Name a node under ${table} or its like in the configuration,\n` +
        `restart, and say what to take with \`${session.commandText(`business change ${business.id} --enable`)}\`.\n`,
    );
  }
  return parts.join('\n');
}

async function changeBusiness(session: Session, options: ChangeOptions, business = '') {
  const { name, timeZone, enable, disable } = options;
  if (!name && !timeZone && !enable && !disable) {
    throw usage('nothing to change: see `countinghouse business change --help`');
  }
  const changed = await session.call('business.change', { business, name, time_zone: timeZone, enable, disable });
  session.print(changed, () => businessText(changed.business));
}
