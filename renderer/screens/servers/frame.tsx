/** The parts of every page of the desktop program: the list of servers, and the alarm about a foreign address. */
import { type ReactNode, Suspense } from 'react';
import type { ServerState } from '../../../daemon/operator/desktop.ts';
import { useDesk } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { useTimes } from '../../parts/format.ts';
import { Icon, ShapeIcon } from '../../parts/icons.tsx';
import { Foreign, Said } from '../../parts/parts.tsx';
import { pageOf } from '../../place.ts';
import { useHashRoute } from '../../router.ts';
import { find, useServers } from './known.ts';
import { ServerShape, useServerWords } from './state.tsx';
import TEXTS from './texts.ts';
import './servers.css';

/** This computer, the servers, and the way to another one. */
export function Servers(): ReactNode {
  const t = useText(TEXTS);
  const { desktop } = useDesk();
  const words = useServerWords();
  const list = useServers();
  const { screen, parts } = useHashRoute();
  const place = screen === 'servers' ? (parts[0] ?? '') : null;
  const current = (server: string | null) => (place === null && desktop.server === server ? 'page' : undefined);
  return (
    <ul className="desk-servers" aria-label={t('servers')}>
      <li>
        <a className="menu-item" href={pageOf(null, 'home')} aria-current={current(null)} title={list?.computer}>
          <Icon name="laptop" />
          <span className="menu-name">
            {t('thisComputer')} {list && <span className="quiet">{list.computer}</span>}
          </span>
        </a>
      </li>
      {list?.servers.map((server) => (
        <li key={server.name}>
          <a
            className="menu-item"
            href={
              server.alarm
                ? pageOf(null, `servers/alarm/${encodeURIComponent(server.name)}`)
                : pageOf(server.name, 'home')
            }
            aria-current={current(server.name)}
            title={`${server.name}: ${words(server)}`}
          >
            <ServerShape server={server} />
            <span className="menu-name">
              <Foreign text={server.name} />{' '}
              <span className={server.alarm ? 'desk-alarmed' : 'quiet'}>{words(server)}</span>
            </span>
            {server.waiting > 0 && (
              <span className="count">
                <span aria-hidden="true">{server.waiting}</span>
                <span className="unseen">{t('waiting', { n: server.waiting })}</span>
              </span>
            )}
          </a>
        </li>
      ))}
      {list && list.servers.length > 0 && (
        <li>
          <a className="menu-item" href={pageOf(null, 'servers')} aria-current={place === '' ? 'page' : undefined}>
            <Icon name="sources" />
            <span className="menu-name">{t('allServers')}</span>
          </a>
        </li>
      )}
      <li>
        <a
          className="menu-item"
          href={pageOf(null, 'servers/connect')}
          aria-current={place === 'connect' ? 'page' : undefined}
        >
          <Icon name="plus" />
          <span className="menu-name">{t('connectTitle')}</span>
        </a>
      </li>
    </ul>
  );
}

/** Over every page, whichever server it is about. */
export function Alarms(): ReactNode {
  const t = useText(TEXTS);
  const { screen, parts } = useHashRoute();
  const shown = screen === 'servers' && parts[0] === 'alarm' ? parts[1] : null;
  const servers = useServers()?.servers ?? [];
  const alarmed = servers.filter(({ alarm, name }) => alarm && name !== shown);
  return (
    <>
      {alarmed.map(({ name }) => (
        <div key={name} className="desk-alarm" role="alert">
          <ShapeIcon shape="failed" size={24} />
          <strong>{t('alarmTitle', { server: name })}</strong>
          <a href={pageOf(null, `servers/alarm/${encodeURIComponent(name)}`)}>{t('alarmLook')}</a>
        </div>
      ))}
      {servers.map((server) => server.unwatched && !server.alarm && <Unwatched key={server.name} server={server} />)}
    </>
  );
}

/** Loud, and not red: no foreign address was seen, and none would be. */
function Unwatched({ server: { name, unwatched } }: { server: ServerState }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  if (!unwatched) return null;
  const { why, since } = unwatched;
  const time = since === null ? '' : times.full(since);
  return (
    <div className="desk-unwatched" role="alert">
      <ShapeIcon shape="waiting" size={24} />
      <strong>{t('unwatched', { server: name })}</strong>
      <span>{t(`unwatched_${why}`, { server: name, time })}</span>
      {why !== 'held' && <span>{since === null ? t('lookedNever') : t('lookedLast', { time })}</span>}
    </div>
  );
}

/** In place of a console that does not answer. */
export function Away(): ReactNode {
  const t = useText(TEXTS);
  const { desktop, Screen } = useDesk();
  const words = useServerWords();
  const list = useServers();
  const { screen } = useHashRoute();
  const server = find(list, desktop.server);
  const isGone = list !== null && desktop.server !== null && server === null;
  return (
    <div className="frame">
      <nav className="menu" aria-label={t('servers')}>
        <Servers />
      </nav>
      <div className="page">
        <Alarms />
        {screen === 'servers' ? (
          <Suspense fallback={null}>
            <Screen />
          </Suspense>
        ) : (
          <main className="alone-note" id="content">
            <h1>{isGone ? t('goneTitle') : desktop.server === null ? t('hereAway') : desktop.server}</h1>
            {server && (
              <p>
                <ServerShape server={server} /> {words(server)}
              </p>
            )}
            {server?.why && server.line === 'refused' && (
              <p>
                <Said text={server.why} />
              </p>
            )}
            <p className="quiet">
              {isGone ? t('gone') : server?.line === 'refused' ? t('refusedNext') : t('awayText')}
            </p>
          </main>
        )}
      </div>
    </div>
  );
}
