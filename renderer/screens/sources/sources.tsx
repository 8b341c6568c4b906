/** Sources and health: each chain with its servers, and what the service finds when it looks itself over. */
import type { ReactNode } from 'react';
import { textOf } from '../../../daemon/domain/messages.ts';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { type Language, type Translate, useLanguage, useText } from '../../i18n.ts';
import { ago, foreign, span } from '../../parts/format.ts';
import { chainName, sourceName } from '../../parts/names.ts';
import {
  Answer,
  byCoin,
  Empty,
  Facts,
  Foreign,
  Head,
  Problem,
  Progress,
  Said,
  Section,
  State,
  Told,
} from '../../parts/parts.tsx';
import { SUBJECTS_DE } from './subjects-de.ts';
import TEXTS from './texts.ts';

type T = Translate<keyof (typeof TEXTS)['en']>;
type Source = Result<'source.list'>['sources'][number];

const READ_EVERY_MS = 3_000;
const BYTES_PER_GB = 1e9;

export default function Sources(): ReactNode {
  const t = useText(TEXTS);
  const business = useBusiness();
  const sources = useCall('source.list', {}, { every: READ_EVERY_MS });
  return (
    <Page title={t('sources')} note={<span className="wide-only">{t('about')}</span>}>
      <Health t={t} />
      <Answer of={sources}>
        {({ sources: all }) => {
          const own = all.filter(({ network }) => network === business?.network);
          if (own.length === 0) return <Empty title={t('none')}>{t('noneNote')}</Empty>;
          return own
            .sort((a, b) => byCoin(a.chain, b.chain))
            .map((source) => <Chain key={source.chain} source={source} t={t} />);
        }}
      </Answer>
      <About t={t} />
    </Page>
  );
}

const LEVELS = {
  ok: { shape: 'done', tone: 'good' },
  warning: { shape: 'warning', tone: 'warn' },
  problem: { shape: 'failed', tone: 'bad' },
} as const;

function Health({ t }: { t: T }): ReactNode {
  const language = useLanguage();
  const doctor = useCall('doctor', {});
  const again = (
    <button type="button" className="link" disabled={doctor.isFetching} onClick={() => void doctor.refetch()}>
      {t('look')}
    </button>
  );
  return (
    <Section title={t('health')} note={t('healthNote')} side={again}>
      <Answer of={doctor}>
        {({ findings }) => (
          <ul className="findings">
            {findings.map(({ subject, level, text, advice }) => (
              <li key={`${subject} ${textOf(text)}`}>
                <State {...LEVELS[level]}>{t(level)}</State>
                <p>
                  <strong>{subjectOf(subject, language)}:</strong> <Told said={text} />
                  {advice && (
                    <span className="quiet advice">
                      <Told said={advice} />
                    </span>
                  )}
                </p>
              </li>
            ))}
          </ul>
        )}
      </Answer>
    </Section>
  );
}

const subjectOf = (subject: string, language: Language): string =>
  (language === 'de' ? SUBJECTS_DE[subject] : undefined) ?? capital(foreign(subject));
const capital = (word: string): string => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;

function stateOf({ error, lagging, withheld }: Source) {
  if (error !== null) return { shape: 'warning', tone: 'warn', word: 'failing' } as const;
  if (lagging || withheld !== null) return { shape: 'warning', tone: 'warn', word: 'lagging' } as const;
  return { shape: 'done', tone: 'good', word: 'upToDate' } as const;
}

function Chain({ source, t }: { source: Source; t: T }): ReactNode {
  const language = useLanguage();
  const { up } = useConnection();
  const rescan = useChange('source.rescan', 'source.');
  const { word, ...look } = stateOf(source);
  const age = source.tip_age_seconds;
  const side = (
    <button
      type="button"
      className="link"
      disabled={!up || rescan.isPending || source.rescan_percent !== null}
      onClick={() => rescan.mutate({ network: source.network, chain: source.chain })}
    >
      {t('rescan')}
    </button>
  );
  const note = (
    <>
      <State {...look}>{t(word)}</State> {source.tip && ` ${source.tip.height.toLocaleString(language)}`}
      {age !== null && ` · ${t('lastBlock', { time: ago(age, language) })}`}
      {source.agreeing !== null && ` · ${t('agreeing', { n: source.agreeing })}`} ·{' '}
      <Foreign text={sourceName(source)} />
    </>
  );
  return (
    <Section title={chainName(source.chain)} note={note} side={source.network === 'sandbox' ? undefined : side}>
      {source.rescan_percent !== null ? (
        <Progress percent={source.rescan_percent}>{t('rescanning')}</Progress>
      ) : (
        rescan.data && <p className="quiet">{t('rescanned')}</p>
      )}
      {rescan.error && <Problem error={rescan.error} />}
      {source.error && (
        <p className="warn">
          <Said text={source.error} />
        </p>
      )}
      {source.withheld && <p className="warn">{t('withheld')}</p>}
      {source.unchecked && <p className="warn">{t('unchecked')}</p>}
      {source.servers.length > 0 && <Servers source={source} t={t} />}
    </Section>
  );
}

function Servers({ source, t }: { source: Source; t: T }): ReactNode {
  const language = useLanguage();
  return (
    <div className="table-box">
      <table className="table">
        <Head
          columns={[
            t('server'),
            t('state'),
            [t('height'), 'number'],
            [t('behind'), 'number'],
            [t('answer'), 'number'],
            [t('software'), 'wide-only'],
          ]}
        />
        <tbody>
          {source.servers.map((server) => (
            <tr key={server.name}>
              <th scope="row">
                <Foreign text={server.name} />
              </th>
              <td className={server.state === 'dropped' ? 'warn' : ''}>{t(server.state)}</td>
              <td className="number">{server.tip?.height.toLocaleString(language) ?? '–'}</td>
              <td className="number">{server.behind ?? '–'}</td>
              <td className="number">{server.latency_ms === null ? '–' : `${server.latency_ms} ms`}</td>
              <td className="quiet wide-only">{server.software && <Foreign text={server.software} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function About({ t }: { t: T }): ReactNode {
  const language = useLanguage();
  const status = useCall('status', {});
  return (
    <Section title="Countinghouse">
      <Answer of={status}>
        {(found) => (
          <Facts
            rows={[
              [t('version'), found.version],
              [t('since'), span(found.uptime_seconds, language)],
              [t('address'), <Foreign key="u" text={found.url} />],
              [t('data'), <Foreign key="d" text={found.data_dir} />],
              [
                t('free'),
                found.storage.free_bytes === null ? '–' : `${Math.floor(found.storage.free_bytes / BYTES_PER_GB)} GB`,
              ],
            ]}
          />
        )}
      </Answer>
    </Section>
  );
}
