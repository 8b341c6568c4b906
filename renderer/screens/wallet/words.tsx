/** The words of a wallet: shown in their order, and asked back. Nothing here stores or copies them. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { useText } from '../../i18n.ts';
import { Field } from '../../parts/controls.tsx';
import './words.css';
import TEXTS from './texts.ts';

const ASKED = 3;

/** Down the columns. `hidden`: dots in their place. */
export function Words({ words, hidden = false }: { words: readonly string[]; hidden?: boolean }): ReactNode {
  const t = useText(TEXTS);
  return (
    <>
      <ol className="words" aria-label={t('words')} data-count={words.length}>
        {words.map((word, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a word may come twice
          <li key={at}>
            <span className="quiet">{at + 1}</span>
            <strong>{hidden ? '••••••' : word}</strong>
          </li>
        ))}
      </ol>
      <ul className="words-rules">
        {(['Paper', 'Photo', 'Thief'] as const).map((rule) => (
          <li key={rule}>
            <strong>{t(`rule${rule}`)}</strong>
            <span className="quiet">{t(`rule${rule}Text`)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Different positions from 1, ascending. */
function somePositions(count: number): number[] {
  const positions = new Set<number>();
  while (positions.size < Math.min(ASKED, count)) {
    const [drawn = 0] = crypto.getRandomValues(new Uint32Array(1));
    positions.add(1 + (drawn % count));
  }
  return [...positions].sort((a, b) => a - b);
}

type ProofProps = { words: readonly string[]; busy: boolean; onProved(): void };

/** Asks for some of the words. */
export function WordsProof({ words, busy, onProved }: ProofProps): ReactNode {
  const t = useText(TEXTS);
  const [positions] = useState(() => somePositions(words.length));
  const [typed, setTyped] = useState<Record<number, string>>({});
  const [wrong, setWrong] = useState<readonly number[]>([]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const isRight = (one: number): boolean => (typed[one] ?? '').trim().toLowerCase() === words[one - 1];
    const missed = positions.filter((one) => !isRight(one));
    setWrong(missed);
    if (missed.length === 0) onProved();
  };
  return (
    <form className="form" onSubmit={submit}>
      {positions.map((one, at) => (
        <Field
          key={one}
          label={t('wordNumber', { number: `${one}` })}
          autoFocus={at === 0}
          autoCapitalize="none"
          spellCheck={false}
          value={typed[one] ?? ''}
          onChange={(event) => setTyped({ ...typed, [one]: event.target.value })}
          error={wrong.includes(one) ? t('notThatWord') : undefined}
        />
      ))}
      <button type="submit" className="button filled large" disabled={busy}>
        {t('proveWords')}
      </button>
    </form>
  );
}
