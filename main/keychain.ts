/**
 * Puts the wallet's passphrase into the system's keychain by the command line. That runs on the Node that reads it again
 * later: macOS grants an entry to the program that made it.
 */
import { execFile } from 'node:child_process';
import { z } from 'zod';
import { Unavailable } from '../daemon/domain/errors.ts';
import type { Wallet } from '../daemon/operator/keyholder.ts';

/** Long enough for a keychain that asks the user. */
const COMMAND_MS = 120_000;
const RETRY_SECONDS = 60;

const Told = z.object({ error: z.object({ message: z.string() }) });

/** Both throw `Unavailable` with the reason. */
export type Keychain = { remember(passphrase: string): Promise<Wallet>; forget(): Promise<Wallet> };

/** The same, by `command`: the command line, with the server if it is for one. */
export class KeychainCommands {
  readonly #command: readonly [program: string, ...args: string[]];
  readonly #env: NodeJS.ProcessEnv;

  constructor(command: readonly [program: string, ...args: string[]], env: NodeJS.ProcessEnv) {
    this.#command = command;
    this.#env = env;
  }

  remember(passphrase: string): Promise<void> {
    return this.#run(['unlock', '--remember', '--passphrase-file', '-'], passphrase);
  }

  forget(): Promise<void> {
    return this.#run(['forget'], '');
  }

  #run(args: string[], input: string): Promise<void> {
    const [program, ...first] = this.#command;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const options = { env: this.#env, timeout: COMMAND_MS, windowsHide: true };
    const child = execFile(program, [...first, '--json', 'wallet', ...args], options, (error, _, told) => {
      if (error) reject(new Unavailable(reasonOf(told, SILENT), RETRY_SECONDS));
      else resolve();
    });
    // a command that failed at once does not read it
    child.stdin?.on('error', () => {}).end(input);
    return promise;
  }
}

/** `status`: the wallet as it is. */
export const keychainOf = (commands: KeychainCommands, status: () => Promise<Wallet>): Keychain => ({
  remember: (passphrase) => commands.remember(passphrase).then(status),
  forget: () => commands.forget().then(status),
});

const SILENT = 'The keychain does not answer';

/** The message of the error in what a command told with `--json`. */
export function reasonOf(told: string, otherwise: string): string {
  for (const line of told.split('\n')) {
    try {
      return Told.parse(JSON.parse(line)).error.message;
    } catch {
      // a note
    }
  }
  return otherwise;
}
