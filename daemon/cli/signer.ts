/** `countinghouse signer`: the wallet as a service under another user, and the operator's access to it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { present } from '../domain/errors.ts';
import { action } from './commands.ts';
import { Failure, type Io, ownerOf, usage } from './io.ts';
import { machineCommands } from './machines.ts';
import { lockMinutes } from './parse.ts';
import type { Session } from './session.ts';

type SignerOptions = { folder?: string; socket?: string; autoLockMinutes: number; passphraseFile?: string };

const AUTO_LOCK_MINUTES = 15;
const BACKUP_KEY = /^backup-key-[0-9a-f]{8}\.json$/;

export function signerCommands(root: Command, io: Io): void {
  const signer = root
    .command('signer')
    .description('the wallet on a computer at home, or as a service of its own user')
    .option('--folder <folder>', 'where the wallet lies: of mode 0700, of this user')
    .option('--socket <path>', 'the unix socket that the service asks for signatures on')
    .option(
      '--auto-lock-minutes <minutes>',
      'close it after so long without a use, 0: never',
      lockMinutes,
      AUTO_LOCK_MINUTES,
    )
    .option('--passphrase-file <file>', 'open it by itself with the passphrase in this file')
    .action(action(io, run));
  machineCommands(signer, io);
}

async function run(
  session: Session,
  { folder, socket, autoLockMinutes, passphraseFile }: SignerOptions,
): Promise<void> {
  if (folder === undefined || socket === undefined)
    throw usage('--folder and --socket are missing, or a command: see --help');
  if (process.platform === 'win32') throw usage('on Windows the service has the wallet itself');
  const { serveSigner } = await import('../wallet/signer/service.ts');
  const service = await serveSigner({
    folder,
    socket,
    autoLockMinutes,
    source: () => (passphraseFile === undefined ? { kind: 'prompt' } : { kind: 'file', path: passphraseFile }),
    log: (message) => session.note(message),
  });
  session.note(`The wallet in ${folder} is served on ${socket}.`);
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve);
  await promise;
  await service.close();
}

/** After root made a wallet for a separate signer: writes the public key of backups to the service's data. */
export async function handOver(session: Session): Promise<void> {
  const { signerSocket, walletFolder, dataDir, server } = session;
  if (signerSocket === null || server !== null) return;
  await writeAsOwner(dataDir, await session.asOwner(() => backupKeysIn(walletFolder)));
}

async function backupKeysIn(folder: string): Promise<Record<string, string>> {
  const keys: Record<string, string> = {};
  for (const name of (await readdir(folder)).filter((one) => BACKUP_KEY.test(one))) {
    keys[name] = await readFile(join(folder, name), 'utf8');
  }
  return keys;
}

/** Writes files beside the data: `process.argv` has the data's folder, stdin the files by name. */
const WRITER = `
  const { mkdirSync, readFileSync, writeFileSync } = require('node:fs');
  const { join } = require('node:path');
  const folder = join(process.argv[1], 'vault');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const [name, text] of Object.entries(JSON.parse(readFileSync(0, 'utf8')))) {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  }`;

/** Runs as the folder's user, who may be compromised: root would follow its links with all of its rights. */
async function writeAsOwner(dataDir: string, files: Record<string, string>): Promise<void> {
  const { uid, gid } = present(ownerOf(dataDir), 'data directory');
  const as = process.getuid?.() === 0 ? { uid, gid } : {};
  const child = spawn(process.execPath, ['-e', WRITER, dataDir], {
    ...as,
    cwd: '/',
    env: {},
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.stdin.on('error', () => {});
  child.stdin.end(JSON.stringify(files));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Failure(`the key for backups could not be written into ${dataDir}`);
}
