/**
 * What the command line reads and writes. Results go to stdout, everything else (questions, notes, errors) to stderr.
 *
 * Invariant: text from outside (names, URLs, a daemon's answer) reaches a terminal without control characters, so that
 * none of it can move the cursor, recolour, or forge a line.
 */
import { lstatSync, readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { SERVICE_ENVIRONMENT } from '../config/paths.ts';

export type Input = Readable & { isTTY?: boolean; setRawMode?: (raw: boolean) => unknown };
export type Output = { write(text: string): unknown; isTTY?: boolean };

export type Io = {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  stdin: Input;
  stdout: Output;
  stderr: Output;
};

/** Exit codes: 0 is success. */
export const EXIT = { failed: 1, usage: 2, locked: 3, canceled: 130 } as const;

/** Ends the command with one line for the user. */
export class Failure extends Error {
  readonly exitCode: number;
  /** For programs, with `--json`. */
  readonly code: string;

  constructor(message: string, exitCode: number = EXIT.failed, code = 'failed') {
    super(message);
    this.name = 'Failure';
    this.exitCode = exitCode;
    this.code = code;
  }
}

/** Control and formatting characters (which also turn the direction of text), and line and paragraph separators. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The text on one line and without what a terminal obeys. */
export function clean(text: string): string {
  return text.toWellFormed().replace(/\s+/g, ' ').replace(UNSAFE, '\ufffd');
}

/** JSON on one line, with everything escaped that a terminal obeys. */
export function jsonLine(value: unknown): string {
  const inHex = (text: string): string =>
    [...Array(text.length).keys()].map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');
  return `${JSON.stringify(value).replace(UNSAFE, inHex)}\n`;
}

/**
 * Where `service install` put the service, for commands of the superuser: the variables of its file, which none but root
 * may have written. Empty for everybody else.
 */
function installedService(): Record<string, string> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return {};
  try {
    const { uid, mode } = lstatSync(SERVICE_ENVIRONMENT);
    if (uid !== 0 || (mode & 0o022) !== 0) return {};
    const lines = readFileSync(SERVICE_ENVIRONMENT, 'utf8').matchAll(/^(COUNTINGHOUSE_[A-Z_]+)=(.+)$/gm);
    return Object.fromEntries([...lines].map(([, name, value]) => [name!, value!]));
  } catch {
    return {};
  }
}

/** This process's own. A reader that went away (`… | head`) ends a command quietly and never a daemon. */
export function processIo(): Io {
  process.stdout.on('error', () => {});
  process.stderr.on('error', () => {});
  const { platform, stdin, stdout, stderr } = process;
  return { env: { ...installedService(), ...process.env }, platform, stdin, stdout, stderr };
}
