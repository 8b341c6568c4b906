/** A refund of a paid invoice: it is asked for here, and approved like every withdrawal. */
import { type FormEvent, type ReactNode, useState } from 'react';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { useLanguage, useText } from '../../i18n.ts';
import { Choices, Field, Select, Sheet } from '../../parts/controls.tsx';
import { isZero, scaled, typed, unscaled } from '../../parts/format.ts';
import { Coin, coinName, Notice, Problem, useCoinText } from '../../parts/parts.tsx';
import { useRequests } from '../../parts/request.ts';
import { go, href } from '../../router.ts';
import { useMakeLink } from '../refunds/refund-links.tsx';
import REFUNDS from '../refunds/texts.ts';
import { keepTyped } from '../withdrawals/typed.ts';
import type { T } from './invoices.tsx';
import type { Detail } from './panel.tsx';

type CostProps = {
  cost: NonNullable<Result<'withdrawal.recipient'>['cost']>;
  crypto: string;
  take(amount: string): void;
  t: T;
};

/** The fee, which comes on top. If both are more than there is: what is missing, and the amount that can be sent. */
function Cost({ cost, crypto, take, t }: CostProps): ReactNode {
  const text = useCoinText();
  const fee = text(cost.fee, cost.fee_crypto);
  if (isZero(cost.missing)) return <p className="quiet">{t('refundFee', { fee })}</p>;
  const most = cost.fee_on_top ? unscaled(scaled(cost.available) - scaled(cost.fee)) : cost.available;
  return (
    <Notice
      tone="warn"
      title={t('refundMissing', { missing: text(cost.missing, crypto) })}
      actions={
        !most.startsWith('-') &&
        !isZero(most) && (
          <button type="button" className="button" onClick={() => take(most)}>
            {t('refundLess', { amount: text(most, crypto) })}
          </button>
        )
      }
    >
      {t('refundFee', { fee })} {t('refundThere', { amount: text(cost.available, crypto) })}
    </Notice>
  );
}

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
      <Form invoice={invoice} close={onClose} t={t} />
    </Sheet>
  );
}

type CoinProps = { invoice: Detail; value: string; choose(crypto: string, all: string): void; t: T };

/** Only where the payer sent several coins. */
function CoinChoice({ invoice: { refundable }, value, choose, t }: CoinProps): ReactNode {
  if (refundable.length < 2) return null;
  return (
    <Select
      label={t('coin')}
      value={value}
      options={refundable.map((one) => [one.crypto, coinName(one.crypto)] as const)}
      onChange={(wanted) => choose(wanted, refundable.find((one) => one.crypto === wanted)?.amount ?? '')}
    />
  );
}

type RefundRequest = { crypto: string; amount: string };

function Form({ invoice, close, t }: { invoice: Detail; close(): void; t: T }): ReactNode {
  const language = useLanguage();
  const r = useText(REFUNDS);
  const { over } = invoice;
  const [crypto, setCrypto] = useState(over?.crypto ?? invoice.refundable[0]?.crypto ?? '');
  const most = invoice.refundable.find((one) => one.crypto === crypto)?.amount ?? '0';
  const [amount, setAmount] = useState(over?.amount ?? most);
  const [who, setWho] = useState<'link' | 'have'>('link');
  const coinText = useCoinText();
  const text = (units: string): string => coinText(units, invoice.payment!.crypto);
  const asked = { crypto, amount };
  return (
    <div className="form">
      <p>{t('refundNote')}</p>
      <CoinChoice
        invoice={invoice}
        value={crypto}
        choose={(wanted, all) => {
          setCrypto(wanted);
          setAmount(all);
        }}
        t={t}
      />
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
      <Choices<'link' | 'have'>
        label={r('how')}
        value={who}
        options={[
          { value: 'link', title: r('byLink'), text: r('byLinkNote') },
          { value: 'have', title: r('have'), text: r('haveNote') },
        ]}
        onChange={setWho}
      />
      {who === 'link' ? (
        <ByLink invoice={invoice} asked={asked} close={close} />
      ) : (
        <ByAddress invoice={invoice} asked={asked} take={setAmount} t={t} />
      )}
    </div>
  );
}

/** The payer types the address on a page of the shop. */
function ByLink({ invoice, asked, close }: { invoice: Detail; asked: RefundRequest; close(): void }): ReactNode {
  const r = useText(REFUNDS);
  const { up } = useConnection();
  const make = useMakeLink();
  const isReady = up && AMOUNT.test(asked.amount) && !make.isPending;
  return (
    <>
      {make.error && <Problem error={make.error} />}
      <button
        type="button"
        className="button filled large"
        disabled={!isReady}
        onClick={() => make.mutate({ invoice: invoice.slug, ...asked }, { onSuccess: close })}
      >
        {r('make')}
      </button>
      <p className="quiet">{r('nothingSent')}</p>
    </>
  );
}

type AddressProps = { invoice: Detail; asked: RefundRequest; take(amount: string): void; t: T };

/** The merchant knows the address. */
function ByAddress({ invoice, asked: { crypto, amount }, take, t }: AddressProps): ReactNode {
  const { up } = useConnection();
  const [address, setAddress] = useState('');
  const to = address.trim();
  const place = { business: `${invoice.business_id}`, crypto, address: to, ...(AMOUNT.test(amount) ? { amount } : {}) };
  const found = useCall('withdrawal.recipient', place, { enabled: to.length >= ADDRESS_CHARS_MIN });
  // the former answer, of another address or amount, says nothing of this one
  const known = found.isPlaceholderData ? undefined : found.data;
  const refund = useChange('invoice.refund', 'invoice.', 'withdrawal.');
  const requestOf = useRequests();
  const isBad = known?.valid === false && !found.isFetching;
  const isReady = up && AMOUNT.test(amount) && known?.valid === true && !refund.isPending;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!isReady) return;
    const asked = { invoice: invoice.slug, address: to, amount, crypto };
    refund.mutate(
      { ...asked, request: requestOf(asked) },
      {
        onSuccess: ({ withdrawal }) => {
          keepTyped(withdrawal.id, { to, amount, crypto });
          go(href('withdrawals', `${withdrawal.id}`, 'approve'));
        },
      },
    );
  };
  return (
    <form className="form" onSubmit={submit}>
      <Field
        label={t('refundAddress', { coin: crypto })}
        className="mono"
        spellCheck={false}
        autoCapitalize="off"
        maxLength={200}
        value={address}
        error={isBad ? t('refundBadAddress', { coin: crypto }) : undefined}
        onChange={(event) => setAddress(event.target.value)}
      />
      {known?.valid && known.cost && <Cost cost={known.cost} crypto={crypto} take={take} t={t} />}
      {refund.error && <Problem error={refund.error} changes />}
      <button type="submit" className="button filled large" disabled={!isReady}>
        {t('refundAsk')}
      </button>
    </form>
  );
}
