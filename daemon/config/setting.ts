/**
 * The kinds of value that a configuration key can have. A setting knows the schema of its value, its form as text
 * (environment, flags), its hint for an operator who gave a wrong value, and how to print it.
 *
 * Invariant: a number with a fraction never becomes floating point inside the program.
 */
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { type ConfirmationTier, FINALIZED } from '../domain/assets.ts';
import { clockTime } from '../domain/calendar.ts';
import { formatDecimal, parseDecimal } from '../domain/money.ts';
import { isEndpoint, isSocksProxy } from '../kit/endpoint.ts';
import { parseSchedule } from '../kit/schedule.ts';

const TEXT_CHARS_MAX = 2_048;
const LIST_ITEMS_MAX = 64;
const TIERS_MAX = 8;
const CONFIRMATIONS_MAX = 100;
const FINALITY_WORD = 'finalized';
const TIER_USD_MAX = 1_000_000_000;
/** A trillion, in 1e-8: above every price of a coin and every currency's units per dollar. */
const PRICE_SCALED_MAX = 10n ** 20n;

/** In parts per million: 1 % is 10,000. */
type Percent = { ppm: bigint };

type SettingOptions<T> = {
  /** Called when a value is given: most of the several hundred keys never get one, and building a schema is slow. */
  schema: () => z.ZodType<T>;
  /** The accepted values, in words that follow "it takes". */
  takes: string;
  fallback: T;
  fromText?: (text: string) => unknown;
  show?: (value: T) => string;
  secret?: boolean;
  unusable?: boolean;
  isPath?: boolean;
};

export class Setting<T> {
  readonly schema: () => z.ZodType<T>;
  readonly takes: string;
  readonly fallback: T;
  /** Parses the text of an environment variable or a flag. */
  readonly fromText: (text: string) => unknown;
  /** The value for the operator, without credentials. */
  readonly show: (value: T) => string;
  /** True if an error must not repeat a wrong value. */
  readonly secret: boolean;
  /** True if the key exists only so that an error can explain why it is not available. */
  readonly unusable: boolean;
  /** True if the value is a path, relative to the data directory. */
  readonly isPath: boolean;

  constructor(options: SettingOptions<T>) {
    this.schema = options.schema;
    this.takes = options.takes;
    this.fallback = options.fallback;
    this.fromText = options.fromText ?? ((text) => text);
    this.show = options.show ?? ((value) => JSON.stringify(value));
    this.secret = options.secret ?? false;
    this.unusable = options.unusable ?? false;
    this.isPath = options.isPath ?? false;
  }
}

const listFromText = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

const numberFromText = (text: string): unknown => (/^-?\d{1,15}$/.test(text) ? Number(text) : text);

const text = () => z.string().min(1).max(TEXT_CHARS_MAX);

/** `min` and `max` are included. */
export function whole(min: number, max: number, fallback: number, unit: string): Setting<number> {
  const takes = `a whole number from ${min} to ${max}${unit ? ` (${unit})` : ''}, such as ${fallback}`;
  return new Setting({ schema: () => z.int().min(min).max(max), takes, fallback, fromText: numberFromText });
}

export function flag(fallback: boolean, what: string): Setting<boolean> {
  const fromText = (text: string): unknown => (text === 'true' ? true : text === 'false' ? false : text);
  return new Setting({ schema: () => z.boolean(), takes: `true or false (${what})`, fallback, fromText });
}

export function choice<const W extends string>(words: readonly [W, ...W[]], fallback: W): Setting<W> {
  return new Setting<W>({ schema: () => z.enum(words) as z.ZodType<W>, takes: `one of ${words.join(', ')}`, fallback });
}

