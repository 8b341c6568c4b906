/**
 * Checks that root alone can change the program of a service, and the file that systemd reads for it as root.
 *
 * Invariant: a path is as safe as every folder above it, in which its owner can put another file, or a link, in its place.
 */
import { lstatSync, readdirSync, realpathSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { Failure, usage } from '../io.ts';
import type { Program } from './units.ts';

const OTHERS_WRITE = 0o022;
const OTHERS_READ = 0o077;
const OTHERS_USE = { folder: 0o001, file: 0o004 };
/** In such a folder only its owner renames a file. */
const STICKY = 0o1000;
/** The folders that systemd hides from a service with `ProtectHome`. */
const HOMES = /^\/(?:home|root|run\/user)(?:\/|$)/;

/** A path and the folders above it. */
function upFrom(path: string): string[] {
  const above = dirname(path);
  return above === path ? [path] : [path, ...upFrom(above)];
}

function checkOwner(path: string, { uid, mode }: Pick<Stats, 'uid' | 'mode'>): void {
  if (uid === 0 && (mode & OTHERS_WRITE) === 0) return;
  throw new Failure(
    `${path} can be changed by others than root, and so could the service: chown it to root, and chmod go-w`,
  );
}

const checkPlace = (path: string, { uid, mode }: Stats): void =>
  checkOwner(path, { uid, mode: (mode & STICKY) === 0 ? mode : 0 });

/** Throws `Failure` if the service could not reach the program, or if other users could change it. `folder`: of its package. */
export function checkProgram({ node, script }: Program, folder: string): void {
  for (const path of [node, script]) {
    if (HOMES.test(path)) {
      throw new Failure(
        `${path} lies in a home directory, which services do not see: install the package with \`npm install --global\`, or move the clone to /opt/countinghouse`,
      );
    }
    for (const at of upFrom(path)) {
      const found = lstatSync(at);
      if ((found.mode & (found.isDirectory() ? OTHERS_USE.folder : OTHERS_USE.file)) === 0) {
        throw new Failure(`${at} is closed to the user of the service: install the package again after \`umask 022\``);
      }
      checkPlace(at, found);
    }
  }
  checkTree(folder);
}

/** Checks the whole package: the script loads files from any folder of it. */
function checkTree(folder: string): void {
  checkOwner(folder, lstatSync(folder));
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) checkTree(path);
    // whoever may write to a link's folder was found already
    else if (!entry.isSymbolicLink()) checkOwner(path, lstatSync(path));
  }
}

/** Throws `Failure` if others could read the file, or have systemd hand the service another one: it reads as root, and follows links. */
export function checkPassphraseFile(path: string): void {
  if (!/^\/[^\s:%"'\\]+$/.test(path)) throw usage('the file of the passphrase needs an absolute path without spaces');
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found?.isFile()) throw usage(`${path} is no file`);
  if (realpathSync(path) !== path) throw usage(`${path} leads over a link: give ${realpathSync(path)}`);
  if (found.uid !== 0 || (found.mode & OTHERS_READ) !== 0) {
    throw new Failure(`${path} can be read by others than root: chown root and chmod 600 it`);
  }
  for (const at of upFrom(dirname(path))) checkPlace(at, lstatSync(at));
}
