/**
 * The two users of a server: the service's, and the signer's own. Where the superuser runs the tests they are numbers that
 * nobody has, which are enough for the system; elsewhere both are whoever runs the tests.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export const isRoot = process.getuid?.() === 0;
const here = process.getuid?.() ?? 0;
export const SIGNER_UID = isRoot ? 61_234 : here;
export const DAEMON_UID = isRoot ? 61_235 : here;
/** Of both: it opens the folder of the socket. */
export const GROUP = isRoot ? 61_235 : (process.getgid?.() ?? 0);

/** What a user can do, by the system's own word: the error's code, or "done". */
export async function as(uid: number, script: string): Promise<string> {
  const code = `try { ${script}; console.log('done') } catch (error) { console.log(error.code) }`;
  const args = ['--input-type=module', '-e', `import * as fs from 'node:fs'; ${code}`];
  const { stdout } = await promisify(execFile)(process.execPath, args, { uid, gid: GROUP });
  return stdout.trim();
}
