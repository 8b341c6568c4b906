/** Sends a call of the API reference to the sandbox, and shows the answer. A typed key stays in this form and is forgotten with it. */
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useChange, useConnection } from '../../data.tsx';
import { useBusinesses } from '../../frame/business.tsx';
import { Field } from '../../parts/controls.tsx';
import { foreign } from '../../parts/format.ts';
import { Problem, State } from '../../parts/parts.tsx';
import type { T } from './developers.tsx';
import type { Operation } from './reference.tsx';

const INDENT = 2;
const ROWS_MAX = 12;
const ERROR_FROM = 400;

type Props = { operation: Operation; example: unknown; browser: boolean; t: T };

export function TryIt({ operation, example, browser, t }: Props): ReactNode {
  const id = useId();
  const { up } = useConnection();
  const { business, all } = useBusinesses();
  const sandbox = business?.network === 'sandbox' ? business : all.find(({ network }) => network === 'sandbox');
  const [given, setGiven] = useState<Record<string, string>>({});
  const [body, setBody] = useState(() => JSON.stringify(example, null, INDENT));
  const [key, setKey] = useState('');
  const attempt = useChange('api.try', 'invoice.', 'withdrawal.', 'business.', 'counter.');
  if (!sandbox || operation.operationId === undefined) return <p className="quiet">{t('tryNowhere')}</p>;
  const parameters = operation.parameters ?? [];
  const isReady =
    up && !attempt.isPending && parameters.every(({ name, required }) => !required || given[name]?.trim());
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!isReady) return;
    const named = Object.entries(given).flatMap(([name, value]) => (value.trim() ? [[name, value.trim()]] : []));
    attempt.mutate({
      business: `${sandbox.id}`,
      operation: operation.operationId ?? '',
      parameters: Object.fromEntries(named),
      body: example === null ? null : body,
      key: key.trim() || null,
    });
  };
  return (
    <form className="try-it" onSubmit={submit}>
      <h3>{t('tryTitle', { business: foreign(sandbox.name) })}</h3>
      {parameters.map(({ name, description, schema }) => (
        <Field
          key={name}
          className="mono"
          label={name}
          hint={schema?.enum?.join(', ') ?? description}
          spellCheck={false}
          value={given[name] ?? ''}
          onChange={(event) => setGiven({ ...given, [name]: event.target.value })}
        />
      ))}
      {example !== null && (
        <div className="field">
          <label htmlFor={id}>{t('tryBody')}</label>
          <textarea
            id={id}
            className="input mono"
            rows={Math.min(ROWS_MAX, body.split('\n').length + 1)}
            spellCheck={false}
            value={body}
            onChange={(event) => setBody(event.target.value)}
          />
        </div>
      )}
      {!browser && (
        <Field
          label={t('tryKey')}
          hint={t('tryKeyHint')}
          type="password"
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
      )}
      <button type="submit" className="button" disabled={!isReady}>
        {t('trySend')}
      </button>
      {attempt.error && <Problem error={attempt.error} />}
      {attempt.data && <Answered answer={attempt.data} t={t} />}
    </form>
  );
}

function Answered({ answer, t }: { answer: Result<'api.try'>; t: T }): ReactNode {
  const isFine = answer.status < ERROR_FROM;
  return (
    <section className="try-answer" aria-label={t('answer')} aria-live="polite">
      <p>
        <State shape={isFine ? 'done' : 'warning'} tone={isFine ? 'good' : 'warn'}>
          {answer.status}
        </State>{' '}
        <span className="quiet">
          <span className="mono">{foreign(answer.request)}</span> · {answer.duration_ms} ms
        </span>
      </p>
      <pre className="mono">{pretty(answer.body)}</pre>
    </section>
  );
}

/** Lines of JSON, each without characters that turn or hide text; another text as it is. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, INDENT).split('\n').map(lineOf).join('\n');
  } catch {
    return foreign(text);
  }
}

const lineOf = (line: string): string => `${/^ */.exec(line)?.[0] ?? ''}${foreign(line.trimStart())}`;
