/** The console: signs in, then shows the screen that the address names. */
import { QueryClientProvider } from '@tanstack/react-query';
import { Component, type FormEvent, type ReactNode, Suspense, useContext, useEffect, useMemo, useState } from 'react';
import { I18nProvider } from 'react-aria-components';
import { type Bridge, type Session, SignedOut, Strange } from './bridge.ts';
import { Data, DataContext, type Desk, DeskContext, useChange, useData } from './data.tsx';
import { BusinessProvider } from './frame/business.tsx';
import { Menu } from './frame/menu.tsx';
import { Palette } from './frame/palette.tsx';
import TEXTS from './frame/texts.ts';
import { type Language, LanguageContext, storeLanguage, useText } from './i18n.ts';
import { Field } from './parts/controls.tsx';
import { Copy, Still } from './parts/parts.tsx';
import { go, href, useHashRoute } from './router.ts';
import { FIRST, isDecision, ROUTES } from './routes.tsx';

const START_AGAIN_MS = 3_000;
const SIGN_IN = 'countinghouse console';

type Start = { state: 'starting' | 'away' | 'strange' | 'signed-out' } | { state: 'ready'; session: Session };

type AppProps = { bridge: Bridge; desk: Desk | null; first: Language };

/** `desk`: null in a browser. `first`: the language until the user chooses another one. */
export function App({ bridge, desk, first }: AppProps): ReactNode {
  const [language, setLanguage] = useState<Language>(first);
  const choose = (wanted: Language): void => {
    if (bridge.desktop) void bridge.desktop.setLanguage(wanted).catch(() => {});
    else storeLanguage(wanted);
    setLanguage(wanted);
  };
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  return (
    <LanguageContext value={{ language, choose }}>
      <I18nProvider locale={language === 'de' ? 'de-DE' : 'en-US'}>
        <DeskContext value={desk}>
          <Door bridge={bridge} />
        </DeskContext>
      </I18nProvider>
    </LanguageContext>
  );
}

/** Waits for a session; without one says how to get it. */
function Door({ bridge }: { bridge: Bridge }): ReactNode {
  const [start, setStart] = useState<Start>({ state: 'starting' });
  useEffect(() => {
    if (start.state !== 'starting') return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = (): void => {
      bridge.session().then(
        (session) => setStart({ state: 'ready', session }),
        (error: unknown) => {
          if (error instanceof SignedOut) return setStart({ state: 'signed-out' });
          setStart({ state: error instanceof Strange ? 'strange' : 'away' });
          timer = setTimeout(() => setStart({ state: 'starting' }), START_AGAIN_MS);
        },
      );
    };
    ask();
    return () => clearTimeout(start.state === 'starting' ? undefined : timer);
  }, [bridge, start.state]);
  const signedOut = useMemo(() => () => setStart({ state: 'signed-out' }), []);
  if (start.state === 'ready') return <Ready bridge={bridge} session={start.session} signedOut={signedOut} />;
  if (start.state === 'signed-out') return <SignedOutScreen bridge={bridge} />;
  if (start.state === 'strange') return <StrangeScreen />;
  return start.state === 'away' ? <AwayScreen /> : null;
}

function SignedOutScreen({ bridge }: { bridge: Bridge }): ReactNode {
  const t = useText(TEXTS);
  if (bridge.pair) return <PairScreen pair={bridge.pair} />;
  return (
    <main className="alone-note">
      <h1>{t('endedTitle')}</h1>
      <p>{t('ended')}</p>
      <SignIn />
    </main>
  );
}

/** A code is read as people write it: with spaces, and letters of either size. */
const codeOf = (typed: string): string =>
  typed.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1');

/** On a till of the shop's network that is not paired, or not any more. */
function PairScreen({ pair }: { pair(code: string): Promise<void> }): ReactNode {
  const t = useText(TEXTS);
  const [code, setCode] = useState('');
  const [failed, setFailed] = useState(false);
  const send = (event: FormEvent): void => {
    event.preventDefault();
    setFailed(false);
    pair(codeOf(code)).then(
      () => location.reload(),
      () => setFailed(true),
    );
  };
  return (
    <main className="alone-note">
      <h1>{t('pairTitle')}</h1>
      <p>{t('pairNote')}</p>
      <form className="form" onSubmit={send}>
        <Field
          label={t('pairField')}
          className="mono"
          value={code}
          autoCapitalize="characters"
          error={failed ? t('pairWrong') : null}
          onChange={(event) => setCode(event.target.value)}
        />
        <button type="submit" className="button filled large" disabled={codeOf(code) === ''}>
          {t('pairNow')}
        </button>
      </form>
    </main>
  );
}

