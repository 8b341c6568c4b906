/** `countinghouse backup` and `restore`: one encrypted file that restores everything, and a drill that proves it. */
import { access } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { GivenWallet } from '../app/backup/restore-database.ts';
import type { Params, Result } from '../contract/operator.ts';
import { GAP, jumpAfter } from '../domain/indices.ts';
import type { OpenedBackup } from '../wallet/backup-key.ts';
import { passCommand, passIn } from './backup-pass.ts';
import { notOfWords, reportText } from './backup-text.ts';
import { action } from './commands.ts';
import { clean, EXIT, Failure, type Io, usage } from './io.ts';
import { earlierRestores, keptKeys } from './parse.ts';
import { askLine, canAsk, confirm } from './prompt.ts';
import { restoreWordsCommand } from './restore-words.ts';
import { askedWords, bip39In, type PassphraseOption, passphraseOf, secretFile } from './secrets.ts';
import type { Session } from './session.ts';
import { megabytes, table, when } from './table.ts';
import { type Look, type WaitOptions, waits, waitUntil } from './wait.ts';
import { newPassphrase } from './wallet.ts';

const VAULT_FOLDER = 'vault';
const DATABASE = 'countinghouse.db';
/** A light client must ask for every address before it knows all payments. */
const READY_SECONDS_MAX = 3_600;

type Opening = { wordsFile?: string; passphraseFile?: string; bip39PassphraseFile?: string };

type RestoreOptions = Opening & {
  earlierRestores: number;
  database?: string;
  vault?: string;
  otherAccounts?: boolean;
  passFile?: string;
};

export function backupCommands(root: Command, io: Io): void {
  const backup = root
    .command('backup')
    .argument('<file>', 'the file to write; must not exist yet')
    .description('write an encrypted backup of everything; the service may run and the wallet may be locked')
    .action(action(io, backUp));
  opened(backup.command('verify').argument('<file>', 'the backup'))
    .description('the drill: open a backup in a temporary folder, and compare it with the words and with this service')
    .action(action(io, verify));
  opened(backup.command('identity'))
    .description('print the key of the backups, made from the words: the program `age` opens them with it')
    .action(action(io, identity));
  passCommand(backup, io);
  const restore = opened(root.command('restore').argument('[file]', 'the backup'))
    .description('restore a backup, or a copy of the database alone, into an empty data directory')
    .option('--database <file>', 'instead of a backup: a copy of countinghouse.db, such as a restored replica')
    .option('--vault <folder>', "with --database: a copy of the wallet's folder; else the words make the wallet again")
    .option(
      '--pass-file <file>',
      'instead of the words: the pass that `backup pass` made at home, or - to be asked for it',
    )
    .option(
      '--other-accounts',
      'take accounts, too, that these words do not give: of words that the service had before',
    )
    .addOption(
      new Option(
        '--earlier-restores <times>',
        'how often this shop was restored, from any backup, since this backup was made',
      )
        .argParser(earlierRestores)
        .default(0),
    )
    .action(action(io, restoreFile));
  restoreWordsCommand(restore, io);
  waits(restore.command('confirm'), READY_SECONDS_MAX)
    .option(
      '--passphrase-file <file>',
      "the wallet's passphrase, where the signer is a service of its own; else it is asked for",
    )
    .option(
      '--keep-keys <ids>',
      'the API keys that may withdraw or refund again: their ids, all, or none; the others are revoked',
      keptKeys,
    )
    .description('end the quarantine of a restored service: it takes payments and pays out again')
    .action(action(io, confirmRestore));
}

const opened = (command: Command): Command =>
  command
    .option('--words-file <file>', 'the words of the wallet; otherwise they are asked for')
    .option('--passphrase-file <file>', "the passphrase of this machine's wallet, instead of the words")
    .option('--bip39-passphrase-file <file>', 'the BIP-39 passphrase that belongs to the words, if there is one');

/** A server makes and restores its backups on its own machine: a path of this computer means nothing there. */
function needHere(session: Session, command: string): void {
  if (session.server === null) return;
  throw usage(
    `run \`countinghouse ${command}\` on the server itself, without --server: its data are there, and FILE is there`,
  );
}

async function backUp(session: Session, _: object, name?: string): Promise<void> {
  needHere(session, 'backup FILE');
  const file = resolve(name ?? '');
  const made = await make(session, file);
  session.print(
    made,
    () =>
      `${made.file}\n${megabytes(made.bytes)}, as of ${when(made.made_at)}; opened by the words of wallet ${made.fingerprint}\n${gapText(made.gap)}`,
  );
}

/** A hint for the case that the default of `restore words` is not enough. */
const gapText = (gap: number): string =>
  gap <= GAP ? '' : `From the words alone, restore words needs --gap ${gap}: write this number beside the words\n`;