/** Several of these words, each at most once. Of each group: none, or at least two, because that many must agree. */
export function choices<const W extends string>(...groups: readonly (readonly W[])[]): Setting<readonly W[]> {
  const words = groups.flat();
  const alone = (list: readonly W[]): W | undefined =>
    list.find((word) =>
      groups.some((group) => group.includes(word) && list.filter((one) => group.includes(one)).length === 1),
    );
  const schema = () =>
    z
      .array(z.enum(words))
      .refine((list) => new Set(list).size === list.length, 'a name occurs twice')
      .refine((list) => alone(list) === undefined, {
        error: ({ input }) => `${alone(input as W[])} stands alone, and two of its kind must agree`,
      });
  return new Setting<readonly W[]>({
    schema: schema as unknown as () => z.ZodType<readonly W[]>,
    takes: `a list of ${words.join(', ')}`,
    fallback: words,
    fromText: listFromText,
  });
}

/** A percentage with at most four digits after the point. `max` is whole. */
export function percent(max: number, fallback: number): Setting<Percent> {
  const schema = () =>
    z.union([z.string(), z.number()]).transform((value, context): Percent => {
      // String(0.5) is the shortest decimal that reads back as 0.5: the operator's own text, so no rounding takes place.
      const ppm = parseDecimal(String(value), 4);
      if (ppm !== null && ppm <= BigInt(max) * 10_000n) return { ppm };
      context.addIssue({ code: 'invalid_value', values: [] });
      return z.NEVER;
    });
  return new Setting({
    schema,
    takes: `a percentage from 0 to ${max} with at most 4 digits after the point, such as ${fallback}`,
    fallback: { ppm: BigInt(fallback) * 10_000n },
    show: ({ ppm }) => formatDecimal(ppm, 4),
  });
}

/**
 * A positive decimal with at most 8 decimals, without trailing zeros. Takes only strings, because a TOML float has
 * already lost digits.
 */
export function price(what: string, example: string): Setting<string | null> {
  const schema = () =>
    z.unknown().transform((value, context): string => {
      const scaled = typeof value === 'string' ? parseDecimal(value, 8) : null;
      if (scaled !== null && scaled > 0n && scaled < PRICE_SCALED_MAX) return formatDecimal(scaled, 8);
      const unquoted = typeof value === 'number' || typeof value === 'bigint';
      context.addIssue({ code: 'custom', message: unquoted ? `${value} stands without quotes` : '' });
      return z.NEVER;
    });
  const takes = `${what} in quotes, with at most 8 digits after the point, such as "${example}"`;
  return new Setting<string | null>({ schema, takes, fallback: null });
}

function parseUrl(value: string): URL | null {
  return URL.canParse(value) ? new URL(value) : null;
}

const isHttp = (url: URL): boolean => url.protocol === 'http:' || url.protocol === 'https:';

const TAKES_PUBLIC_URL =
  'an http or https address without credentials, query or fragment, such as "https://pay.shop.com"';

/** The address at which payers reach the service. A final slash is dropped. */
export function publicUrl(): Setting<string | null> {
  const schema = () =>
    text()
      .refine((value) => {
        const url = parseUrl(value);
        return url !== null && isHttp(url) && !url.username && !url.password && !/[?#]/.test(value);
      })
      .transform((value): string | null => new URL(value).href.replace(/\/+$/, ''));
  return new Setting({ schema, takes: TAKES_PUBLIC_URL, fallback: null });
}

/** The URL without its user and password, and without its path and query, which may contain keys. */
function hideCredentials(value: string): string {
  const url = parseUrl(value);
  if (!url) return '***';
  const login = url.username || url.password ? `${url.username ? '***' : ''}${url.password ? ':***' : ''}@` : '';
  const rest = url.pathname + url.search + url.hash;
  return `${url.protocol}//${login}${url.host}${rest === '/' || rest === '' ? '' : '/***'}`;
}

/** `login`: user and password may stand in it; `fetch` takes no such URL. `path`: the form of its path with its query. */
type UrlRules = { login?: boolean; path?: RegExp };

const showUrl = (value: string | null): string => (value === null ? 'null' : JSON.stringify(hideCredentials(value)));

export function secretUrl(takes: string, { login = false, path = /^/ }: UrlRules = {}): Setting<string | null> {
  const schema = () =>
    text().refine((value) => {
      const url = parseUrl(value);
      if (url === null || !isHttp(url) || url.hash) return false;
      return (login || !(url.username || url.password)) && path.test(url.pathname + url.search);
    });
  return new Setting<string | null>({ schema, takes, fallback: null, show: showUrl, secret: true });
}

const HIDDEN_TEXT = (value: string | null): string => (value === null ? 'null' : '"***"');

/** A text that is shown to nobody. */
export function secretText(takes: string): Setting<string | null> {
  const schema = () => text().regex(/^[\x21-\x7e]+$/);
  return new Setting<string | null>({ schema, takes, fallback: null, show: HIDDEN_TEXT, secret: true });
}

const WEBHOOK_KEY_BYTES_MIN = 24;

/** A secret of the Standard Webhooks specification: "whsec_" and base64 of 24 bytes or more. */
export function webhookSecret(): Setting<string | null> {
  const schema = () =>
    text().refine((value) => {
      const key = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value)?.[1];
      return key !== undefined && Buffer.from(key, 'base64').length >= WEBHOOK_KEY_BYTES_MIN;
    });
  const takes = '"whsec_" and 24 random bytes or more in base64: (printf whsec_; openssl rand -base64 32)';
  return new Setting<string | null>({ schema, takes, fallback: null, show: HIDDEN_TEXT, secret: true });
}

