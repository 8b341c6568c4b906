/**
 * How a signing machine at home and a server know each other. The machine opens the connection. Both run this code.
 *
 * An invitation's code authenticates the exchange of the two public keys, and is never sent. From then on the server keeps the
 * machine's public key alone, so that nobody can pose as the machine with what the server has. The machine keeps the server's, so
 * that no other server gets an answer. Everything after the greeting is in boxes of `Channel` (console-channel.ts): a proxy that
 * ends TLS can neither read nor alter it.
 */
import { z } from 'zod';
import { CHAINS, NETWORKS } from '../domain/assets.ts';
import { changes, reads } from './method.ts';
import { Id, Instant, Nothing, PAGE_MAX, Text } from './operator-shapes.ts';

/** On the console's listener. A greeting in clear comes first in each direction; every later message is one box. */
export const MACHINE_PATH = '/signing-machine';
/** The machine's public key, which strangers do not know, so that they use up no greetings. It proves nothing. */
export const MACHINE_HEADER = 'x-signing-machine';

/** Crockford's base 32: no I, L, O or U, which are read as other characters. */
const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const CODE_CHARS = 24;
const GROUP_CHARS = 4;
/** The first characters name the server, so that a code of another one is told from a wrong one. */
const SERVER_CHARS = 3;
const BITS_PER_CHAR = 5;

async function letters(text: string, count: number): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`countinghouse code v1\n${text}`));
  return [...new Uint8Array(digest).slice(0, count)].map((byte) => LETTERS[byte % LETTERS.length]).join('');
}

/** The characters by which every code of a server begins. `service`: its public key. */
export const serverMark = (service: string): Promise<string> => letters(service, SERVER_CHARS);

/** A new code: 100 random bits between the server's mark and a check character. */
export async function newCode(service: string): Promise<string> {
  const count = CODE_CHARS - SERVER_CHARS - 1;
  // 256 is a multiple of 32, so each letter is as likely as the others
  const random = [...crypto.getRandomValues(new Uint8Array(count))].map((byte) => LETTERS[byte % 2 ** BITS_PER_CHAR]);
  const text = `${await serverMark(service)}${random.join('')}`;
  return `${text}${await letters(text, 1)}`;
}

/** In groups of four, for people. */
export const spacedCode = (code: string): string =>
  (code.match(new RegExp(`.{1,${GROUP_CHARS}}`, 'g')) ?? []).join('-');

/** The code that somebody typed, without dashes and blanks; null if a character of it is wrong or missing. */
export async function codeOf(typed: string): Promise<string | null> {
  const code = typed.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1');
  if (code.length !== CODE_CHARS || [...code].some((letter) => !LETTERS.includes(letter))) return null;
  return (await letters(code.slice(0, -1), 1)) === code.at(-1) ? code : null;
}

/** The mark of the server that made a code. */
export const markOf = (code: string): string => code.slice(0, SERVER_CHARS);

/** In the place of a page's origin in the proofs of a join, which cover the name so. */
export const joinOrigin = (name: string): string => `signing machine ${JSON.stringify(name)}`;
/** In the place of a page's origin in the key of a channel. */
export const lineOrigin = (role: Role): string => `signing machine ${role}`;

/** `signer`: answers requests to sign. `operator`: calls the operator API. */
export type Role = 'signer' | 'operator';

const MACHINE_NAME_CHARS_MAX = 60;
export const MachineName = z
  .string()
  .trim()
  .min(1)
  .max(MACHINE_NAME_CHARS_MAX)
  .regex(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u);

const Key = z.string().regex(/^[\w-]{87}$/);
const Random = z.string().regex(/^[\w-]{43}$/);
const Box = z.string().regex(/^[\w-]{1,2000}$/);
const CHARS_MAX = 500;

/** The first message of a machine, JSON in clear. `link`: of the code. */
export const Greeting = z.discriminatedUnion('do', [
  z.strictObject({
    do: z.literal('join'),
    mark: z.string().max(SERVER_CHARS),
    link: Random,
    machine: Key,
    nonce: Random,
    proof: Random,
    name: MachineName,
  }),
  z.strictObject({ do: z.literal('greet'), role: z.enum(['signer', 'operator']), machine: Key, nonce: Random }),
]);
export type Greeting = z.infer<typeof Greeting>;

/** The server's first message, JSON in clear. */
export const Welcome = z.discriminatedUnion('is', [
  z.object({ is: z.literal('joined'), service: Key, proof: Random }),
  /** `box`: a `Known`, which proves the server. */
  z.object({ is: z.literal('greeted'), key: Key, box: Box }),
  z.object({ is: z.literal('refused'), code: z.string().max(CHARS_MAX), message: z.string().max(CHARS_MAX) }),
]);
export type Welcome = z.infer<typeof Welcome>;

/** `known`: whether the server still takes this machine. `twice`: it is connected already, from another place. */
export const Known = z.object({ known: z.boolean(), twice: z.boolean().default(false) });