function StrangeScreen(): ReactNode {
  const t = useText(TEXTS);
  return (
    <main className="alone-note">
      <h1>{t('strangeTitle')}</h1>
      <p>{t('strange')}</p>
      <SignIn />
    </main>
  );
}

const SignIn = (): ReactNode => (
  <p className="command">
    <code>{SIGN_IN}</code> <Copy text={SIGN_IN} />
  </p>
);

function AwayScreen(): ReactNode {
  const t = useText(TEXTS);
  const desk = useContext(DeskContext);
  if (desk) return <desk.Away />;
  return (
    <main className="alone-note">
      <h1>{t('startTitle')}</h1>
      <p>{t('start')}</p>
    </main>
  );
}

type ReadyProps = { bridge: Bridge; session: Session; signedOut(): void };

function Ready({ bridge, session, signedOut }: ReadyProps): ReactNode {
  const data = useMemo(() => new Data(bridge, session, signedOut), [bridge, session, signedOut]);
  useEffect(() => data.follow(), [data]);
  return (
    <DataContext value={data}>
      <QueryClientProvider client={data.client}>
        <BusinessProvider>
          <Screens signedOut={signedOut} />
        </BusinessProvider>
      </QueryClientProvider>
    </DataContext>
  );
}

function Screens({ signedOut }: { signedOut(): void }): ReactNode {
  const t = useText(TEXTS);
  const { session } = useData();
  const desk = useContext(DeskContext);
  const hashRoute = useHashRoute();
  const [searching, setSearching] = useState(false);
  const locked = session.scope === 'counter';
  const name = locked ? 'counter' : hashRoute.screen || FIRST;
  const route = ROUTES.find((one) => one.name === name) ?? ROUTES[0]!;
  useKeys(!locked, () => setSearching(true));
  const Screen = desk && name === 'servers' ? desk.Screen : route.screen;
  const screen = (
    <Guard key={name} signedOut={signedOut}>
      <Suspense fallback={<Still />}>
        <Screen />
      </Suspense>
    </Guard>
  );
  const alarms = desk && <desk.Alarms />;
  if (locked || route.alone) {
    return (
      <>
        {alarms}
        {screen}
      </>
    );
  }
  return (
    <div className={isDecision(hashRoute) ? 'frame deciding' : 'frame'}>
      <button type="button" className="skip" onClick={() => document.getElementById('content')?.focus()}>
        {t('skip')}
      </button>
      <Menu onSearch={() => setSearching(true)} />
      <div className="page">
        {alarms}
        {screen}
      </div>
      <Palette open={searching} onClose={() => setSearching(false)} />
    </div>
  );
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Keys that work on every screen. Ctrl L locks where the browser lets a page have it. */
function useKeys(active: boolean, search: () => void): void {
  const { mutate: lock } = useChange('wallet.lock', 'wallet.');
  useEffect(() => {
    if (!active) return;
    const onKey = (event: KeyboardEvent): void => {
      const command = event.ctrlKey || event.metaKey;
      const key = event.key.toLowerCase();
      if (command && key === 'k') search();
      else if (command && key === 'n') go(href('invoices', 'new'));
      else if (command && key === 'l') lock({});
      else if (key === '/' && !command && !isTyping(event.target)) {
        const field = document.querySelector<HTMLInputElement>('[data-search]');
        if (!field) return;
        field.focus();
      } else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [active, lock, search]);
}

type GuardProps = { signedOut(): void; children: ReactNode };

/** Shows what a failing screen means; an ended session leads to the door. */
class Guard extends Component<GuardProps, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override componentDidCatch(error: Error): void {
    if (error instanceof SignedOut) this.props.signedOut();
  }

  override render(): ReactNode {
    return this.state.error ? <Broken /> : this.props.children;
  }
}

function Broken(): ReactNode {
  const t = useText(TEXTS);
  return (
    <main className="alone-note" id="content">
      <h1>{t('brokenTitle')}</h1>
      <p>{t('broken')}</p>
      <button type="button" className="button" onClick={() => location.reload()}>
        {t('reload')}
      </button>
    </main>
  );
}
