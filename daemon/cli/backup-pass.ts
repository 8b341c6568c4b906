/** `countinghouse backup pass`: at home, what restores a server whose words shall never reach it. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { BackupPass } from '../wallet/backup-pass.ts';
import { reportText } from './backup-text.ts';
import { action } from './commands.ts';
import { EXIT, Failure, type Io, usage } from './io.ts';
import { canAsk } from './prompt.ts';
import { askSecret, type PassphraseOption, passphraseOf, secretFile, withPassphrase } from './secrets.ts';
import type { Session } from './session.ts';

const OPTION = '--pass-file';

export function passCommand(backup: Command, io: Io): void {
  withPassphrase(backup.command('pass').argument('<file>', 'a copy, on this computer, of a backup of the server'))
    .description(
      'at home: compare a backup with your words, and make the pass that restores it on a server without them',
    )
    .action(action(io, makePass));
}

async function makePass(session: Session, options: PassphraseOption, name = ''): Promise<void> {
  if (session.server === null)
    throw usage('run this at home, where the words are: countinghouse --server NAME backup pass FILE');
  const [{ passOf }, { openByVault }, { backupHeader }, { accountIn, readAccounts }] = await Promise.all([
    import('../app/backup/pass.ts'),
    import('../wallet/backup-key.ts'),
    import('../app/backup/restore.ts'),
    import('../home/accounts.ts'),
  ]);
  const file = resolve(name);
  await backupHeader(file);
  const accounts = await readAccounts(session.dataDir);
  const words = await openByVault(session.walletFolder, await passphraseOf(session, options));
  words.kept = (chain, network, no) => accountIn(accounts, network, no, chain);
  try {
    const { report, pass } = await passOf(file, words);
    if (!session.json) session.note(reportText(report).trimEnd());
    session.print({ pass, ...report }, () => (pass === null ? '' : `${pass}\n`));
    if (pass === null)
      throw new Failure(
        'this backup would not bring everything back, and gets no pass',
        EXIT.failed,
        'backup.problems',
      );
    session.note(`It opens this file alone. On the new server: countinghouse restore FILE ${OPTION} -`);
  } finally {
    words.close();
  }
}

/** The pass in a file; for `-` it is asked for, or read from the input. Throws `Rejected('backup.pass')`. */
export async function passIn(session: Session, file: string): Promise<BackupPass> {
  const { readPass } = await import('../wallet/backup-pass.ts');
  const isAsked = file === '-' && canAsk(session.io);
  return readPass(
    isAsked
      ? await askSecret(session, 'The pass of the backup:', OPTION)
      : await secretFile(file, OPTION, session.io.stdin),
  );
}
