/** A refund of a paid invoice: it is asked for here, and approved like every withdrawal. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { useLanguage } from '../../i18n.ts';
import { Field, Select, Sheet } from '../../parts/controls.tsx';
import { typed } from '../../parts/format.ts';
import { Coin, Problem, useCoinText } from '../../parts/parts.tsx';
import { go, href } from '../../router.ts';
import type { T } from './invoices.tsx';
import type { Detail } from './panel.tsx';

const AMOUNT = /^\d{1,30}(\.\d{1,30})?$/;
const ADDRESS_CHARS_MIN = 14;

type RefundProps = { invoice: Detail; open: boolean; onClose(): void; t: T };

export function Refund({ invoice, open, onClose, t }: RefundProps): ReactNode {
  return (
    <Sheet
      title={t(invoice.over ? 'refundOverTitle' : 'refundTitle', { invoice: invoice.slug })}
      open={open}
      onClose={onClose}
    >
      <Form invoice={invoice} t={t} />
    </Sheet>
  );
}

function Form({ invoice, t }: { invoice: Detail; t: T }): ReactNode {
  const language = useLanguage();
  const { up } = useConnection();
  const { over } = invoice;
  const [crypto, setCrypto] = useState(over?.crypto ?? invoice.refundable[0]?.crypto ?? '');
  const most = invoice.refundable.find((one) => one.crypto === crypto)?.amount ?? '0';
  const [amount, setAmount] = useState(over?.amount ?? most);
  const [address, setAddress] = useState('');
  const coinText = useCoinText();
  const text = (units: string): string => coinText(units, invoice.payment!.crypto);
  const to = address.trim();
  const place = { business: `${invoice.business_id}`, crypto, address: to };
  const known = useCall('withdrawal.recipient', place, { enabled: to.length >= ADDRESS_CHARS_MIN });
  const refund = useChange('invoice.refund', 'invoice.', 'withdrawal.');
  const isBad = known.data !== undefined && !known.data.valid && !known.isFetching && to !== '';
  const isReady = up && AMOUNT.test(amount) && known.data?.valid === true && !refund.isPending;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!isReady) return;
    refund.mutate(
      { invoice: invoice.slug, address: to, amount, crypto },
      { onSuccess: ({ withdrawal }) => go(href('withdrawals', `${withdrawal.id}`, 'approve')) },
    );
  };
  return (
    <form className="form" onSubmit={submit}>
      <p>{t('refundNote')}</p>
      {invoice.refundable.length > 1 && (
        <Select
          label={t('coin')}
          value={crypto}
          options={invoice.refundable.map((one) => [one.crypto, one.crypto] as const)}
          onChange={(wanted) => {
            setCrypto(wanted);
            setAmount(invoice.refundable.find((one) => one.crypto === wanted)?.amount ?? '');
          }}
        />
      )}
      <Field
        label={t('refundAmount', { coin: crypto })}
        inputMode="decimal"
        value={typed(amount, language)}
        hint={
          <>
            {over &&
              `${t('refundOver', { got: text(invoice.payment!.received), due: text(invoice.payment!.amount) })} `}
            {t('refundMost')} <Coin amount={most} crypto={crypto} whole />
          </>
        }
        onChange={(event) => setAmount(event.target.value.trim().replace(',', '.'))}
      />
      <Field
        label={t('refundAddress', { coin: crypto })}
        className="mono"
        spellCheck={false}
        autoCapitalize="off"
        maxLength={200}
        value={address}
        hint={t('refundAddressHint')}
        error={isBad ? t('refundBadAddress', { coin: crypto }) : undefined}
        onChange={(event) => setAddress(event.target.value)}
      />
      {refund.error && <Problem error={refund.error} />}
      <button type="submit" className="button filled large" disabled={!isReady}>
        {t('refundAsk')}
      </button>
    </form>
  );
}
