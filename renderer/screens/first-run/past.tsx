/** The fields about words that were made elsewhere: the words, and since when they were used. */
import { type ReactNode, useId, useState } from 'react';
import { useText } from '../../i18n.ts';
import { Field } from '../../parts/controls.tsx';
import { DayField } from '../../parts/day-field.tsx';
import TEXTS from './live-texts.ts';

/** Since when imported words were used: a day (YYYY-MM-DD), or a block of Monero. */
export type Past = { birthday: string } | { restoreHeight: number };

const HEIGHT = /^\d{1,9}$/;
const WORDS_CHARS_MAX = 1_000;

/** In the form of the operator API. */
export function pastOf(past: Past | null): { birthday?: string; restore_height?: number } {
  if (past === null) return {};
  return 'birthday' in past ? { birthday: `${past.birthday}T00:00:00.000Z` } : { restore_height: past.restoreHeight };
}

/** `past`: null if nothing was given. */
type PastForm = { past: Past | null; isRight: boolean; fields: ReactNode };

/** `hasMonero`: a block of Monero can be given in place of the day. */
export function usePast(hasMonero = true): PastForm {
  const t = useText(TEXTS);
  const [birthday, setBirthday] = useState('');
  const [height, setHeight] = useState('');
  const block = hasMonero ? height : '';
  const fault =
    block === '' ? undefined : !HEIGHT.test(block) ? t('noHeight') : birthday !== '' ? t('notBoth') : undefined;
  return {
    past: block !== '' ? { restoreHeight: Number(block) } : birthday !== '' ? { birthday } : null,
    isRight: fault === undefined,
    fields: (
      <>
        <DayField label={t('birthday')} hint={t('birthdayHint')} value={birthday} onChange={setBirthday} />
        {hasMonero && (
          <Field
            label={t('height')}
            hint={t('heightHint')}
            inputMode="numeric"
            value={height}
            onChange={(event) => setHeight(event.target.value.trim())}
            error={fault}
          />
        )}
      </>
    ),
  };
}

type WordsProps = { label: string; value: string; onChange(words: string): void };

export function WordsField({ label, value, onChange }: WordsProps): ReactNode {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        className="input mono"
        rows={3}
        maxLength={WORDS_CHARS_MAX}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}
