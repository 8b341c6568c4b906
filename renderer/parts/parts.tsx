/** Small parts that every screen uses. */
import { type ReactNode, Suspense, useEffect, useId, useState } from 'react';
import { findAsset } from '../../daemon/domain/assets.ts';
import type { Message } from '../../daemon/domain/messages.ts';
import { NotConnected } from '../bridge.ts';
import { useLanguage, useText, useTimeZone } from '../i18n.ts';
import { asSentence, exact, fiat, foreign, groups, splitZeros } from './format.ts';
import { type Shape, ShapeIcon } from './icons.tsx';
import { chainName } from './names.ts';
import TEXTS from './texts.ts';
import { piecesOf } from './told.ts';
import { useWords } from './words.ts';

export type Tone = 'main' | 'good' | 'warn' | 'bad' | 'quiet';

/** A text from outside: isolated in its direction, on one line, without invisible characters. */
export const Foreign = ({ text }: { text: string }): ReactNode => <bdi className="foreign">{foreign(text)}</bdi>;

/** Words of the service, which speaks English alone; what is to be typed is between backticks. */
export const Said = ({ text }: { text: string }): ReactNode => (
  <span lang="en">
    <bdi className="foreign">{withCode(foreign(text).split(/`([^`]+)`/))}</bdi>
  </span>
);

/** The parts in their order, each second one as code. */
const withCode = (parts: readonly ReactNode[]): ReactNode[] =>
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts keep their places
  parts.map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part));

/** A message of the service, in the reader's language where it has one. */
export const Told = ({ said }: { said: Message }): ReactNode => (
  <Suspense fallback={null}>
    <Pieces said={said} />
  </Suspense>
);

function Pieces({ said }: { said: Message }): ReactNode {
  const pieces = piecesOf(said, useWords(), useLanguage(), useTimeZone());
  const parts: ReactNode[][] = [[]];
  for (const { from, text } of pieces) {
    const [first, ...more] = from === 'own' ? text.split('`') : [text];
    const Kind = from === 'service' ? Said : Foreign;
    const last = parts.at(-1)!;
    last.push(from === 'own' ? first : <Kind key={last.length} text={text} />);
    parts.push(...more.map((part) => [part]));
  }
  return withCode(parts);
}

/** A coin's amount: trailing zeros are quiet. `whole`: every decimal that it has, for money that moves. */
export function Coin({
  amount,
  crypto,
  whole = false,
}: {
  amount: string;
  crypto?: string;
  whole?: boolean;
}): ReactNode {
  const { digits, zeros } = splitZeros(amount, useLanguage(), whole);
  return (
    <span className="figure">
      {digits}
      <span className="zeros">{zeros}</span>
      {crypto && ` ${shortName(crypto)}`}
    </span>
  );
}

/** An amount with every decimal and its coin, for a sentence. */
export function useCoinText(): (amount: string, crypto: string) => string {
  const language = useLanguage();
  return (amount, crypto) => `${exact(amount, language)}\u00a0${shortName(crypto)}`;
}

export function Fiat({ amount, currency }: { amount: string; currency: string }): ReactNode {
  return <span className="figure">{fiat(amount, currency, useLanguage())}</span>;
}

/** The square in a coin's colour. */
export function CoinMark({ crypto }: { crypto: string }): ReactNode {
  return <span className={`coin-mark coin-${coinClass(crypto)}`} aria-hidden="true" />;
}

const COINS = ['BTC', 'LTC', 'BCH', 'XMR', 'USDT', 'ETH', 'BNB'] as const;
/** The coin of a symbol such as USDT_ERC20. */
const familyOf = (crypto: string): string | undefined =>
  COINS.find((coin) => crypto === coin || crypto.startsWith(`${coin}_`) || crypto.startsWith(`${coin}-`));
/** Without the network that a token is on. */
export const shortName = (crypto: string): string => crypto.split('_')[0]!;
/** The chain of a token that is on several; else null. */
export const networkOf = (crypto: string): string | null =>
  crypto.includes('_') ? (findAsset(crypto)?.chain ?? null) : null;
/** A coin as text: "LTC", "USDT · Ethereum". */
export function coinName(crypto: string): string {
  const chain = networkOf(crypto);
  return chain === null ? crypto : `${shortName(crypto)} · ${chainName(chain)}`;
}

/** A coin with its colour, and a token with its network. */
export function CoinName({ crypto }: { crypto: string }): ReactNode {
  const chain = networkOf(crypto);
  return (
    <span className="coin-name">
      <CoinMark crypto={crypto} />
      {shortName(crypto)}
      {chain && (
        <>
          {' '}
          <span className="quiet">{chainName(chain)}</span>
        </>
      )}
    </span>
  );
}

export const coinClass = (crypto: string): string => (familyOf(crypto) ?? 'other').toLowerCase();
/** Coins keep their order everywhere. */
export const byCoin = (a: string, b: string): number => rank(a) - rank(b) || (a < b ? -1 : 1);
const rank = (crypto: string): number => {
  const at = COINS.indexOf(familyOf(crypto) as (typeof COINS)[number]);
  return at < 0 ? COINS.length : at;
};

/** A state: shape and word. */
export function State({ shape, tone, share = 0, children }: StateProps): ReactNode {
  return (
    <span className={`state ${tone}`}>
      <ShapeIcon shape={shape} share={share} />
      <span>{children}</span>
    </span>
  );
}
export type StateProps = { shape: Shape; tone: Tone; share?: number; children: ReactNode };

