/** Slugs that lead to their invoices: one to one, telling nothing, and never another's after a restore. */
import { randomBytes, randomInt } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { invoiceNamed, nextInvoice, Permutation, Slugs } from '../../../daemon/app/invoices/slugs.ts';
import { sipKey } from '../../../daemon/kit/sip-hash.ts';
import { insertInvoice, invoiceById } from '../../../daemon/store/queries/invoices.ts';
import { Store } from '../../../daemon/store/store.ts';
import { INVOICE, type Opened, opened } from '../store/opened.ts';

const key = (): string => randomBytes(16).toString('hex');
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const SIDE = 62 ** 6;
const text = (length: number): string => Array.from({ length }, () => ALPHABET[randomInt(62)]).join('');

describe('the permutation', () => {
  it.each([1, 2, 7, 62, 100])('of all pairs below %i is one to one, and back', (side) => {
    const permutation = new Permutation(sipKey(key()), side);
    const seen = new Set<number>();
    for (let left = 0; left < side; left++) {
      for (let right = 0; right < side; right++) {
        const [first, second] = permutation.forward([left, right]);
        expect(first >= 0 && first < side && second >= 0 && second < side).toBe(true);
        seen.add(first * side + second);
        expect(permutation.back([first, second])).toEqual([left, right]);
      }
    }
    expect(seen.size).toBe(side * side);
  });

  it('of the real size leads back, from any pair and at the ends', () => {
    const permutation = new Permutation(sipKey(key()), SIDE);
    const ends = [0, 1, 2 ** 32 - 1, 2 ** 32, SIDE - 2, SIDE - 1];
    const pairs = ends.flatMap((left) => ends.map((right) => [left, right] as const));
    for (let n = 0; n < 5_000; n++) pairs.push([randomInt(2 ** 47) % SIDE, randomInt(2 ** 47) % SIDE]);
    for (const pair of pairs) {
      const there = permutation.forward(pair);
      expect(there.every((half) => Number.isInteger(half) && half >= 0 && half < SIDE)).toBe(true);
      expect(permutation.back(there)).toEqual(pair);
      expect(permutation.forward(permutation.back(pair))).toEqual(pair);
    }
  });
});

describe('a slug', () => {
  it('is 12 letters and digits, and leads to its number; any 12 lead to some number', () => {
    const slugs = new Slugs(key());
    for (const id of [1, 2, 1_000_000, 2 ** 31, 2 ** 33]) {
      const slug = slugs.of(id, text(6));
      expect(slug).toMatch(/^[A-Za-z0-9]{12}$/);
      expect(slugs.idOf(slug)).toBe(id);
    }
    for (let n = 0; n < 1_000; n++) expect(slugs.idOf(text(12))).toBeLessThan(SIDE);
  });

  /** Of n characters drawn from 62, chi squared has a mean of 61 and a deviation of 11. */
  const CHI_SQUARED_MAX = 61 + 7 * 11;

  it.each([
    ['with the same random characters', () => 'AAAAAA'],
    ['with their own', () => text(6)],
  ])('of a neighbour tells nothing, %s', (_, random) => {
    const slugs = new Slugs(key());
    const names = Array.from({ length: 20_000 }, (_unused, id) => slugs.of(id, random()));
    for (let place = 0; place < 12; place++) {
      const steps = new Array<number>(62).fill(0);
      for (let id = 1; id < names.length; id++) {
        const step = ALPHABET.indexOf(names[id]![place]!) - ALPHABET.indexOf(names[id - 1]![place]!);
        steps[(step + 62) % 62]!++;
      }
      const expected = (names.length - 1) / 62;
      const chi = steps.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
      expect(chi, `place ${place}`).toBeLessThan(CHI_SQUARED_MAX);
    }
  });

  it('is another one with another key, and the number of a guess is any', () => {
    const [one, other] = [new Slugs(key()), new Slugs(key())];
    const same = Array.from({ length: 1_000 }, (_, id) => one.of(id, 'AAAAAA') === other.of(id, 'AAAAAA'));
    expect(same).not.toContain(true);
    // changing one character of a slug leads to a number anywhere: of a thousand, none below a million
    const slug = one.of(5, text(6));
    const near = Array.from({ length: 60 }, (_, n) => one.idOf(slug.slice(0, 11) + ALPHABET[n]));
    expect(near.filter((id) => id < 1_000_000).length).toBeLessThanOrEqual(1);
  });
});

