/** A withdrawal that another wallet signs: the way there, what that wallet must show, and the way back. */
import { lazy, type ReactNode, Suspense, useId, useMemo, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useChange, useConnection } from '../../data.tsx';
import { useText } from '../../i18n.ts';
import { Field, Segments } from '../../parts/controls.tsx';
import { groups, useTimes } from '../../parts/format.ts';
import { Coin, Copy, Notice, Problem, Reason, Section, Still } from '../../parts/parts.tsx';
import { base64Of, saveBytes } from '../../parts/save.ts';
import { Scan } from '../../parts/scan.tsx';
import { href } from '../../router.ts';
import TEXTS from './outside-texts.ts';

/** The library of the codes is as large as the screen, and few need it. */
const Codes = lazy(() => import('./codes.tsx'));

type Detail = Result<'withdrawal.show'>['withdrawal'];

export function Outside({ one }: { one: Detail }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  const id = `${one.id}`;
  const until = one.state === 'signed' ? one.deadline_at : null;
  return (
    <Section title={t('title')} note={t('note')}>
      <div className="outside">
        {/* what was handed out before is of an earlier plan */}
        <Take key={one.versions.at(-1)?.id} id={id} />
        <Shows one={one} />
        <Bring one={one} />
      </div>
      {until !== null && (
        <>
          <p className="quiet">{t('ends', { day: times.full(until) })}</p>
          <GiveUp id={id} />
        </>
      )}
    </Section>
  );
}

/** Whether the newest transaction cancels it, and so pays nobody else. */
const comesBack = ({ versions }: Detail): boolean => versions.at(-1)?.kind === 'cancel';

/** Bytes of a PSBT, which crosses in base64. */
const bytesOf = (psbt: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(psbt), (character) => character.charCodeAt(0));

function Take({ id }: { id: string }): ReactNode {
  const t = useText(TEXTS);
  const connection = useConnection();
  const [psbt, setPsbt] = useState<string | null>(null);
  const bytes = useMemo(() => (psbt === null ? null : bytesOf(psbt)), [psbt]);
  const [isShown, setShown] = useState(false);
  const hand = useChange('withdrawal.psbt', 'withdrawal.');
  const get = (use: (found: Result<'withdrawal.psbt'>) => void): void =>
    hand.mutate(
      { id },
      {
        onSuccess: (found) => {
          setPsbt(found.psbt);
          use(found);
        },
      },
    );
  const isFree = connection.up && !hand.isPending;
  return (
    <div>
      <h3>{t('take')}</h3>
      <p className="quiet">{t('takeNote')}</p>
      {hand.error && <Problem error={hand.error} />}
      <div className="actions">
        <button
          type="button"
          className="button filled"
          disabled={!isFree}
          onClick={() => get((found) => saveBytes(found.name, bytesOf(found.psbt)))}
        >
          {t('download')}
        </button>
        {!isShown && (
          <button type="button" className="button" disabled={!isFree} onClick={() => get(() => setShown(true))}>
            {t('codes')}
          </button>
        )}
        {psbt && <Copy text={psbt} />}
      </div>
      {bytes && isShown && (
        <Suspense fallback={<Still rows={1} />}>
          <Codes bytes={bytes} />
        </Suspense>
      )}
    </div>
  );
}

/** The facts that the device shows, in its order, to be compared there. */
function Shows({ one }: { one: Detail }): ReactNode {
  const t = useText(TEXTS);
  const isBack = comesBack(one);
  const fee = one.versions.at(-1)?.fee ?? one.fee;
  return (
    <aside className="panel outside-shows">
      <h3>{t('shows')}</h3>
      <p className="quiet">{t('showsNote')}</p>
      <dl>
        <dt>{t('sends')}</dt>
        {isBack ? (
          <dd>{t('sendsNobody')}</dd>
        ) : (
          <dd>
            <strong>
              <Coin amount={one.amount} crypto={one.crypto} whole />
            </strong>
            {one.sweep && one.state === 'approved' && ` ${t('lessFee')}`}
          </dd>
        )}
        {!isBack && (
          <>
            <dt>{t('to')}</dt>
            <dd className="mono">{groups(one.address).join(' ')}</dd>
          </>
        )}
        {fee !== null && (
          <>
            <dt>{t('fee')}</dt>
            <dd>
              <Coin amount={fee} crypto={one.fee_crypto} whole />
            </dd>
          </>
        )}
      </dl>
      <p className="quiet">{t(isBack ? 'sendsBack' : 'change')}</p>
    </aside>
  );
}

const WAYS = ['file', 'camera', 'text'] as const;
/** Refusals of what was signed otherwise than planned: a signed copy of it may exist. */
const ALTERED = ['amount', 'input', 'locktime', 'output', 'sequence', 'sighash', 'version'].map(
  (what) => `psbt.${what}`,
);

