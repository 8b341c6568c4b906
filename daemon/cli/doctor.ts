/** `countinghouse doctor`: the problems of the service and their remedies. Exits with 1 when there is a problem. */
import { lstat, statfs } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Result } from '../contract/operator.ts';
import type { Value } from '../domain/messages.ts';
import { action } from './commands.ts';
import { configFile } from './config.ts';
import { FaultShown, type Io } from './io.ts';
import { textIn, textOf } from './said.ts';
import type { Session } from './session.ts';
import { BYTES_PER_MB, table } from './table.ts';

/** Without a service, words are those of this command. */
type Finding = Pick<Result<'doctor'>['findings'][number], 'subject' | 'level'> & { text: Value; advice: Value | null };

const MARKS = { ok: 'ok', warning: 'WARNING', problem: 'PROBLEM' } as const;

export function doctorCommand(root: Command, io: Io): void {
  root
    .command('doctor')
    .description('check the service: what is out of order, and what to do')
    .action(action(io, doctor));
}

async function doctor(session: Session): Promise<void> {
  const findings = await ask(session);
  session.print({ findings }, () => textOfAll(findings));
  if (findings.some(({ level }) => level === 'problem')) throw new FaultShown();
}

/** A line for each finding, and its remedy below it: side by side they are wider than a terminal. */
function textOfAll(findings: readonly Finding[]): string {
  const rows = findings.flatMap(({ level, subject, text, advice }) => {
    const finding = [MARKS[level], subject, textOf(text)];
    const remedy = textIn(advice);
    return remedy === null ? [finding] : [finding, ['', '', `to do: ${remedy}`]];
  });
  return table(['', 'ABOUT', 'FOUND'], rows, 'Nothing was looked at.');
}

async function ask(session: Session): Promise<Finding[]> {
  try {
    return (await session.call('doctor', {})).findings;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'NoDaemon') throw error;
    return withoutService(session);
  }
}

/** The findings without a running service: the configuration, the folder's owners and modes, the disk. */
async function withoutService(session: Session): Promise<Finding[]> {
  const { dataDir, io } = session;
  const advice = '`systemctl start countinghouse`, or `countinghouse start`; its log says why it ended';
  const found: Finding[] = [{ subject: 'service', level: 'problem', text: `none runs on ${dataDir}`, advice }];
  const folder = await lstat(dataDir).catch(() => null);
  if (!folder)
    return [
      ...found,
      {
        subject: 'data',
        level: 'warning',
        text: `there is no ${dataDir}`,
        advice: 'give --data-dir, where it lies elsewhere',
      },
    ];
  const { loadConfig } = await import('../config/config.ts');
  try {
    const file = configFile(io, {});
    await session.asDataUser(async () => loadConfig({ file, dataDir, env: io.env, flags: {} }));
    found.push({ subject: 'configuration', level: 'ok', text: 'without a fault', advice: null });
  } catch (error) {
    const text = (error as Error).message.replaceAll('\n', ' ');
    found.push({ subject: 'configuration', level: 'problem', text, advice: 'change what it names' });
  }
  const { permissionFault } = await import('../app/operator/permissions.ts');
  const fault = await permissionFault(dataDir);
  found.push(
    fault === null
      ? { subject: 'permissions', level: 'ok', text: `${dataDir} is for its owner alone`, advice: null }
      : { subject: 'permissions', level: 'problem', text: fault.text, advice: fault.command },
  );
  const { bavail, bsize } = await statfs(dataDir);
  const full = bavail * bsize < 256 * BYTES_PER_MB;
  const room = `${Math.floor((bavail * bsize) / BYTES_PER_MB)} MB free`;
  found.push({ subject: 'disk', level: full ? 'problem' : 'ok', text: room, advice: full ? 'free some room' : null });
  return found;
}
