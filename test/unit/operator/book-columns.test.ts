/** The accountant's file has every field of the books' rows, from the command line as from the console. */
import { expect, it } from 'vitest';
import { OPERATOR } from '../../../daemon/contract/operator.ts';
import { BOOK_COLUMNS } from '../../../daemon/operator/book-columns.ts';

it('has the columns that imports rely on, in this order', () => {
  expect(BOOK_COLUMNS.join(',')).toBe(
    'at,day,kind,business,network,crypto,amount,currency,value,usd_value,reference,address,tx_id,order_id,description,refund_of,' +
      'book_currency,book_rate,book_value,book_rate_at,vat',
  );
});

it('leaves out no field of a row', () => {
  const { rows } = OPERATOR['export.page'].result.shape;
  expect(Object.keys(rows.element.shape)).toEqual([...BOOK_COLUMNS]);
});
