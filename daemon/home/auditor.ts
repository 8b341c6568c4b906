/**
 * Compares at home the addresses that payers get with the wallet's own keys: a server that was taken over would falsify them.
 *
 * Invariants. The server's statements count only by comparison with keys that were derived here. Each address that it names has a
 * number; none is left out, however often the list is cut, held back or begun anew. One look is bounded work; the next one continues. An
 * alarm is on the disk before a look ends.
 */
import { randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { z } from 'zod';
import type { Call } from '../contract/operator.ts';
import type { Foreign, GivenAddress } from '../contract/signing-machine.ts';
import { toIso } from '../domain/calendar.ts';
import { isLocalAddress } from '../kit/own-network.ts';
import { replaceFile } from '../wallet/files.ts';
import { comparable, isIndex, ownAddress } from '../wallet/own-address.ts';
import { type Accounts, accountIn, readAccounts } from './accounts.ts';
import { raiseAlarm } from './alarm.ts';
import type { Network } from './open-page.ts';
import type { PageText } from './page-text.ts';
import type { Server } from './place.ts';

const FILE = 'audit.json';
const PAGE = 200;
/** Addresses of one look; the next one continues. */
const GIVEN_MAX = 2_000;
/** Unpaid invoices of one look, and their pages that are opened. */
const OPEN_MAX = 50;
const SHOWN_CHARS_MAX = 200;

const Memory = z.object({
  /** The newest number that was compared, with its address; null: none yet. */
  last: z.object({ no: z.int(), address: z.string() }).nullable(),
  /** Where the next look continues among the unpaid invoices; null: from the newest. */
  before: z.int().nullable(),
  checked: z.int(),
  pages: z.int(),
  /** When it looked last, and when an address was last seen on a page; ISO 8601. */
  at: z.string().nullable(),
  pageAt: z.string().nullable(),
  /** Since when the server leaves out numbers; null: it does not. */
  heldSince: z.string().nullable().default(null),
  /** The public key of the server that all this is of; absent in files of earlier releases. */
  service: z.string().optional(),
  /** When the last look began that reached the ends of the list and of the unpaid invoices, ISO 8601; null: more is to be compared. */
  wholeAt: z.string().nullable().default(null),
});
type Memory = z.infer<typeof Memory>;
const FRESH: Memory = {
  last: null,
  before: null,
  checked: 0,
  pages: 0,
  at: null,
  pageAt: null,
  heldSince: null,
  wholeAt: null,
};

export type Look = {
  /** The addresses and the pages of this look that were compared. */
  checked: number;
  pages: number;
  /** Whether the server named more addresses than one look compares. */
  more: boolean;
  /** Whether it left numbers out of its list. */
  held: boolean;
  /** Foreign addresses that nobody has looked at; signing is stopped. */
  found: Foreign[];
  /** Why something could not be compared, and oddities; in words. */
  notes: string[];
};

export type Audited = Pick<Server, 'url' | 'proxy' | 'service' | 'joined'>;

export type AuditOptions = {
  /** The server's folder. */
  folder: string;
  /** Milliseconds since 1970. */
  now: () => number;
  env: Network['env'];
  /** Ends the look. */
  signal: AbortSignal;
};

/** The memory of the looks so far at a server, by its public key; null: there was none. */
export async function auditedIn(folder: string, service: string): Promise<Memory | null> {
  const text = await readFile(join(folder, FILE), 'utf8').catch(() => null);
  // without a memory it begins anew, and leaves nothing out
  const memory = text === null ? null : (Memory.safeParse(jsonOf(text)).data ?? null);
  return memory?.service === undefined || memory.service === service ? memory : null;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * One look. `server`: that `call` asks, as this computer joined it. Throws as `call`, and the disk's errors, unless the look has
 * raised the alarm by then: a server that ends the connection keeps nobody from being told.
 */
export async function look(call: Call, server: Audited, options: AuditOptions): Promise<Look> {
  const { folder, now } = options;
  const accounts = await readAccounts(folder);
  const memory = await memoryOf(folder, server);
  const result: Look = { checked: 0, pages: 0, more: false, held: false, found: [], notes: [] };
  const at = toIso(now());
  if (Object.keys(accounts).length === 0) {
    result.notes.push(
      'This computer has derived no public keys yet, so it compares nothing: `signer audit` derives them.',
    );
    return result;
  }
  const judge = new Judge({ folder, accounts }, at, result);
  const keep = async (change: Partial<Memory>): Promise<void> => {
    Object.assign(memory, change);
    result.found.push(...(await raiseAlarm(folder, judge.taken(), server)));
    await replaceFile(join(folder, FILE), `${JSON.stringify({ ...memory, at }, null, 2)}\n`);
  };
  try {
    await compareGiven(call, memory, judge, keep);
    const isToEnd = !result.held && !result.more;
    await keep({ heldSince: result.held ? (memory.heldSince ?? at) : null, ...(!isToEnd && { wholeAt: null }) });
    await compareOpen(call, memory, judge, { options, keep, server });
    if (isToEnd && memory.before === null) await keep({ wholeAt: at });
  } catch (error) {
    if (result.found.length === 0) throw error;
    result.notes.push((error as Error).message);
  }
  return result;
}

/** Anew for another server than the last one, and where nothing says of which one it is. */
async function memoryOf(folder: string, { service }: Audited): Promise<Memory> {
  const memory = await auditedIn(folder, service);
  return memory?.service === undefined ? { ...FRESH, service } : memory;
}

type Keep = (change: Partial<Memory>) => Promise<void>;

/** Compares the addresses that were given out since the last look. */
async function compareGiven(call: Call, memory: Memory, judge: Judge, keep: Keep): Promise<void> {
  const { notes } = judge.result;
  // the newest one of the last look comes again, which shows that it is the same list
  let from = memory.last?.no ?? 1;
  for (let left = GIVEN_MAX; left > 0; ) {
    const limit = Math.max(2, Math.min(PAGE, left));
    const { given, last } = await call('address.given', { from, limit });
    const known = memory.last;
    const [first] = given;
    if (known && (first?.no !== known.no || first.addresses[0] !== known.address)) {
      notes.push(
        `The server's list of addresses is not the one of the last look. It ended with number ${known.no}, and ends with ${last} now. A restored backup does that, and so does somebody who hides addresses. All of it is compared anew.`,
      );
      from = 1;
      await keep({ last: null, before: null, wholeAt: null });
      continue;
    }
    const isWhole = given.length === Math.min(limit, last - from + 1) && given.every(({ no }, at) => no === from + at);
    if (!isWhole && last >= from) {
      judge.result.held = true;
      notes.push(`The server leaves addresses out of its list, from number ${from} on. They are asked for again.`);
      return;
    }
    const fresh = given.filter(({ no }) => no !== known?.no);
    await judge.listed(fresh);
    const end = fresh.at(-1);
    if (end) await keep({ last: { no: end.no, address: end.addresses[0]! }, checked: memory.checked + fresh.length });
    if (!end || end.no >= last) return;
    from = end.no;
    left -= fresh.length;
  }
  judge.result.more = true;
}

type Where = { options: AuditOptions; keep: Keep; server: Audited };

/** Compares what unpaid invoices show now, and opens the page of one of them. */
async function compareOpen(call: Call, memory: Memory, judge: Judge, { options, keep, server }: Where): Promise<void> {
  const asked = { before: memory.before ?? undefined, limit: OPEN_MAX };
  const { open, pages, next } = await call('address.open', asked);
  await judge.listed(open);
  await keep({ before: next });
  const real = open.filter(({ network }) => network !== 'sandbox');
  if (real.length === 0) return;
  const { invoice } = real[randomInt(real.length)]!;
  const isOfPage = (one: { invoice: string | null; network: string }) =>
    one.invoice === invoice && one.network !== 'sandbox';
  const { openPage } = await import('./open-page.ts');
  const { readPage } = await import('./page-text.ts');
  let seen: Partial<Memory> = {};
  try {
    const address = pageOf(pages, invoice);
    const { env, signal } = options;
    const network = { local: isOwnNetwork(server.url), proxy: server.proxy, env, signal };
    const text = readPage(await openPage(address, network));
    // a payer may have chosen another coin, or have paid, between the two questions; a server that shows a foreign address may say so, too
    const later = await call('address.open', asked).catch(() => null);
    const after = later?.open.filter(isOfPage) ?? [];
    const rows = [...real.filter(isOfPage), ...after];
    if (after.length === 0) rows.push(...(await newestOf(call, memory, invoice).catch(() => [])));
    if (await judge.page(rows, text)) {
      seen = { pages: memory.pages + 1, pageAt: toIso(options.now()) };
      judge.result.pages += 1;
    }
  } catch (error) {
    judge.result.notes.push((error as Error).message);
  }
  await keep(seen);
}

/** The addresses that were given out last: of an invoice that is paid by now. */
async function newestOf(call: Call, memory: Memory, invoice: string) {
  const { last } = await call('address.given', { from: memory.last?.no ?? 1, limit: 2 });
  const { given } = await call('address.given', { from: Math.max(1, last - PAGE + 1), limit: PAGE });
  return given.flatMap((one) => (one.invoice === invoice ? [{ ...one, invoice }] : []));
}

/** Throws for a text that is no page of an invoice. */
function pageOf(pages: string, invoice: string): string {
  if (!/^https?:\/\/[^?#]*\/pay\/$/.test(pages) || !/^\w{1,64}$/.test(invoice)) {
    throw new Error(`The server names no payment page: ${pages}${invoice}`);
  }
  return `${pages}${invoice}`;
}

/** Whether the server is on this computer or its network, so that its pages may be, too. */
function isOwnNetwork(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || isLocalAddress(host);
}

class Judge {
  readonly #folder: string;
  #accounts: Accounts;
  readonly #at: string;
  readonly result: Look;
  #found: Foreign[] = [];

  /** `accounts`: those of the folder, when the look began. */
  constructor({ folder, accounts }: { folder: string; accounts: Accounts }, at: string, result: Look) {
    this.#folder = folder;
    this.#accounts = accounts;
    this.#at = at;
    this.result = result;
  }

  /** The foreign addresses since the last call. */
  taken(): Foreign[] {
    const found = this.#found;
    this.#found = [];
    return found;
  }

  /** Addresses that the server names. */
  async listed(rows: readonly (GivenAddress & { invoice: string | null })[]): Promise<void> {
    await this.#know(rows);
    for (const one of rows) {
      this.#compare(one);
      await turn();
    }
  }

  #compare(one: GivenAddress & { invoice: string | null }): void {
    this.result.checked += 1;
    // the sandbox's wallet is the server's; its money is play money
    if (one.network === 'sandbox') return;
    const own = this.#own(one);
    for (const text of one.addresses) {
      if (!isSame(own, text, one)) this.#foreign('list', one, own, text);
    }
  }

  /** The page of an unpaid invoice. `rows`: where the server says that its addresses are. False: it shows none now. */
  async page(rows: readonly (GivenAddress & { invoice: string })[], text: PageText): Promise<boolean> {
    const { isAmount, isCodeOf, addressIn } = await import('./page-text.ts');
    await this.#know(rows);
    const ours = rows.map((one) => ({ one, own: this.#own(one) }));
    const placeOf = (shown: string) => ours.find(({ one, own }) => isSame(own, shown, one));
    const { one, own } = text.addresses.map(placeOf).find((place) => place !== undefined) ?? ours[0]!;
    const isOurs = (shown: string | null): boolean => shown !== null && placeOf(shown) !== undefined;
    const copied = text.copied.filter((value) => !isAmount(value));
    const foreign = [...text.addresses, ...copied].filter((value) => !isOurs(value));
    const links = text.links.filter((link) => !isOurs(addressIn(link)));
    for (const shown of foreign) this.#foreign('page', one, own, shown);
    for (const link of links) this.#foreign('page', one, own, addressIn(link) ?? link);
    if (text.isCrowded) this.#foreign('page', one, own, 'more addresses than a payment page has');
    const texts = [...text.addresses, ...text.links];
    for (const code of text.codes) {
      if (code === null) this.result.notes.push(`The QR code of invoice ${one.invoice} could not be read`);
      else if (!texts.some((may) => isCodeOf(code, may))) {
        this.#foreign('code', one, own, 'a QR code that holds another text than the page');
      }
    }
    return text.addresses.length > 0;
  }

  /** Reads accounts that were made since the look began: their keys are kept before the server gets them. */
  async #know(rows: readonly GivenAddress[]): Promise<void> {
    if (rows.some((one) => one.network !== 'sandbox' && this.#keyOf(one) === null)) {
      this.#accounts = await readAccounts(this.#folder);
    }
  }

  #keyOf = ({ network, chain, account_no }: GivenAddress) => accountIn(this.#accounts, network, account_no, chain);

  /** The address of our keys at its place; null: there is no such account here. */
  #own(one: GivenAddress): string | null {
    const { network, chain, index } = one;
    const key = this.#keyOf(one);
    return key === null || !isIndex(index) ? null : ownAddress(key, chain, network, index);
  }

  #foreign(
    where: Foreign['where'],
    one: GivenAddress & { invoice: string | null },
    own: string | null,
    text: string,
  ): void {
    const { network, chain, account_no, index, invoice } = one;
    const shown = text.slice(0, SHOWN_CHARS_MAX);
    this.#found.push({ at: this.#at, where, invoice, network, chain, account_no, index, shown, own });
  }
}

function isSame(own: string | null, text: string, { chain, network }: GivenAddress): boolean {
  if (own === null) return false;
  const form = comparable(text, chain, network);
  return form !== null && form === comparable(own, chain, network);
}