/** Made by the running service; without one, by this process. */
async function make(session: Session, file: string): Promise<Result<'backup.make'>> {
  try {
    return await session.call('backup.make', { file });
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'NoDaemon') throw error;
  }
  const [{ makeBackup }, { version }] = await Promise.all([import('../app/backup/make.ts'), import('./version.ts')]);
  if (!(await isThere(join(session.dataDir, DATABASE)))) {
    throw new Failure(`there is nothing to back up in ${session.dataDir}`, EXIT.failed, 'backup.nothing');
  }
  const job = { dataDir: session.dataDir, file, release: version(), now: Date.now() };
  // as the service would, which can put links into its folder
  const { bytes, manifest } = await session.asDataUser(() => makeBackup(job));
  const { made_at, fingerprint, gap = GAP } = manifest;
  return { file, bytes, made_at, fingerprint, gap };
}

async function verify(session: Session, options: Opening, name?: string): Promise<void> {
  const file = resolve(name ?? '');
  const words = await open(session, options, file);
  try {
    const [{ verifyBackup }, { storeFacts }] = await Promise.all([
      import('../app/backup/verify.ts'),
      import('../store/snapshot.ts'),
    ]);
    const database = join(session.dataDir, DATABASE);
    const live = await session.asDataUser(async () => ((await isThere(database)) ? storeFacts(database) : null));
    const report = await verifyBackup(file, words, live);
    session.print(report, () => reportText(report));
    if (report.problems.length > 0)
      throw new Failure('this backup would not bring everything back', EXIT.failed, 'backup.problems');
    // without a running service the date of the drill is not stored
    await session.call('backup.drilled', {}).catch(() => undefined);
  } finally {
    words.close();
  }
}

async function identity(session: Session, options: Opening): Promise<void> {
  const words = await open(session, options, null);
  try {
    const { ageIdentity } = await import('../wallet/sealed-file.ts');
    const key = ageIdentity(words.secret.privateKey);
    const text = `# opens every backup of wallet ${words.secret.fingerprint}: keep it as secret as the words\n${key}\n`;
    session.print({ fingerprint: words.secret.fingerprint, identity: key }, () => text);
  } finally {
    words.close();
  }
}

async function restoreFile(session: Session, options: RestoreOptions, name?: string): Promise<void> {
  needHere(session, 'restore FILE');
  if ((name === undefined) === (options.database === undefined)) throw usage('name a backup, or --database FILE');
  if (options.vault !== undefined && options.database === undefined) throw usage('--vault goes with --database');
  if (options.otherAccounts && options.database !== undefined) throw usage('--other-accounts goes with a backup');
  if (options.passFile !== undefined && (options.database !== undefined || options.otherAccounts))
    throw usage('--pass-file goes with a backup, whose accounts were compared where the pass was made');
  if (options.database !== undefined) return restoreReplica(session, options, resolve(options.database));
  const file = resolve(name ?? '');
  const { backupHeader, CONFIG_OF_BACKUP, needUnoccupied, restoreBackup } = await import('../app/backup/restore.ts');
  await needUnoccupied(session.dataDir);
  const { made_at } = await backupHeader(file);
  await confirm(session.io, session.yes, `Restore the backup of ${made_at} into ${session.dataDir}?`);
  const by =
    options.passFile === undefined ? await open(session, options, file) : await passIn(session, options.passFile);
  try {
    const jump = jumpAfter(options.earlierRestores);
    const taken = { others: options.otherAccounts ?? false };
    const restored = await session.asDataUser(() => restoreBackup(file, by, session.dataDir, Date.now(), jump, taken));
    const { keptConfig, ...facts } = restored;
    const { counts, accounts } = facts.manifest.facts;
    const told = { ...facts, invoices: Number(counts.invoices), accounts: accounts.length };
    if (keptConfig)
      session.note(`The configuration that is there stays. That of the backup is beside it: ${CONFIG_OF_BACKUP}`);
    session.print({ data_dir: session.dataDir, ...facts }, () => restoredText(session, told, 'hash' in by));
  } finally {
    if ('close' in by) by.close();
  }
}

async function restoreReplica(session: Session, options: RestoreOptions, file: string): Promise<void> {
  const [{ needUnoccupied }, { restoreDatabase }] = await Promise.all([
    import('../app/backup/restore.ts'),
    import('../app/backup/restore-database.ts'),
  ]);
  await needUnoccupied(session.dataDir);
  await confirm(session.io, session.yes, `Restore the database ${file} into ${session.dataDir}?`);
  const { wallet, opened: keys } = await givenWallet(session, options);
  try {
    const jump = jumpAfter(options.earlierRestores);
    const restored = await session.asDataUser(() =>
      restoreDatabase(file, wallet, keys, session.dataDir, Date.now(), jump),
    );
    session.print({ data_dir: session.dataDir, ...restored }, () => restoredText(session, restored));
  } finally {
    keys.close();
  }
}

/** A copy of the wallet's folder, or its words with a passphrase for this machine. */
async function givenWallet(
  session: Session,
  options: RestoreOptions,
): Promise<{ wallet: GivenWallet; opened: OpenedBackup }> {
  const { openByVault, openByWords } = await import('../wallet/backup-key.ts');
  if (options.vault !== undefined) {
    const folder = resolve(options.vault);
    return { wallet: { folder }, opened: await openByVault(folder, await passphraseOf(session, options)) };
  }
  const mnemonicPassphrase = await bip39In(options.bip39PassphraseFile);
  const words = await askedWords(session, options.wordsFile, 'the wallet');
  const keys = await openByWords(words, mnemonicPassphrase);
  const passphrase = await newPassphrase(session, options.passphraseFile, '--passphrase-file');
  return { wallet: { words, mnemonicPassphrase, passphrase }, opened: keys };
}

