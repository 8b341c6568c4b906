/** The tables of payment links and of refund links. */
import type { AssetId } from '../domain/assets.ts';
import type { LinkKind } from '../domain/links.ts';
import type { Message } from '../domain/messages.ts';
import { flag, int, json, made, maybe, only, text, time, units } from './columns.ts';

export const LINK_TABLES = {
  /** A page on which anybody makes an invoice of the business. */
  link: {
    id: made(int),
    /** Its public name, below `/pay/l/`. */
    slug: text,
    business_id: int,
    kind: only<LinkKind>(),
    name: text,
    about: maybe(text),
    currency: text,
    /** Where the payer chooses the amount: the least, 1e-8 of the currency, and the suggested ones as decimals. */
    least: maybe(units),
    suggested: json<string[]>(),
    /** From when on nothing more can be bought; null: never. */
    ends_at: maybe(time),
    /** When the merchant ended it. */
    ended_at: maybe(time),
    /** Its paid sales and what they came to, 1e-8: running totals. */
    paid: int,
    paid_amount: units,
    created_at: time,
    updated_at: time,
  },
  /** An item that a link sells. A fixed amount is one item. */
  link_item: {
    id: made(int),
    link_id: int,
    place: int,
    name: text,
    /** 1e-8 of the link's currency. */
    price: units,
    /** How many can be sold; null: any number. */
    stock: maybe(int),
    /** How many the paid and pending sales hold: a running total. Above `stock` where the merchant marked a sale as paid. */
    taken: made(int),
    /** 0 once the merchant removed it. Its sales keep it. */
    listed: flag,
  },
  /** An invoice that a link made. */
  link_sale: {
    invoice_id: int,
    link_id: int,
    /** 1 while its lines are in `taken`: it is paid, or unpaid with an address. */
    holds: flag,
    paid: flag,
  },
  link_line: {
    invoice_id: int,
    item_id: int,
    quantity: int,
    /** Of one, at the time of the sale. */
    price: units,
  },
  /** A page on which the payer of some money types, once, the address that it is sent back to. */
  refund_link: {
    id: made(int),
    /** Its public name, below `/pay/r/`: the only credential. */
    slug: text,
    business_id: int,
    /** The invoice whose money it is; null: a deposit that no invoice counts. */
    invoice_id: maybe(int),
    inbox_id: maybe(int),
    asset: only<AssetId>(),
    /** Null: the whole deposit, less the fee. */
    units: maybe(units),
    /** `open`: waits for the payer. `given`: the address was typed. `ended`: by the merchant. */
    state: only<'open' | 'given' | 'ended'>(),
    ends_at: time,
    address: maybe(text),
    given_at: maybe(time),
    withdrawal_id: maybe(int),
    /** Why there is no withdrawal, although the address was typed. */
    problem: maybe(json<Message>()),
    created_at: time,
    updated_at: time,
  },
};
