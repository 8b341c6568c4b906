/** The editor of a payment link, with the customer's page beside it. */
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { FIAT } from '../../../daemon/domain/currencies.ts';
import { LINK_ABOUT_CHARS_MAX, LINK_ITEMS_MAX, LINK_NAME_CHARS_MAX } from '../../../daemon/domain/links.ts';
import type { Params } from '../../bridge.ts';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { type Business, NoBusiness, useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { Field, Segments, Select, Sure } from '../../parts/controls.tsx';
import { DayField } from '../../parts/day-field.tsx';
import { Icon } from '../../parts/icons.tsx';
import { ownCurrency } from '../../parts/money.ts';
import { Answer, Copy, Foreign, Notice, Problem, Section } from '../../parts/parts.tsx';
import { go, href } from '../../router.ts';
import { Items, type ItemText } from './items.tsx';
import { Preview } from './preview.tsx';
import { type Link, LinkState, type T } from './state.tsx';

type Kind = Link['kind'];
type LinkFields = Omit<Params<'link.change'>, 'link'>;

/** All fields as they are typed. */
export type Draft = {
  kind: Kind;
  name: string;
  about: string;
  currency: string;
  least: string;
  suggested: string;
  items: ItemText[];
  ends: string;
};

const NOTHING = { name: '', about: '', least: '', suggested: '', ends: '' };
const NO_ITEM: ItemText = { id: null, name: '', price: '', stock: '' };

const plain = (amount: string): string => amount.trim().replace(',', '.');
const countOf = (text: string): number | null => (text.trim() === '' ? null : Number(text));

/** The link that the fields mean. A fixed amount is one item with the link's name. */
function wantedOf({ kind, name, about, least, suggested, items, ends }: Draft): LinkFields {
  const named = kind === 'fixed' ? items.slice(0, 1).map((item) => ({ ...item, name })) : items;
  const isOpen = kind === 'open';
  return {
    name,
    about: about.trim() === '' ? null : about,
    ends_on: ends === '' ? null : ends,
    least: isOpen && least.trim() !== '' ? plain(least) : null,
    suggested: isOpen ? suggested.trim().split(/\s+/).filter(Boolean).map(plain) : [],
    items: isOpen
      ? []
      : named.map((item) => ({
          id: item.id,
          name: item.name.trim(),
          price: plain(item.price),
          stock: countOf(item.stock),
        })),
  };
}

const AMOUNT = /^\d{1,10}(\.\d{1,2})?$/;

function isComplete(draft: Draft): boolean {
  const { name, items, suggested = [], least } = wantedOf(draft);
  const amounts = [...(items ?? []).map(({ price }) => price), ...suggested, ...(least ? [least] : [])];
  const counts = (items ?? []).map(({ stock }) => stock ?? 0);
  const named = (items ?? []).every((item) => item.name !== '');
  return name.trim() !== '' && named && amounts.every((text) => AMOUNT.test(text)) && counts.every(Number.isInteger);
}

const back = (t: T): { to: string; name: string } => ({ to: href('links'), name: t('links') });

export function NewLink({ t }: { t: T }): ReactNode {
  const business = useBusiness();
  return (
    <Page title={t('newLink')} back={back(t)}>
      {business ? <NewEditor key={business.id} business={business} t={t} /> : <NoBusiness />}
    </Page>
  );
}

function NewEditor({ business, t }: { business: Business; t: T }): ReactNode {
  const add = useChange('link.add', 'link.');
  const [address, setAddress] = useState('');
  const [draft, setDraft] = useState<Draft>({
    ...NOTHING,
    kind: 'fixed',
    currency: ownCurrency(business),
    items: [NO_ITEM],
  });
  const field = (
    <Field
      label={t('address')}
      className="mono"
      value={address}
      maxLength={40}
      spellCheck={false}
      placeholder="…/pay/l/"
      hint={t('addressHint')}
      onChange={(event) => setAddress(event.target.value.trim().toLowerCase())}
    />
  );
  const make = (wanted: LinkFields): void => {
    const { kind, currency } = draft;
    const link = address === '' ? null : address;
    add.mutate(
      { business: `${business.id}`, kind, currency, link, ...wanted },
      { onSuccess: ({ link: made }) => go(href('links', made.link)) },
    );
  };
  return (
    <Editor draft={draft} setDraft={setDraft} isNew address={field} busy={add.isPending} save={make} t={t}>
      {add.error && <Problem error={add.error} />}
    </Editor>
  );
}

export function EditLink({ link: name, t }: { link: string; t: T }): ReactNode {
  const found = useCall('link.show', { link: name });
  const title = found.data ? <Foreign text={found.data.link.name} /> : name;
  return (
    <Page title={title} back={back(t)}>
      <Answer of={found}>{({ link }) => <Change key={link.link} link={link} t={t} />}</Answer>
    </Page>
  );
}

function draftOf(link: Link): Draft {
  const items = link.items.map(({ id, name, price, stock }) => ({ id, name, price, stock: `${stock ?? ''}` }));
  return {
    kind: link.kind,
    name: link.name,
    about: link.about ?? '',
    currency: link.currency,
    least: link.least ?? '',
    suggested: link.suggested.join(' '),
    items,
    ends: link.ends_on ?? '',
  };
}

function Change({ link, t }: { link: Link; t: T }): ReactNode {
  const { up } = useConnection();
  const [draft, setDraft] = useState<Draft>(() => draftOf(link));
  const change = useChange('link.change', 'link.');
  const end = useChange('link.end', 'link.');
  const error = change.error ?? end.error;
  const address = (
    <p className="links-address">
      <LinkState link={link} t={t} /> <span className="mono">{link.url}</span>{' '}
      <Copy text={link.url} label={t('copyLink')} /> <a href={href('links', link.link, 'poster')}>{t('poster')}</a>
      <span className="quiet">{t('addressStays')}</span>
    </p>
  );
  const save = (wanted: LinkFields): void =>
    change.mutate({ link: link.link, ...wanted }, { onSuccess: ({ link: now }) => setDraft(draftOf(now)) });
  return (
    <>
      {link.too_small_for.length > 0 && (
        <Notice tone="warn" title={t('tooSmall', { coins: link.too_small_for.join(', ') })}>
          {t('tooSmallNote')}
        </Notice>
      )}
      <Editor draft={draft} setDraft={setDraft} address={address} busy={change.isPending} save={save} t={t}>
        {error && <Problem error={error} />}
        {link.state === 'ended' && link.ended_at ? (
          <button
            type="button"
            className="link"
            disabled={!up}
            onClick={() => end.mutate({ link: link.link, ended: false })}
          >
            {t('reopen')}
          </button>
        ) : (
          <Sure
            label={t('end')}
            question={t('endSure')}
            yes={t('endYes')}
            disabled={!up}
            onYes={() => end.mutate({ link: link.link })}
          />
        )}
      </Editor>
      <Section title={t('snippet')} note={t('snippetNote')} side={<Copy text={link.snippet} label={t('copyHtml')} />}>
        <pre className="links-snippet mono">{link.snippet}</pre>
      </Section>
    </>
  );
}

type EditorProps = {
  draft: Draft;
  setDraft(draft: Draft): void;
  isNew?: boolean;
  address: ReactNode;
  busy: boolean;
  save(wanted: LinkFields): void;
  t: T;
  children: ReactNode;
};

function Editor({ draft, setDraft, isNew = false, address, busy, save, t, children }: EditorProps): ReactNode {
  const { up } = useConnection();
  const about = useId();
  const set = (some: Partial<Draft>): void => setDraft({ ...draft, ...some });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (up && isComplete(draft)) save(wantedOf(draft));
  };
  return (
    <form className="links-editor" onSubmit={submit}>
      <div className="links-fields">
        <Field
          label={t('name')}
          value={draft.name}
          maxLength={LINK_NAME_CHARS_MAX}
          onChange={(event) => set({ name: event.target.value })}
        />
        <div className="field">
          <label htmlFor={about}>{t('textField')}</label>
          <input
            id={about}
            className="input"
            value={draft.about}
            maxLength={LINK_ABOUT_CHARS_MAX}
            onChange={(event) => set({ about: event.target.value })}
          />
        </div>
        {address}
        <h2>{t('what')}</h2>
        {isNew && <KindChoice draft={draft} set={set} t={t} />}
        <Price draft={draft} set={set} t={t} />
        <DayField label={t('ends')} value={draft.ends} hint={t('endsHint')} onChange={(ends) => set({ ends })} />
        {children}
      </div>
      <aside className="links-side">
        <Preview draft={draft} t={t} />
        <button type="submit" className="button filled large" disabled={!up || busy || !isComplete(draft)}>
          {t(isNew ? 'make' : 'save')}
        </button>
        <p className="quiet center">{t('canChange')}</p>
      </aside>
    </form>
  );
}

