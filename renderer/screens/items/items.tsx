/** The items of the counter: their list, one at a time, and many at once from a text. */
import { type FormEvent, type ReactNode, useState } from 'react';
import type { Params } from '../../bridge.ts';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { NoBusiness, useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { type Translate, useLanguage, useText } from '../../i18n.ts';
import { Field, Sure } from '../../parts/controls.tsx';
import { fiat, foreign } from '../../parts/format.ts';
import { TILL_CURRENCY } from '../../parts/money.ts';
import { Answer, Foreign, Head, Problem, Section } from '../../parts/parts.tsx';
import { href } from '../../router.ts';
import type { Item } from '../counter/cart.ts';
import { percentOf, rateOf } from './rate.ts';
import './items.css';
import TEXTS from './texts.ts';

type T = Translate<keyof (typeof TEXTS)['en']>;
type NewItem = Params<'item.add'>['items'][number];

const SHOWN_MAX = 100;
const AT_ONCE_MAX = 500;
const PRICE = /^\d{1,9}([.,]\d{1,2})?$/;

export default function Items(): ReactNode {
  const t = useText(TEXTS);
  const business = useBusiness();
  const ref = `${business?.id}`;
  const found = useCall('item.list', { business: ref }, { enabled: business !== null });
  const [edited, setEdited] = useState<number | null>(null);
  return (
    <Page title={t('items')} back={{ to: href('counter'), name: t('counter') }}>
      <Section title={t('add')}>
        <ItemForm business={ref} t={t} />
      </Section>
      <Section title={t('many')} note={t('manyNote')}>
        <Many business={ref} t={t} />
      </Section>
      <Section title={t('all')}>
        {business ? (
          <Answer of={found}>
            {({ items }) => <List items={items} business={ref} edited={edited} setEdited={setEdited} t={t} />}
          </Answer>
        ) : (
          <NoBusiness />
        )}
      </Section>
    </Page>
  );
}

type ListProps = {
  items: Item[];
  business: string;
  edited: number | null;
  setEdited(id: number | null): void;
  t: T;
};

function List({ items, business, edited, setEdited, t }: ListProps): ReactNode {
  const language = useLanguage();
  const currency = useBusiness()?.brand.currency ?? TILL_CURRENCY;
  const { up } = useConnection();
  const remove = useChange('item.remove', 'item.');
  const [text, setText] = useState('');
  const wanted = text.trim().toLowerCase();
  const shown = items.filter(({ name, category }) => `${name} ${category}`.toLowerCase().includes(wanted));
  if (items.length === 0) return <p className="quiet">{t('none')}</p>;
  return (
    <>
      <input
        className="input items-search"
        type="search"
        data-search
        aria-label={t('find')}
        placeholder={t('find')}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <div className="table-box">
        <table className="table">
          <Head
            columns={[
              t('name'),
              [t('category'), 'wide-only'],
              [t('price'), 'number'],
              [t('vat'), 'number'],
              [t('change'), 'number'],
            ]}
          />
          <tbody>
            {shown.slice(0, SHOWN_MAX).map((item) => (
              <tr key={item.id}>
                <td>
                  <Foreign text={item.name} /> {item.sold_out && <span className="quiet">{t('soldOut')}</span>}
                </td>
                <td className="wide-only quiet">
                  <Foreign text={item.category} />
                </td>
                <td className="number">{fiat(item.price, currency, language)}</td>
                <td className="number">{percentOf(item.vat, language)}</td>
                <td className="number items-actions">
                  <button type="button" className="link" onClick={() => setEdited(edited === item.id ? null : item.id)}>
                    {t('change')}
                  </button>{' '}
                  <Sure
                    label={t('remove')}
                    question={t('removeSure', { name: foreign(item.name) })}
                    yes={t('remove')}
                    disabled={!up}
                    onYes={() => remove.mutate({ business, id: item.id })}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length > SHOWN_MAX && <p className="quiet">{t('more', { n: shown.length - SHOWN_MAX })}</p>}
      {items
        .filter(({ id }) => id === edited)
        .map((item) => (
          <ItemForm key={item.id} business={business} item={item} onSaved={() => setEdited(null)} t={t} />
        ))}
      {remove.error && <Problem error={remove.error} />}
    </>
  );
}

type FormProps = { business: string; item?: Item; onSaved?(): void; t: T };

function ItemForm({ business, item, onSaved, t }: FormProps): ReactNode {
  const { up } = useConnection();
  const add = useChange('item.add', 'item.');
  const change = useChange('item.change', 'item.');
  const [name, setName] = useState(item?.name ?? '');
  const [price, setPrice] = useState(item?.price ?? '');
  const [category, setCategory] = useState(item?.category ?? '');
  const [vat, setVat] = useState(item?.vat == null ? '' : `${item.vat / 100}`);
  const [soldOut, setSoldOut] = useState(item?.sold_out ?? false);
  const rate = rateOf(vat);
  const isRight = name.trim() !== '' && PRICE.test(price.trim()) && rate !== undefined;
  const save = (event: FormEvent): void => {
    event.preventDefault();
    if (rate === undefined || !isRight) return;
    const wanted = { name: name.trim(), price: price.trim().replace(',', '.'), category: category.trim(), vat: rate };
    if (item) {
      change.mutate({ business, id: item.id, ...wanted, sold_out: soldOut }, { onSuccess: () => onSaved?.() });
      return;
    }
    const empty = (): void => {
      setName('');
      setPrice('');
    };
    add.mutate({ business, items: [wanted] }, { onSuccess: empty });
  };
  const error = add.error ?? change.error;
  return (
    <form className="items-form" onSubmit={save}>
      <Field label={t('name')} value={name} maxLength={100} onChange={(event) => setName(event.target.value)} />
      <Field
        label={t('price')}
        value={price}
        inputMode="decimal"
        error={price !== '' && !PRICE.test(price.trim()) ? t('noPrice') : null}
        onChange={(event) => setPrice(event.target.value)}
      />
      <Field
        label={t('category')}
        value={category}
        maxLength={100}
        onChange={(event) => setCategory(event.target.value)}
      />
      <Field
        label={t('vatPercent')}
        value={vat}
        inputMode="decimal"
        error={rate === undefined ? t('noRate') : null}
        onChange={(event) => setVat(event.target.value)}
      />
      {item && (
        <label className="check">
          <input type="checkbox" checked={soldOut} onChange={(event) => setSoldOut(event.target.checked)} />
          <span>{t('soldOut')}</span>
        </label>
      )}
      <button type="submit" className="button" disabled={!up || !isRight || add.isPending || change.isPending}>
        {t(item ? 'save' : 'addOne')}
      </button>
      {error && <Problem error={error} />}
    </form>
  );
}

/** "Espresso; 2.40; Drinks; 7", one a line. Lines that are none are told by their number. */
function linesOf(text: string): { items: NewItem[]; wrong: number[] } {
  const items: NewItem[] = [];
  const wrong: number[] = [];
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const [name = '', price = '', category = '', vat = ''] = line.split(/[;\t]/).map((part) => part.trim());
    const rate = rateOf(vat.replace(/\s*%$/, ''));
    if (name === '' || !PRICE.test(price) || rate === undefined) wrong.push(at + 1);
    else items.push({ name, price: price.replace(',', '.'), category, vat: rate });
  }
  return { items, wrong };
}

function Many({ business, t }: { business: string; t: T }): ReactNode {
  const { up } = useConnection();
  const add = useChange('item.add', 'item.');
  const [text, setText] = useState('');
  const { items, wrong } = linesOf(text);
  // a part that was added is taken out of the text, so that nothing is added twice
  const next = (rest: NewItem[]): void => {
    const part = rest.slice(0, AT_ONCE_MAX);
    const left = rest.slice(AT_ONCE_MAX);
    const said = left.map(({ name, price, category, vat }) =>
      [name, price, category, vat == null ? '' : vat / 100].join('; '),
    );
    add.mutate(
      { business, items: part },
      {
        onSuccess: () => {
          setText(said.join('\n'));
          if (left.length > 0) next(left);
        },
      },
    );
  };
  return (
    <div className="items-many">
      <textarea
        className="input mono"
        rows={4}
        aria-label={t('many')}
        placeholder={t('manyExample')}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {wrong.length > 0 && <p className="bad">{t('wrongLines', { lines: wrong.slice(0, 10).join(', ') })}</p>}
      <button
        type="button"
        className="button"
        disabled={!up || add.isPending || items.length === 0 || wrong.length > 0}
        onClick={() => next(items)}
      >
        {t('addMany', { n: items.length })}
      </button>
      {add.error && <Problem error={add.error} />}
    </div>
  );
}
