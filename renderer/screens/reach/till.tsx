/** Pairs a tablet or a telephone of the shop's network, which then is a till and nothing else. */
import { type ReactNode, useState } from 'react';
import { useCall, useChange, useConnection } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { useText } from '../../i18n.ts';
import { useTimes } from '../../parts/format.ts';
import { Copy, Problem, State } from '../../parts/parts.tsx';
import { QrCode } from '../../parts/qr.tsx';
import './reach.css';
import TEXTS from './texts.ts';

const READ_EVERY_MS = 2_000;
const GROUP = /.{4}/g;

/** A code is of the business that was shown when it was made. */
export function PairTill({ business }: { business: Business }): ReactNode {
  const t = useText(TEXTS);
  const { up } = useConnection();
  const pair = useChange('till.pair', 'console.', 'reach.');
  return (
    <div className="till-pairing">
      <p className="quiet">{t('tillNote')}</p>
      {pair.data && <Pairing key={pair.data.code} link={pair.data} />}
      <button
        type="button"
        className="button"
        disabled={!up || pair.isPending}
        onClick={() => pair.mutate({ business: `${business.id}` })}
      >
        {t(pair.data ? 'pairAnother' : 'pair')}
      </button>
      {pair.error && <Problem error={pair.error} />}
    </div>
  );
}

type Link = { urls: string[]; code: string; ends_at: string };

function Pairing({ link }: { link: Link }): ReactNode {
  const t = useText(TEXTS);
  const { clock } = useTimes();
  const [at, setAt] = useState(0);
  const sessions = useCall('console.list', {}, { every: READ_EVERY_MS }).data?.sessions ?? [];
  const [known] = useState(() => new Set(sessions.map(({ id }) => id)));
  const paired = sessions.find(({ id, till }) => till && !known.has(id));
  const url = link.urls[at] ?? link.urls[0]!;
  if (paired) {
    return (
      <State shape="done" tone="good">
        {t('paired')}
      </State>
    );
  }
  return (
    <div className="pairing">
      <QrCode text={url} label={t('pairCode')} />
      <div>
        <p>
          <strong>{t('pairScan')}</strong>
        </p>
        <p>{t('pairType')}</p>
        <p className="mono pairing-code">{url.split('/#')[0]}</p>
        <p className="mono pairing-code">{link.code.match(GROUP)?.join(' ')}</p>
        <p className="quiet">{t('pairUntil', { time: clock(link.ends_at) })}</p>
        <p className="quiet">{t('pairSilence')}</p>
        {link.urls.length > 1 && (
          <button type="button" className="link" onClick={() => setAt((at + 1) % link.urls.length)}>
            {t('pairOther')}
          </button>
        )}{' '}
        <Copy text={url} label={t('copyLink')} />
      </div>
    </div>
  );
}
