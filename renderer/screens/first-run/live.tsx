/**
 * The way to real money: a wallet with its words and their proof, a business, its sources, and the keys for the shop.
 *
 * Invariant: words and passphrase live in this component only, and are dropped when the account's keys are derived.
 */
import { type ReactNode, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall, useData } from '../../data.tsx';
import { useBusinesses } from '../../frame/business.tsx';
import { useText } from '../../i18n.ts';
import { useCustody, useKeyholder } from '../../keyholder.ts';
import { Answer, Notice, Problem, Reason } from '../../parts/parts.tsx';
import { go, href } from '../../router.ts';
import { useDoing } from '../wallet/doing.ts';
import { Words, WordsProof } from '../wallet/words.tsx';
import { LiveBusiness } from './live-business.tsx';
import { BRAND, LiveCoins, LiveKeys, LiveReach, LiveTakings, type Takings } from './live-shop.tsx';
import TEXTS from './live-texts.ts';
import { LiveWallet, type Opened } from './live-wallet.tsx';
import { Head, Steps } from './steps.tsx';

const STEPS = ['wallet', 'words', 'proof', 'business', 'coins', 'takings', 'reach', 'connect'] as const;
type Step = (typeof STEPS)[number];

export type NewBusiness = Result<'business.add'>;

export function Live(): ReactNode {
  const t = useText(TEXTS);
  const { client } = useData();
  const { choose } = useBusinesses();
  const custody = useCustody();
  const status = useCall('wallet.status', {});
  const [step, setStep] = useState<Step>('wallet');
  const [opened, setOpened] = useState<Opened | null>(null);
  const [hidden, setHidden] = useState(false);
  const [added, setAdded] = useState<NewBusiness | null>(null);
  const [takings, setTakings] = useState<Takings>('forward');
  const { error, busy, run } = useDoing();
  const { unlock, notRemembered } = useFirstUnlock();
  const wasAdded = async (result: NewBusiness, passphrase: string): Promise<void> => {
    setAdded(result);
    setOpened(null);
    choose(result.business.id);
    setStep('coins');
    await unlock(passphrase, opened?.remember === true);
    await client.invalidateQueries();
  };
  const proved = (): void =>
    void run(() => custody.prove(opened?.passphrase ?? '')).then((done) => done && setStep('business'));
  return (
    <Steps
      title={t('title')}
      names={STEPS.map((name) => t(name))}
      at={STEPS.indexOf(step)}
      network={added?.business.network ?? 'mainnet'}
      leave={t('leave')}
      foot={<Foot step={step} hidden={hidden} setHidden={setHidden} setStep={setStep} takings={takings} />}
    >
      {step === 'wallet' && (
        <Answer of={status}>
          {({ wallet }) => (
            <LiveWallet
              wallet={wallet}
              onOpened={(now) => {
                setOpened(now);
                setStep(now.words === null ? 'business' : 'words');
              }}
            />
          )}
        </Answer>
      )}
      {step === 'words' && opened?.words && (
        <>
          <Head title={t('wordsTitle', { n: opened.words.length })} note={t('wordsNote')} />
          <Words words={opened.words} hidden={hidden} />
        </>
      )}
      {step === 'proof' && opened?.words && (
        <>
          <Head title={t('proofTitle')} note={t('proofNote')} />
          <WordsProof words={opened.words} busy={busy} onProved={proved} />
          {error && <Problem error={error} />}
        </>
      )}
      {step === 'business' && opened && <LiveBusiness opened={opened} onAdded={wasAdded} />}
      {step === 'coins' && notRemembered}
      {step === 'coins' && added && <LiveCoins id={added.business.id} onSaved={() => setStep('takings')} />}
      {step === 'takings' && <LiveTakings value={takings} choose={setTakings} />}
      {step === 'reach' && <LiveReach />}
      {step === 'connect' && added && <LiveKeys added={added} />}
    </Steps>
  );
}

type FirstUnlock = { unlock(passphrase: string, remember: boolean): Promise<void>; notRemembered: ReactNode };

/** Opens the wallet, by the keychain if the user wants that. It is a convenience: while it is locked, approved withdrawals only wait. */
function useFirstUnlock(): FirstUnlock {
  const t = useText(TEXTS);
  const { bridge } = useData();
  const keyholder = useKeyholder();
  const [error, setError] = useState<Error | null>(null);
  return {
    async unlock(passphrase, remember) {
      try {
        if (remember && bridge.desktop?.keychain) return void (await bridge.desktop.keychain.remember(passphrase));
      } catch (error) {
        setError(error as Error);
      }
      await keyholder.unlock(passphrase).catch(() => undefined);
    },
    notRemembered: error && (
      <Notice tone="warn" title={t('notRemembered')}>
        <Reason error={error} /> {t('rememberLater')}
      </Notice>
    ),
  };
}

type FootProps = {
  step: Step;
  hidden: boolean;
  setHidden(hidden: boolean): void;
  setStep(step: Step): void;
  takings: Takings;
};

/** The steps with a form of their own have their button there. */
function Foot({ step, hidden, setHidden, setStep, takings }: FootProps): ReactNode {
  const t = useText(TEXTS);
  const next = (text: string, run: () => void): ReactNode => (
    <button type="button" className="button filled large" onClick={run}>
      {text}
    </button>
  );
  if (step === 'words') {
    return (
      <>
        <span className="quiet">{t('thenAsked')}</span>
        <button type="button" className="button large" onClick={() => setHidden(!hidden)}>
          {t(hidden ? 'showWords' : 'hideWords')}
        </button>
        {next(t('written'), () => setStep('proof'))}
      </>
    );
  }
  if (step === 'proof') {
    return (
      <button type="button" className="link" onClick={() => setStep('words')}>
        {t('wordsAgain')}
      </button>
    );
  }
  if (step === 'coins') {
    return (
      <button type="submit" form={BRAND} className="button filled large">
        {t('next')}
      </button>
    );
  }
  if (step === 'takings') {
    return (
      <>
        <span className="quiet">{t('takingsLater')}</span>
        {next(t('next'), () => setStep('reach'))}
      </>
    );
  }
  if (step === 'connect' && takings === 'forward') {
    return (
      <>
        <a href={href('home')}>{t('home')}</a>
        {next(t('planTakings'), () => go(href('withdrawals', 'forwarding', 'new')))}
      </>
    );
  }
  if (step === 'reach') return next(t('next'), () => setStep('connect'));
  if (step === 'connect') return next(t('home'), () => go(href('home')));
  return null;
}
