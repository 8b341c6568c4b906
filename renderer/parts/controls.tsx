/** Controls: fields, choices and dialogs. They are native elements where these suffice. */
import { type ComponentProps, type ReactNode, useId, useState } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { useText } from '../i18n.ts';
import { Icon } from './icons.tsx';
import { Foreign } from './parts.tsx';
import TEXTS from './texts.ts';

type FieldProps = { label: ReactNode; hint?: ReactNode; error?: ReactNode } & ComponentProps<'input'>;

/** A text field with its label, a hint, and what is wrong with its value. */
export function Field({ label, hint, error, className = '', ...input }: FieldProps): ReactNode {
  const id = useId();
  const notes = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].join(' ').trim();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className={`input ${className}`}
        aria-invalid={error ? true : undefined}
        {...(notes ? { 'aria-describedby': notes } : {})}
        autoComplete="off"
        {...input}
      />
      {error && (
        <p className="bad" id={`${id}-error`}>
          {error}
        </p>
      )}
      {hint && (
        <p className="quiet" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

type SelectProps<V extends string> = {
  label: string;
  /** For a control whose place says what it is. */
  hideLabel?: boolean;
  value: V;
  options: readonly (readonly [V, ReactNode])[];
  hint?: ReactNode;
  onChange(value: V): void;
};

export function Select<V extends string>(props: SelectProps<V>): ReactNode {
  const { label, hideLabel, value, options, hint, onChange } = props;
  const id = useId();
  const described = hint ? { 'aria-describedby': `${id}-hint` } : {};
  return (
    <div className={hideLabel ? 'select' : 'field select'}>
      <label htmlFor={id} className={hideLabel ? 'unseen' : ''}>
        {label}
      </label>
      <span className="select-box">
        <select
          id={id}
          className="input"
          value={value}
          {...described}
          onChange={(event) => onChange(event.target.value as V)}
        >
          {options.map(([key, text]) => (
            <option key={key} value={key}>
              {text}
            </option>
          ))}
        </select>
        <Icon name="down" size={16} />
      </span>
      {hint && (
        <p className="quiet" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** A choice between few things, side by side. */
export function Segments<V extends string>({ label, value, options, onChange }: SelectProps<V>): ReactNode {
  const name = useId();
  return (
    <fieldset className="segments">
      <legend className="unseen">{label}</legend>
      {options.map(([key, text]) => (
        <label key={key}>
          <input type="radio" name={name} checked={key === value} onChange={() => onChange(key)} />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}

type ChoiceProps<V extends string> = {
  label: string;
  value: V;
  options: readonly { value: V; title: ReactNode; text?: ReactNode; more?: ReactNode }[];
  onChange(value: V): void;
};

/** A choice between a few things that need a sentence each. */
export function Choices<V extends string>({ label, value, options, onChange }: ChoiceProps<V>): ReactNode {
  const name = useId();
  return (
    <fieldset className="choices">
      <legend className="unseen">{label}</legend>
      {options.map((one) => (
        <div key={one.value} className={one.value === value ? 'choice chosen' : 'choice'}>
          <label>
            <input type="radio" name={name} checked={one.value === value} onChange={() => onChange(one.value)} />
            <span>
              <strong>{one.title}</strong>
              {one.text && <span className="quiet">{one.text}</span>}
            </span>
          </label>
          {one.value === value && one.more}
        </div>
      ))}
    </fieldset>
  );
}

type SureProps = {
  /** The link that asks, the question, and the button that does it. */
  label: string;
  question: string;
  yes: string;
  disabled: boolean;
  onYes(): void;
};

/** A link whose effect is confirmed in its place. */
export function Sure({ label, question, yes, disabled, onYes }: SureProps): ReactNode {
  const t = useText(TEXTS);
  const [asking, setAsking] = useState(false);
  if (!asking) {
    return (
      <button type="button" className="link" disabled={disabled} onClick={() => setAsking(true)}>
        {label}
      </button>
    );
  }
  return (
    <span className="sure">
      <Foreign text={question} />{' '}
      <button
        type="button"
        className="button"
        disabled={disabled}
        onClick={() => {
          setAsking(false);
          onYes();
        }}
      >
        {yes}
      </button>{' '}
      <button type="button" className="link" onClick={() => setAsking(false)}>
        {t('leave')}
      </button>
    </span>
  );
}

type SheetProps = { title: string; open: boolean; onClose(): void; children: ReactNode; wide?: boolean };

/** A dialog above the page. Never one above another. */
export function Sheet({ title, open, onClose, children, wide = false }: SheetProps): ReactNode {
  const t = useText(TEXTS);
  return (
    <ModalOverlay className="overlay" isOpen={open} onOpenChange={(now) => now || onClose()} isDismissable>
      <Modal className={wide ? 'sheet wide' : 'sheet'}>
        <Dialog className="sheet-inside">
          <header className="sheet-head">
            <Heading slot="title">{title}</Heading>
            <button type="button" className="plain-icon" aria-label={t('close')} onClick={onClose}>
              <Icon name="close" />
            </button>
          </header>
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
