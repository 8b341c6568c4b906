/** `countinghouse signer audit` and `resume`: at home, the check of the addresses that a server gives to payers. */
import { spawn } from 'node:child_process';
import type { Command } from 'commander';
import type { Alarm, Foreign } from '../contract/signing-machine.ts';
import { inGroups } from '../domain/policy.ts';
import type { Look } from '../home/auditor.ts';
import { action } from './commands.ts';
import { clean, EXIT, Failure, type Io, usage } from './io.ts';
import { confirm } from './prompt.ts';
import { type PassphraseOption, passphraseOf, withPassphrase } from './secrets.ts';
import type { Session } from './session.ts';
import { pairs, when } from './table.ts';

export function auditCommands(signer: Command, io: Io): void {
  withPassphrase(signer.command('audit'))
    .description('at home: compare every address that the server gave out, and the pages of payers, with your keys now')
    .action(action(io, audit));
  withPassphrase(signer.command('resume'))
    .description('at home: after a foreign address, show what was seen, and sign for the server again')
    .action(action(io, resume));
}

async function audit(session: Session, options: PassphraseOption): Promise<void> {
  needServer(session);
  const [{ look, auditedIn }, { readServer }, { withServer }, { version }] = await Promise.all([
    import('../home/auditor.ts'),
    import('../home/place.ts'),
    import('../home/call.ts'),
    import('./version.ts'),
  ]);
  const folder = session.dataDir;
  await deriveMissing(session, options);
  const { service } = await readServer(folder);
  const signal = new AbortController().signal;
  const sum: Look = { checked: 0, pages: 0, more: false, held: false, found: [], notes: [] };
  await withServer(folder, version(), async (call, server) => {
    do {
      const one = await look(call, server, { folder, now: Date.now, env: session.io.env, signal });
      sum.checked += one.checked;
      sum.pages += one.pages;
      sum.more = one.more;
      sum.held ||= one.held;
      sum.found.push(...one.found);
      sum.notes.push(...one.notes);
    } while (sum.more);
  });
  for (const note of sum.notes) session.note(clean(note));
  const all = await auditedIn(folder, service);
  const { checked, pages, found } = sum;
  session.print(
    { checked, pages, found, notes: sum.notes, given: all?.last?.no ?? 0, page_at: all?.pageAt ?? null },
    () =>
      pairs([
        ['addresses compared now', `${checked}`],
        ['payment pages compared now', `${pages}`],
        ['given out so far, all compared', `${all?.last?.no ?? 0}`],
        ['a page was compared last', all?.pageAt ? when(all.pageAt) : 'never'],
      ]),
  );
  await failIfStopped(session);
  if (sum.held) throw new Failure(HELD_BACK, EXIT.failed, 'signer.addresses_held_back');
}

const HELD_BACK =
  'the server keeps back addresses that it gave out, so they were not compared: try again, and if it does so on, take it for one that somebody controls';

/** Derives the public keys of the accounts that this computer has not kept, as of a wallet that was imported. */
async function deriveMissing(session: Session, options: PassphraseOption): Promise<void> {
  const { keepMissing, missingOf } = await import('../home/accounts.ts');
  const { businesses } = await session.call('business.list', {});
  const missing = await missingOf(session.dataDir, businesses);
  if (missing.length === 0) return;
  session.note('The public keys of this wallet are derived once, so that addresses can be compared with them.');
  await keepMissing(session.dataDir, await passphraseOf(session, options), missing);
}

/** Throws `Failure` with its own exit code while signing is stopped. */
export async function failIfStopped(session: Session): Promise<void> {
  const { readAlarm, stoppedText } = await import('../home/alarm.ts');
  const alarm = await readAlarm(session.dataDir);
  if (!alarm) return;
  session.note(alarmText(session.server ?? '', alarm.seen));
  throw new Failure(stoppedText(session.server ?? ''), EXIT.foreign, 'signer.foreign_address');
}

