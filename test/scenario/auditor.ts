/**
 * Checks a service from outside. It reads the simulated chains' own tables (read-only), asks the merchant and operator
 * APIs, takes the shop's word for the notifications that came, and works out for itself what must be. It shares no
 * arithmetic with the product: prices, digits and confirmations are written down here once more, as the contract has them.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Call, Result } from '../../daemon/contract/operator.ts';
import { textOf } from '../../daemon/domain/messages.ts';

type Invoice = Result<'invoice.show'>['invoice'];
type InboxItem = Result<'inbox.list'>['items'][number];

/**
 * US dollars per coin of the sandbox's samples, digits of a unit, and the confirmations from 0, 1,000 and 10,000 USD. ETH and its
 * tokens need a final block from 10,000 USD; the sandbox names none, so 96 blocks (three epochs of Ethereum) take its place.
 */
const FACTS: Record<string, { usd: bigint; decimals: number; needed: readonly [number, number, number] }> = {
  BTC: { usd: 60_000n, decimals: 8, needed: [1, 3, 6] },
  BCH: { usd: 400n, decimals: 8, needed: [1, 3, 6] },
  LTC: { usd: 80n, decimals: 8, needed: [3, 6, 12] },
  XMR: { usd: 160n, decimals: 12, needed: [10, 10, 10] },
  ETH: { usd: 3_000n, decimals: 18, needed: [12, 12, 96] },
  USDT_ERC20: { usd: 1n, decimals: 6, needed: [12, 12, 96] },
};
/** Nothing of XMR can be spent before. */
const XMR_SPENDABLE_DEPTH = 10;
const GRACE_MS = 24 * 3_600_000;
const PAGE = 200;

/** An output on a simulated chain, in the mempool (depth 0) or in a block. */
type Output = {
  chain: string;
  outpoint: string;
  txid: string;
  address: string;
  asset: string;
  units: bigint;
  depth: number;
  spent: boolean;
};

/** Calls `read` with a read-only connection. */
function reading<T>(dataDir: string, read: (db: Database.Database) => T): T {
  const db = new Database(join(dataDir, 'countinghouse.db'), { readonly: true, timeout: 5_000 });
  try {
    return read(db);
  } finally {
    db.close();
  }
}

/** Everything on the simulated chains that pays an address of ours. */
export function outputsToUs(dataDir: string): Output[] {
  type Row = Omit<Output, 'units' | 'depth' | 'spent'> & {
    units: string;
    height: number | null;
    tip: number;
    spent: number;
  };
  const rows = reading(
    dataDir,
    (db) =>
      db
        .prepare(
          `SELECT o.chain, o.outpoint, t.txid, ours.address, o.asset, o.units, t.block_height AS height,
             (SELECT max(height) FROM sandbox_block b WHERE b.chain = o.chain) AS tip, o.spent_by IS NOT NULL AS spent
           FROM sandbox_output o JOIN sandbox_tx t ON t.id = o.tx_id
           JOIN target ours ON ours.script = o.script AND ours.chain_key = 'sandbox:' || o.chain`,
        )
        .all() as Row[],
  );
  return rows.map(({ units, height, tip, spent, ...row }) => ({
    ...row,
    units: BigInt(units),
    depth: height === null ? 0 : tip - height + 1,
    spent: spent === 1,
  }));
}

/** Whether the service has read every simulated chain up to its tip, and no notification waits to be sent. */
export function isCaughtUp(dataDir: string): boolean {
  type Row = { checkpoint: string; hash: string };
  return reading(dataDir, (db) => {
    const rows = db
      .prepare(
        `SELECT s.checkpoint, b.hash FROM chain_state s JOIN sandbox_block b ON 'sandbox:' || b.chain = s.chain_key
         WHERE b.height = (SELECT max(height) FROM sandbox_block WHERE chain = b.chain)`,
      )
      .all() as Row[];
    const waiting = db.prepare(`SELECT count(*) FROM webhook WHERE state = 'waiting'`).pluck().get();
    return (
      waiting === 0 &&
      rows.length > 0 &&
      rows.every(({ checkpoint, hash }) => (JSON.parse(checkpoint) as { hash: string }[]).at(-1)?.hash === hash)
    );
  });
}

