/** Methods about the counter's items and closings. */
import { askClosingMail, askClosingMailAgain, mailOfClosing } from '../../app/notifications/closing-mail.ts';
import { closeDay, closingPage, nextClosing, type Report } from '../../app/operator/closing.ts';
import { findBusiness } from '../../app/operator/find.ts';
import { addItems, changeItem, itemsFor, type NewItem, removeItem } from '../../app/operator/items.ts';
import type { COUNTER } from '../../contract/counter.ts';
import { Rejected } from '../../domain/errors.ts';
import { closingMail } from './closing-mail.ts';
import type { Methods } from './context.ts';
import { closingJson, fiat, type Texts } from './present-closing.ts';

const newItem = ({
  name,
  category,
  price,
  vat,
  sold_out: soldOut,
}: Omit<NewItem, 'soldOut'> & { sold_out: boolean }) => ({
  name: name.trim(),
  category: category.trim(),
  price,
  vat,
  soldOut,
});

export const COUNTER_METHODS: Methods<typeof COUNTER> = {
  'item.list': ({ app }, { business }) => ({
    items: itemsFor(app.store, findBusiness(app, business)).map(({ id, name, category, price, vat, sold_out }) => ({
      id,
      name,
      category,
      price: fiat(price),
      vat,
      sold_out,
    })),
  }),
  'item.add': async ({ app }, { business, items }) => {
    await app.store.write((tx) => addItems(tx, findBusiness(app, business), items.map(newItem)));
    return {};
  },
  'item.change': async ({ app }, { business, id, ...item }) => {
    await app.store.write((tx) => changeItem(tx, findBusiness(app, business), id, newItem(item)));
    return {};
  },
  'item.remove': async ({ app }, { business, id }) => {
    await app.store.write((tx) => removeItem(app, tx, findBusiness(app, business), id));
    return {};
  },
  'closing.next': ({ app }, { business }) => {
    const { number, report } = nextClosing(app, findBusiness(app, business));
    return { closing: closingJson(number, report, null), mail_to: [...app.config.closing.mail] };
  },
  'closing.make': async ({ app }, { business: ref, number, language }) => {
    const business = findBusiness(app, ref);
    const made = await app.store.write((tx) => {
      const closed = closeDay(app, tx, business, number);
      if (closed === null) throw new Rejected('closing.number', 'The day was closed elsewhere meanwhile', 'number');
      const { id, report } = closed;
      askClosingMail(app, tx, id, closingMail(business, closingJson(number, report, null), language));
      return closingJson(number, report, mailOfClosing(tx, id));
    });
    return { closing: made };
  },
  'closing.mail': async ({ app }, { business: ref, number, language }) => {
    const business = findBusiness(app, ref);
    return app.store.write((tx) => {
      const { id, report } = askClosingMailAgain(app, tx, business, number, (report) =>
        closingMail(business, closingJson(number, report as Texts<Report>, null), language),
      );
      return { closing: closingJson(number, report as Texts<Report>, mailOfClosing(tx, id)) };
    });
  },
  'closing.list': ({ app }, { business, before = Number.MAX_SAFE_INTEGER, limit }) => ({
    closings: closingPage(app.store, findBusiness(app, business), before, limit).map(({ id, number, report }) =>
      closingJson(number, report as Texts<Report>, mailOfClosing(app.store, id)),
    ),
  }),
};
