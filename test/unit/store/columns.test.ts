/** The table of columns is the database's, and what is written comes back as it was. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertInvoice, invoiceById } from '../../../daemon/store/queries/invoices.ts';
import { addressById, insertAddress } from '../../../daemon/store/queries/policies.ts';
import { TABLES } from '../../../daemon/store/schema.ts';
import { columnsBut, find, insert, remove, update } from '../../../daemon/store/statement.ts';
import { INVOICE, type Opened, opened } from './opened.ts';

let it_: Opened;
beforeAll(async () => {
  it_ = await opened(null);
});
afterAll(() => it_.store.close());

describe('the tables', () => {
  const own = Object.keys(TABLES).filter((name) => name !== 'sqlite_sequence');

  it('are those of the database', () => {
    const made = it_.db
      .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`)
      .pluck()
      .all();
    expect(own.sort()).toEqual((made as string[]).filter((name) => name !== 'kysely_migration').sort());
  });

  it.each(own)('%s has the columns of the database', (table) => {
    const made = it_.db.pragma(`table_info(${table})`) as { name: string }[];
    expect(Object.keys(TABLES[table as keyof typeof TABLES]).sort()).toEqual(made.map(({ name }) => name).sort());
  });
});

describe('values', () => {
  const rest = { id: 1, uuid: 'u', slug: 's', amount: 2n ** 80n, metadata: { a: '"', b: '' } };
  const invoice = { ...INVOICE, ...rest };

  it('come back as they were written, NULL as null', async () => {
    await it_.store.write((tx) => tx.run(insertInvoice, invoice));
    expect(it_.store.get(invoiceById, { id: 1 })).toEqual({ ...invoice, deleted_at: null, random_slug: false });
    const stored = it_.db.prepare('SELECT amount, tolerance, automatic_redirect, metadata FROM invoice').get();
    const text = { amount: (2n ** 80n).toString(), tolerance: '0', metadata: '{"a":"\\"","b":""}' };
    expect(stored).toEqual({ ...text, automatic_redirect: 1 });
  });

  it('keep when parts of a deposit were seen', async () => {
    const inherited: [number, bigint][] = [[1, 2n ** 70n]];
    await it_.store.write((tx) => {
      const plain = { chain_key: 'c', outpoint: 'o', txid: 't', asset: 'BTC' as const, units: 5n };
      const ids = { target_id: 1, account_id: 1, first_seen_at: 2, required: 1, maturity: 1 };
      const flags = { locked: false, replaceable: true, confirmed: false, settled: false, counted: false, gone: false };
      const row = { ...plain, ...ids, ...flags, inherited };
      tx.run(insert('credit', Object.keys(row) as (keyof typeof row)[]), row);
    });
    expect(it_.store.get(find('credit', 'txid'), { txid: 't' })).toMatchObject({
      inherited,
      units: 5n,
      usd_value: null,
    });
  });

  it('that are missing are refused', async () => {
    const { slug: _, ...rest } = invoice;
    const write = it_.store.write((tx) => tx.run(insertInvoice, rest as typeof invoice));
    await expect(write).rejects.toThrow('statement parameter slug is undefined');
  });
});

it('a row whose key is there is kept, or written over', async () => {
  const entry = { business_id: 1, chain: 'BTC', address: 'x', lookalike_key: 'x', created_at: 1 };
  await it_.store.write((tx) => tx.run(insertAddress, { ...entry, label: 'first' }));
  await it_.store.write((tx) => tx.run(insertAddress, { ...entry, label: 'second' }));
  expect(it_.store.get(addressById, { id: 1 })?.label).toBe('first');
  const save = insert('setting', columnsBut('setting'), ['key']);
  for (const value of ['1', '2']) await it_.store.write((tx) => tx.run(save, { key: 'k', value, updated_at: 1 }));
  expect(it_.store.all(find('setting', 'key'), { key: 'k' })).toEqual([{ key: 'k', value: '2', updated_at: 1 }]);
});

it('a change and a deletion take the rows that are named', async () => {
  await it_.store.write((tx) => {
    for (const txid of ['a', 'b']) {
      const block = { block_height: 1, block_hash: 'b' };
      tx.run(insert('dead_tx', columnsBut('dead_tx')), { txid, chain_key: 'c', conflict_txid: 'd', ...block });
    }
    tx.run(update('dead_tx', ['block_height'], 'txid', 'chain_key'), { txid: 'a', chain_key: 'c', block_height: 2 });
    tx.run(remove('dead_tx', 'txid'), { txid: 'b' });
  });
  const all = it_.store.all(find('dead_tx', 'chain_key'), { chain_key: 'c' });
  expect(all).toMatchObject([{ txid: 'a', block_height: 2 }]);
});