/** The integer that counts 10^-decimals of a decimal. */
export function toUnits(text: string, decimals: number): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  if (fraction.length > decimals) throw new Error(`${text} has more than ${decimals} digits after the point`);
  return BigInt(whole + fraction.padEnd(decimals, '0'));
}

const factsOf = (asset: string) => {
  const facts = FACTS[asset];
  if (!facts) throw new Error(`the auditor knows no ${asset}`);
  return facts;
};
const total = (outputs: readonly Output[]): bigint => outputs.reduce((sum, { units }) => sum + units, 0n);
/** Worth in 1e-8 US dollars, rounded down output by output. */
const worth = (outputs: readonly Output[]): bigint =>
  outputs.reduce((sum, { asset, units }) => {
    const { usd, decimals } = factsOf(asset);
    return sum + (units * usd * 100_000_000n) / 10n ** BigInt(decimals);
  }, 0n);

type Audited = {
  dataDir: string;
  /** GET of the merchant API: the answer's text. */
  get: (path: string) => Promise<string>;
  operator: Call;
  /** How often the shop was notified of an invoice. */
  notified: (slug: string) => number;
  /** True when nothing crashed: then every paid invoice was notified of exactly once, and not at most once. */
  calm: boolean;
  /** The service's clock. */
  now: number;
};

/** What is wrong, in words; empty when all is as it must be. */
export async function audit(audited: Audited): Promise<string[]> {
  const faults: string[] = [];
  const outputs = outputsToUs(audited.dataDir);
  const invoices = await allInvoices(audited.operator);
  const inbox = await allInbox(audited.operator);
  const { alerts } = await audited.operator('alert.list', {});
  const undone = new Set(invoices.filter(({ payment }) => payment?.undone).map(({ slug }) => slug));
  for (const { kind, message } of alerts) if (kind === 'chain.halted') faults.push(textOf(message));

  // of an overpayment the deposit counts for its invoice, and the inbox has the difference
  const unclaimed = inbox.filter(({ gone, reason }) => !gone && reason !== 'overpaid');
  const open = new Set(unclaimed.map(({ outpoint }) => outpoint));
  const counted = new Set<string>();
  for (const invoice of invoices) {
    const paying = outputs.filter(
      ({ address, asset }) => address === invoice.payment?.address && asset === invoice.payment.crypto,
    );
    const own = paying.filter(({ outpoint }) => !open.has(outpoint));
    for (const { outpoint } of own) counted.add(outpoint);
    faults.push(
      ...checkSums(invoice, own, outputs),
      ...checkStatus(invoice, own, outputs, { undone: undone.has(invoice.slug), now: audited.now }),
      ...checkNotice(invoice, audited),
    );
    faults.push(...checkShown(invoice, own, await audited.get(`/invoice/${invoice.slug}`)));
  }
  faults.push(
    ...checkAddresses(invoices),
    ...checkInbox(inbox, outputs),
    ...checkBalance(outputs, await audited.get('/balance')),
  );
  for (const { outpoint, asset, units } of outputs) {
    if (!counted.has(outpoint) && !open.has(outpoint)) {
      faults.push(`${units} units of ${asset} at ${outpoint} are in no invoice and not in the inbox`);
    }
  }
  return faults;
}

async function allInvoices(operator: Call): Promise<Invoice[]> {
  const slugs: string[] = [];
  for (let before: number | null | undefined; before !== null; ) {
    const page = await operator('invoice.list', { limit: PAGE, ...(before === undefined ? {} : { before }) });
    slugs.push(...page.invoices.map(({ slug }) => slug));
    before = page.next;
  }
  return Promise.all(slugs.map(async (slug) => (await operator('invoice.show', { invoice: slug })).invoice));
}

