/** A new withdrawal: what, how much, to whom. It moves nothing: it is approved on the next screen. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { findAsset } from '../../../daemon/domain/assets.ts';
import { isMovedElsewhere } from '../../../daemon/domain/watch-only.ts';
import { cellsOf } from '../../../daemon/operator/address.ts';
import type { Result } from '../../bridge.ts';
import { useCall, useChange, useConnection } from '../../data.tsx';
import { type Business, useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';
import { useLanguage, useText } from '../../i18n.ts';
import { Field, Select } from '../../parts/controls.tsx';
import { exact, foreign, isZero, typed } from '../../parts/format.ts';
import { ShapeIcon } from '../../parts/icons.tsx';
import { Coin, coinName, Empty, Foreign, Notice, Problem, Still, shortName } from '../../parts/parts.tsx';
import { useRequests } from '../../parts/request.ts';
import { go, href } from '../../router.ts';
import { AddressBook } from './address-book.tsx';
import { Practice } from './practice.tsx';
import TEXTS from './texts.ts';
import { keepTyped } from './typed.ts';
import './withdrawals.css';

/** Shorter texts are no address of any coin, and are not asked about. */
const ADDRESS_CHARS_MIN = 14;
const AMOUNT = /^\d{1,30}(\.\d{1,30})?$/;

export default function NewWithdrawal(): ReactNode {
  const t = useText(TEXTS);
  const business = useBusiness();
  return (
    <Page title={t('newTitle')} back={{ to: href('withdrawals'), name: t('title') }}>
      {business ? <Form key={business.id} business={business} /> : <Still />}
    </Page>
  );
}

function Form({ business }: { business: Business }): ReactNode {
  const t = useText(TEXTS);
  const connection = useConnection();
  const policy = useCall('policy.show', { business: `${business.id}` });
  const asks = policy.data && policy.data.policy.mode !== 'automatic';
  const funded = business.balances.filter(({ amount, crypto }) => !isZero(amount) && !isElsewhere(business, crypto));
  const [crypto, setCrypto] = useState(funded[0]?.crypto ?? '');
  const [amount, setAmount] = useState('');
  const [all, setAll] = useState(false);
  const [address, setAddress] = useState('');
  const [typing, setTyping] = useState(false);
  const add = useChange('withdrawal.add', 'withdrawal.', 'business.');
  const requestOf = useRequests();
  const to = address.trim();
  const input = { business: `${business.id}`, crypto, address: to };
  const known = useCall('withdrawal.recipient', input, { enabled: to.length >= ADDRESS_CHARS_MIN && crypto !== '' });
  const balance = funded.find((one) => one.crypto === crypto);
  if (!balance) return <NoFunds business={business} />;
  const isAmount = all || isAmountText(amount);
  const isAddress = known.data?.valid === true && !known.isPlaceholderData;
  const isWrong =
    to.length < ADDRESS_CHARS_MIN ? !typing && to !== '' : known.data?.valid === false && !known.isFetching;
  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (!isAmount || !isAddress) return;
    const asked = { ...input, amount: all ? null : amount };
    const { withdrawal } = await add.mutateAsync({ ...asked, request: requestOf(asked) });
    keepTyped(withdrawal.id, { to, crypto, ...(all ? {} : { amount }) });
    go(href('withdrawals', `${withdrawal.id}`, ...(withdrawal.state === 'requested' ? ['approve'] : [])));
  }
  return (
    <div className="new-withdrawal">
      <form className="form section" onSubmit={(event) => void submit(event).catch(() => {})}>
        <Amount
          coins={funded}
          crypto={crypto}
          choose={setCrypto}
          amount={amount}
          type={setAmount}
          all={all}
          takeAll={setAll}
        />
        <Field
          label={t('addressOf', { crypto: coinName(crypto) })}
          className="mono"
          spellCheck={false}
          autoCapitalize="off"
          value={address}
          onChange={(event) => {
            setAddress(event.target.value);
            setTyping(true);
          }}
          onBlur={() => setTyping(false)}
          hint={t('addressHint')}
          error={isWrong ? t('badAddress', { crypto: coinName(crypto) }) : undefined}
        />
        <MovedElsewhere business={business} />
        {business.network === 'sandbox' && asks !== undefined && (
          <Practice business={business} asks={asks} crypto={crypto} choose={setAddress} />
        )}
        {isAddress && known.data && <Preview address={to} known={known.data} />}
        {policy.error && asks === undefined && <Problem error={policy.error} retry={() => void policy.refetch()} />}
        {add.error && <Problem error={add.error} means={t('nothingMoved')} changes />}
        <Submit asks={asks} isReady={isAmount && isAddress && !add.isPending && connection.up} />
      </form>
      <AddressBook business={business} crypto={crypto} choose={setAddress} />
    </div>
  );
}

