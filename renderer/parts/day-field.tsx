/** A field for a day, typed in the order and with the signs of the page's language, or picked from the browser's calendar. */
import { type ReactNode, useId, useRef, useState } from 'react';
import { type Language, useLanguage, useText } from '../i18n.ts';
import { Icon } from './icons.tsx';
import TEXTS from './texts.ts';

const WRITTEN = /^\s*(\d{1,2})[.\-/ ]+(\d{1,2})[.\-/ ]+(\d{2}|\d{4})\s*$/;
const ISO = /^\s*(\d{4})-(\d{1,2})-(\d{1,2})\s*$/;
const CENTURY = 2000;

/** `22.11.2026` or `22/11/2026` for `2026-11-22`. */
function writtenDay(day: string, language: Language): string {
  const [year, month, date] = day.split('-');
  return day === '' ? '' : [date, month, year].join(language === 'de' ? '.' : '/');
}

/** `2026-11-22` for a day as people write it, day first, or as computers do; null if it is none. */
export function dayOf(text: string): string | null {
  const iso = ISO.exec(text)?.slice(1).map(Number);
  const written = WRITTEN.exec(text)?.slice(1).map(Number).reverse();
  const [year, month, date] = iso ?? written ?? [];
  if (year === undefined || month === undefined || date === undefined) return null;
  const whole = year < 100 ? CENTURY + year : year;
  const at = new Date(Date.UTC(whole, month - 1, date));
  const isReal = at.getUTCFullYear() === whole && at.getUTCMonth() === month - 1 && at.getUTCDate() === date;
  return isReal ? at.toISOString().slice(0, 10) : null;
}

/** `value`: such as `2026-11-22`, or empty. `inline`: the label stands beside the field. */
type DayProps = { label: string; value: string; hint?: string; inline?: boolean; onChange(day: string): void };

export function DayField({ label, value, hint, inline = false, onChange }: DayProps): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const id = useId();
  const calendar = useRef<HTMLInputElement>(null);
  const [shown, setShown] = useState(value);
  const [text, setText] = useState(writtenDay(value, language));
  const [isWrong, setWrong] = useState(false);
  if (shown !== value) {
    setShown(value);
    setText(writtenDay(value, language));
    setWrong(false);
  }
  const take = (): void => {
    const day = text.trim() === '' ? '' : dayOf(text);
    setWrong(day === null);
    if (day === null) return;
    setText(writtenDay(day, language));
    if (day !== value) onChange(day);
  };
  const said = isWrong || hint !== undefined;
  return (
    <div className={inline ? 'field day-field inline' : 'field day-field'}>
      <label htmlFor={id}>{label}</label>
      <span className="day-box">
        <input
          id={id}
          className="input"
          inputMode="numeric"
          autoComplete="off"
          placeholder={t('dayForm')}
          value={text}
          aria-invalid={isWrong || undefined}
          {...(said ? { 'aria-describedby': `${id}-hint` } : {})}
          onChange={(event) => setText(event.target.value)}
          onBlur={take}
          onKeyDown={(event) => {
            if (event.key === 'Enter') take();
          }}
        />
        <button
          type="button"
          className="plain-icon"
          aria-label={t('calendar')}
          onClick={() => calendar.current?.showPicker()}
        >
          <Icon name="calendar" />
        </button>
        <input
          ref={calendar}
          className="day-picker"
          type="date"
          tabIndex={-1}
          aria-hidden="true"
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      </span>
      {said && (
        <p id={`${id}-hint`} className={isWrong ? 'bad' : 'quiet'} role={isWrong ? 'alert' : undefined}>
          {isWrong ? t('noDay') : hint}
        </p>
      )}
    </div>
  );
}
