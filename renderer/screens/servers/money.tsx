/** The consequences of a foreign address for the money. The knowledge of this computer is told apart from the word of the server. */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Alarm } from '../../../daemon/contract/signing-machine.ts';
import type { AlarmMoney, MoneyTold } from '../../../daemon/operator/desktop.ts';
import { useDesk } from '../../data.tsx';
import { useLanguage, useText } from '../../i18n.ts';
import { fiat, isZero, useTimes } from '../../parts/format.ts';
import { Facts, Foreign, Section, useCoinText } from '../../parts/parts.tsx';
import TEXTS from './money-texts.ts';

const READ_EVERY_MS = 15_000;
/** More are counted. */
const INVOICES_SHOWN_MAX = 5;

export function Money({ name, alarm }: { name: string; alarm: Alarm }): ReactNode {
  const t = useText(TEXTS);
  const { desktop } = useDesk();
  const { data } = useQuery({
    queryKey: ['desktop.alarmMoney', name],
    queryFn: () => desktop.alarmMoney(name),
    refetchInterval: READ_EVERY_MS,
  });
  const told = useTold();
  const signed = useSigned();
  if (!data) return null;
  const { asked, received, balance, by, byInvoices } = told(data.told);
  return (
    <Section title={t('title')} note={t('note')}>
      <div className="desk-money">
        <Facts
          rows={[
            [t('invoices'), <Invoices key="invoices" alarm={alarm} told={data.told} />],
            [t('asked'), <Value key="asked" text={asked} by={byInvoices} />],
            [t('paid'), <Value key="paid" text={t('unknown')} by={t('paidNote')} />],
            [t('received'), <Value key="received" text={received} by={byInvoices} />],
            [t('balance'), <Value key="balance" text={balance} by={by} />],
            [t('since'), <Value key="since" {...signed(data.signed, 'since')} />],
            [t('before'), <Value key="before" {...signed(data.signed, 'before')} />],
          ]}
        />
      </div>
    </Section>
  );
}

/** `by`: how it is known. */
function Value({ text, by }: { text: string; by: string }): ReactNode {
  return (
    <>
      <Foreign text={text} />
      <span className="quiet">{by}</span>
    </>
  );
}

function Invoices({ alarm: { seen, more }, told }: { alarm: Alarm; told: MoneyTold | null }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  // what only the server's list names was not seen on a page
  const isSaid = (name: string | null) => seen.every(({ invoice, where }) => invoice !== name || where === 'list');
  const names = [...new Set(seen.map(({ invoice }) => invoice))].map((name) =>
    isSaid(name) ? t('said', { name: name ?? t('nameless') }) : (name ?? t('nameless')),
  );
  const hidden = more + Math.max(0, names.length - INVOICES_SHOWN_MAX);
  const shown = names.slice(0, INVOICES_SHOWN_MAX).join(', ');
  const unpaid = told && `${t('unpaid', { n: told.unpaid })}, ${t('byServer', { time: times.short(told.at) })}`;
  return (
    <>
      <Foreign text={shown || t('unknown')} /> {hidden > 0 && t('more', { n: hidden })}
      <span className="quiet">{unpaid}</span>
    </>
  );
}

/** `by`: how all is known; `byInvoices`: of the first two. */
type ToldTexts = { asked: string; received: string; balance: string; by: string; byInvoices: string };

/** The word of the server, as texts. */
function useTold(): (told: MoneyTold | null) => ToldTexts {
  const t = useText(TEXTS);
  const language = useLanguage();
  const times = useTimes();
  const coin = useCoinText();
  return (told) => {
    if (told === null) {
      const [unknown, by] = [t('unknown'), t('silent')];
      return { asked: unknown, received: unknown, balance: unknown, by, byInvoices: by };
    }
    const listed = (texts: string[]) => texts.join(' · ') || t('nothing');
    const held = told.balances.map(({ network, crypto, amount, atLeast }) => {
      const text = `${coin(amount, crypto)}${network === 'mainnet' ? '' : ` (${network})`}`;
      return { isNothing: isZero(amount) && !atLeast, text: atLeast ? t('atLeast', { amount: text }) : text };
    });
    const by = t('byServer', { time: times.short(told.at) });
    return {
      asked: listed(told.asked.map(({ amount, unit }) => fiat(amount, unit, language))),
      received: listed(told.received.filter(({ amount }) => !isZero(amount)).map((one) => coin(one.amount, one.unit))),
      balance: listed(held.filter(({ isNothing }) => !isNothing).map(({ text }) => text)),
      by,
      byInvoices: `${t('covers', { n: told.covers })}, ${by}`,
    };
  };
}

/** The signatures made here, as texts. */
function useSigned(): (signed: AlarmMoney['signed'], when: 'since' | 'before') => { text: string; by: string } {
  const t = useText(TEXTS);
  return (signed, when) => {
    if (signed === null) return { text: t('unknown'), by: t('noRecord') };
    const { all, unasked } = signed[when];
    const text = all === 0 ? t('nothing') : t('signed', { n: all });
    return { text, by: unasked === 0 ? t('byRecord') : `${t('unasked', { n: unasked })}, ${t('byRecord')}` };
  };
}