/** A mail server with its login. `smtps:` speaks TLS from the first byte, `smtp:` begins with STARTTLS where it is offered. */
export function smtpUrl(): Setting<string | null> {
  const schema = () =>
    text().refine((value) => {
      const url = parseUrl(value);
      return (
        url !== null && ['smtp:', 'smtps:'].includes(url.protocol) && url.hostname !== '' && !url.hash && !url.search
      );
    });
  const takes = 'a URL such as "smtps://user:password@mail.example.com:465"';
  return new Setting<string | null>({ schema, takes, fallback: null, show: showUrl, secret: true });
}

const mailbox = () => z.email().max(TEXT_CHARS_MAX);

export function emails(): Setting<readonly string[]> {
  const schema = () => z.array(mailbox()).max(LIST_ITEMS_MAX);
  const takes = 'a list of addresses such as ["me@example.com"]';
  return new Setting<readonly string[]>({ schema, takes, fallback: [], fromText: listFromText });
}

export function email(): Setting<string | null> {
  return new Setting<string | null>({
    schema: mailbox,
    takes: 'an address such as "shop@example.com"',
    fallback: null,
  });
}

/** A chat of Telegram: its number, or the name of a channel. */
export function telegramChat(): Setting<string | null> {
  const schema = () => text().regex(/^(?:-?\d{1,20}|@[A-Za-z]\w{3,63})$/);
  return new Setting<string | null>({ schema, takes: 'the number of a chat in quotes, or "@channel"', fallback: null });
}

/** A span of each day, in minutes since midnight; `from` may be the later one, and is never the same as `to`. */
type DailySpan = { readonly from: number; readonly to: number };

/** Hours in which only what is urgent is told, as "22:00-07:00". */
export function quietHours(): Setting<DailySpan | null> {
  const schema = () =>
    z.unknown().transform((value, context): DailySpan => {
      const times =
        typeof value === 'string' ? /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/.exec(value) : null;
      const [fromHour, fromMinute, toHour, toMinute] = times?.slice(1).map(Number) ?? [];
      const span = { from: (fromHour ?? 0) * 60 + (fromMinute ?? 0), to: (toHour ?? 0) * 60 + (toMinute ?? 0) };
      if (times !== null && span.from !== span.to) return span;
      context.addIssue({ code: 'invalid_value', values: [] });
      return z.NEVER;
    });
  return new Setting<DailySpan | null>({
    schema,
    takes: 'a span of the day such as "22:00-07:00"',
    fallback: null,
    show: (span) => (span === null ? 'null' : `"${clockTime(span.from)}-${clockTime(span.to)}"`),
  });
}

const isSocket = (url: URL): boolean => url.protocol === 'ws:' || url.protocol === 'wss:';

/**
 * A list of http(s) URLs, with or without logins or keys. `withSockets`: WebSockets may stand beside them, which alone
 * would not do.
 */
