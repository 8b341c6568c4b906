/** A plan for every network that has something to collect: begin, end and highest cost, approved once. */

import { type FormEvent, type ReactNode, useState } from 'react';
import { assetOf } from '../../../daemon/domain/assets.ts';
import { NATIVE_COIN } from '../../../daemon/domain/evm.ts';
import { formatUnits, parseDecimal } from '../../../daemon/domain/money.ts';
import { MS_PER_DAY } from '../../../daemon/domain/time.ts';
import { useConnection, useData } from '../../data.tsx';
import { useLanguage, useText, useTimeZone } from '../../i18n.ts';
import { Choices, Field, Select } from '../../parts/controls.tsx';
import { Elsewhere } from '../../parts/elsewhere.tsx';
import { fiat, useTimes } from '../../parts/format.ts';
import { useMoney } from '../../parts/money.ts';
import { Problem } from '../../parts/parts.tsx';
import { useTries } from '../../tries.ts';
import { type Desk, type DeskForecast, MIN_USD, useSigning } from './desks.ts';
import { nextNight } from './night.ts';
import { isWrongPassphrase, Passphrase } from './passphrase.tsx';
import TEXTS from './texts.ts';

const DAYS = ['1', '7', '28'] as const;
type Days = (typeof DAYS)[number];
type Begin = 'now' | 'night' | 'daily';
/** A plan for every night is at these hours, in the business's time zone. */
const NIGHTLY = { from: '02:00', to: '06:00' };
/** The longest that the wallet can be granted is 31 days. */
const DAILY_DAYS = 28;

const daysOf = (begin: Begin, days: Days): number => (begin === 'daily' ? DAILY_DAYS : Number(days));

/** Smallest units of a typed amount of a network's coin; null if it is none, or nothing. */
function unitsOf(text: string, { chain }: Desk): bigint | null {
  const units = parseDecimal(text.trim().replace(',', '.'), assetOf(NATIVE_COIN[chain]).decimals);
  return units === null || units === 0n ? null : units;
}

const proposed = ({ desk, forecast }: DeskForecast): string =>
  formatUnits(BigInt(forecast.fee_max), assetOf(NATIVE_COIN[desk.chain]));

type Collecting = { working: boolean; error: Error | null; wait: number; run(): Promise<void> };
type Terms = { ready: readonly DeskForecast[]; highest: Highest; begin: Begin; days: Days };

function useCollecting(
  { ready, highest, begin, days }: Terms,
  passphrase: string,
  ended: (isDone: boolean) => void,
): Collecting {
  const { bridge, client } = useData();
  const timeZone = useTimeZone();
  const sign = useSigning();
  const tries = useTries(ready.some(({ desk }) => desk.network !== 'sandbox'));
  const [working, setWorking] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  async function collect(): Promise<void> {
    const begins_at = begin === 'night' ? nextNight(Date.now(), timeZone) : Date.now();
    const until = begins_at + daysOf(begin, days) * MS_PER_DAY;
    const daily = begin === 'daily' ? NIGHTLY : null;
    const limits = ready.map(({ desk }) => {
      const { network, account_no: accountNo, chain } = desk;
      return { network, accountNo, chain, feeMax: unitsOf(highest[chain] ?? '', desk) ?? 0n, until };
    });
    const signed = await sign(passphrase, limits);
    for (const [at, { chain, feeMax }] of limits.entries()) {
      const business = `${ready[at]!.desk.business_id}`;
      const plan = {
        begins_at,
        ends_at: until,
        daily,
        min_usd: MIN_USD,
        fee_max: `${feeMax}`,
        signed: signed[at] ?? null,
      };
      await bridge.call('gas.collect', { business, chain, ...plan });
    }
  }
  async function run(): Promise<void> {
    setWorking(true);
    setError(null);
    const failed = await collect().then(
      () => null,
      (error: Error) => error,
    );
    setError(failed);
    if (failed) tries.read();
    ended(failed === null);
    await client.invalidateQueries({ queryKey: ['gas.desks'] });
    setWorking(false);
  }
  return { working, error, wait: tries.wait, run };
}

type Highest = Record<string, string>;

