/**
 * How SQLite carries the statements out. What is asked at every request, block or commit must not read a table that
 * grows with the number of invoices from end to end, and the partial indexes must be the ones that are used.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { READ, WRITE } from '../../../daemon/sandbox/statements.ts';
import { type Opened, opened } from './opened.ts';

type Statements = Record<string, { readonly sql: string }>;

const QUERIES = join(import.meta.dirname, '../../../daemon/store/queries');
const modules: Statements[] = await Promise.all(readdirSync(QUERIES).map((file) => import(join(QUERIES, file))));
const ALL = [...modules, READ, WRITE].flatMap((module) =>
  Object.entries(module as Statements).filter(([, { sql }]) => typeof sql === 'string'),
);

/** Everything of these may be read, one after the other: businesses and what each has a few of. */
const SMALL = [
  'brand',
  'business',
  'business_asset',
  'account',
  'client',
  'api_key',
  'alert',
  'rate_snapshot',
  'chain_state',
  'event_endpoint',
  'policy',
  'sqlite_sequence',
  'sandbox_chain',
  // a subquery that ends at a limit, and values without a table
  'some',
  'json_each',
  'CONSTANT',
];
/** These read the last row or, up to a limit, the oldest or newest ones, or an index that has only what they ask for. */
const READS_FEW: Record<string, string> = {
  newestCredit: 'SCAN credit',
  newestInvoice: 'SCAN invoice',
  newestInvoiceId: 'SCAN invoice USING COVERING INDEX invoice_by_amount',
  lastDebit: 'SCAN debit',
  lastGiven: 'SCAN given',
  lastVersion: 'SCAN spend_version',
  lastWithdrawal: 'SCAN withdrawal',
  unknownTokenBefore: 'SCAN unknown_token',
  skipWebhooks: 'SCAN webhook USING INDEX webhook_turn',
  wantedAbsences: 'SCAN absence USING INDEX absence_wanted',
  longWanted: 'SCAN absence USING INDEX absence_wanted',
  // to the limit of links
  linksAbove: 'SCAN link USING COVERING INDEX link_business',
  // one row a channel for each alert that is kept
  tellAgain: 'SCAN alert_notice',
  // those that wait alone
  withdrawalsWaiting: 'SCAN withdrawal USING INDEX withdrawal_waiting',
  doubtUnsigned: 'SCAN withdrawal USING INDEX withdrawal_waiting',
};

let it_: Opened;
beforeAll(async () => {
  it_ = await opened(null);
});
afterAll(() => it_.store.close());

function plan(sql: string): string[] {
  const slots = sql.match(/\?/g)?.length ?? 0;
  const rows = it_.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...new Array(slots).fill(null)) as { detail: string }[];
  return rows.map(({ detail }) => detail);
}

describe('no statement reads a growing table from end to end', () => {
  it.each(ALL)('%s', (name, { sql }) => {
    const scanned = plan(sql).filter((detail) => {
      const table = /^SCAN (\S+)/.exec(detail)?.[1];
      return table !== undefined && !SMALL.includes(table) && detail !== READS_FEW[name];
    });
    expect(scanned).toEqual([]);
  });
});

describe('no statement sorts what it found', () => {
  const SORTS_FEW = ['allBusinesses'];
  it.each(ALL.filter(([name]) => !SORTS_FEW.includes(name)))('%s', (_, { sql }) => {
    expect(plan(sql).filter((detail) => detail.includes('TEMP B-TREE'))).toEqual([]);
  });
});

it('no statement is compiled again because another value is bound', () => {
  const bare = ALL.filter(([, { sql }]) => /(?<!\+)\?/.test(sql));
  expect(bare.map(([name]) => name)).toEqual([]);
});

