/**
 * The way to real money: where the keys live, a wallet with its words and their proof or accounts of another wallet, a business, its sources,
 * and the keys for the shop. For a server it begins with the wallet: who connected this computer with it has said where the keys live.
 *
 * Invariant: words and passphrase live in this component only, and are dropped when the account's keys are derived.
 */
import { lazy, type ReactNode, Suspense, useState } from 'react';
import type { Params, Result } from '../../bridge.ts';
import { useCall, useData, useServerName } from '../../data.tsx';
import { useBusinesses } from '../../frame/business.tsx';
import { useText } from '../../i18n.ts';
import { useCustody, useKeyholder } from '../../keyholder.ts';
import { Answer, Notice, Problem, Reason, Still } from '../../parts/parts.tsx';
import { Code } from '../developers/connect.tsx';
import { useDoing } from '../wallet/doing.ts';
import { Words, WordsProof } from '../wallet/words.tsx';
import ACCOUNTS from './account-texts.ts';
import type { Taken } from './accounts.tsx';
import { LiveBusiness, NamedBusiness } from './live-business.tsx';
import { Foot, STEPS, type Step, stepAfter } from './live-foot.tsx';
import { LiveCoins, LiveKeys, LiveReach, LiveTakings, type Takings } from './live-shop.tsx';
import TEXTS from './live-texts.ts';
import { LiveWallet, type Opened } from './live-wallet.tsx';
import { Head, Steps } from './steps.tsx';
import { AtHome, useIsFar, type Where, WhereKeys } from './where.tsx';

/** It reads keys, which takes half a hundred kilobytes that nobody else needs. */
const Accounts = lazy(() => import('./accounts.tsx'));

export type NewBusiness = Result<'business.add'>;

export function Live(): ReactNode {
  const t = useText(TEXTS);
  const { client, session } = useData();
  const { choose } = useBusinesses();
  const status = useCall('wallet.status', {});
  const isOfServer = useServerName() !== null;
  const [step, setStep] = useState<Step>(isOfServer ? 'wallet' : 'keys');
  const [where, setWhere] = useState<Where | null>(null);
  const [draft, setDraft] = useState<Draft>(NO_DRAFT);
  const [opened, setOpened] = useState<Opened | null>(null);
  const [hidden, setHidden] = useState(false);
  const [added, setAdded] = useState<NewBusiness | null>(null);
  const [takings, setTakings] = useState<Takings>('forward');
  const { unlock, notRemembered } = useFirstUnlock();
  const wasAdded = async (result: NewBusiness, passphrase: string | null): Promise<void> => {
    setAdded(result);
    setOpened(null);
    setDraft(NO_DRAFT);
    choose(result.business.id);
    setStep('coins');
    if (passphrase === null) setTakings('leave');
    else await unlock(passphrase, opened?.remember === true);
    await client.invalidateQueries();
  };
  const hasWallet = status.data !== undefined && status.data.wallet.state !== 'none';
  const likely = useFirstWhere(hasWallet);
  const chosen = where ?? likely;
  const steps: readonly Step[] = isOfServer ? STEPS.here.slice(1) : STEPS[chosen];
  return (
    <Steps
      title={t('title')}
      names={steps.map((name) => t(name))}
      at={steps.indexOf(step)}
      network={added?.business.network ?? 'mainnet'}
      leave={t(added ? 'toHome' : 'leave')}
      foot={
        <Foot step={step} steps={steps} hidden={hidden} setHidden={setHidden} setStep={setStep} takings={takings} />
      }
    >
      {step === 'keys' && <Answer of={status}>{() => <WhereKeys value={chosen} choose={setWhere} />}</Answer>}
      {step === 'home' && session.home === null && <AtHome hasWallet={hasWallet} />}
      {(step === 'wallet' || (step === 'home' && session.home !== null)) && (
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
      {opened?.words && <WordSteps step={step} opened={opened} hidden={hidden} onProved={() => setStep('business')} />}
      {step === 'business' && opened && <LiveBusiness opened={opened} onAdded={wasAdded} />}
      {chosen === 'elsewhere' && (
        <ElsewhereSteps step={step} setStep={setStep} draft={draft} setDraft={setDraft} onAdded={wasAdded} />
      )}
      {step === 'coins' && notRemembered}
      {step === 'coins' && added && (
        <LiveCoins id={added.business.id} onSaved={() => setStep(stepAfter(steps, 'coins'))} />
      )}
      {step === 'takings' && <LiveTakings value={takings} choose={setTakings} />}
      {step === 'reach' && <LiveReach />}
      {step === 'connect' && added && <LiveKeys added={added} />}
    </Steps>
  );
}

type WordProps = { step: Step; opened: Opened; hidden: boolean; onProved(): void };

/** The words of a new wallet, and their proof. */
function WordSteps({ step, opened, hidden, onProved }: WordProps): ReactNode {
  const t = useText(TEXTS);
  const custody = useCustody();
  const { error, busy, run } = useDoing();
  const words = opened.words ?? [];
  const prove = (): void => void run(() => custody.prove(opened.passphrase)).then((done) => done && onProved());
  if (step === 'words') {
    return (
      <>
        <Head title={t('wordsTitle', { n: words.length })} note={t('wordsNote')} />
        <Words words={words} hidden={hidden} />
      </>
    );
  }
  if (step !== 'proof') return null;
  return (
    <>
      <Head title={t('proofTitle')} note={t('proofNote')} />
      <WordsProof words={words} busy={busy} onProved={prove} />
      {error && <Problem error={error} />}
    </>
  );
}

/** A business whose keys are elsewhere, before it is added. `named`: without its accounts; null: it has no name yet. */
type Draft = { named: Params<'business.add'> | null; taken: Taken };
const NO_DRAFT: Draft = { named: null, taken: {} };

type ElsewhereProps = {
  step: Step;
  setStep(step: Step): void;
  draft: Draft;
  setDraft(draft: Draft): void;
  onAdded(added: NewBusiness, passphrase: null): Promise<void>;
};

const ADD = 'business add --name "My shop" --network mainnet --account BTC=zpub… --no-wallet';

/**
 * A business and its accounts in another wallet, or the command for it: where browsers may add none, or where a computer at home keeps the keys
 * to compare addresses with.
 */
function ElsewhereSteps({ step, setStep, draft, setDraft, onAdded }: ElsewhereProps): ReactNode {
  const t = useText(ACCOUNTS);
  const { approvals, home } = useData().session;
  const { named, taken } = draft;
  if (step === 'accounts' && named) {
    return (
      <Suspense fallback={<Still />}>
        <Accounts
          wanted={named}
          taken={taken}
          setTaken={(now) => setDraft({ named, taken: now })}
          onAdded={(added) => void onAdded(added, null)}
        />
      </Suspense>
    );
  }
  if (step !== 'business') return null;
  if (!approvals || home !== null) {
    return (
      <>
        <Head title={t('commandTitle')} note={t(home === null ? 'commandOff' : 'commandHome')} />
        <Code text={home === null ? `countinghouse ${ADD}` : `countinghouse --server NAME ${ADD}`} />
      </>
    );
  }
  return (
    <NamedBusiness
      before={named}
      onNamed={(now) => {
        // keys are read for a network
        setDraft({ named: now, taken: now.network === named?.network ? taken : {} });
        setStep('accounts');
      }}
    />
  );
}

/** The answer that is likely, until another one is chosen. */
function useFirstWhere(hasWallet: boolean): Where {
  const { home } = useData().session;
  const isFar = useIsFar();
  if (home !== null) return 'home';
  return hasWallet || !isFar ? 'here' : 'home';
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
