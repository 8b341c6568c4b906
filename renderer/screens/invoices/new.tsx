/** A new invoice by hand. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { type Business, NoBusiness, useBusiness } from '../../frame/business.tsx';
import { Field, Select, Sheet } from '../../parts/controls.tsx';
import { ownCurrency } from '../../parts/money.ts';
import { coinName, Problem } from '../../parts/parts.tsx';
import { go, href } from '../../router.ts';
import type { T } from './invoices.tsx';

const AMOUNT = /^\d{1,12}([.,]\d{1,2})?$/;

export function NewInvoice({ open, amount, t }: { open: boolean; amount: string; t: T }): ReactNode {
  const business = useBusiness();
  const close = (): void => go(href('invoices'));
  return (
    <Sheet title={t('newInvoice')} open={open} onClose={close}>
      {business ? <Form key={business.id} business={business} amount={amount} t={t} /> : <NoBusiness rows={4} />}
    </Sheet>
  );
}

function Form({ business, amount: first, t }: { business: Business; amount: string; t: T }): ReactNode {
  const { up } = useConnection();
  const counter = useCall('counter.show', { business: `${business.id}` });
  const make = useChange('invoice.create', 'invoice.');
  const [amount, setAmount] = useState(first);
  const [currency, setCurrency] = useState(ownCurrency(business));
  const [crypto, setCrypto] = useState('ALL');
  const [reference, setReference] = useState('');
  const [note, setNote] = useState('');
  const [tried, setTried] = useState(false);
  const currencies = [...new Set([currency, ...(counter.data?.currencies ?? [])])];
  const cryptos = ['ALL', ...business.cryptos];
  const good = AMOUNT.test(amount.trim());
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setTried(true);
    if (!good || !up) return;
    const wanted = { amount: amount.trim().replace(',', '.'), currency, crypto };
    const texts = { order_id: reference.trim() || null, description: note.trim() || null };
    make.mutate(
      { business: `${business.id}`, ...wanted, ...texts },
      { onSuccess: ({ invoice }) => go(href('invoices', invoice.slug)) },
    );
  };
  return (
    <form className="form" onSubmit={submit}>
      <div className="form-row">
        <Field
          label={t('amount')}
          inputMode="decimal"
          value={amount}
          autoFocus
          error={tried && !good ? t('wrongAmount') : undefined}
          onChange={(event) => setAmount(event.target.value)}
        />
        <Select
          label={t('currency')}
          value={currency}
          options={currencies.map((one) => [one, one])}
          onChange={setCurrency}
        />
      </div>
      <Select
        label={t('coinAsked')}
        value={crypto}
        options={cryptos.map((one) => [one, one === 'ALL' ? t('anyCoin') : coinName(one)])}
        onChange={setCrypto}
      />
      <Field
        label={t('referenceField')}
        value={reference}
        maxLength={100}
        onChange={(event) => setReference(event.target.value)}
      />
      <Field label={t('noteField')} value={note} maxLength={200} onChange={(event) => setNote(event.target.value)} />
      {make.error && <Problem error={make.error} />}
      {!up && <p className="quiet">{t('wrongOffline')}</p>}
      <div className="actions">
        <button type="submit" className="button filled" disabled={make.isPending || !up}>
          {t('make')}
        </button>
      </div>
    </form>
  );
}