describe('an index is used', () => {
  it.each([
    ['nextFreeTarget', 'target_pool'],
    ['poolSize', 'target_pool'],
    ['nextUntouchedTarget', 'target_pool'],
    ['retireBelow', 'target_pool'],
    ['paidIndices', 'target_receiving'],
    ['derivedIn', 'target_receiving'],
    ['heldAbove', 'client_invoice_held'],
    ['targetIdByScript', 'sqlite_autoindex_target_1'],
    ['unsettledCredits', 'credit_unsettled'],
    ['unvaluedCredits', 'credit_unvalued'],
    ['creditsInBlock', 'credit_block'],
    ['creditsSpentInBlock', 'credit_spent_block'],
    ['creditsSpentUnconfirmed', 'credit_spent_pool'],
    ['creditsSpentAbove', 'credit_spent_height'],
    ['creditsOfTarget', 'credit_target'],
    ['creditByOutpoint', 'sqlite_autoindex_credit_1'],
    ['creditsOfTransaction', 'sqlite_autoindex_credit_1'],
    ['invoicesToCheck', 'invoice_check'],
    ['paymentsToCheck', 'payment_check'],
    ['nextWebhookTurn', 'webhook_turn'],
    ['nextOfTurn', 'webhook_turn'],
    ['scriptsOfOpenPayments', 'payment_check'],
    ['scriptsOfFormerTargets', 'former_target_open'],
    ['scriptsOfUnsettledCredits', 'credit_unsettled'],
    ['scriptsOfPendingSpends', 'credit_spent_pool'],
    ['scriptsGivenNext', 'target_pool'],
    ['expireIdempotentAnswers', 'idempotency_expiry'],
    ['apiKeyByHash', 'sqlite_autoindex_api_key_1'],
    ['heldWithdrawals', 'withdrawal_held'],
    ['untriedWithdrawals', 'withdrawal_approved'],
    ['triedWithdrawalsAbove', 'withdrawal_approved'],
    ['unclaimedWithdrawal', 'withdrawal_approved'],
    ['waitingWithdrawalsAbove', 'withdrawal_waiting'],
    ['expiredWithdrawals', 'withdrawal_deadline'],
    ['withdrawalsOfSpend', 'withdrawal_spend'],
    ['approvedByPolicySince', 'withdrawal_by_policy'],
    ['openSpends', 'spend_open'],
    ['coinsOf', 'credit_coin'],
    ['invoicesOfAmount', 'invoice_by_amount'],
    ['invoiceByRandomSlug', 'invoice_random_slug'],
    ['invoicesOfStatus', 'invoice_decided'],
    ['sliceOfStatus', 'invoice_decided'],
    ['countBetween', 'invoice_decided'],
    ['unpaidBelow', 'invoice_unpaid'],
    ['sliceOfUnpaid', 'invoice_unpaid'],
    ['unpaidBetween', 'invoice_unpaid'],
    ['countUnpaid', 'invoice_unpaid'],
    ['shortBetween', 'invoice_unpaid'],
  ])('%s: %s', (name, index) => {
    const found = ALL.find(([known]) => known === name);
    expect(plan(found![1].sql).join('\n')).toMatch(new RegExp(`USING (COVERING )?INDEX ${index}\\b`));
  });
});

/** The table and the indexes to which a statement writes. */
function writtenBy(name: string, table: string): (string | undefined)[] {
  const [, { sql }] = ALL.find(([known]) => known === name)!;
  const roots = it_.db.prepare('SELECT name, rootpage FROM sqlite_schema WHERE tbl_name = ?').all(table) as {
    name: string;
    rootpage: number;
  }[];
  const slots = sql.match(/\?/g)?.length ?? 0;
  const opcodes = it_.db.prepare(`EXPLAIN ${sql}`).all(new Array(slots).fill(1)) as { opcode: string; p2: number }[];
  return opcodes
    .filter(({ opcode }) => opcode === 'OpenWrite')
    .map(({ p2 }) => roots.find(({ rootpage }) => rootpage === p2)?.name)
    .sort();
}

it('entering a given address into its row writes to the index of the ready ones alone', () => {
  expect(writtenBy('assignTarget', 'target')).toEqual(['target', 'target_pool']);
});

it('no statement that decides an invoice, or its time, writes to where others are looked for', () => {
  expect(writtenBy('setInvoiceCheck', 'invoice')).toEqual(['invoice', 'invoice_check']);
  expect(writtenBy('setInvoiceStatus', 'invoice')).toEqual([
    'invoice',
    'invoice_check',
    'invoice_decided',
    'invoice_unpaid',
  ]);
});

it('no index in which a new invoice is begins with its business', () => {
  const indexes = it_.db.prepare(
    "SELECT sql FROM sqlite_schema WHERE tbl_name = 'invoice' AND sql LIKE 'CREATE INDEX%'",
  );
  const ofBusiness = (indexes.pluck().all() as string[]).filter((sql) => /ON invoice \(business_id/.test(sql));
  expect(ofBusiness).toEqual([expect.stringContaining("WHERE status <> 'unpaid'")]);
});
