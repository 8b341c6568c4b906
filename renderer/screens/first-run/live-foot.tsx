/** The steps to real money in their order, and the buttons that lead from one to the next. */
import type { ReactNode } from 'react';
import { useText } from '../../i18n.ts';
import { go, href } from '../../router.ts';
import { BRAND, type Takings } from './live-shop.tsx';
import TEXTS from './live-texts.ts';
import type { Where } from './where.tsx';
import WHERE from './where-texts.ts';

/** Of each answer to where the keys live. */
export const STEPS = {
  here: ['keys', 'wallet', 'words', 'proof', 'business', 'coins', 'takings', 'reach', 'connect'],
  home: ['keys', 'home'],
  elsewhere: ['keys', 'business', 'accounts', 'coins', 'reach', 'connect'],
} as const satisfies Record<Where, readonly string[]>;
export type Step = (typeof STEPS)[Where][number];

export const stepAfter = (steps: readonly Step[], step: Step): Step => steps[steps.indexOf(step) + 1] ?? step;

type FootProps = {
  step: Step;
  steps: readonly Step[];
  hidden: boolean;
  setHidden(hidden: boolean): void;
  setStep(step: Step): void;
  takings: Takings;
};

/** The steps with a form of their own have their button there. */
export function Foot(props: FootProps): ReactNode {
  const { step, steps, setStep } = props;
  const t = useText(TEXTS);
  const where = useText(WHERE);
  const next = <Next text={t('next')} run={() => setStep(stepAfter(steps, step))} />;
  switch (step) {
    case 'keys':
      return (
        <>
          <span className="quiet">{where('later')}</span>
          {next}
        </>
      );
    case 'home':
    case 'wallet':
      if (!steps.includes('keys')) return null;
      return <Link text={t('back')} run={() => setStep('keys')} />;
    case 'business':
      return steps.includes('accounts') ? <Link text={t('back')} run={() => setStep('keys')} /> : null;
    case 'accounts':
      return <Link text={t('back')} run={() => setStep('business')} />;
    case 'words':
      return <WordsFoot {...props} />;
    case 'proof':
      return <Link text={t('wordsAgain')} run={() => setStep('words')} />;
    case 'coins':
      return (
        <button type="submit" form={BRAND} className="button filled large">
          {t('next')}
        </button>
      );
    case 'takings':
      return (
        <>
          <span className="quiet">{t('takingsLater')}</span>
          {next}
        </>
      );
    case 'reach':
      return next;
    case 'connect':
      return <LastFoot {...props} />;
  }
}

const Next = ({ text, run }: { text: string; run(): void }): ReactNode => (
  <button type="button" className="button filled large" onClick={run}>
    {text}
  </button>
);

const Link = ({ text, run }: { text: string; run(): void }): ReactNode => (
  <button type="button" className="link" onClick={run}>
    {text}
  </button>
);

function WordsFoot({ hidden, setHidden, setStep }: FootProps): ReactNode {
  const t = useText(TEXTS);
  return (
    <>
      <span className="quiet">{t('thenAsked')}</span>
      <button type="button" className="button large" onClick={() => setHidden(!hidden)}>
        {t(hidden ? 'showWords' : 'hideWords')}
      </button>
      <Next text={t('written')} run={() => setStep('proof')} />
    </>
  );
}

function LastFoot({ takings }: FootProps): ReactNode {
  const t = useText(TEXTS);
  if (takings === 'leave') return <Next text={t('toHome')} run={() => go(href('home'))} />;
  return (
    <>
      <a href={href('home')}>{t('toHome')}</a>
      <Next text={t('planTakings')} run={() => go(href('withdrawals', 'forwarding', 'new'))} />
    </>
  );
}
