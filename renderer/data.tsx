/**
 * Reads and changes through the bridge. Answers are kept by method and input; events of the service make them stale.
 * While the service does not answer, the last content stays, and `useConnection` says since when.
 */
import {
  keepPreviousData,
  QueryClient,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
} from '@tanstack/react-query';
import { type ComponentType, createContext, useContext, useSyncExternalStore } from 'react';
import type { Bridge, Desktop, EventKind, Method, News, Params, Result, Session } from './bridge.ts';
import { SignedOut } from './bridge.ts';

/** The prefixes of methods whose answers an event of a kind may change. */
const CHANGED_BY: Record<EventKind, string[]> = {
  invoice: ['invoice.', 'link.', 'refundLink.', 'takings.', 'business.', 'webhook.', 'delivery.', 'counter.'],
  withdrawal: ['withdrawal.', 'forwarding.', 'refundLink.', 'business.', 'inbox.', 'wallet.', 'gas.'],
  inbox: ['inbox.', 'refundLink.', 'business.', 'invoice.'],
  alert: ['alert.', 'forwarding.', 'status'],
};
/** At most one reading anew in this time, however many events come. The first one is at once; a long flood has longer gaps. */
const READ_GAP_MS_MIN = 400;
const READ_GAP_MS_MAX = 3_200;
const STALE_MS = 30_000;

type Connection = { up: true } | { up: false; since: number; retryAt: number };

/** Everything that the screens share: the bridge, the answers, and the state of the connection. */
export class Data {
  readonly bridge: Bridge;
  readonly session: Session;
  readonly client = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: STALE_MS,
        retry: false,
        networkMode: 'always',
        refetchOnWindowFocus: true,
        throwOnError: (error) => error instanceof SignedOut,
      },
      mutations: { networkMode: 'always' },
    },
  });
  #connection: Connection = { up: true };
  readonly #watchers = new Set<() => void>();
  readonly #stale = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #gapMs = READ_GAP_MS_MIN;
  readonly #signedOut: () => void;

  constructor(bridge: Bridge, session: Session, signedOut: () => void) {
    this.bridge = bridge;
    this.session = session;
    this.#signedOut = signedOut;
  }

  /** Follows the service's events until the returned function is called. */
  follow(): () => void {
    return this.bridge.subscribe((news) => this.#take(news));
  }

  readonly watch = (changed: () => void): (() => void) => {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  };
  readonly connection = (): Connection => this.#connection;

  #take(news: News): void {
    if (news.type === 'signed-out') this.#signedOut();
    else if (news.type === 'disconnected') this.#connect({ up: false, since: news.since, retryAt: news.retryAt });
    else if (news.type === 'connected') this.#connect({ up: true });
    else if (news.type === 'missed') this.#expire(['']);
    else this.#expire(news.kinds.flatMap((kind) => CHANGED_BY[kind]));
  }

  #connect(connection: Connection): void {
    this.#connection = connection;
    for (const changed of this.#watchers) changed();
  }

  #expire(prefixes: string[]): void {
    for (const prefix of prefixes) this.#stale.add(prefix);
    if (this.#timer !== undefined) return;
    this.#readAgain();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const goesOn = this.#stale.size > 0;
      this.#gapMs = goesOn ? Math.min(2 * this.#gapMs, READ_GAP_MS_MAX) : READ_GAP_MS_MIN;
      if (goesOn) this.#expire([]);
    }, this.#gapMs);
  }

  #readAgain(): void {
    const prefixes = [...this.#stale];
    this.#stale.clear();
    const concerns = ({ queryKey }: { queryKey: readonly unknown[] }): boolean =>
      prefixes.some((prefix) => String(queryKey[0]).startsWith(prefix));
    void this.client.invalidateQueries({ predicate: concerns });
  }
}

/** The desktop program's additions to the frame (desk.tsx). */
export type Desk = { desktop: Desktop } & Record<'Servers' | 'Alarms' | 'Screen' | 'Away', ComponentType>;

/** Null in a browser. */
export const DeskContext = createContext<Desk | null>(null);

/** In a part that the desktop program alone has. */
export const useDesk = (): Desk => useContext(DeskContext)!;

/** The server that a page of the desktop program is about; null: the service of this computer, or a browser's page. */
export const useServerName = (): string | null => useContext(DeskContext)?.desktop.server ?? null;

export const DataContext = createContext<Data | null>(null);

export function useData(): Data {
  const data = useContext(DataContext);
  if (!data) throw new Error('no DataContext');
  return data;
}

/**
 * How often an answer is read again, in milliseconds, besides when an event names it. `calm`: not when the window gets the focus, because
 * the answer is much work.
 */
type CallOptions = { every?: number; enabled?: boolean; calm?: boolean };

/** The answer of a reading method. The former one stays while a new input is read. */
export function useCall<M extends Method>(
  method: M,
  input: Params<M>,
  { every, enabled = true, calm = false }: CallOptions = {},
): UseQueryResult<Result<M>> {
  const { bridge } = useData();
  return useQuery<Result<M>>({
    queryKey: [method, input],
    queryFn: ({ signal }) => bridge.call(method, input, signal),
    enabled,
    placeholderData: keepPreviousData as never,
    ...(every === undefined ? {} : { refetchInterval: every }),
    ...(calm ? { refetchOnWindowFocus: false } : {}),
  });
}

type Change<M extends Method> = Omit<UseMutationResult<Result<M>, Error, Params<M>>, 'mutate'> & {
  /** `onSuccess` is called even if the component that asked is no longer shown. */
  mutate(input: Params<M>, then?: { onSuccess(result: Result<M>): void }): void;
};

/** A method that changes something. All answers of the methods that begin with `stale` are read again afterwards. */
export function useChange<M extends Method>(method: M, ...stale: string[]): Change<M> {
  const { bridge, client } = useData();
  const mutation = useMutation<Result<M>, Error, Params<M>>({
    mutationFn: (input) => bridge.call(method, input),
    onSuccess: () => {
      const concerns = ({ queryKey }: { queryKey: readonly unknown[] }): boolean =>
        stale.some((prefix) => String(queryKey[0]).startsWith(prefix));
      return client.invalidateQueries({ predicate: concerns });
    },
  });
  // the library's own callback is dropped when the answers that are read again take the component away
  const mutate: Change<M>['mutate'] = (input, then) =>
    void mutation.mutateAsync(input).then(
      (result) => then?.onSuccess(result),
      () => {},
    );
  return { ...mutation, mutate };
}

/** Whether the service answers. While it does not, nothing that moves money may be offered. */
export function useConnection(): Connection {
  const data = useData();
  return useSyncExternalStore(data.watch, data.connection);
}