type Told = { invoices: number; accounts: number; unproved: readonly string[] };

const restoredText = (session: Session, { invoices, accounts, unproved }: Told, isOfHome = false): string =>
  [
    `Restored into ${session.dataDir}: ${invoices} invoices, ${accounts} accounts.`,
    ...unproved.map(notOfWords),
    'Start the service. It is quarantined: it looks and shows, but gives out no addresses, notifies nobody and signs',
    'nothing. Make sure that the old machine will never run again, look at balances and withdrawals, and then:',
    ...(isOfHome ? OF_HOME : ['  countinghouse restore confirm']),
    '',
  ].join('\n');

const OF_HOME = [
  '  countinghouse signer invite                          here, and `signer join` at home, with the code',
  '  countinghouse --server NAME restore confirm          at home: it also ends every approval of before',
];

type KeptKeys = Params<'restore.confirm'>['keep_keys'];
type ConfirmOptions = WaitOptions & PassphraseOption & { keepKeys?: KeptKeys };

async function confirmRestore(session: Session, options: ConfirmOptions): Promise<void> {
  const state = await session.call('restore.status', {});
  let keep_keys = options.keepKeys;
  if (state.quarantined) {
    const from =
      state.backup_made_at === null ? 'has older data' : `was restored from a backup of ${state.backup_made_at}`;
    const question = `This service ${from}. Does it take over, and is the old one gone for ever?`;
    await confirm(session.io, session.yes, question);
    keep_keys = await askKept(session, state, keep_keys);
    // the signer's journal is in no backup: approvals of before may have been signed with another copy of it
    if (session.signerSocket !== null) await (await import('./unlock.ts')).revokeApprovals(session, options);
  }
  await waitUntil(session, options.wait ?? READY_SECONDS_MAX, () => tryToConfirm(session, keep_keys));
  const { policies } = state;
  session.print({ policies }, () =>
    [
      'The quarantine has ended: the service takes payments and pays out again.',
      ...(policies.length === 0
        ? []
        : [`Withdrawals wait for you until you set a policy again: ${policies.join(', ')}`]),
      '',
    ].join('\n'),
  );
}

/** Shows what may have been taken away since the data was made, and asks which keys stay. */
async function askKept(session: Session, state: Result<'restore.status'>, given: KeptKeys): Promise<KeptKeys> {
  const { sleeping_keys: keys, clients, endpoints } = state;
  const others = [
    ...(clients.length > 0 ? [`client IDs: ${clients.join(', ')}`] : []),
    ...(endpoints.length > 0 ? [`event endpoints: ${endpoints.join(', ')}`] : []),
  ];
  if (others.length > 0) {
    const text = `These are valid again, even if you have removed them since: ${others.join('; ')}`;
    session.io.stderr.write(`${clean(text)}\n`);
  }
  if (keys.length === 0 || given !== undefined) return given;
  const rows = keys.map((key) => [`${key.id}`, key.name, `${key.hint}…`, key.scopes.join(' '), key.created_at]);
  const names = ['ID', 'Name', 'Key', 'Scopes', 'Made at'];
  session.io.stderr.write(
    `These API keys withdraw or refund. You may have revoked some since:\n${table(names, rows, '')}`,
  );
  const say = usage('say which keys stay valid: --keep-keys with their ids, all or none');
  if (!canAsk(session.io)) throw say;
  const answer = await askLine(session.io, 'Which stay valid? Their ids, all or none; the others are revoked:');
  try {
    return keptKeys(answer);
  } catch {
    throw say;
  }
}

/** Confirms the restore, or says why the service is not ready yet. */
async function tryToConfirm(session: Session, keep_keys: KeptKeys): Promise<Look<true>> {
  try {
    await session.call('restore.confirm', { keep_keys });
    return { done: true };
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    if (code !== 'restore.not_ready') throw error;
    return { waitsFor: message, code };
  }
}

/** Opens with the passphrase of the wallet here, if it was given; else with the words. */
async function open(session: Session, options: Opening, file: string | null): Promise<OpenedBackup> {
  const { openByVault, openByWords } = await import('../wallet/backup-key.ts');
  if (options.passphraseFile !== undefined) {
    const passphrase = await secretFile(options.passphraseFile, '--passphrase-file');
    const { missingHere } = await import('./wallet-elsewhere.ts');
    const opened = session.asDataUser(() => openByVault(join(session.dataDir, VAULT_FOLDER), passphrase));
    return opened.catch((error: unknown) => missingHere(session, error));
  }
  const bip39 = await bip39In(options.bip39PassphraseFile);
  const { backupHeader } = await import('../app/backup/restore.ts');
  const whose = file === null ? 'the wallet' : `wallet ${(await backupHeader(file)).fingerprint}`;
  const words = await askedWords(session, options.wordsFile, whose);
  return openByWords(words, bip39);
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
