/**
 * Sends a sale to the service. It is kept on this device until the service has answered, also over a reload: then it is sent again
 * with the same id, by which the service makes it once.
 */
import { useCallback, useEffect, useState } from 'react';
import { CallError, type Params } from '../../bridge.ts';
import { useChange } from '../../data.tsx';
import { newRequest } from '../../parts/request.ts';

/** A page of the desktop program may be about a server, which must not get the sales of another one. */
const PENDING = `countinghouse-till-pending${location.search}`;
const AGAIN_MS = 3_000;
const SERVER_FAULT = 500;
type SaleFields = Omit<Params<'counter.sell'>, 'request'>;
type Pending = Params<'counter.sell'>;

function stored(): Pending | null {
  try {
    return JSON.parse(localStorage.getItem(PENDING) ?? 'null') as Pending | null;
  } catch {
    return null;
  }
}

export type Selling = {
  sell(wanted: SaleFields): void;
  /** A sale that the service has not answered yet. */
  pending: boolean;
  /** It has not answered a first time. */
  silent: boolean;
  /** Why the service has refused it: nothing was sold. */
  error: Error | null;
  drop(): void;
};

export function useSelling(onSold: (invoice: string) => void): Selling {
  const [pending, setPending] = useState(stored);
  const [silent, setSilent] = useState(false);
  const { mutateAsync, error } = useChange('counter.sell', 'counter.', 'invoice.');
  const keep = useCallback((sale: Pending | null): void => {
    if (sale === null) localStorage.removeItem(PENDING);
    else localStorage.setItem(PENDING, JSON.stringify(sale));
    setSilent(false);
    setPending(sale);
  }, []);
  useEffect(() => {
    if (pending === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let over = false;
    const send = (): void => {
      mutateAsync(pending).then(
        ({ invoice }) => {
          if (over) return;
          keep(null);
          onSold(invoice);
        },
        (error: unknown) => {
          if (over) return;
          // a refusal is an answer; silence is none
          if (error instanceof CallError && error.status < SERVER_FAULT) return keep(null);
          setSilent(true);
          timer = setTimeout(send, AGAIN_MS);
        },
      );
    };
    send();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [pending, mutateAsync, keep, onSold]);
  return {
    sell: useCallback((wanted: SaleFields) => keep({ ...wanted, request: newRequest() }), [keep]),
    pending: pending !== null,
    silent,
    error: pending === null ? error : null,
    drop: () => keep(null),
  };
}
