/** Open alerts, and a trial of the channels that send them. */
import type { ReactNode } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { Page } from '../../frame/page.tsx';
import { type Translate, useLanguage, useText } from '../../i18n.ts';
import { useTimes } from '../../parts/format.ts';
import { ShapeIcon } from '../../parts/icons.tsx';
import { Answer, Empty, Foreign, Problem, Told } from '../../parts/parts.tsx';
import { wordsOf } from './kind-texts.ts';
import TEXTS from './texts.ts';

type Alert = Result<'alert.list'>['alerts'][number];

const READ_EVERY_MS = 15_000;

export default function Alerts(): ReactNode {
  const t = useText(TEXTS);
  const { up } = useConnection();
  const list = useCall('alert.list', {}, { every: READ_EVERY_MS });
  const seen = useChange('alert.seen', 'alert.', 'status');
  const test = useChange('alert.test');
  const ids = list.data?.alerts.flatMap(({ id }) => (id === 0 ? [] : [id])) ?? [];
  const actions = (
    <>
      <button type="button" className="button" disabled={!up || test.isPending} onClick={() => test.mutate({})}>
        {t('test')}
      </button>
      {ids.length > 1 && (
        <button type="button" className="button" disabled={!up} onClick={() => seen.mutate({ ids })}>
          {t('all')}
        </button>
      )}
    </>
  );
  const good = test.data?.channels.filter(({ error }) => error === null) ?? [];
  const bad = test.data?.channels.filter(({ error }) => error !== null) ?? [];
  return (
    <Page title={t('alerts')} actions={actions}>
      <div role="status">
        {test.data?.channels.length === 0 && <p className="quiet spaced">{t('noChannel')}</p>}
        {good.length > 0 && (
          <p className="good spaced">{t('sent', { channels: good.map(({ channel }) => channel).join(', ') })}</p>
        )}
        {bad.length > 0 && (
          <p className="bad spaced">
            <Foreign
              text={t('failed', { channels: bad.map(({ channel, error }) => `${channel} (${error})`).join(', ') })}
            />
          </p>
        )}
      </div>
      {(seen.error ?? test.error) && <Problem error={(seen.error ?? test.error)!} />}
      <Answer of={list}>
        {({ alerts, next }) =>
          alerts.length === 0 ? (
            <Empty title={t('empty')}>{t('emptyNote')}</Empty>
          ) : (
            <>
              <ul className="findings">
                {alerts.map((alert) => (
                  <Item
                    key={`${alert.id} ${alert.created_at}`}
                    alert={alert}
                    onSeen={(id) => seen.mutate({ ids: [id] })}
                    t={t}
                  />
                ))}
              </ul>
              {next && <p className="quiet">{t('more')}</p>}
            </>
          )
        }
      </Answer>
    </Page>
  );
}

type ItemProps = { alert: Alert; onSeen(id: number): void; t: Translate<keyof (typeof TEXTS)['en']> };

function Item({ alert, onSeen, t }: ItemProps): ReactNode {
  const { full } = useTimes();
  const { up } = useConnection();
  const language = useLanguage();
  return (
    <li>
      <span className="state warn">
        <ShapeIcon shape="warning" size={20} />
      </span>
      <p>
        <Told said={alert.message} />
        <span className="quiet advice">
          {full(alert.created_at)} · {wordsOf(alert.kind, language) ?? alert.kind}
          {alert.network && ` · ${alert.network}`}
        </span>
      </p>
      {alert.id !== 0 && (
        <button type="button" className="button" disabled={!up} onClick={() => onSeen(alert.id)}>
          {t('seen')}
        </button>
      )}
    </li>
  );
}