async function allInbox(operator: Call): Promise<InboxItem[]> {
  const items: InboxItem[] = [];
  for (let before: number | null | undefined; before !== null; ) {
    const page = await operator('inbox.list', { limit: PAGE, ...(before === undefined ? {} : { before }) });
    items.push(...page.items);
    before = page.next;
  }
  return items;
}

/** The confirmations that the transaction of an output needs: by all that it pays to us. */
function neededDepth(output: Output, outputs: readonly Output[]): number {
  const whole = worth(outputs.filter(({ chain, txid }) => chain === output.chain && txid === output.txid));
  const [low, middle, high] = factsOf(output.asset).needed;
  return whole >= 1_000_000_000_000n ? high : whole >= 100_000_000_000n ? middle : low;
}

const confirmedOf = (own: readonly Output[], outputs: readonly Output[]): Output[] =>
  own.filter((output) => output.depth >= neededDepth(output, outputs));

function checkSums(invoice: Invoice, own: readonly Output[], outputs: readonly Output[]): string[] {
  const { payment, slug } = invoice;
  if (!payment) return own.length === 0 ? [] : [`${slug} has money without a payment`];
  const { decimals } = factsOf(payment.crypto);
  const faults: string[] = [];
  const compare = (what: string, said: string, is: bigint, digits: number): void => {
    if (toUnits(said, digits) !== is) faults.push(`${slug} says ${what} ${said}, the chain ${is} units`);
  };
  const confirmed = confirmedOf(own, outputs);
  compare('received', payment.received, total(own), decimals);
  compare('confirmed', payment.confirmed, total(confirmed), decimals);
  compare('received_value', payment.received_value, worth(own), 8);
  compare('confirmed_value', payment.confirmed_value, worth(confirmed), 8);
  return faults;
}

function checkStatus(
  invoice: Invoice,
  own: readonly Output[],
  outputs: readonly Output[],
  { undone, now }: { undone: boolean; now: number },
): string[] {
  const { slug, status, payment, deleted_at } = invoice;
  const amount = toUnits(invoice.amount, 8);
  const onePercent = amount / 100n;
  const tolerance = onePercent < 500_000_000n ? onePercent : 500_000_000n;
  const isPaid = worth(confirmedOf(own, outputs)) >= amount - tolerance;
  const faults: string[] = [];
  if (status === 'paid' && !isPaid && !undone) faults.push(`${slug} is paid without the money`);
  if (status === 'unpaid' && isPaid) faults.push(`${slug} is unpaid though its money is there`);
  if (status === 'canceled' && own.length > 0) faults.push(`${slug} is canceled and holds on to money`);
  const expected = { paid: ['paid'], canceled: ['overdue'], unpaid: ['pending', 'overdue'] }[status];
  if (payment && !expected.includes(payment.status)) faults.push(`${slug} is ${status}, its payment ${payment.status}`);
  const deadline = Date.parse(payment?.deadline_at ?? invoice.due_at);
  const isOver = now > deadline + GRACE_MS;
  if (status === 'canceled' && !isOver && deleted_at === null) faults.push(`${slug} was canceled too early`);
  const waits = worth(own) >= amount - tolerance || own.some((output) => output.depth < neededDepth(output, outputs));
  if (payment && status === 'unpaid' && isOver && !waits) faults.push(`${slug} should have been canceled`);
  const isDue = now > deadline;
  if (payment?.status === 'overdue' && status === 'unpaid' && !isDue) faults.push(`${slug} is overdue too early`);
  return faults;
}

