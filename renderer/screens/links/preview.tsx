/** The customer's page of a payment link, in small, while it is edited. */
import type { ReactNode } from 'react';
import { nameOf, useBusiness } from '../../frame/business.tsx';
import { useLanguage } from '../../i18n.ts';
import { fiat } from '../../parts/format.ts';
import { Foreign } from '../../parts/parts.tsx';
import type { Draft } from './editor.tsx';
import type { T } from './state.tsx';

const SHOWN = 4;

export function Preview({ draft, t }: { draft: Draft; t: T }): ReactNode {
  const business = useBusiness();
  const language = useLanguage();
  const { kind, name, about, items, suggested, currency } = draft;
  const money = (text: string): string => {
    const plain = text.trim().replace(',', '.');
    return fiat(/^\d+(\.\d+)?$/.test(plain) ? plain : '0', currency, language);
  };
  const [only] = items;
  return (
    <div className="links-preview">
      <p className="quiet center">{t('preview')}</p>
      <div className="links-phone">
        <p>{business && <Foreign text={nameOf(business)} />}</p>
        <div className="links-card">
          <p className="links-name">
            <Foreign text={name || '…'} />
          </p>
          {about && (
            <p className="quiet">
              <Foreign text={about} />
            </p>
          )}
          {kind === 'fixed' && <p className="links-name">{money(only?.price ?? '')}</p>}
          {kind === 'open' && (
            <p className="links-tiles">
              {suggested
                .trim()
                .split(/\s+/)
                .filter(Boolean)
                .map((text) => (
                  <span key={text}>{money(text)}</span>
                ))}
            </p>
          )}
          {kind === 'items' &&
            items.slice(0, SHOWN).map((item, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the rows are fields without an identity
              <p key={at} className="links-line">
                <Foreign text={item.name || '…'} /> <span>{money(item.price)}</span>
              </p>
            ))}
          <p className="links-pay" aria-hidden="true">
            {kind === 'fixed' ? t('payButton', { amount: money(only?.price ?? '') }) : t('goOn')}
          </p>
        </div>
      </div>
    </div>
  );
}
