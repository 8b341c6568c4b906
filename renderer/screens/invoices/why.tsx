/** "Why isn't this paid?": a plain verdict, and what can be done about it. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { ASSETS } from '../../../daemon/domain/assets.ts';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { useLanguage } from '../../i18n.ts';
import { exact, fiat } from '../../parts/format.ts';
import { Answer, Problem, Progress, shortName } from '../../parts/parts.tsx';
import { href } from '../../router.ts';
import type { T } from './invoices.tsx';
import type { Detail } from './panel.tsx';

type Explanation = Result<'invoice.explain'>;

const READ_EVERY_MS = 10_000;

export function Why({ invoice, t }: { invoice: Detail; t: T }): ReactNode {
  const [typed, setTyped] = useState('');
  const [text, setText] = useState<string | null>(null);
  const found = useCall('invoice.explain', { invoice: invoice.slug, text }, { every: READ_EVERY_MS });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setText(typed.trim() || null);
  };
  return (
    <section className="section why">
      <h2>{t(invoice.status === 'paid' ? 'whyNot' : 'why')}</h2>
      {(invoice.status !== 'paid' || text !== null) && (
        <Answer of={found} rows={2}>
          {(data) => <Verdict found={data} invoice={invoice} t={t} />}
        </Answer>
      )}
      <form className="why-form" onSubmit={submit}>
        <input
          className="input"
          aria-label={t('paste')}
          placeholder={t('paste')}
          value={typed}
          maxLength={300}
          onChange={(event) => setTyped(event.target.value)}
        />
        <button type="submit" className="button">
          {t('look')}
        </button>
      </form>
    </section>
  );
}

const RESCAN_EVERY_MS = 3_000;
const SEARCHED_AGAIN = ['waiting', 'unknown_transaction', 'expired'];

function Verdict({ found, invoice, t }: { found: Explanation; invoice: Detail; t: T }): ReactNode {
  const language = useLanguage();
  const values = {
    coin: found.crypto === null ? '' : shortName(found.crypto),
    received: found.received === null ? '' : exact(found.received, language),
    missing: found.missing_value ? fiat(found.missing_value, found.currency ?? invoice.currency, language) : '',
    have: found.confirmations ?? 0,
    need: found.required_confirmations ?? 0,
    network: found.network ?? '',
  };
  const other = found.invoice !== null && found.invoice !== invoice.slug ? found.invoice : null;
  return (
    <>
      <p aria-live="polite">
        <strong>{t(`v_${found.verdict}`, values)}</strong> {t(`v_${found.verdict}_n`, values)}
      </p>
      <div className="actions">
        {found.inbox !== null && (
          <a className="button filled" href={href('inbox', `${found.inbox}`)}>
            {t('decide')}
          </a>
        )}
        {other && (
          <a className="button" href={href('invoices', other)}>
            {t('ofInvoice')} {other}
          </a>
        )}
        {SEARCHED_AGAIN.includes(found.verdict) && invoice.payment && <Rescan invoice={invoice} t={t} />}
      </div>
    </>
  );
}

function Rescan({ invoice, t }: { invoice: Detail; t: T }): ReactNode {
  const { up } = useConnection();
  const business = useCall('business.list', {}).data?.businesses.find(({ id }) => id === invoice.business_id);
  const [begun, setBegun] = useState(false);
  const every = RESCAN_EVERY_MS;
  const sources = useCall('source.list', {}, { every }).data?.sources ?? [];
  const rescan = useChange('source.rescan', 'source.');
  const asset = ASSETS.find(({ symbol }) => symbol === invoice.payment?.crypto);
  const chain = sources.find((one) => one.network === business?.network && one.chain === asset?.chain);
  if (!chain || chain.network === 'sandbox') return null;
  if (chain.rescan_percent !== null) return <Progress percent={chain.rescan_percent}>{t('rescanning')}</Progress>;
  return (
    <>
      <button
        type="button"
        className="button"
        disabled={!up || rescan.isPending}
        onClick={() =>
          rescan.mutate(
            { network: chain.network, chain: chain.chain },
            { onSuccess: (answer) => setBegun(answer.begun) },
          )
        }
      >
        {t('rescan')}
      </button>
      {begun && (
        <span className="quiet" role="status">
          {t('rescanned')}
        </span>
      )}
      {rescan.error && <Problem error={rescan.error} />}
    </>
  );
}