export function secretUrls(takes: string, withSockets = false): Setting<readonly string[]> {
  const url = () =>
    text().refine((value) => {
      const parsed = parseUrl(value);
      return parsed !== null && (isHttp(parsed) || (withSockets && isSocket(parsed))) && !parsed.hash;
    });
  const isEnough = (list: readonly string[]): boolean => list.length === 0 || list.some((one) => /^http/i.test(one));
  return new Setting<readonly string[]>({
    schema: () =>
      z
        .array(url())
        .max(LIST_ITEMS_MAX)
        .refine(isEnough, { message: 'a WebSocket only gives hints: an http or https URL is needed beside it' }),
    takes,
    fallback: [],
    fromText: listFromText,
    show: (list) => JSON.stringify(list.map((item) => hideCredentials(item))),
    secret: true,
  });
}

/** A token's contract on a network where this program does not know it. */
export function contract(token: string): Setting<string | null> {
  const schema = () => text().refine((value): boolean => /^0x[0-9a-fA-F]{40}$/.test(value));
  const takes = `the address of a contract that stands for ${token} there: 0x and 40 hexadecimal digits`;
  return new Setting<string | null>({ schema, takes, fallback: null });
}

export function electrumServers(): Setting<readonly string[]> {
  return new Setting<readonly string[]>({
    schema: () => z.array(text().refine((value) => isEndpoint(value, ['ssl', 'tcp']))).max(LIST_ITEMS_MAX),
    takes: 'a list of servers as ssl://host:port or tcp://host:port, such as ["ssl://electrum.example:50002"]',
    fallback: [],
    fromText: listFromText,
  });
}

/** A SOCKS5 proxy without login. */
export function socksProxy(): Setting<string | null> {
  const schema = () => text().refine(isSocksProxy);
  return new Setting<string | null>({ schema, takes: 'a proxy such as "socks5://127.0.0.1:9050"', fallback: null });
}

const HOST_PORT = /^(?<host>\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?):(?<port>\d{1,5})$/i;

