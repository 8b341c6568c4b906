/** The proof of the books: what was received less what left, against what the chain has. */
import type { ReactNode } from 'react';
import type { Result } from '../../bridge.ts';
import { useChange } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { Coin, Head, Problem, Said, Section, State } from '../../parts/parts.tsx';
import TEXTS from './texts.ts';

type Chain = Result<'ledger.prove'>['chains'][number];
const COLUMNS = ['received', 'paid_out', 'fees', 'held'] as const;

export function Proof(): ReactNode {
  const t = useText(TEXTS);
  const prove = useChange('ledger.prove');
  const action = (
    <button type="button" className="button" disabled={prove.isPending} onClick={() => prove.mutate({})}>
      {t('prove')}
    </button>
  );
  return (
    <Section title={t('proofTitle')} note={t('proofNote')} side={action}>
      {prove.isPending && <p role="status">{t('proving')}</p>}
      {prove.error && <Problem error={prove.error} means={t('nothingMoved')} />}
      {prove.data && <Lines chains={prove.data.chains} />}
    </Section>
  );
}

function Lines({ chains }: { chains: readonly Chain[] }): ReactNode {
  const t = useText(TEXTS);
  const heads = [t('received'), t('paidOut'), t('fees'), t('held')];
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
