/** The proof of the books: what was received less what left, against what the chain has. */
import type { ReactNode } from 'react';
import type { Result } from '../../bridge.ts';
import { useChange } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { Coin, Head, Problem, Said, Section, State } from '../../parts/parts.tsx';
import TEXTS from './texts.ts';

type Chain = Result<'ledger.prove'>['chains'][number];
const COLUMNS = ['received', 'paid_out', 'fees', 'adopted', 'held'] as const;

export function Proof(): ReactNode {
  const t = useText(TEXTS);
  const prove = useChange('ledger.prove');
  const adopt = useChange('ledger.adopt');
  const isBusy = prove.isPending || adopt.isPending;
  const error = prove.error ?? adopt.error;
  const again = adopt.data?.chains ?? [];
  const chains = prove.data?.chains.map((one) => again.find(({ chain }) => chain === one.chain) ?? one);
  const action = (
    <button type="button" className="button" disabled={isBusy} onClick={() => [adopt.reset(), prove.mutate({})]}>
      {t('prove')}
    </button>
  );
  return (
    <Section title={t('proofTitle')} note={t('proofNote')} side={action}>
      {isBusy && <p role="status">{t('proving')}</p>}
      {error && <Problem error={error} means={t('nothingMoved')} />}
      {chains && <Lines chains={chains} />}
      {chains?.map((one) => (
        <Corrections key={one.chain} chain={one} isBusy={isBusy} adopt={() => adopt.mutate({ chain: one.chain })} />
      ))}
    </Section>
  );
}

type Adopting = { chain: Chain; isBusy: boolean; adopt: () => void };

/** The balances that can be taken over from a chain, and what was changed in the books without a block. */
function Corrections({ chain, isBusy, adopt }: Adopting): ReactNode {
  const t = useText(TEXTS);
  const { chain: name, offers, corrections } = chain;
  return (
    <>
      {offers.length > 0 && (
        <>
          <p>{t('offered', { chain: name })}</p>
          <ul>
            {offers.map(({ address, crypto, booked, held }) => (
              <li key={`${address} ${crypto}`}>
                {t(booked === held ? 'offerSent' : 'offer', { address, crypto, booked, held })}
              </li>
            ))}
          </ul>
          <button type="button" className="button" disabled={isBusy} onClick={adopt}>
            {t('adopt')}
          </button>
        </>
      )}
      {corrections.length > 0 && (
        <>
          <p>{t('corrected', { chain: name })}</p>
          <ul>
            {corrections.map(({ at, kind, address, crypto, amount, entry }) => (
              <li key={`${at} ${entry} ${amount}`}>
                {t(kind === 'adopted' ? 'correctedAdopted' : 'correctedDenied', { at, address, crypto, amount, entry })}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Lines({ chains }: { chains: readonly Chain[] }): ReactNode {
  const t = useText(TEXTS);
  const heads = [t('received'), t('paidOut'), t('fees'), t('adopted'), t('held')];
  return (
    <div className="table-box">
      <table className="table">
        <Head columns={[t('chain'), t('coin'), ...heads.map((head) => [head, 'number'] as const), t('verdict')]} />
        <tbody>
          {chains.flatMap((chain) =>
            chain.lines.map((line) => (
              <tr key={`${chain.chain} ${line.crypto}`}>
                <td>{chain.chain}</td>
                <td>{line.crypto}</td>
                {COLUMNS.map((column) => (
                  <td key={column} className="number">
                    <Coin amount={line[column]} whole />
                  </td>
                ))}
                <td>
                  <Verdict chain={chain} />
                </td>
              </tr>
            )),
          )}
        </tbody>
      </table>
    </div>
  );
}

function Verdict({ chain }: { chain: Chain }): ReactNode {
  const t = useText(TEXTS);
  const { problems, error, compared, height } = chain;
  const isProved = problems.length === 0 && error === null && compared;
  if (isProved) {
    return (
      <State shape="done" tone="good">
        {t('proved', { n: height })}
      </State>
    );
  }
  const differs = problems.length > 0;
  return (
    <>
      <State shape={differs ? 'failed' : 'warning'} tone={differs ? 'bad' : 'warn'}>
        {t(differs ? 'problems' : 'notProved')}
      </State>
      {[...problems, ...(error === null ? [] : [error])].map((text) => (
        <p key={text}>
          <Said text={text} />
        </p>
      ))}
    </>
  );
}