/** The machine's first line in a box, which proves the machine. `backupKey`: the file of the wallet's key for backups. */
export const About = z.strictObject({
  release: z.string().max(CHARS_MAX),
  fingerprint: z
    .string()
    .regex(/^[0-9a-f]{8}$/)
    .nullable(),
  backupKey: z
    .string()
    .max(CHARS_MAX * 4)
    .nullable(),
});
export type About = z.infer<typeof About>;

/** A call of the operator API over a machine's connection, and its answer: a line each. */
export const MachineCall = z.strictObject({ method: z.string().max(CHARS_MAX), params: z.unknown() });
export const MachineAnswer = z.object({ status: z.int(), body: z.unknown() });
/** The longest line of a call; answers may be as long as the operator API's. */
export const CALL_BYTES_MAX = 1_048_576;
export const ANSWER_BYTES_MAX = 16 * 1_048_576;

const GIVEN_TEXTS_MAX = 4;
const OPEN_DEFAULT = 50;
/** One for each coin that a payer may choose. */
const ADDRESSES_OF_INVOICE_MAX = 20;

const MachineShape = z.object({
  name: z.string(),
  /** Of its wallet; null before it has made one. */
  fingerprint: z.string().nullable(),
  connected: z.boolean(),
  /** Since when it is connected, or when it was seen last; null: never. */
  since: Instant.nullable(),
  /** The withdrawals that wait for a signature. */
  waiting: z.int(),
});

const GivenShape = z.object({
  network: z.enum(NETWORKS),
  chain: z.enum(CHAINS),
  account_no: z.int().min(0),
  /** In the receiving branch of its account. */
  index: z.int().min(0),
  /** As it was derived, and as the payer saw it where that is another text. */
  addresses: z.array(z.string().max(CHARS_MAX)).min(1).max(GIVEN_TEXTS_MAX),
});
/** An address that was given out, as a server says. */
export type GivenAddress = z.infer<typeof GivenShape>;

export const Foreign = z.object({
  /** ISO 8601. */
  at: z.string(),
  /** `list`: the server gave it as one of this wallet. `page`: payers see it. `code`: the QR code of the page holds it. */
  where: z.enum(['list', 'page', 'code']),
  invoice: z.string().nullable(),
  network: z.enum(NETWORKS),
  chain: z.enum(CHAINS),
  account_no: z.int(),
  index: z.int(),
  /** The foreign address, or what the QR code holds in place of one. */
  shown: z.string(),
  /** The address of this wallet at that place; null: this computer has no such account. */
  own: z.string().nullable(),
  /** The public key of the server that showed it; absent in files of earlier releases. */
  service: z.string().optional(),
});
/** An address that is not of this wallet's keys. */
export type Foreign = z.infer<typeof Foreign>;

export const Alarm = z.object({
  seen: z.array(Foreign),
  more: z.int().min(0),
  of: z.array(z.string()).optional(),
});
/** `more`: those beyond the kept ones. `of`: the public keys of the servers that showed any; absent in files of earlier releases. */
export type Alarm = z.infer<typeof Alarm>;

export const SIGNING_MACHINE = {
  /**
   * The addresses in the order in which they were given out, from a number on. The numbers begin with 1 and have no
   * gaps. `last`: the newest one; 0: there is none.
   */
  'address.given': reads(
    z.strictObject({ from: Id.default(1), limit: z.int().min(1).max(PAGE_MAX).default(PAGE_MAX) }),
    z.object({
      given: z.array(GivenShape.extend({ no: Id, invoice: z.string().max(CHARS_MAX).nullable() })).max(PAGE_MAX),
      last: z.int().min(0),
    }),
  ),
  /**
   * The addresses at which unpaid invoices can be paid now, the newest invoices first, without the sandbox's. `pages`: where payers
   * open the payment pages; the name of an invoice follows it.
   */
  'address.open': reads(
    z.strictObject({ before: Id.optional(), limit: z.int().min(1).max(PAGE_MAX).default(OPEN_DEFAULT) }),
    z.object({
      open: z.array(GivenShape.extend({ invoice: z.string().max(CHARS_MAX) })).max(PAGE_MAX * ADDRESSES_OF_INVOICE_MAX),
      pages: z.string().max(CHARS_MAX),
      next: Id.nullable(),
    }),
  ),
  /** Makes a code for one computer. An earlier one ends. */
  'signer.invite': changes(Nothing, z.object({ server: z.string(), code: z.string(), ends_at: Instant }), {
    scope: 'machine',
  }),
  'signer.machines': reads(Nothing, z.object({ machines: z.array(MachineShape) })),
  /** Ends the connection, and forgets the computer. It cannot connect any more. */
  'signer.remove': changes(z.strictObject({ name: Text }), z.object({ machines: z.array(MachineShape) }), {
    scope: 'machine',
  }),
} as const;