describe('in a database', () => {
  let it_: Opened | undefined;
  afterEach(() => it_?.store.close());

  /** Makes an invoice and gives its slug. */
  const make = (store: Store): Promise<{ id: number; slug: string }> =>
    store.write((tx) => {
      const named = nextInvoice(tx);
      tx.run(insertInvoice, { ...INVOICE, ...named, uuid: randomBytes(16).toString('hex') });
      return named;
    });

  it('each slug names its invoice alone, and neither an index nor another slug', async () => {
    it_ = await opened(null);
    const { store, db } = it_;
    const made: { id: number; slug: string }[] = [];
    for (let n = 0; n < 200; n++) made.push(await make(store));
    expect(made.map(({ id }) => id)).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
    for (const { id, slug } of made) expect(invoiceNamed(store, slug)?.id).toBe(id);
    expect(invoiceNamed(store, text(12))).toBeUndefined();
    for (const bad of ['', 'x', `${made[0]!.slug}x`, `${made[0]!.slug.slice(0, 11)}-`]) {
      expect(invoiceNamed(store, bad)).toBeUndefined();
    }
    // with its number and other random characters: it is not what the row says
    const secret = db.prepare(`SELECT value FROM setting WHERE key = 'slug_key'`).pluck().get() as string;
    const slugs = new Slugs(secret);
    const other = slugs.of(7, text(6));
    expect(slugs.idOf(other)).toBe(7);
    expect(invoiceNamed(store, other)).toBeUndefined();
    expect(db.prepare('SELECT count(*) FROM invoice WHERE random_slug = 1').pluck().get()).toBe(0);
  });

  it('is found by its row alone, once the key is known', async () => {
    it_ = await opened(null);
    const { store } = it_;
    const { id, slug } = await make(store);
    const get = vi.spyOn(store, 'get');
    expect(invoiceNamed(store, slug)?.id).toBe(id);
    expect(get.mock.calls.map(([asked]) => asked)).toEqual([invoiceById]);
  });

  it('a number that is given again, from an older copy of the database, gets another slug', async () => {
    it_ = await opened(null);
    const { store } = it_;
    const before = await make(store);
    const copy = await Store.inMemory(store.content());
    try {
      const lost = [await make(store), await make(store)];
      const again = [await make(copy), await make(copy)];
      expect(again.map(({ id }) => id)).toEqual(lost.map(({ id }) => id));
      expect(invoiceNamed(copy, before.slug)?.id).toBe(before.id);
      // the page of a payer of a lost invoice shows no other one
      for (const { slug } of lost) expect(invoiceNamed(copy, slug)).toBeUndefined();
      for (const { id, slug } of again) expect(invoiceNamed(copy, slug)?.id).toBe(id);
    } finally {
      await copy.close();
    }
  });

  it('two new databases have two keys', async () => {
    it_ = await opened(null);
    const { store } = it_;
    const copy = await Store.inMemory();
    try {
      const [here, there] = [await make(store), await make(copy)];
      expect(here.id).toBe(there.id);
      expect(invoiceNamed(copy, here.slug)).toBeUndefined();
      expect(invoiceNamed(store, there.slug)).toBeUndefined();
      expect(invoiceNamed(store, here.slug)?.id).toBe(1);
    } finally {
      await copy.close();
    }
  });
});

it('no statement removes an invoice, so no number is given again while the database lives', async () => {
  const folder = join(import.meta.dirname, '../../../daemon/store/queries');
  const modules: Record<string, { sql?: string }>[] = await Promise.all(
    readdirSync(folder).map((file) => import(join(folder, file))),
  );
  const texts = modules.flatMap((module) => Object.values(module).map(({ sql }) => sql ?? ''));
  expect(texts.filter((sql) => /^(delete from|replace into) "invoice"/i.test(sql))).toEqual([]);
  expect(texts.filter((sql) => /^insert into "invoice"/i.test(sql))).toHaveLength(1);
});
