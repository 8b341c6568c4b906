/** `countinghouse service` on macOS: launchd runs it in the session of the user. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Failure, FaultShown } from '../io.ts';
import { confirm } from '../prompt.ts';
import type { Session } from '../session.ts';
import { type InstallOptions, runningProgram, type UninstallOptions } from './install.ts';
import { LABEL, launchAgent } from './launchd.ts';

function paths(session: Session, root: string) {
  const home = session.io.env.HOME;
  if (!home) throw new Failure('no home directory is known');
  return {
    agent: join(root, home, 'Library', 'LaunchAgents', `${LABEL}.plist`),
    log: join(home, 'Library', 'Logs', 'countinghouse.log'),
  };
}

const domain = (): string => `gui/${process.getuid?.() ?? 0}`;

function launchctl(...args: string[]): { ok: boolean; text: string } {
  const { status, stdout, stderr, error } = spawnSync('launchctl', args, { encoding: 'utf8' });
  return { ok: status === 0, text: `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`.trim() };
}

export async function installLaunchd(session: Session, options: InstallOptions): Promise<void> {
  if (options.signerOnly) {
    throw new Failure('on macOS run `countinghouse --server NAME signer run` as a login item: it needs no unit');
  }
  if (options.separateSigner || options.passphraseFile) {
    throw new Failure(
      'on macOS the service runs as you: its wallet opens with the keychain (`[wallet] unlock = "keychain"`)',
    );
  }
  const { root = '' } = options;
  const { agent, log } = paths(session, root);
  mkdirSync(dirname(agent), { recursive: true });
  writeFileSync(agent, launchAgent(await runningProgram(), session.dataDir, log), { mode: 0o644 });
  if (root === '') {
    launchctl('bootout', `${domain()}/${LABEL}`);
    const started = launchctl('bootstrap', domain(), agent);
    if (!started.ok) throw new Failure(`launchctl refused ${agent}: ${started.text}`);
  }
  session.print({ files: [agent], started: root === '' }, () => `${agent}\nIt writes to ${log}.\n`);
}

export async function uninstallLaunchd(
  session: Session,
  { deleteData = false, root = '' }: UninstallOptions,
): Promise<void> {
  const { agent } = paths(session, root);
  if (deleteData)
    await confirm(session.io, session.yes, `Delete ${session.dataDir}, with the wallet and everything that was paid?`);
  if (root === '') launchctl('bootout', `${domain()}/${LABEL}`);
  const removed = existsSync(agent) ? [agent] : [];
  rmSync(agent, { force: true });
  if (deleteData) rmSync(session.dataDir, { recursive: true, force: true });
  session.print({ removed, data_deleted: deleteData }, () =>
    deleteData ? 'Removed, with its data.\n' : `Removed. The data stay in ${session.dataDir}.\n`,
  );
}

export async function statusLaunchd(session: Session, { root = '' }: { root?: string }): Promise<void> {
  const { agent } = paths(session, root);
  const installed = existsSync(agent);
  const found = root === '' ? launchctl('print', `${domain()}/${LABEL}`) : { ok: false, text: '' };
  const state = found.ok ? (/state = (.+)/.exec(found.text)?.[1] ?? 'unknown') : 'not running';
  session.print({ agent, installed, state }, () => `${agent}: ${installed ? state : 'not installed'}\n`);
  if (!installed || (root === '' && state !== 'running')) throw new FaultShown();
}
