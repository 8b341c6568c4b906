/** A refund at the counter: asked for here, its address typed by the customer, and approved elsewhere. */
import { type ReactNode, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useChange, useConnection } from '../../data.tsx';
import { Sheet } from '../../parts/controls.tsx';
import { Problem, State, useCoinText } from '../../parts/parts.tsx';
import { QrCode } from '../../parts/qr.tsx';
import type { Shop, T } from './counter.tsx';

type Sale = Result<'counter.sale'>;
type Props = { data: Sale; shop: Shop; t: T };
type Asked = NonNullable<Sale['refund']>;

const LOOKS = {
  waits: ['waiting', 'quiet', 'refundWaits'],
  given: ['approve', 'main', 'refundGiven'],
  approved: ['waiting', 'quiet', 'refundApproved'],
  sent: ['seen', 'main', 'refundSent'],
  done: ['done', 'good', 'refundDone'],
} as const satisfies Record<Asked['state'], unknown>;

export function Refund({ data, shop, t }: Props): ReactNode {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button large outline" onClick={() => setOpen(true)}>
        {t('refund')}
      </button>
      <Sheet title={t('refundTitle')} open={open} onClose={() => setOpen(false)}>
        {data.refund ? <UnderWay refund={data.refund} shop={shop} t={t} /> : <Ask data={data} shop={shop} t={t} />}
        <div className="actions">
          <button type="button" className="button" onClick={() => setOpen(false)}>
            {t('shut')}
          </button>
        </div>
      </Sheet>
    </>
  );
}

function Ask({ data, shop, t }: Props): ReactNode {
  const { up } = useConnection();
  const ask = useChange('counter.refund', 'counter.', 'invoice.', 'refundLink.');
  if (shop.reach === 'computer') return <p>{t('refundElsewhere')}</p>;
  return (
    <>
      <p>{t('refundNote')}</p>
      {ask.error && <Problem error={ask.error} />}
      <div className="actions">
        <button
          type="button"
          className="button filled"
          disabled={!up || ask.isPending}
          onClick={() => ask.mutate({ invoice: data.sale.invoice })}
        >
          {t('refundAsk')}
        </button>
      </div>
    </>
  );
}

function UnderWay({ refund, shop, t }: { refund: Asked; shop: Shop; t: T }): ReactNode {
  const coinText = useCoinText();
  const [shape, tone, text] = LOOKS[refund.state];
  return (
    <div className="till-refund">
      <p className="figure">{coinText(refund.amount, refund.crypto)}</p>
      {refund.state === 'waits' && shop.reach !== 'computer' && <QrCode text={refund.url} label={t('refundScan')} />}
      <p role="status">
        <State shape={shape} tone={tone}>
          {t(text)}
        </State>
      </p>
      {refund.state === 'waits' && <p>{t(shop.reach === 'computer' ? 'refundElsewhere' : 'refundScan')}</p>}
    </div>
  );
}
