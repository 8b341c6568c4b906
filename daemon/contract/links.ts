/** The operator API's methods about payment links. */
import { z } from 'zod';
import { LINK_KINDS } from '../domain/links.ts';
import { changes, reads } from './method.ts';
import { Decimal, Id, Instant, Page, PositiveDecimal, Text } from './operator-shapes.ts';

/** More than any list may have: what is too long is refused by the rule that names the limit. */
const LIST_MAX = 20_000;
const STOCK = z.int().min(0).nullable().default(null);
const Day = z.iso.date().nullable().default(null);

const Wanted = {
  name: Text,
  about: z.string().max(2_000).nullable().default(null),
  /** The last day on which it can be used, in the business's time zone; null: no end. */
  ends_on: Day,
  /** Of `open`: the least amount, and suggested ones. */
  least: PositiveDecimal.nullable().default(null),
  suggested: z.array(PositiveDecimal).max(LIST_MAX).default([]),
  /** Of `fixed`, the one item that it is. `id`: of an item that the link has already. */
  items: z
    .array(z.strictObject({ id: Id.nullable().default(null), name: Text, price: PositiveDecimal, stock: STOCK }))
    .max(LIST_MAX)
    .default([]),
};

const LinkShape = z.object({
  id: Id,
  /** The end of its address. */
  link: z.string(),
  url: z.string(),
  /** HTML for a page of the merchant's own: a link that looks like a button. */
  snippet: z.string(),
  business_id: Id,
  business: z.string(),
  kind: z.enum(LINK_KINDS),
  state: z.enum(['open', 'ended', 'sold_out']),
  name: z.string(),
  about: z.string().nullable(),
  currency: z.string(),
  least: Decimal.nullable(),
  suggested: z.array(Decimal),
  items: z.array(
    z.object({
      id: Id,
      name: z.string(),
      price: Decimal,
      stock: z.int().nullable(),
      /** Held by the paid and pending sales. */
      taken: z.int(),
      left: z.int().nullable(),
    }),
  ),
  ends_on: z.string().nullable(),
  ended_at: Instant.nullable(),
  /** Its paid sales, and what they came to. */
  paid: z.int(),
  paid_amount: Decimal,
  /** The coins whose networks do not carry the least amount that can be paid on it. */
  too_small_for: z.array(z.string()),
  created_at: Instant,
});

const One = z.object({ link: LinkShape });
const Ref = z.string().min(1).max(100);

export const LINKS = {
  /** The newest first. */
  'link.list': reads(
    Page.extend({ business: Text.optional() }),
    z.object({ links: z.array(LinkShape), next: Id.nullable() }),
  ),
  'link.show': reads(z.strictObject({ link: Ref }), One),
  /** `link`: the end of its address; null: one from the name. `currency`: null: the business's. Throws `link.*`. */
  'link.add': changes(
    z.strictObject({
      business: Text,
      kind: z.enum(LINK_KINDS),
      currency: z.string().min(1).max(20).nullable().default(null),
      link: Ref.nullable().default(null),
      ...Wanted,
    }),
    One,
  ),
  /** Replaces what it says and sells. An item without its `id` is a new one. */
  'link.change': changes(z.strictObject({ link: Ref, ...Wanted }), One),
  /** Ends it, or with `ended` false opens it again. */
  'link.end': changes(z.strictObject({ link: Ref, ended: z.boolean().default(true) }), One),
} as const;
