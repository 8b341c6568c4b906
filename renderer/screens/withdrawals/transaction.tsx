/** The effect of the transaction, as a sum that adds up. */
import { type ReactNode, useState } from 'react';
import type { ReviewView, Sum } from '../../../daemon/operator/view.ts';
import { useText } from '../../i18n.ts';
import { Coin, Copy, Fiat, Foreign, Hash } from '../../parts/parts.tsx';
import type { Verdict } from './recipient.tsx';
import TEXTS from './texts.ts';

type Line = { key: string; text: ReactNode; sum: Sum; minus: boolean };

export function Transaction({ view, raw, verdicts }: TransactionProps): ReactNode {
  const t = useText(TEXTS);
  const [open, setOpen] = useState(false);
  const isApart = view.fee.asset !== view.takes.asset;
  const nameOf = (address: string): ReactNode => {
    const verdict = verdicts[address];
    const isNamed = verdict && verdict.label !== null && verdict.kind !== 'lookalike';
    return isNamed ? (
      <>
        {t('pays')} <Foreign text={verdict.label!} />
      </>
    ) : (
      t('paysAddress')
    );
  };
  const lines: Line[] = [
    { key: 'takes', text: t('takesCoins', { n: view.inputs }), sum: view.takes, minus: false },
    ...(view.kind === 'payment' ? view.payments : []).map(
      (one): Line => ({ key: one.address, text: nameOf(one.address), sum: one.now, minus: true }),
    ),
    ...view.before.map((sum, at): Line => ({ key: `before ${at}`, text: t('paysBefore'), sum, minus: true })),
    { key: 'fee', text: t(isApart ? 'feeApart' : 'paysFee'), sum: view.fee, minus: true },
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
            <Row key={line.key} text={line.text} sum={line.sum} minus={line.minus} />
          ))}
          <Row
            text={t('comesBack')}
            sum={view.back ?? { ...view.takes, units: 0n, text: '0', usd: view.takes.usd && '0' }}
            minus={false}
            strong
          />
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
      <p className="quiet">{t('feeMost', { fee: `${view.feeMax.text} ${view.feeMax.asset}` })}</p>
    </section>
  );
}
type TransactionProps = { view: ReviewView; raw: string | null; verdicts: Record<string, Verdict> };

function Row({ text, sum, minus, strong = false }: Omit<Line, 'key'> & { strong?: boolean }): ReactNode {
  return (
    <tr className={strong ? 'total' : ''}>
      <th scope="row">{text}</th>
      <td className="number">
        {minus && '−'}
        <Coin amount={sum.text} whole />
      </td>
      <td className="number quiet sums-fiat">{sum.usd !== null && <Fiat amount={sum.usd} currency="USD" />}</td>
    </tr>
  );
}
