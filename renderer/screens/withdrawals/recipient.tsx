/** Who is paid: the whole address in numbered cells, each compared with what is known about its recipient. */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useMemo } from 'react';
import { type Cell, cellsOf } from '../../../daemon/operator/address.ts';
import type { PaymentView } from '../../../daemon/operator/view.ts';
import type { Result } from '../../bridge.ts';
import { useData, useServerName } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { foreign, useTimes } from '../../parts/format.ts';
import { ShapeIcon } from '../../parts/icons.tsx';
import { Foreign, Notice } from '../../parts/parts.tsx';
import TEXTS from './texts.ts';

type RecipientReport = Result<'withdrawal.recipient'>;

/**
 * `lookalike`: begins and ends like another known one, whatever else is known about it. `same`: the operator approved a completed
 * payment to this address before. `changed`: the last one went to another address. `listed`: in the address book, and no such payment
 * yet. `new`: nothing is known, or it could not be read.
 */
export type Verdict = {
  kind: 'same' | 'listed' | 'changed' | 'lookalike' | 'new';
  /** The name in the address book, to stand in a sentence. Of a lookalike: the other address's. */
  label: string | null;
  cells: readonly Cell[];
  most: string | null;
  /** When the operator first approved a payment to this very address. */
  firstAt: string | null;
  /** Payments that went out without asking the operator. */
  unasked: number;
};

const nameIn = (label: string | null): string | null => label && foreign(label);

function judge(
  address: string,
  known: RecipientReport | null,
): Verdict & { beside: string | null; besideAt: string | null } {
  const { last = null, lookalikes = [], most = null, unasked = 0 } = known ?? {};
  const label = nameIn(known?.label ?? null);
  const facts = { most, unasked, firstAt: known?.first_approved_at ?? null };
  const beside = (one: string, besideAt: string | null) => ({
    ...facts,
    beside: one,
    besideAt,
    cells: cellsOf(address, one).cells,
  });
  const [alike] = lookalikes;
  // nothing speaks for an address that could be mistaken for another
  if (alike) return { kind: 'lookalike', label: nameIn(alike.label), ...beside(alike.address, alike.paid_at) };
  if (last) return { kind: last.address === address ? 'same' : 'changed', label, ...beside(last.address, last.at) };
  const kind = label === null ? 'new' : 'listed';
  return { ...facts, kind, label, beside: null, besideAt: null, cells: cellsOf(address, null).cells };
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
  const known = useQuery<RecipientReport>({
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

function Name({
  verdict,
  known,
  plain,
}: {
  verdict: Judged;
  known: RecipientReport | null;
  plain: boolean;
}): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  if (plain) return t('thisAddress');
  if (verdict.kind === 'lookalike') return t(verdict.firstAt === null ? 'neverPaid' : 'knownAddress');
  if (verdict.kind === 'new') return t('neverPaid');
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

/** An address in numbered groups, each marked where it differs from the other address's. */
export function Cells({ prefix, cells, compared, kind }: CellsProps): ReactNode {
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

const FOUND = {
  same: 'sameSaid',
  changed: 'otherThanLast',
  listed: 'nothingToCompare',
  new: 'nothingToCompare',
} as const;

function Finding({ verdict, failed }: { verdict: Judged; failed: boolean }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  const isSaid = useServerName() !== null;
  const n = verdict.cells.length;
  if (verdict.kind === 'lookalike') return null;
  if (verdict.kind === 'same' && !isSaid) {
    return (
      <p className="finding good">
        <ShapeIcon shape="done" />
        {t('sameAsLast', {
          n,
          day: verdict.besideAt ? times.day(verdict.besideAt) : '',
          first: verdict.firstAt ? times.day(verdict.firstAt) : '',
        })}
      </p>
    );
  }
  return (
    <div className="finding warn">
      <ShapeIcon shape="warning" />
      <div>
        <p>{t(failed ? 'unknownHistory' : FOUND[verdict.kind])}</p>
        {verdict.unasked > 0 && <p>{t('unasked', { n: verdict.unasked })}</p>}
        <p className="quiet">{t('compareHow', { n })}</p>
      </div>
    </div>
  );
}