const isAltered = (error: Error): boolean => 'code' in error && ALTERED.includes(String(error.code));

function Bring({ one }: { one: Detail }): ReactNode {
  const t = useText(TEXTS);
  const connection = useConnection();
  const [way, setWay] = useState<(typeof WAYS)[number]>('file');
  const [signed, setSigned] = useState<File | null>(null);
  const upload = useChange('withdrawal.signed', 'withdrawal.');
  const take = (file: File | null): void => {
    upload.reset();
    setSigned(file);
  };
  const hand = async (file: File): Promise<void> => {
    upload.mutate({ id: `${one.id}`, signed: (await base64Of(file)) ?? '' });
  };
  return (
    <form
      className="outside-bring"
      onSubmit={(event) => {
        event.preventDefault();
        if (signed) void hand(signed);
      }}
    >
      <h3>{t('bring')}</h3>
      <Segments
        label={t('bringHow')}
        value={way}
        options={[
          ['file', t('asFile')],
          ['camera', t('asCamera')],
          ['text', t('asText')],
        ]}
        onChange={(chosen) => {
          setWay(chosen);
          take(null);
        }}
      />
      {way === 'file' && (
        <Field
          label={t('file')}
          hint={t('fileHint')}
          type="file"
          accept=".psbt,.txt,.txn,.hex"
          onChange={(event) => take(event.target.files?.[0] ?? null)}
        />
      )}
      {way === 'camera' && <SignedCode signed={signed} take={take} close={() => setWay('file')} />}
      {way === 'text' && <SignedText take={(text) => take(text.trim() === '' ? null : new File([text], 'signed'))} />}
      {upload.error && <Refused error={upload.error} one={one} />}
      <button
        type="submit"
        className={upload.error && isAltered(upload.error) ? 'button' : 'button filled'}
        disabled={!connection.up || upload.isPending || signed === null}
      >
        {t('hand')}
      </button>
    </form>
  );
}

type CodeProps = { signed: File | null; take(file: File | null): void; close(): void };

function SignedCode({ signed, take, close }: CodeProps): ReactNode {
  const t = useText(TEXTS);
  if (signed === null) {
    return <Scan onRead={(bytes) => take(new File([bytes], 'signed'))} onClose={close} />;
  }
  return (
    <div>
      <p role="status">{t('scanned', { bytes: signed.size })}</p>
      <button type="button" className="link" onClick={() => take(null)}>
        {t('again')}
      </button>
    </div>
  );
}

function SignedText({ take }: { take(text: string): void }): ReactNode {
  const t = useText(TEXTS);
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{t('text')}</label>
      <textarea
        id={id}
        className="input mono"
        rows={4}
        aria-describedby={`${id}-hint`}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        onChange={(event) => take(event.target.value)}
      />
      <p className="quiet" id={`${id}-hint`}>
        {t('textHint')}
      </p>
    </div>
  );
}

/** Why it is not sent, and the way out where somebody altered it: the same coins go to an address of the account first. */
function Refused({ error, one }: { error: Error; one: Detail }): ReactNode {
  const t = useText(TEXTS);
  if (!isAltered(error)) return <Problem error={error} means={t('refused')} changes />;
  return (
    <>
      <Notice tone="bad" title={t('altered')}>
        <Reason error={error} />
      </Notice>
      {!comesBack(one) && one.state !== 'approved' && (
        <div className="panel outside-safety">
          <h3>{t('safety')}</h3>
          <p>{t('safetyText')}</p>
          <a className="button filled" href={href('withdrawals', `${one.id}`, 'cancel')}>
            {t('safetyGo')}
          </a>
        </div>
      )}
    </>
  );
}

/** The end of a payment that was handed out and that nobody signed. */
function GiveUp({ id }: { id: string }): ReactNode {
  const t = useText(TEXTS);
  const connection = useConnection();
  const [asking, setAsking] = useState(false);
  const reject = useChange('withdrawal.reject', 'withdrawal.');
  return (
    <>
      {reject.error && <Problem error={reject.error} />}
      {asking ? (
        <fieldset className="asking">
          <legend>{t('giveUpSure')}</legend>
          <div className="actions">
            <button
              type="button"
              className="button"
              disabled={!connection.up || reject.isPending}
              onClick={() => reject.mutate({ id })}
            >
              {t('giveUpYes')}
            </button>
            <button type="button" className="link" onClick={() => setAsking(false)}>
              {t('giveUpNo')}
            </button>
          </div>
        </fieldset>
      ) : (
        <button type="button" className="button plain" onClick={() => setAsking(true)}>
          {t('giveUp')}
        </button>
      )}
    </>
  );
}
