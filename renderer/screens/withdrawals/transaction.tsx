/** The effect of the transaction, as a sum that adds up. */
import { type ReactNode, useState } from 'react';
import { assetOf } from '../../../daemon/domain/assets.ts';
import { isEvm } from '../../../daemon/domain/evm.ts';
import type { ReviewView, Sum } from '../../../daemon/operator/view.ts';
import { useText } from '../../i18n.ts';
import { Coin, Copy, Fiat, Foreign, Hash, useCoinText } from '../../parts/parts.tsx';
import type { Verdict } from './recipient.tsx';
import TEXTS from './texts.ts';

/** `crypto`: where it is not the coin of the other lines. */
type Line = { key: string; text: ReactNode; sum: Sum; minus: boolean; crypto?: string };

export function Transaction({ view, raw, verdicts }: TransactionProps): ReactNode {
  const t = useText(TEXTS);
  const coinText = useCoinText();
  const [open, setOpen] = useState(false);
  const isApart = view.fee.asset !== view.takes.asset;
  const { chain } = assetOf(view.takes.asset);
  const takes = view.collect ? t('takesTank') : isEvm(chain) ? t('takesAddress') : t('takesCoins', { n: view.inputs });
  const lines: Line[] = [
    { key: 'takes', text: takes, sum: view.takes, minus: false },
    ...(view.kind === 'payment' ? view.payments : []).map(
      (one): Line => ({ key: one.address, text: <Paid verdict={verdicts[one.address]} />, sum: one.now, minus: true }),
    ),
    ...view.before.map((sum, at): Line => ({ key: `before ${at}`, text: t('paysBefore'), sum, minus: true })),
    {
      key: 'fee',
      text: t(isApart ? 'feeApart' : 'paysFee'),
      sum: view.fee,
      minus: true,
      ...(isApart ? { crypto: view.fee.asset } : {}),
    },
  ];
  return (
    <section className="section">
      <header className="section-head">
        <h2>{t('whatItDoes')}</h2>
        <span className="quiet">
          {t(view.collect ? 'afterCollecting' : view.decoded ? 'readFromBytes' : 'serviceStates')}
        </span>
        {raw && (
          <span className="side">
            <button type="button" className="link" aria-expanded={open} onClick={() => setOpen(!open)}>
              {t('rawBytes')}
            </button>
          </span>
        )}
      </header>
      {open && raw && (
        <p className="raw mono">
          {raw} <Copy text={raw} />
        </p>
      )}
      <table className="table sums">
        <tbody>
          {lines.map((line) => (
            <Row {...line} key={line.key} currency={view.currency} />
          ))}
          {!isEvm(chain) && (
            <Row
              text={t('comesBack')}
              sum={view.back ?? { ...view.takes, units: 0n, text: '0', worth: view.takes.worth && '0' }}
              minus={false}
              currency={view.currency}
              strong
            />
          )}
        </tbody>
      </table>
      {view.coins !== null && (
        <p className="quiet">
          {t('onlyCoins')}{' '}
          {view.coins.map((coin) => (
            <Hash key={coin} text={coin} />
          ))}
        </p>
      )}
      <p className="quiet">{t('feeMost', { fee: coinText(view.feeMax.text, view.feeMax.asset) })}</p>
    </section>
  );
}
type TransactionProps = { view: ReviewView; raw: string | null; verdicts: Record<string, Verdict> };

/** The recipient's name, where the address is his. */
function Paid({ verdict }: { verdict: Verdict | undefined }): ReactNode {
  const t = useText(TEXTS);
  if (!verdict || verdict.label === null || verdict.kind === 'lookalike') return t('paysAddress');
  return (
    <>
      {t('pays')} <Foreign text={verdict.label} />
    </>
  );
}

type RowProps = Omit<Line, 'key'> & { currency: string; strong?: boolean };

function Row({ text, sum, minus, crypto, currency, strong = false }: RowProps): ReactNode {
  return (
    <tr className={strong ? 'total' : ''}>
      <th scope="row">{text}</th>
      <td className="number">
        {minus && '−'}
        <Coin amount={sum.text} {...(crypto ? { crypto } : {})} whole />
      </td>
      <td className="number quiet sums-fiat">
        {sum.worth !== null && <Fiat amount={sum.worth} currency={currency} />}
      </td>
    </tr>
  );
}
