/**
 * Input and output of the command line. Results go to stdout, everything else (questions, notes, errors) to stderr.
 *
 * Invariant: text from outside (names, URLs, a daemon's answer) is printed without control characters, so that it
 * cannot move the cursor, change colours, or forge a line.
 */
import { lstatSync, readFileSync, type Stats, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { SERVICE_ENVIRONMENT } from '../config/paths.ts';
import { fileCode, isFullFile } from '../kit/full-disk.ts';

export type Input = Readable & { isTTY?: boolean; setRawMode?: (raw: boolean) => unknown };
type Output = {
  /** `taken`: called once the text was taken over, or cannot be. */
  write(text: string, taken?: (error?: Error | null) => void): unknown;
  isTTY?: boolean;
  /** The first failure; nothing is written after it. */
  errored?: Error | null;
};

export type Io = {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  stdin: Input;
  stdout: Output;
  stderr: Output;
};

/** Exit codes; 0 is success. */
/** `foreign`: this computer signs for a server that shows an address which is not of its keys. */
export const EXIT = { failed: 1, usage: 2, locked: 3, foreign: 4, canceled: 130 } as const;

/** Ends the command with a one-line message. */
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

export const usage = (message: string): Failure => new Failure(message, EXIT.usage, 'usage');

/** Ends a command with `EXIT.failed` when its own output says what is wrong, or nobody reads it any more. */
export class FaultShown extends Error {}

/**
 * Writes a part of a long result, and resolves once it was taken over: so no more of the result is in memory than the
 * reader has asked for. Rejects if the reader went away, or the output takes no more.
 */
export function written({ stdout }: Pick<Io, 'stdout'>, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(text, (error) => (error ? reject(lost(stdout.errored ?? error)) : resolve()));
  });
}

/** Why a result did not arrive. A reader that went away (`… | head`) knows it. */
function lost(error: NodeJS.ErrnoException): Error {
  const { code, message } = error;
  if (code === 'EPIPE') return new FaultShown();
  const why = isFullFile(error) ? `the disk is full (${fileCode(error)})` : (code ?? message);
  return new Failure(`the output cannot be written: ${why}. The result is not whole`, EXIT.failed, 'output');
}

/** Control and formatting characters (also those of the text's direction), and line and paragraph separators. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The text on one line, without control characters. */
export function clean(text: string): string {
  return text.toWellFormed().replace(/\s+/g, ' ').replace(UNSAFE, '\ufffd');
}

/** JSON on one line, with control characters escaped. */
export function jsonLine(value: unknown): string {
  const inHex = (text: string): string =>
    [...Array(text.length).keys()].map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');
  return `${JSON.stringify(value).replace(UNSAFE, inHex)}\n`;
}

/** The variables of an installed service's file, for root, who alone may have written it; empty for others. */
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

/**
 * Whose a folder is; null: nobody's who can be found. A link of root leads to a folder on another disk. One of another user leads root
 * nowhere.
 */
export function ownerOf(folder: string): Pick<Stats, 'uid' | 'gid'> | null {
  try {
    const found = lstatSync(folder);
    return found.isSymbolicLink() && found.uid === 0 ? statSync(folder) : found;
  } catch {
    return null;
  }
}

/** Whether root runs this command on the data directory of a service, which runs as another user. */
export const belongsToService = (dataDir: string): boolean =>
  process.getuid?.() === 0 && (ownerOf(dataDir)?.uid ?? 0) !== 0;

/** The input and output of this process. A reader that goes away (`… | head`) ends a command, never a daemon. */
export function processIo(): Io {
  process.stdout.on('error', () => {});
  process.stderr.on('error', () => {});
  const { platform, stdin, stdout, stderr } = process;
  return { env: { ...installedService(), ...process.env }, platform, stdin, stdout, stderr };
}