/** The typed highest costs by chain, else what was first proposed: that stays while somebody reads it. */
function useHighest(ready: readonly DeskForecast[]): [Highest, (highest: Highest) => void] {
  const [highest, setHighest] = useState<Highest>({});
  const fresh = ready.filter(({ desk }) => !(desk.chain in highest));
  if (fresh.length === 0) return [highest, setHighest];
  const whole = { ...highest, ...Object.fromEntries(fresh.map((one) => [one.desk.chain, proposed(one)])) };
  setHighest(whole);
  return [whole, setHighest];
}

const commandOf = ({ desk }: DeskForecast): string => `gas collect ${desk.business_id} ${desk.chain}`;

export function Collect({ ready }: { ready: readonly DeskForecast[] }): ReactNode {
  const t = useText(TEXTS);
  const times = useTimes();
  const night = nextNight(Date.now(), useTimeZone());
  const connection = useConnection();
  const { session } = useData();
  const [highest, setHighest] = useHighest(ready);
  const [begin, setBegin] = useState<Begin>('now');
  const [days, setDays] = useState<Days>('1');
  const [passphrase, setPassphrase] = useState('');
  const collecting = useCollecting({ ready, highest, begin, days }, passphrase, (isDone) => {
    setPassphrase('');
    if (isDone) setHighest({});
  });
  const { working, error, wait } = collecting;
  const isReal = ready.some(({ desk }) => desk.network !== 'sandbox');
  if (isReal && !session.approvals) return <Elsewhere commands={ready.map(commandOf)} />;
  const isTyped = ready.every(({ desk }) => unitsOf(highest[desk.chain] ?? '', desk) !== null);
  const isReady = isTyped && connection.up && !working && wait === 0 && (!isReal || passphrase !== '');
  const end = (begin === 'night' ? night : Date.now()) + daysOf(begin, days) * MS_PER_DAY;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady) void collecting.run();
  };
  return (
    <form className="gas-form" onSubmit={submit}>
      <h2>{t('collect')}</h2>
      <Choices<Begin>
        label={t('begins')}
        value={begin}
        options={[
          { value: 'now', title: t('now') },
          { value: 'night', title: t('night', { time: times.clock(night) }), text: t('nightText') },
          { value: 'daily', title: t('daily', NIGHTLY), text: t('dailyText') },
        ]}
        onChange={setBegin}
      />
      {ready.map(({ desk }) => (
        <HighestCost
          key={desk.chain}
          desk={desk}
          value={highest[desk.chain] ?? ''}
          type={(text) => setHighest({ ...highest, [desk.chain]: text })}
        />
      ))}
      {begin !== 'daily' && (
        <Select<Days>
          label={t('ends')}
          value={days}
          options={DAYS.map((one) => [one, t('endsDays', { n: Number(one) })] as const)}
          onChange={setDays}
        />
      )}
      <p className="quiet">
        {t('summary', { end: `${times.day(end)}, ${times.clock(end)}` })}
        {ready
          .filter(({ forecast }) => forecast.needs !== null)
          .map(({ desk }) => ` ${t('waitsForGas', { chain: t(`chain_${desk.chain}`) })}`)}
      </p>
      {isReal && (
        <Passphrase label={t('passphrase')} value={passphrase} type={setPassphrase} error={error} wait={wait} />
      )}
      {error && !isWrongPassphrase(error) && <Problem error={error} means={t('begunShown')} />}
      <button type="submit" className="button filled large" disabled={!isReady}>
        {working ? t('working') : t(begin === 'now' ? 'collectNow' : 'planIt')}
      </button>
    </form>
  );
}

function HighestCost({ desk, value, type }: { desk: Desk; value: string; type(text: string): void }): ReactNode {
  const t = useText(TEXTS);
  const language = useLanguage();
  const money = useMoney();
  const coin = NATIVE_COIN[desk.chain];
  const units = unitsOf(value, desk);
  const worth = units === null ? null : money.worth(coin, formatUnits(units, assetOf(coin)));
  return (
    <Field
      label={t('highest', { chain: t(`chain_${desk.chain}`), coin })}
      inputMode="decimal"
      value={value}
      onChange={(event) => type(event.target.value)}
      hint={worth === null ? t('highestFree') : t('highestHint', { fiat: fiat(worth, money.currency, language) })}
      error={units === null ? t('noAmount', { coin }) : undefined}
    />
  );
}
