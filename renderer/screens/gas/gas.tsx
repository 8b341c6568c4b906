/** The gas desk: what was received on Ethereum and BNB Smart Chain, what can be spent, and collecting the rest. */
import type { ReactNode } from 'react';
import { type Business, useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { useText } from '../../i18n.ts';
import { scaled, sum, unscaled } from '../../parts/format.ts';
import { useMoney } from '../../parts/money.ts';
import { Answer, Empty, Fiat, Problem } from '../../parts/parts.tsx';
import { Collect } from './collect.tsx';
import { DeskSection } from './desk.tsx';
import { type DeskForecast, isOpen, MIN_USD, useDesks } from './desks.ts';
import { Plan } from './plan.tsx';
import TEXTS from './texts.ts';
import './gas.css';

export default function GasDesk(): ReactNode {
  const t = useText(TEXTS);
  const business = useBusiness();
  return (
    <Page title={t('title')} note={t('note')}>
      {business && <Desks key={business.id} business={business} />}
    </Page>
  );
}

function Desks({ business }: { business: Business }): ReactNode {
  const { id, network, account_no } = business;
  const desks = useDesks(`${id}`);
  return (
    <Answer of={desks} rows={8}>
      {(known) => (
        <>
          {/* without a connection the frame says it */}
          {desks.error && 'code' in desks.error && (
            <div className="section">
              <Problem error={desks.error} retry={() => void desks.refetch()} />
            </div>
          )}
          {/* the frame says whose gas it is and whether it is real: grants are for that account, whatever a desk says */}
          <Content known={known.map((one) => ({ ...one, desk: { ...one.desk, network, account_no } }))} />
        </>
      )}
    </Answer>
  );
}

function Content({ known }: { known: DeskForecast[] }): ReactNode {
  const t = useText(TEXTS);
  const money = useMoney();
  if (known.length === 0) return <Empty title={t('emptyTitle')}>{t('emptyText')}</Empty>;
  const ready = known.filter(({ desk, forecast }) => !isOpen(desk) && forecast.worth > 0);
  return (
    <>
      <p className="gas-intro">{t('intro')}</p>
      <Equation known={known} />
      <div className="gas">
        <div className="gas-desks">
          {known.map((one) => (
            <DeskSection key={one.desk.chain} {...one} />
          ))}
        </div>
        <aside className="panel gas-panel" aria-label={t('collect')}>
          {known.map(({ desk }) => desk.plan && <Plan key={desk.chain} desk={desk} plan={desk.plan} />)}
          {ready.length > 0 ? (
            <Collect ready={ready} />
          ) : (
            !known.some(({ desk }) => isOpen(desk)) && (
              <>
                <h2>{t('collect')}</h2>
                <p className="quiet">{t('nothing', { min: money.textOfUsd(MIN_USD) })}</p>
              </>
            )
          )}
        </aside>
      </div>
    </>
  );
}

/** Worth, less the highest fees, both cut to cents. Absent unless every part is known: what is shown adds up. */
function Equation({ known }: { known: DeskForecast[] }): ReactNode {
  const t = useText(TEXTS);
  const money = useMoney();
  const items = known.flatMap(({ forecast }) => forecast.items.filter(({ left }) => left === null));
  const worth = known.reduce((all, { forecast }) => all + forecast.worth, 0);
  const there = items.flatMap(({ usd_value }) => usd_value ?? []);
  const costs = known.flatMap(({ forecast }) => forecast.cost_usd ?? []);
  const isWhole = there.length === worth && costs.length === known.length;
  const lies = money.fromUsd(sum(there));
  const fees = money.fromUsd(sum(costs));
  if (worth === 0 || !isWhole || lies === null || fees === null) return null;
  const figures = [
    { name: t('lies', { n: new Set(items.map(({ address }) => address)).size }), amount: lies, sign: '', note: '' },
    { name: t('fees'), amount: fees, sign: '−', note: t('feesNote') },
    { name: t('after'), amount: unscaled(scaled(lies) - scaled(fees)), sign: '=', note: t('afterNote') },
  ];
  return (
    <dl className="gas-sum">
      {figures.map(({ name, amount, sign, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {sign && <span className="gas-sign">{sign}</span>}
            <strong>
              <Fiat amount={amount} currency={money.currency} />
            </strong>
            {note && <span className="quiet">{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