const COPIED_MS = 2_000;

export function Copy({ text, label }: { text: string; label?: string }): ReactNode {
  const t = useText(TEXTS);
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), COPIED_MS);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <button
      type="button"
      className="link"
      onClick={() => navigator.clipboard.writeText(text).then(() => setDone(true))}
    >
      <span aria-live="polite">{done ? t('copied') : (label ?? t('copy'))}</span>
    </button>
  );
}

const ENDS = 2;

/** An address or a transaction in groups of four: the first and last two, and all of them on demand. */
export function Hash({ text }: { text: string }): ReactNode {
  const t = useText(TEXTS);
  const [all, setAll] = useState(false);
  const parts = groups(foreign(text));
  const short = parts.length > 2 * ENDS && !all;
  const shown = short ? [...parts.slice(0, ENDS), '…', ...parts.slice(-ENDS)] : parts;
  return (
    <span className="hash">
      <span className="mono">{shown.join(' ')}</span> <Copy text={text} />
      {parts.length > 2 * ENDS && (
        <button type="button" className="link" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? t('hide') : t('show')}
        </button>
      )}
    </span>
  );
}

/** A fault, its meaning for the money, and the remedy. */
export function Notice({ tone, title, children, actions }: NoticeProps): ReactNode {
  const shape = ({ bad: 'failed', warn: 'warning', good: 'done', main: 'seen', quiet: 'ended' } as const)[tone];
  return (
    <div className={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      <p className="notice-title">
        <ShapeIcon shape={shape} /> <span>{title}</span>
      </p>
      {children && <div>{children}</div>}
      {actions && <div className="actions">{actions}</div>}
    </div>
  );
}
type NoticeProps = { tone: Tone; title: ReactNode; children?: ReactNode; actions?: ReactNode };

/** Why something was refused: in the reader's language where its code is known, else in the service's words. */
export const Reason = ({ error }: { error: Error }): ReactNode => (
  <Suspense fallback={null}>
    <Refusal error={error} />
  </Suspense>
);

function Refusal({ error }: { error: Error }): ReactNode {
  const words = useWords().get('code' in error ? `${error.code}` : '');
  return words === undefined ? <Said text={asSentence(error.message)} /> : `${words}.`;
}

/** `changes`: it is not known what became of the call if it was not answered. */
type ProblemProps = { error: Error; means?: string; changes?: boolean; retry?: () => void };

/** An error of a call in words. `means`: what it means for the money. */
export function Problem({ error, means, changes = false, retry }: ProblemProps): ReactNode {
  const t = useText(TEXTS);
  const offline = error instanceof NotConnected;
  const again = retry && (
    <button type="button" className="button" onClick={retry}>
      {t('again')}
    </button>
  );
  return (
    <Notice tone="bad" title={offline ? t('noAnswer') : t('failedTitle')} actions={again}>
      {offline ? t(changes ? 'maybeDone' : 'noAnswerMeans') : <Reason error={error} />}
      {means && !(offline && changes) && ` ${means}`}
    </Notice>
  );
}

/** The content that will come here, and one button. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  );
}

const STILL_ROWS_AFTER_MS = 200;

/** Rows in place of those that are being read, without movement, after 200 ms. */
export function Still({ rows = 5 }: { rows?: number }): ReactNode {
  const t = useText(TEXTS);
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), STILL_ROWS_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!late) return null;
  return (
    <div className="still" role="status" aria-label={t('loading')}>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are alike
        <div key={row} />
      ))}
    </div>
  );
}

type Query<T> = { data: T | undefined; error: Error | null; refetch(): unknown };

/** The content of an answer, or the state in its place. Content that was read before stays when reading fails. */
export function Answer<T>({ of, rows, children }: { of: Query<T>; rows?: number; children(data: T): ReactNode }) {
  if (of.data !== undefined) return children(of.data);
  if (of.error) return <Problem error={of.error} retry={() => void of.refetch()} />;
  return <Still {...(rows === undefined ? {} : { rows })} />;
}

/** How far long work is; leaving the screen does not end it. */
export function Progress({ percent, children }: { percent: number; children: ReactNode }): ReactNode {
  const id = useId();
  return (
    <p className="progress" role="status">
      <span id={id}>{children}</span> <span className="figure">{percent} %</span>
      <progress aria-labelledby={id} max={100} value={percent} />
    </p>
  );
}

type Column = string | readonly [name: string, className: string];

/** The heads of a table's columns. */
export function Head({ columns }: { columns: readonly Column[] }): ReactNode {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const [name, className] = typeof column === 'string' ? [column] : column;
          return (
            <th key={name} scope="col" className={className}>
              {name}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** A section of a screen: a heading, what stands beside it, and the content. */
export function Section({ title, note, side, children, id }: SectionProps): ReactNode {
  return (
    <section className="section" {...(id ? { id } : {})}>
      <header className="section-head">
        <h2>{title}</h2>
        {note && <span className="quiet">{note}</span>}
        {side && <span className="side">{side}</span>}
      </header>
      {children}
    </section>
  );
}
type SectionProps = { title: ReactNode; note?: ReactNode; side?: ReactNode; children: ReactNode; id?: string };

/** A name and its value, one a row. */
export function Facts({ rows }: { rows: [ReactNode, ReactNode][] }): ReactNode {
  return (
    <dl className="facts">
      {rows.map(([name, value], at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows keep their places
        <div key={at}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