/** `asks`: whether it waits for an approval; undefined: not known yet. */
function Submit({ asks, isReady }: { asks: boolean | undefined; isReady: boolean }): ReactNode {
  const t = useText(TEXTS);
  return (
    <div className="actions">
      <button type="submit" className="button filled large" disabled={!isReady || asks === undefined}>
        {t(asks === false ? 'sendNow' : 'toReview')}
      </button>
      {asks !== undefined && <span className="quiet">{t(asks ? 'toReviewNote' : 'atOnce')}</span>}
    </div>
  );
}

function NoFunds({ business }: { business: Business }): ReactNode {
  const t = useText(TEXTS);
  return (
    <Empty title={t('noFunds')}>
      {coinsElsewhere(business) === '' ? t('noFundsText') : <MovedElsewhere business={business} />}
    </Empty>
  );
}

/** Says of which coins another wallet moves the money. */
function MovedElsewhere({ business }: { business: Business }): ReactNode {
  const t = useText(TEXTS);
  const coins = coinsElsewhere(business);
  return coins !== '' && <span className="quiet">{t('movedElsewhere', { coins })}</span>;
}

function coinsElsewhere(business: Business): string {
  const held = business.balances.filter(({ amount, crypto }) => !isZero(amount) && isElsewhere(business, crypto));
  return held.map(({ crypto }) => coinName(crypto)).join(', ');
}

/** Whether the wallet that has the keys of a coin alone moves it. */
function isElsewhere({ watch_only: watchOnly }: Business, crypto: string): boolean {
  const chain = findAsset(crypto)?.chain;
  return chain !== undefined && watchOnly.includes(chain) && isMovedElsewhere(chain);
}

type AmountProps = {
  coins: Business['balances'];
  crypto: string;
  choose(crypto: string): void;
  amount: string;
  type(amount: string): void;
  all: boolean;
  takeAll(all: boolean): void;
};

const isAmountText = (text: string): boolean => AMOUNT.test(text) && !isZero(text);

function Amount({ coins, crypto, choose, amount, type, all, takeAll }: AmountProps): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const balance = coins.find((one) => one.crypto === crypto);
  return (
    <>
      <Select
        label={t('coin')}
        value={crypto}
        options={coins.map((one) => [one.crypto, `${coinName(one.crypto)}: ${exact(one.amount, language)}`] as const)}
        onChange={choose}
      />
      <Field
        label={t('amountIn', { crypto: shortName(crypto) })}
        inputMode="decimal"
        value={all ? '' : typed(amount, language)}
        disabled={all}
        onChange={(event) => type(event.target.value.trim().replace(',', '.'))}
        hint={
          <>
            {t('available')} <Coin amount={balance?.amount ?? '0'} crypto={crypto} whole />
          </>
        }
        error={amount !== '' && !all && !isAmountText(amount) ? t('noAmount') : undefined}
      />
      <label className="check">
        <input type="checkbox" checked={all} onChange={(event) => takeAll(event.target.checked)} />
        <span>{t('sendAll')}</span>
      </label>
    </>
  );
}

/** The address as it was understood, and what is known about it. */
function Preview({ address, known }: { address: string; known: Result<'withdrawal.recipient'> }): ReactNode {
  const t = useText(TEXTS);
  const { prefix, cells } = cellsOf(address, null);
  const [alike] = known.lookalikes;
  const isKnown = known.label !== null || known.paid > 0;
  return (
    <div className="address-preview">
      <p className="mono">{[prefix, ...cells.map(({ text }) => text)].filter(Boolean).join(' ')}</p>
      {alike ? (
        <Notice
          tone="bad"
          title={t('lookalikeTitle', { name: alike.label === null ? t('aKnownAddress') : foreign(alike.label) })}
        >
          {t('lookalikeNew')}
        </Notice>
      ) : (
        <p className={isKnown ? 'finding good' : 'finding warn'}>
          <ShapeIcon shape={isKnown ? 'done' : 'warning'} />
          {isKnown ? (
            <span>
              {known.label !== null ? <Foreign text={known.label} /> : t('knownAddress')},{' '}
              {t('paidTimes', { n: known.paid })}
            </span>
          ) : (
            t('neverPaid')
          )}
        </p>
      )}
    </div>
  );
}