type PartProps = { draft: Draft; set(some: Partial<Draft>): void; t: T };

function KindChoice({ draft, set, t }: PartProps): ReactNode {
  const business = useBusiness();
  const all = [...new Set([draft.currency, business?.brand.currency ?? 'USD', ...Object.keys(FIAT)])];
  return (
    <div className="links-kind">
      <Segments<Kind>
        label={t('what')}
        value={draft.kind}
        options={[
          ['fixed', t('fixed')],
          ['open', t('any')],
          ['items', t('items')],
        ]}
        onChange={(kind) => set({ kind, items: draft.items.length === 0 ? [NO_ITEM] : draft.items })}
      />
      <Select
        label={t('currency')}
        value={draft.currency}
        options={all.map((one) => [one, one] as const)}
        onChange={(currency) => set({ currency })}
      />
    </div>
  );
}

function Price({ draft, set, t }: PartProps): ReactNode {
  const { kind, currency, items, least, suggested } = draft;
  if (kind === 'open') {
    return (
      <>
        <Field
          label={t('least', { currency })}
          inputMode="decimal"
          value={least}
          onChange={(event) => set({ least: event.target.value })}
        />
        <Field
          label={t('suggested')}
          value={suggested}
          hint={t('suggestedHint')}
          onChange={(event) => set({ suggested: event.target.value })}
        />
      </>
    );
  }
  if (kind === 'fixed') {
    const item = items[0] ?? NO_ITEM;
    const change = (some: Partial<ItemText>): void => set({ items: [{ ...item, ...some }] });
    const isWrong = item.price !== '' && !AMOUNT.test(plain(item.price));
    return (
      <>
        <Field
          label={t('amount', { currency })}
          inputMode="decimal"
          value={item.price}
          error={isWrong ? t('wrongAmount') : undefined}
          onChange={(event) => change({ price: event.target.value })}
        />
        <Field
          label={t('stock')}
          inputMode="numeric"
          value={item.stock}
          hint={t('stockHint')}
          onChange={(event) => change({ stock: event.target.value.replace(/\D/g, '') })}
        />
      </>
    );
  }
  return (
    <>
      <Items items={items} currency={currency} change={(all) => set({ items: all })} t={t} />
      {items.length < LINK_ITEMS_MAX && (
        <button type="button" className="button" onClick={() => set({ items: [...items, NO_ITEM] })}>
          <Icon name="plus" /> {t('addItem')}
        </button>
      )}
    </>
  );
}
