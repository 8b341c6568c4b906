/** Who is paid: the whole address in numbered cells, each compared with what is known about its recipient. */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useMemo } from 'react';
import { type Cell, cellsOf } from '../../../daemon/operator/address.ts';
import type { PaymentView } from '../../../daemon/operator/view.ts';
import type { Result } from '../../bridge.ts';
import { useData } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { useTimes } from '../../parts/format.ts';
import { ShapeIcon } from '../../parts/icons.tsx';
import { Foreign, Notice } from '../../parts/parts.tsx';
import TEXTS from './texts.ts';

type Known = Result<'withdrawal.recipient'>;

/**
 * `same`: paid before at this address. `listed`: in the address book, not paid yet. `changed`: paid before at another
 * address. `lookalike`: never paid, and begins and ends like a known one. `new`: nothing is known, or it could not be read.
 */
export type Verdict = {
  kind: 'same' | 'listed' | 'changed' | 'lookalike' | 'new';
  label: string | null;
  cells: readonly Cell[];
  most: string | null;
};

function judge(address: string, known: Known | null): Verdict & { beside: string | null; besideAt: string | null } {
  const { label = null, last = null, lookalikes = [], most = null } = known ?? {};
  const [alike] = lookalikes;
  const isKnown = label !== null || last !== null;
  if (last && last.address === address) {
    return { kind: 'same', label, most, beside: address, besideAt: last.at, cells: cellsOf(address, address).cells };
  }
  if (last) {
    const { cells } = cellsOf(address, last.address);
    return { kind: 'changed', label, most, beside: last.address, besideAt: last.at, cells };
  }
  if (alike && !isKnown) {
    const { cells } = cellsOf(address, alike.address);
    return { kind: 'lookalike', label: alike.label, most, beside: alike.address, besideAt: alike.paid_at, cells };
  }
  const kind = label === null ? 'new' : 'listed';
  return { kind, label, most, beside: null, besideAt: null, cells: cellsOf(address, null).cells };
}

type RecipientProps = {
  payment: PaymentView;
  /** Null: nothing can be asked about it. */
  place: { business: string; crypto: string } | null;
  /** False where the payment is not approved anew. */
  compares: boolean;
  canceled: boolean;
  /** Must be the same function in each rendering. */
  judged(address: string, verdict: Verdict): void;
};

export function Recipient({ payment, place, compares, canceled, judged }: RecipientProps): ReactNode {
  const t = useText(TEXTS);
  const { address } = payment;
  const input = { business: place?.business ?? '', crypto: place?.crypto ?? '', address };
  const { bridge } = useData();
  // read once: this payment itself must not count as an earlier one while its outcome is shown
  const known = useQuery<Known>({
    queryKey: ['recipient', input],
    queryFn: ({ signal }) => bridge.call('withdrawal.recipient', input, signal),
    enabled: place !== null && compares,
    staleTime: 'static',
    gcTime: 0,
  });
  const isReady = known.data !== undefined || known.error !== null || place === null || !compares;
  const compared = compares ? (known.data ?? null) : null;
  const verdict = useMemo(() => judge(address, compared), [address, compared]);
  const { prefix } = cellsOf(address, null);
  useEffect(() => {
    if (isReady && compares) judged(address, verdict);
    // judged once for each answer
  }, [isReady, verdict, judged, compares, address]);
  return (
    <section className="section recipient">
      <p className="quiet">{t(canceled ? 'notPaidTo' : 'to')}</p>
      <h2 className="recipient-name">
        <Name verdict={verdict} known={known.data ?? null} plain={!compares} />
      </h2>
      {compares && verdict.kind === 'lookalike' && <LookalikeNotice verdict={verdict} />}
      {verdict.beside !== null && verdict.kind !== 'same' && <Legend verdict={verdict} />}
      <Cells prefix={prefix} cells={verdict.cells} compared={compares && verdict.beside !== null} kind={verdict.kind} />
      {compares && isReady && <Finding verdict={verdict} failed={known.error !== null} />}
    </section>
  );
}

type Judged = ReturnType<typeof judge>;

function Name({ verdict, known, plain }: { verdict: Judged; known: Known | null; plain: boolean }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  if (plain) return t('thisAddress');
  if (verdict.kind === 'lookalike' || verdict.kind === 'new') return t('neverPaid');
  const name = verdict.label === null ? t('knownAddress') : <Foreign text={verdict.label} />;
  const since = known?.since ? t('inBook', { day: times.day(known.since) }) : t('notInBook');
  return (
    <>
      {name}{' '}
      <span className="quiet">
        {since}, {t('paidTimes', { n: known?.paid ?? 0 })}
      </span>
    </>
  );
}

function LookalikeNotice({ verdict }: { verdict: Judged }): ReactNode {
  const t = useText(TEXTS);
  const name = verdict.label ?? t('aKnownAddress');
  const differing = verdict.cells.filter(({ isSame }) => !isSame).length;
  return (
    <Notice tone="bad" title={t('lookalikeTitle', { name })}>
      {t('lookalikeText', { n: differing, all: verdict.cells.length })}
    </Notice>
  );
}

function Legend({ verdict }: { verdict: Judged }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  const name = verdict.label ?? t('aKnownAddress');
  return (
    <p className="legend">
      <span>
        <strong className="bad">{t('upperLine')}</strong> {t('thisWithdrawal')}
      </span>
      <span>
        <strong>{t('lowerLine')}</strong> <Foreign text={name} />
        {verdict.besideAt && `, ${t('paidOn', { day: times.day(verdict.besideAt) })}`}
      </span>
    </p>
  );
}

type CellsProps = { prefix: string; cells: readonly Cell[]; compared: boolean; kind: Verdict['kind'] };

function Cells({ prefix, cells, compared, kind }: CellsProps): ReactNode {
  const t = useText(TEXTS);
  const both = compared && kind !== 'same';
  return (
    <>
      {prefix && <p className="mono prefix">{prefix}</p>}
      <ol className="cells" aria-label={t('addressInGroups', { n: cells.length })}>
        {cells.map((cell) => (
          <li key={cell.number} className={compared && !cell.isSame ? 'cell differs' : 'cell'}>
            <span className="cell-number">
              {cell.number}
              {compared && <span> {cell.isSame ? '=' : '≠'}</span>}
              {compared && <span className="unseen">{t(cell.isSame ? 'equal' : 'different')}</span>}
            </span>
            <span className="cell-text">{cell.text || '–'}</span>
            {both && <span className="cell-text other">{cell.other || '–'}</span>}
          </li>
        ))}
        <li className="cell end" aria-hidden="true">
          {t('end')}
        </li>
      </ol>
    </>
  );
}

function Finding({ verdict, failed }: { verdict: Judged; failed: boolean }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  const n = verdict.cells.length;
  if (verdict.kind === 'lookalike') return null;
  if (verdict.kind === 'same') {
    return (
      <p className="finding good">
        <ShapeIcon shape="done" />
        {t('sameAsLast', { n, day: verdict.besideAt ? times.day(verdict.besideAt) : '' })}
      </p>
    );
  }
  return (
    <div className="finding warn">
      <ShapeIcon shape="warning" />
      <div>
        <p>{t(failed ? 'unknownHistory' : verdict.kind === 'changed' ? 'otherThanLast' : 'nothingToCompare')}</p>
        <p className="quiet">{t('compareHow', { n })}</p>
      </div>
    </div>
  );
}
