/** The items of a payment link, as they are typed. */
import type { ReactNode } from 'react';
import { Icon } from '../../parts/icons.tsx';
import type { T } from './state.tsx';

/** `id`: null: a new one. `stock`: empty: any number. */
export type ItemText = { id: number | null; name: string; price: string; stock: string };

type Props = { items: ItemText[]; currency: string; change(items: ItemText[]): void; t: T };

export function Items({ items, currency, change, t }: Props): ReactNode {
  const set = (at: number, some: Partial<ItemText>): void =>
    change(items.map((item, i) => (i === at ? { ...item, ...some } : item)));
  return (
    <table className="links-items">
      <thead>
        <tr>
          <th scope="col">{t('item')}</th>
          <th scope="col">{t('price', { currency })}</th>
          <th scope="col">{t('atMost')}</th>
          <td />
        </tr>
      </thead>
      <tbody>
        {items.map((item, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the rows are fields without an identity
          <tr key={at}>
            <td>
              <input
                className="input"
                aria-label={t('item')}
                value={item.name}
                maxLength={80}
                onChange={(event) => set(at, { name: event.target.value })}
              />
            </td>
            <td>
              <input
                className="input"
                inputMode="decimal"
                aria-label={t('price', { currency })}
                value={item.price}
                onChange={(event) => set(at, { price: event.target.value })}
              />
            </td>
            <td>
              <input
                className="input"
                inputMode="numeric"
                aria-label={t('atMost')}
                value={item.stock}
                onChange={(event) => set(at, { stock: event.target.value.replace(/\D/g, '') })}
              />
            </td>
            <td>
              {items.length > 1 && (
                <button
                  type="button"
                  className="plain-icon"
                  aria-label={t('removeItem', { name: item.name })}
                  onClick={() => change(items.filter((_, i) => i !== at))}
                >
                  <Icon name="close" />
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
