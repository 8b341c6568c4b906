/** The business that the screens are about: the chosen one, else the first one on the most real network. */
import { createContext, type ReactNode, useContext, useState } from 'react';
import { isTimeZone } from '../../daemon/domain/calendar.ts';
import type { Result } from '../bridge.ts';
import { useCall } from '../data.tsx';
import { OWN_ZONE, TimeZoneContext } from '../i18n.ts';
import { Problem, Still } from '../parts/parts.tsx';

export type Business = Result<'business.list'>['businesses'][number];
type BusinessChoice = {
  business: Business | null;
  all: Business[];
  choose(id: number): void;
  /** Why none could be read; null once they are. */
  error: Error | null;
  retry(): void;
};

/** A page of the desktop program may be about a server, whose businesses are others. */
const STORED = `countinghouse-business${location.search}`;
const REALITY = ['sandbox', 'testnet', 'mainnet'];
const READ_EVERY_MS = 15_000;

const BusinessContext = createContext<BusinessChoice>({
  business: null,
  all: [],
  choose: () => {},
  error: null,
  retry: () => {},
});

export function BusinessProvider({ children }: { children: ReactNode }): ReactNode {
  const { data, error: failed, refetch } = useCall('business.list', {}, { every: READ_EVERY_MS });
  const [chosen, setChosen] = useState(() => Number(localStorage.getItem(STORED)));
  const all = data?.businesses ?? [];
  const real = [...all].sort((a, b) => REALITY.indexOf(b.network) - REALITY.indexOf(a.network));
  const business = all.find(({ id }) => id === chosen) ?? real[0] ?? null;
  const choose = (id: number): void => {
    localStorage.setItem(STORED, `${id}`);
    setChosen(id);
  };
  const error = data === undefined ? failed : null;
  const retry = (): void => void refetch();
  // the sandbox was given none, and has no books
  const isOwn = business !== null && business.network !== 'sandbox' && isTimeZone(business.time_zone);
  const timeZone = isOwn ? business.time_zone : OWN_ZONE;
  return (
    <BusinessContext value={{ business, all, choose, error, retry }}>
      <TimeZoneContext value={timeZone}>{children}</TimeZoneContext>
    </BusinessContext>
  );
}

export const useBusinesses = (): BusinessChoice => useContext(BusinessContext);

/** The chosen business; null until it is read. */
export const useBusiness = (): Business | null => useContext(BusinessContext).business;

/** In place of what needs the chosen business, until it is read: also why it is not. */
export function NoBusiness({ rows }: { rows?: number }): ReactNode {
  const { error, retry } = useBusinesses();
  if (error) return <Problem error={error} retry={retry} />;
  return <Still {...(rows === undefined ? {} : { rows })} />;
}

/** How payers know it. */
export const nameOf = (business: Business): string => business.brand.name ?? business.name;