function checkNotice(invoice: Invoice, { notified, calm }: Audited): string[] {
  const { slug, status, webhook_url, webhook } = invoice;
  const times = notified(slug);
  if (times > 1) return [`the shop was notified ${times} times of ${slug}`];
  if (status !== 'paid' || webhook_url === null) {
    return times === 0 && webhook === null ? [] : [`the shop was notified of ${slug}, which is ${status}`];
  }
  if (webhook === null) return [`no notification was queued for ${slug}`];
  if (webhook.state !== 'attempted' || webhook.attempts.length !== 1) {
    return [`the notification of ${slug} is ${webhook.state} after ${webhook.attempts.length} attempts`];
  }
  const [attempt] = webhook.attempts;
  if (times === 0 && (calm || attempt?.status != null)) return [`the shop was not notified of ${slug}`];
  return [];
}

function checkShown(invoice: Invoice, own: readonly Output[], text: string): string[] {
  type Shown = {
    status: string;
    payment: { received?: string; transactions?: { tx_id: string; confirmations: number }[] };
  };
  const shown = JSON.parse(text) as Shown;
  const faults: string[] = [];
  if (shown.status !== invoice.status) faults.push(`${invoice.slug}: the two APIs disagree on its status`);
  if (!invoice.payment) return faults;
  if (shown.payment.received !== invoice.payment.received) faults.push(`${invoice.slug}: … on what was received`);
  const line = (txid: string, depth: number): string => `${txid} ${depth}`;
  const said = (shown.payment.transactions ?? []).map(({ tx_id, confirmations }) => line(tx_id, confirmations));
  const are = own.map(({ txid, depth }) => line(txid, depth));
  if (said.sort().join() !== are.sort().join()) {
    faults.push(`${invoice.slug} shows the transactions [${said}], the chain has [${are}]`);
  }
  return faults;
}

function checkAddresses(invoices: readonly Invoice[]): string[] {
  const seen = new Map<string, string>();
  const faults: string[] = [];
  for (const { slug, payment } of invoices) {
    if (!payment) continue;
    const other = seen.get(payment.address);
    if (other !== undefined) faults.push(`${other} and ${slug} were given the same address`);
    seen.set(payment.address, slug);
  }
  return faults;
}

function checkInbox(inbox: readonly InboxItem[], outputs: readonly Output[]): string[] {
  const faults: string[] = [];
  const byOutpoint = new Map(outputs.map((output) => [output.outpoint, output]));
  for (const { outpoint, gone, amount, crypto, reason } of inbox) {
    const output = byOutpoint.get(outpoint);
    if (gone !== (output === undefined)) faults.push(`the inbox says of ${outpoint} gone ${gone}, the chain does not`);
    const units = toUnits(amount, factsOf(crypto).decimals);
    if (output && reason === 'overpaid') {
      const beside = outputs.filter(({ address, asset }) => address === output.address && asset === output.asset);
      const paid = beside.reduce((sum, one) => sum + one.units, 0n);
      if (units <= 0n || units >= paid) faults.push(`the inbox says ${amount} ${crypto} too much, of ${paid} units`);
    } else if (output && units !== output.units) {
      faults.push(`the inbox says ${amount} ${crypto} of ${outpoint}, the chain ${output.units} units`);
    }
  }
  return faults;
}

function checkBalance(outputs: readonly Output[], text: string): string[] {
  // the numbers as they are written: floating point would lose wei
  const said = new Map([...text.matchAll(/"(\w+)":([\d.]+)/g)].map(([, asset, number]) => [asset, number]));
  const faults: string[] = [];
  for (const [asset, { decimals }] of Object.entries(FACTS)) {
    const depth = asset === 'XMR' ? XMR_SPENDABLE_DEPTH : 1;
    const unspent = outputs.filter((output) => output.asset === asset && output.depth >= depth && !output.spent);
    const number = said.get(asset);
    if (number === undefined) faults.push(`the balance lacks ${asset}`);
    else if (toUnits(number, decimals) !== total(unspent)) {
      faults.push(`the balance of ${asset} is ${number}, on the chain ${total(unspent)} units are unspent`);
    }
  }
  return faults;
}
