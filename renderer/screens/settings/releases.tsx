/** Notices of releases: whether they are asked for, and what they say. */
import type { ReactNode } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { useTimes } from '../../parts/format.ts';
import { Answer, Foreign, Notice, Problem, Said, Section } from '../../parts/parts.tsx';
import type { T } from './settings.tsx';

type State = Result<'releases.show'>;

export function ReleaseNotices({ t }: { t: T }): ReactNode {
  const state = useCall('releases.show', {});
  return (
    <Section title={t('releases')} id="releases">
      <Answer of={state}>
        {(known) => (
          <div className="settings-releases">
            <p className="quiet">{t('releaseOwn', { version: known.version })}</p>
            <Known state={known} t={t} />
            {known.feed === null ? (
              <p className="quiet">{t('releaseNoKey')}</p>
            ) : (
              <Ask wanted={known.wanted} feed={known.feed} t={t} />
            )}
          </div>
        )}
      </Answer>
    </Section>
  );
}

function Known({ state: { security, newer, wanted, made_at, problem }, t }: { state: State; t: T }): ReactNode {
  const { day } = useTimes();
  const found = security ?? newer;
  if (found !== null) {
    const title =
      security === null
        ? t('releaseNewer', { version: found.version, date: day(found.date) })
        : t('releaseSecurity', { version: found.version });
    return (
      <Notice tone={security === null ? 'main' : 'bad'} title={title}>
        <Said text={found.text} />
      </Notice>
    );
  }
  if (wanted && problem !== null)
    return (
      <Notice tone="warn" title={t('releaseFailed')}>
        <Said text={problem} />
      </Notice>
    );
  return wanted && made_at !== null ? <p>{t('releaseNewest', { date: day(made_at) })}</p> : null;
}

function Ask({ wanted, feed, t }: { wanted: boolean; feed: string; t: T }): ReactNode {
  const { up } = useConnection();
  const choose = useChange('releases.choose', 'releases.', 'doctor', 'alert.');
  return (
    <>
      <label className="check">
        <input
          type="checkbox"
          checked={wanted}
          disabled={!up || choose.isPending}
          onChange={(event) => choose.mutate({ wanted: event.target.checked })}
        />
        <span>{t('releaseAsk')}</span>
      </label>
      <p className="quiet">
        <Foreign text={t('releaseAskNote', { host: new URL(feed).host })} />
      </p>
      {choose.error && <Problem error={choose.error} />}
    </>
  );
}
