/** The reasons for a payment and against it, by its bytes, and by what is known of its recipient. */
import type { ReactNode } from 'react';
import type { ReviewView } from '../../../daemon/operator/view.ts';
import { useServerName } from '../../data.tsx';
import { useLanguage, useText } from '../../i18n.ts';
import { decimal, scaled, useTimes } from '../../parts/format.ts';
import { type Shape, ShapeIcon } from '../../parts/icons.tsx';
import { Hash, Told, type Tone, useCoinText } from '../../parts/parts.tsx';
import { headlineSum } from './headline.tsx';
import type { Verdict } from './recipient.tsx';
import TEXTS from './texts.ts';

type Check = { shape: Shape; tone: Tone; text: ReactNode };

export function Checks({ view, verdicts }: { view: ReviewView; verdicts: readonly (Verdict | null)[] }): ReactNode {
  const checks = useChecks(view, verdicts);
  return (
    <ul className="checks">
      {checks.map(({ shape, tone, text }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the checks keep their places
        <li key={at}>
          <span className={tone}>
            <ShapeIcon shape={shape} />
          </span>
          <span className={tone === 'bad' ? 'bad' : ''}>{text}</span>
        </li>
      ))}
    </ul>
  );
}

const OWN_CODES = ['new_address', 'lookalike', 'high_fee'];
const OWN_NOTE = 'note.first_approved';

const good = (text: ReactNode): Check => ({ shape: 'done', tone: 'good', text });
const warn = (text: ReactNode): Check => ({ shape: 'warning', tone: 'warn', text });
const told = (text: ReactNode): Check => ({ shape: 'seen', tone: 'main', text });

/** Checks of a recipient. */
function useRecipientChecks(warnings: ReviewView['warnings']): (verdict: Verdict) => Check[] {
  const t = useText(TEXTS);
  const times = useTimes();
  // a server, which may be in the hands of a thief, can say of any address that it is known
  const isSaid = useServerName() !== null;
  const known = isSaid ? told : good;
  const first = ({ unasked }: Verdict): ReactNode => (
    <>
      <strong>{t('firstPayment')}</strong> {unasked > 0 && t('unasked', { n: unasked })}
    </>
  );
  return (verdict) => {
    const day = verdict.firstAt === null ? '' : times.day(verdict.firstAt);
    if (verdict.kind === 'lookalike') {
      const name = verdict.label ?? t('aKnownAddress');
      const before = verdict.firstAt === null ? first(verdict) : t('firstApproved', { day });
      return [{ shape: 'failed', tone: 'bad', text: t('looksLike', { name }) }, warn(before)];
    }
    if (verdict.kind === 'new') {
      const isSimilar = warnings.some(({ code }) => code === 'one_end');
      return [warn(first(verdict)), ...(isSimilar ? [] : [known(t('notSimilar'))])];
    }
    if (verdict.kind === 'listed') return [known(t('isInBook')), warn(first(verdict))];
    if (verdict.kind === 'changed') return [warn(<strong>{t('addressChanged')}</strong>)];
    const same = isSaid ? told(t('sameSaid')) : good(t('sameAddress', { day }));
    return [...(verdict.label === null ? [] : [known(t('isInBook'))]), same];
  };
}

function useChecks(view: ReviewView, verdicts: readonly (Verdict | null)[]): Check[] {
  const t = useText(TEXTS);
  const language = useLanguage();
  const coinText = useCoinText();
  const recipientChecks = useRecipientChecks(view.warnings);
  const checks = verdicts.flatMap((verdict) => (verdict ? recipientChecks(verdict) : []));
  const most = verdicts.find((one) => one?.most)?.most ?? null;
  if (most !== null && view.kind === 'payment' && scaled(headlineSum(view).text) > scaled(most)) {
    checks.push(
      warn(
        <>
          <strong>{t('moreThanEver')}</strong> {t('untilNow', { most: coinText(most, view.takes.asset) })}
        </>,
      ),
    );
  }
  const share = shareOf(view);
  // fee and amount in two coins cannot be compared
  if (share !== null) {
    const values = { share: decimal(share, language, PERCENT_DECIMALS) };
    checks.push(view.isFeeHigh ? warn(t('feeHigh', values)) : good(t('feeShare', values)));
  }
  const { collect } = view;
  if (collect) {
    const most = coinText(collect.feeMax.text, collect.feeMax.asset);
    checks.push(told(t('collectsFirst', { n: collect.addresses, most })));
    if (collect.missing !== null) {
      const amount = coinText(collect.missing.amount, collect.feeMax.asset);
      checks.push(
        warn(
          <>
            <strong>{t('sendGas', { amount })}</strong> <Hash text={collect.missing.address} />
          </>,
        ),
      );
    }
  }
  checks.push(view.decoded ? good(t(collect ? 'boundByApproval' : 'bytesRead')) : told(t('notRead')));
  for (const { code, text } of view.warnings) {
    if (!OWN_CODES.includes(code)) checks.push(warn(<Told said={text} />));
  }
  for (const note of view.notes) {
    if (note.code !== OWN_NOTE) checks.push(told(<Told said={note} />));
  }
  return checks;
}

const PERCENT_DECIMALS = 2;

/** The fee, with a collection the highest fees, as a share of what is moved, in percent with two decimals, rounded up; null if they are of two coins. */
function shareOf(view: ReviewView): string | null {
  const moved = headlineSum(view).units;
  if (view.fee.asset !== view.takes.asset || moved <= 0n) return null;
  const fees = view.collect?.total ?? view.fee;
  const hundredths = (fees.units * 10_000n + moved - 1n) / moved;
  return `${hundredths / 100n}.${`${hundredths % 100n}`.padStart(2, '0')}`;
}
