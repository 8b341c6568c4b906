/** The payments that a plan would begin as of now, and its destination in groups, beside that of now. */
import type { ReactNode } from 'react';
import type { Asset } from '../../../daemon/domain/assets.ts';
import { cellsOf } from '../../../daemon/operator/address.ts';
import { useCall } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { isZero } from '../../parts/format.ts';
import { useMoney } from '../../parts/money.ts';
import { Answer, Coin, Facts, Foreign, Told } from '../../parts/parts.tsx';
import { Cells } from '../withdrawals/recipient.tsx';
import '../withdrawals/approve.css';
import { type Plan, type Preview as Previewed, type Terms, useWords } from './plans.ts';

type PreviewProps = { business: Business; asset: Asset; terms: Terms; name: string; before: Plan | null };

export function Preview({ business, asset, terms, name, before }: PreviewProps): ReactNode {
  const { t, moment } = useWords();
  const crypto = asset.symbol;
  const found = useCall('forwarding.preview', { business: `${business.id}`, crypto, terms });
  const other = before && before.address !== terms.address ? before.address : null;
  const { prefix, cells } = cellsOf(terms.address, other);
  return (
    <>
      <Answer of={found} rows={4}>
        {(preview) => (
          <>
            <h2>{preview.next_at === null ? t('preview') : t('previewAt', { at: moment(preview.next_at) })}</h2>
            <Sum preview={preview} least={terms.least ?? '0'} />
          </>
        )}
      </Answer>
      <p className="quiet">
        <Foreign text={t('toName', { name })} />
      </p>
      {other !== null && <p>{t('untilNow')}</p>}
      <Cells prefix={prefix} cells={cells} compared={other !== null} kind={other === null ? 'listed' : 'changed'} />
    </>
  );
}

function Sum({ preview, least }: { preview: Previewed; least: string }): ReactNode {
  const { t, coinText, share } = useWords();
  const money = useMoney();
  const { crypto, amount, payments, fee, fee_crypto, fee_share, gas, kept, free, problem, usd_value } = preview;
  if (amount === null || fee === null) {
    return (
      <>
        <p className="forward-sum">{t('nothing')}</p>
        {problem ? (
          <p className="warn">
            {t('cannot')} <Told said={problem} />
          </p>
        ) : (
          !isZero(least) && <p className="quiet">{t('tooLittle', { least: coinText(least, crypto) })}</p>
        )}
      </>
    );
  }
  const feeText = coinText(fee, fee_crypto);
  const worth = usd_value === null ? '–' : money.textOfUsd(usd_value);
  const values = { worth, kept: coinText(kept, crypto) };
  return (
    <>
      <p className="forward-sum">
        <Coin amount={amount} crypto={crypto} whole />
      </p>
      <p className="quiet">
        {fee_share === null
          ? t('summaryToken', { ...values, fee: feeText })
          : t('summary', { ...values, share: share(fee_share) })}
      </p>
      {payments > 1 && <p className="quiet">{t('payments', { n: payments })}</p>}
      {gas && (
        <p className="quiet">
          {t('gasFirst', {
            n: gas.addresses,
            amount: coinText(gas.amount, fee_crypto),
            fee: coinText(gas.fee, fee_crypto),
          })}
        </p>
      )}
      <Facts
        rows={[
          [t('free'), <Coin key="free" amount={free} crypto={crypto} whole />],
          [t('fee'), <Coin key="fee" amount={fee} crypto={fee_crypto} whole />],
          [t('sent'), <Coin key="sent" amount={amount} crypto={crypto} whole />],
          [t('kept'), <Coin key="kept" amount={kept} crypto={crypto} whole />],
        ]}
      />
    </>
  );
}
