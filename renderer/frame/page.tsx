/** The frame of one screen: its header, what is wrong with the connection, and its content. */

import { type ReactNode, useEffect, useState } from 'react';
import { MS_PER_SECOND } from '../../daemon/domain/time.ts';
import { useConnection } from '../data.tsx';
import { useLanguage, useText } from '../i18n.ts';
import { span, useTimes } from '../parts/format.ts';
import { Icon, ShapeIcon } from '../parts/icons.tsx';
import { useBusiness } from './business.tsx';
import TEXTS from './texts.ts';

type PageProps = {
  title: ReactNode;
  note?: ReactNode;
  actions?: ReactNode;
  /** The screen above this one: its address and name. */
  back?: { to: string; name: string };
  /** `flush`: the content has its own margins. */
  flush?: boolean;
  children: ReactNode;
};

export function Page({ title, note, actions, back, flush = false, children }: PageProps): ReactNode {
  const name = typeof title === 'string' ? title : null;
  useEffect(() => {
    if (name) document.title = `${name} · Countinghouse`;
  }, [name]);
  return (
    <>
      <SandboxBanner />
      <header className="header">
        {back && (
          <a className="back" href={back.to} aria-label={back.name}>
            <Icon name="back" /> <span>{back.name}</span>
          </a>
        )}
        <h1>{title}</h1>
        {note && <span className="header-note">{note}</span>}
        {actions && <div className="header-actions">{actions}</div>}
      </header>
      <OfflineBar />
      <main id="content" className={flush ? 'content flush' : 'content'} tabIndex={-1}>
        {children}
      </main>
    </>
  );
}

/** On every screen of a business whose money is not real. */
export function SandboxBanner({ network }: { network?: string | undefined }): ReactNode {
  const t = useText(TEXTS);
  const business = useBusiness();
  if ((network ?? business?.network) !== 'sandbox') return null;
  return (
    <aside className="sandbox-banner" aria-label={t('sandbox')}>
      {t('sandboxBanner')}
    </aside>
  );
}

/** While the service does not answer: since when the content is old, and when it is asked again. */
function OfflineBar(): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const { clock } = useTimes();
  const connection = useConnection();
  const now = useNow(!connection.up);
  if (connection.up) return null;
  return (
    <aside className="offline-bar" aria-label={t('startTitle')}>
      <ShapeIcon shape="failed" />
      <span>{t('offline', { time: span((connection.retryAt - now) / MS_PER_SECOND, language) })}</span>
      <span>{t('shown', { time: clock(connection.since, true) })}</span>
    </aside>
  );
}

/** The time, every second while `running`. */
export function useNow(running = true): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setNow(Date.now()), MS_PER_SECOND);
    return () => clearInterval(timer);
  }, [running]);
  return now;
}
