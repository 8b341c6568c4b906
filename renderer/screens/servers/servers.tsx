/** The screens about the servers that this computer signs for: all of them, the connection with another one, and the alarm. */
import { type ReactNode, useEffect, useState } from 'react';
import type { ServerState } from '../../../daemon/operator/desktop.ts';
import { useDesk } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { Sure } from '../../parts/controls.tsx';
import { useTimes } from '../../parts/format.ts';
import { Foreign, Problem, Said } from '../../parts/parts.tsx';
import { pageOf } from '../../place.ts';
import { useHashRoute } from '../../router.ts';
import { Alarm } from './alarm.tsx';
import { Connect } from './connect.tsx';
import { Guide } from './guide.tsx';
import { take, useServers } from './known.ts';
import { ServerShape, useServerWords } from './state.tsx';
import TEXTS from './texts.ts';

export default function ServersScreen(): ReactNode {
  const t = useText(TEXTS);
  const [part, name, guide, step] = useHashRoute().parts;
  useEffect(() => {
    document.title = `${t('servers')} · Countinghouse`;
  }, [t]);
  if (part === 'connect') return <Connect />;
  if (part !== 'alarm' || name === undefined) return <All />;
  return guide === 'guide' ? <Guide name={name} asked={step} /> : <Alarm name={name} />;
}

function All(): ReactNode {
  const t = useText(TEXTS);
  const list = useServers();
  const [removed, setRemoved] = useState<ServerState | null>(null);
  if (!list) return null;
  const { servers, computer } = list;
  return (
    <main className="desk-page" id="content" tabIndex={-1}>
      <div>
        <h1>{t('thisComputer')}</h1>
        <p className="quiet">{t('signsFor', { n: servers.length, computer })}</p>
        {servers.length > 0 && (
          <table className="desk-list">
            <thead>
              <tr>
                <th>{t('server')}</th>
                <th>{t('connection')}</th>
                <th>{t('addresses')}</th>
                <th>
                  <span className="unseen">{t('remove')}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {servers.map((server) => (
                <One key={server.name} server={server} onRemoved={() => setRemoved(server)} />
              ))}
            </tbody>
          </table>
        )}
        {removed && (
          <p role="status">
            {t('removed', { server: removed.name, computer: removed.computer })} <Foreign text={removed.folder} />
          </p>
        )}
      </div>
      <aside className="desk-aside">
        <h2>{t('sleepTitle')}</h2>
        <p>{t('sleep')}</p>
      </aside>
    </main>
  );
}

function One({ server, onRemoved }: { server: ServerState; onRemoved(): void }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  const words = useServerWords();
  const { desktop } = useDesk();
  const [error, setError] = useState<Error | null>(null);
  const { name, url, audited, alarm, wallet, signs, why, line } = server;
  const remove = (): void => {
    desktop.removeServer(name).then((list) => {
      onRemoved();
      take(list);
    }, setError);
  };
  return (
    <tr>
      <td>
        <a href={pageOf(name, 'home')}>
          <Foreign text={name} />
        </a>
        <span className="quiet">{url}</span>
      </td>
      <td>
        <span>
          <ServerShape server={server} /> {words(server)}
        </span>
        {line === 'refused' && why && (
          <span>
            <Said text={why} />
          </span>
        )}
        <span className="quiet">{t(wallet === 'none' ? 'noWallet' : signs ? `signs_${wallet}` : 'signsNot')}</span>
        {server.waiting > 0 && <a href={pageOf(name, 'withdrawals')}>{t('waiting', { n: server.waiting })}</a>}
      </td>
      <td>
        {alarm ? (
          <a href={pageOf(null, `servers/alarm/${encodeURIComponent(name)}`)}>{t('foreignAddress')}</a>
        ) : audited ? (
          <>
            <span>{t('allYours', { n: audited.addresses })}</span>
            <span className="quiet">{t('checked', { time: times.short(audited.at), n: audited.pages })}</span>
          </>
        ) : (
          <span className="quiet">{t('notChecked')}</span>
        )}
      </td>
      <td>
        <Sure
          label={t('remove')}
          question={t('removeSure', { server: name })}
          yes={t('removeYes')}
          disabled={false}
          onYes={remove}
        />
        {error && <Problem error={error} />}
      </td>
    </tr>
  );
}