/** A list of "host:port", with IPv6 addresses in brackets. Normalised to lower case and to the form that URLs use. */
export function hostPorts(): Setting<readonly string[]> {
  const item = () =>
    text()
      .refine((value) => {
        const port = Number(HOST_PORT.exec(value)?.groups?.port);
        return port >= 1 && port <= 65_535 && URL.canParse(`http://${value}`);
      })
      .transform((value) => `${new URL(`http://${value}`).hostname}:${Number(HOST_PORT.exec(value)?.groups?.port)}`);
  return new Setting<readonly string[]>({
    schema: () => z.array(item()).max(LIST_ITEMS_MAX),
    takes: 'a list of host:port, such as ["127.0.0.1:3000", "[::1]:3000"]',
    fallback: [],
    fromText: listFromText,
  });
}

/** Levels of the log for parts of the program, as "part:level", each part once. */
export function partLevels(parts: readonly string[], levels: readonly string[]): Setting<readonly string[]> {
  const item = () =>
    text().refine((value) => {
      const [part = '', level = '', ...rest] = value.split(':');
      return parts.includes(part) && levels.includes(level) && rest.length === 0;
    });
  const schema = () =>
    z
      .array(item())
      .max(LIST_ITEMS_MAX)
      .refine((list) => new Set(list.map((one) => one.split(':')[0])).size === list.length, 'a part occurs twice');
  const takes = `a list such as ["chains:debug"], of ${parts.join(', ')} with ${levels.join(', ')}`;
  return new Setting<readonly string[]>({ schema, takes, fallback: [], fromText: listFromText });
}

/** A list of addresses and CIDR ranges. */
export function addressRanges(): Setting<readonly string[]> {
  const { IPv4, IPv6 } = ipaddr;
  const item = () =>
    text().refine(
      (value) =>
        IPv4.isValidFourPartDecimal(value) ||
        IPv4.isValidCIDRFourPartDecimal(value) ||
        IPv6.isValid(value) ||
        IPv6.isValidCIDR(value),
    );
  return new Setting<readonly string[]>({
    schema: () => z.array(item()).max(LIST_ITEMS_MAX),
    takes: 'a list of addresses or ranges, such as ["127.0.0.1", "10.0.0.0/8"]',
    fallback: [],
    fromText: listFromText,
  });
}

/** Whether a range is wider than the widest private networks, 10.0.0.0/8 and fc00::/7. */
export function isWide(range: string): boolean {
  if (!range.includes('/')) return false;
  const [base, bits] = ipaddr.parseCIDR(range);
  if (!(base instanceof ipaddr.IPv6)) return bits < 8;
  return bits < (base.isIPv4MappedAddress() ? 96 + 8 : 7);
}

/** An address of this machine to listen on: an IP address or localhost. */
export function listenHost(fallback: string): Setting<string> {
  const schema = () =>
    text().refine(
      (value) => value === 'localhost' || ipaddr.IPv4.isValidFourPartDecimal(value) || ipaddr.IPv6.isValid(value),
    );
  return new Setting({ schema, takes: `an IP address of this machine, such as "${fallback}"`, fallback });
}

/** A path, relative to the data directory. */
export function path(what: string): Setting<string | null> {
  return new Setting<string | null>({ schema: text, takes: `the path of ${what}`, fallback: null, isPath: true });
}

const NO_CRON = 'this is no cron expression, or names a day that never comes';

/** A schedule in cron's five fields, in the machine's time zone. */
export function cron(fallback: string): Setting<string> {
  const schema = () => text().refine((expression) => parseSchedule(expression) !== null, NO_CRON);
  return new Setting({ schema, takes: `five fields of cron, such as "${fallback}" (every day at three)`, fallback });
}

const WRONG_TIERS = 'the tiers must begin at 0 USD and ascend in both numbers';

/**
 * Confirmation tiers as [[from USD, confirmations], …]; as text "0:1,1000:3". `hasFinality`: "finalized" may stand in place of
 * the last number.
 */
export function tiers(
  fallback: readonly ConfirmationTier[],
  hasFinality: boolean,
): Setting<readonly ConfirmationTier[]> {
  const number = () => z.int().min(1).max(CONFIRMATIONS_MAX);
  const finalized = () => z.literal(FINALITY_WORD).transform(() => FINALIZED);
  const pair = () =>
    z.tuple([z.int().min(0).max(TIER_USD_MAX), hasFinality ? z.union([number(), finalized()]) : number()]);
  const schema = () =>
    z
      .array(pair())
      .min(1)
      .max(TIERS_MAX)
      .refine((rows) => rows.every(([usd, n], i) => (i ? usd > rows[i - 1]![0] && n > rows[i - 1]![1] : usd === 0)), {
        message: WRONG_TIERS,
      })
      .transform((rows): readonly ConfirmationTier[] =>
        rows.map(([fromUsd, confirmations]) => ({ fromUsd, confirmations })),
      );
  return new Setting({
    schema,
    takes: hasFinality
      ? `pairs of [from USD, confirmations from 1 to ${CONFIRMATIONS_MAX} or "finalized"], such as [[0, 12], [1000, "finalized"]]`
      : `pairs of [from USD, confirmations from 1 to ${CONFIRMATIONS_MAX}], such as [[0, 1], [1000, 3]]`,
    fallback,
    fromText: (value) => listFromText(value).map((item) => item.split(':').map((part) => numberFromText(part.trim()))),
    show: (rows) =>
      JSON.stringify(
        rows.map(({ fromUsd, confirmations }) => [
          fromUsd,
          confirmations === FINALIZED ? FINALITY_WORD : confirmations,
        ]),
      ),
  });
}

/** A key that has no meaning at its place: every value but `fallback` is refused with the reason. */
export function unusable<T extends number | string | null | readonly string[]>(why: string, fallback: T): Setting<T> {
  const schema = () => z.custom<T>((value) => value === fallback, { message: why });
  return new Setting<T>({ schema, takes: 'no value there', fallback, fromText: numberFromText, unusable: true });
}
