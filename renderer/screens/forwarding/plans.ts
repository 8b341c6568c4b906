/** The plans of a business, what they do next in words, and the operator's grants for them. */
import type { UseQueryResult } from '@tanstack/react-query';
import { type Asset, findAsset, nativeAsset } from '../../../daemon/domain/assets.ts';
import { NATIVE_COIN } from '../../../daemon/domain/evm.ts';
import { MS_PER_DAY } from '../../../daemon/domain/time.ts';
import type { ForwardLimits } from '../../../daemon/operator/forwarding.ts';
import { macAt } from '../../../daemon/operator/keyholder.ts';
import type { Params, Result } from '../../bridge.ts';
import { useCall, useData } from '../../data.tsx';
import type { Business } from '../../frame/business.tsx';
import { useLanguage, useText, useTimeZone } from '../../i18n.ts';
import { useKeyholder } from '../../keyholder.ts';
import { dayIn, decimal, isZero, scaled, times, unscaled } from '../../parts/format.ts';
import { byCoin, useCoinText } from '../../parts/parts.tsx';
import TEXTS from './texts.ts';

export type Plan = Result<'forwarding.list'>['plans'][number];
export type Preview = Result<'forwarding.preview'>;
export type Terms = NonNullable<Params<'forwarding.preview'>['terms']>;
type Signed = Params<'forwarding.set'>['signed'];

const READ_EVERY_MS = 30_000;
const PERCENT_DECIMALS = 4;
const SUNDAY = Date.UTC(2026, 0, 4, 12);
export const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const;

export const usePlans = (business: Business): UseQueryResult<Result<'forwarding.list'>> =>
  useCall('forwarding.list', { business: `${business.id}` }, { every: READ_EVERY_MS });

/** The payments that a stored plan would begin as of now. */
export const usePreview = ({ business_id, crypto }: Plan): UseQueryResult<Preview> =>
  useCall('forwarding.preview', { business: `${business_id}`, crypto }, { every: READ_EVERY_MS, calm: true });

/** The coins that a business can send on: those whose keys are in this wallet. */
export const coinsOf = ({ cryptos, watch_only }: Business): Asset[] =>
  [...cryptos].sort(byCoin).flatMap((symbol) => {
    const asset = findAsset(symbol);
    return asset && !watch_only.includes(asset.chain) ? [asset] : [];
  });

/** The coin that the fees of an asset are paid in. */
export const feeCoinOf = (asset: Asset): Asset => nativeAsset(asset.chain);

/** Whether the price of gas is measured on the chain of an asset. */
export const hasGas = ({ chain }: Asset): boolean => chain in NATIVE_COIN;

const CALM: ReadonlySet<string> = new Set([
  'forward.cheap',
  'forward.gas_sent',
  'wait.machine_away',
  'wait.machine_never',
]);

/** Whether a plan waits for something that comes by itself, and is no trouble. */
export const isCalmWait = (problem: Plan['problem']): boolean => problem !== null && CALM.has(problem.code);

/** A share such as 0.0002 as a number of percent. */
export const percentOf = (share: string): string => unscaled(scaled(share) * 100n);

/** The words for what a plan does, and when. */
export function useWords() {
  const t = useText(TEXTS);
  const language = useLanguage();
  const timeZone = useTimeZone();
  const coinText = useCoinText();
  const dayName = (weekday: string): string =>
    new Intl.DateTimeFormat(language, { weekday: 'long', timeZone: 'UTC' }).format(
      SUNDAY + WEEKDAYS.indexOf(weekday as (typeof WEEKDAYS)[number]) * MS_PER_DAY,
    );
  return {
    t,
    coinText,
    dayName,
    share: (share: string): string => decimal(percentOf(share), language, 0, PERCENT_DECIMALS),
    /** When a plan sends, and what it keeps. */
    rule({ every, at, weekday, cheap, least, keep, crypto }: Plan): string {
      const from = coinText(least, crypto);
      const when =
        every === 'day'
          ? t('everyDay', { at: at ?? '' })
          : every === 'week'
            ? t('everyWeek', { at: at ?? '', day: dayName(weekday ?? '') })
            : isZero(least)
              ? t('everyFree')
              : t('everyReached', { least: from });
      const more = [
        ...(cheap ? [t('inCheapHour')] : []),
        ...(every === 'reached' || isZero(least) ? [] : [t('from', { least: from })]),
        ...(isZero(keep) ? [] : [t('stays', { keep: coinText(keep, crypto) })]),
      ];
      return [when, ...more].join(', ');
    },
    /** "Tomorrow, 03:00". */
    moment(at: string): string {
      const { clock, long } = times(language, timeZone);
      const day = dayIn(at, timeZone);
      const time = clock(at);
      if (day === dayIn(Date.now(), timeZone)) return t('today', { time });
      if (day === dayIn(Date.now() + MS_PER_DAY, timeZone)) return t('tomorrow', { time });
      return t('onDay', { day: long(at), time });
    },
  };
}

/** Signs the grant of a plan with the passphrase, and opens the wallet, which takes a grant only while it is open. Null on the sandbox. */
export function useSigning(): (
  passphrase: string,
  of: { business: Business; asset: Asset },
  limits: ForwardLimits,
) => Promise<NonNullable<Signed> | null> {
  const { bridge } = useData();
  const keyholder = useKeyholder();
  return async (passphrase, { business, asset }, limits) => {
    if (business.network === 'sandbox') return null;
    // the keys of coins are no part of what the console loads first
    const { forwardGrantOf } = await import('../../../daemon/operator/forwarding.ts');
    const account = { network: business.network, accountNo: business.account_no, asset };
    const grant = forwardGrantOf(account, limits, Date.now());
    const macs = await keyholder.authorize(passphrase, { approvals: [], change: null, grants: [grant] });
    const { wallet } = await bridge.call('wallet.status', {});
    if (wallet.state === 'locked') await keyholder.unlock(passphrase);
    return { grant, mac: macAt(macs.grants, 0) };
  };
}
