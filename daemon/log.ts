/**
 * The program's log, on stderr, because stdout is for the user: one JSON object a line for machines, or one short line
 * for people.
 *
 * Invariant: values of fields with secret names, logins in URLs and API keys are never printed, and logged text cannot
 * forge a second line.
 */
import { type Logger, pino } from 'pino';

export type Log = Logger;

/** The parts of the program that may have a level of their own. */
export const LOG_PARTS = ['alerts', 'backup', 'chains', 'http', 'rates', 'signer', 'webhooks', 'withdrawals'] as const;
export type LogPart = (typeof LOG_PARTS)[number];

export type LogOptions = {
  level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  /** `auto`: text on a terminal, else JSON. */
  format: 'auto' | 'json' | 'text';
  stream?: { write(line: string): unknown; isTTY?: boolean };
};

const HIDDEN = '***';
const DEPTH_MAX = 6;
const ITEMS_MAX = 100;

const words = (...names: string[]): ReadonlySet<string> => new Set(names);

/** Field names, without case and punctuation, whose values are never printed. */
const SECRET_NAMES = words(
  'mbapikey',
  'apikey',
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'token',
  'xtoken',
  'passphrase',
  'password',
  'pass',
  'words',
  'mnemonic',
  'seed',
  'secret',
  'privatekey',
  'privateviewkey',
  'privatespendkey',
  'xprv',
  'wif',
  'idempotencykey',
);

const isSecretName = (name: string): boolean => SECRET_NAMES.has(name.toLowerCase().replace(/[^a-z0-9]/g, ''));

/** The text without logins in URLs and without API keys. In a JSON line, quotes end a URL. */
function hideInText(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s"'<>/@]{1,512}@/gi, `$1${HIDDEN}@`)
    .replace(/\bch_(live|test)_[A-Za-z0-9_-]+/g, `ch_$1_${HIDDEN}`);
}

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH_MAX) return '…';
  if (value instanceof Error) {
    const { code, cause } = value as Error & { code?: unknown };
    return cleanFields({ type: value.name, message: value.message, stack: value.stack, code, cause }, depth);
  }
  if (value instanceof Uint8Array) return `<${value.length} bytes>`;
  if (value instanceof Date) return value.toJSON();
  if (Array.isArray(value)) return value.slice(0, ITEMS_MAX).map((item) => clean(item, depth + 1));
  if (value instanceof Map || value instanceof Set) return `<${value.size} items>`;
  return cleanFields(value as Record<string, unknown>, depth);
}

function cleanFields(fields: object, depth: number): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields).slice(0, ITEMS_MAX)) {
    if (value !== undefined) shown[name] = clean(value, depth + 1);
  }
  return shown;
}

/** Removes secrets from a finished line of pino's, so that it does not matter how a field was passed. */
function hideSecrets(line: string): string {
  const hidden = JSON.stringify(JSON.parse(line), (name, value) => (isSecretName(name) ? HIDDEN : value));
  return `${hideInText(hidden)}\n`;
}

/** A string in a text line: control characters and line ends escaped, quoted only if necessary. */
function inline(value: unknown): string {
  const json = JSON.stringify(value) ?? 'undefined';
  const escaped = json.replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? escaped.slice(1, -1) : escaped;
}

/** A text with spaces but without line ends and control characters. */
const oneLine = (text: string): string => inline(`${text} `).slice(1, -2).replaceAll('\\"', '"');

/** The indented lines after an error: its stack and its causes. */
function traceLines(err: unknown): string[] {
  const { stack, cause } = err as { stack?: string; cause?: { message?: unknown } };
  const lines = typeof stack === 'string' ? stack.split('\n') : [];
  if (cause?.message !== undefined) lines.push(`caused by: ${cause.message}`);
  return lines.map((line) => `\n    ${oneLine(line.trim())}`);
}

/** A JSON line of pino's as "2026-01-31 12:00:00Z WARN  message key=value", with an error's stack indented. */
function textLine(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const at = String(time)
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z');
  const message = msg === undefined ? '' : ` ${oneLine(String(msg))}`;
  const trace = typeof fields.err === 'object' && fields.err !== null ? traceLines(fields.err) : [];
  if (trace.length > 0) delete fields.err;
  const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${inline(value)}`);
  return `${at} ${String(level).toUpperCase().padEnd(5)}${message}${rest.join('')}${trace.join('')}\n`;
}

/**
 * Makes a log. Fields are passed as with pino: `log.info({ height }, 'synced')`, `log.error({ err }, 'sync failed')`.
 * If the stream cannot be written, lines are lost but the program continues.
 */
export function createLog(options: LogOptions): Log {
  const stream = options.stream ?? quietStderr();
  const text = options.format === 'text' || (options.format === 'auto' && stream.isTTY === true);
  const write = (line: string): void => {
    const safe = hideSecrets(line);
    stream.write(text ? textLine(safe) : safe);
  };
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: (err: unknown) => err },
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => cleanFields(fields, 0),
      },
    },
    { write },
  );
}

let quiet = false;

/** stderr; a reader that goes away (a closed terminal or pipe) does not end the program. */
function quietStderr(): NodeJS.WriteStream {
  if (!quiet) process.stderr.on('error', () => undefined);
  quiet = true;
  return process.stderr;
}

/** The log of a part, whose lines name it. `levels`: as the configuration has them, "part:level". */
export function partLog(log: Log, part: LogPart, levels: readonly string[]): Log {
  const own = levels.find((one) => one.startsWith(`${part}:`))?.slice(part.length + 1);
  return log.child({ part }, own === undefined ? {} : { level: own });
}