async function resume(session: Session, options: PassphraseOption): Promise<void> {
  needServer(session);
  const { countIn, readAlarm, signAgain } = await import('../home/alarm.ts');
  const alarm: Alarm | null = await readAlarm(session.dataDir);
  if (!alarm) {
    session.print({ resumed: false, seen: [] }, () => 'No foreign address was seen. Signing is not stopped.\n');
    return;
  }
  session.note(alarmText(session.server ?? '', alarm.seen));
  if (alarm.more > 0) session.note(`${alarm.more} more were seen.`);
  if (alarm.seen.length === 0) session.note('The file that says what was seen is damaged.');
  const question =
    'Do you know why this address was shown, and is it harmless? Then this computer signs for the server again.';
  await confirm(session.io, session.yes, question);
  const passphrase = await passphraseOf(session, options);
  await signAgain(session.dataDir, passphrase, { shown: countIn(alarm), now: new Date().toISOString() });
  session.print({ resumed: true, seen: alarm.seen }, () => 'This computer signs for the server again.\n');
}

function needServer({ server }: Session): void {
  if (server === null) throw usage('name the server: countinghouse --server NAME signer …');
}

const WHERE: Record<Foreign['where'], string> = {
  list: 'the server gave it out as yours',
  page: 'payers see it on the payment page',
  code: 'in the QR code of the payment page',
};

/** The foreign addresses beside ours, and the next steps. */
function alarmText(server: string, seen: readonly Foreign[]): string {
  const lines = [
    '',
    `!!! ${server} SHOWS AN ADDRESS THAT IS NOT YOURS !!!`,
    '',
    'Somebody may control the server. Money that payers send to this address is not yours.',
    'Your keys are safe: they are on this computer, and it has stopped signing.',
  ];
  for (const one of seen) {
    const { where, invoice, network, chain, account_no, index, shown, own, at } = one;
    const place =
      own === null ? `this computer has no account ${account_no} of it` : `account ${account_no}, number ${index}`;
    lines.push('', `  ${chain} on ${network}, invoice ${clean(invoice ?? '-')}: ${WHERE[where]}. Found ${when(at)}`);
    lines.push(`    shown   ${inGroups(clean(shown)).join(' ')}`);
    lines.push(own === null ? `    yours   ${place}` : `    yours   ${inGroups(own).join(' ')} (${place})`);
  }
  lines.push(
    '',
    '1. Switch the server off, at your host’s own page. Do not sign in to it: somebody may read along.',
    '2. Warn the customers of these invoices.',
    '3. Set up a new server from a backup of before, and invite this computer there. Never type the words there: what',
    `   restores it is made here, by: countinghouse --server ${server} backup pass FILE`,
    '',
  );
  return lines.join('\n');
}

/** An oddity that lasts is said again after this time. */
const SAY_AGAIN_MS = 6 * 3_600_000;

/** Says what looks found: a foreign address as loudly as a terminal can, an oddity once every six hours. */
export function lookTold(session: Session, notifies = true, now: () => number = Date.now): (found: Look) => void {
  let [said, saidAt] = ['', 0];
  return ({ found, notes }) => {
    const text = notes.map(clean).join('\n');
    if (text !== '' && (text !== said || now() - saidAt >= SAY_AGAIN_MS)) {
      session.note(text);
      saidAt = now();
    }
    said = text;
    if (found.length === 0) return;
    session.note(`\u0007${alarmText(session.server ?? '', found)}`);
    if (notifies) notify(session);
  };
}

/** A notification of the desktop, where there is one. */
function notify({ io, server }: Session): void {
  const [title, body] = [
    'Countinghouse: a foreign address',
    `${server} shows an address that is not yours. Signing has stopped.`,
  ];
  const script = `display notification ${JSON.stringify(body)} with title ${JSON.stringify(title)} sound name "Basso"`;
  const [program, args] =
    io.platform === 'darwin'
      ? (['osascript', ['-e', script]] as const)
      : (['notify-send', ['--urgency=critical', title, body]] as const);
  spawn(program, args, { stdio: 'ignore', env: io.env as NodeJS.ProcessEnv })
    .on('error', () => {})
    .unref();
}
