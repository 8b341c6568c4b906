/** The bridge of the desktop shell: everything goes to its main process, which has the tokens (main/preload.ts). */
import type { Result as ResultOf } from '../daemon/contract/operator.ts';
import type { Keyholder } from '../daemon/operator/keyholder.ts';
import { type Bridge, CallError, type Method, type News, NotConnected, type Params, type Result } from './bridge.ts';

type Answer =
  | { ok: true; result: unknown }
  | { ok: false; status: number; error?: ConstructorParameters<typeof CallError>[1] };

export type Shell = {
  call(method: string, input: unknown): Promise<Answer>;
  authorize(passphrase: string, wanted: unknown): Promise<Answer>;
  wallet(request: unknown): Promise<Answer>;
  onNews(listener: (news: News) => void): () => void;
};

type Wallet = ResultOf<'wallet.status'>['wallet'];

/** Null in a browser. */
export const shellOf = (place: object): Shell | null => (place as { countinghouse?: Shell }).countinghouse ?? null;

async function resultOf<T>(asked: Promise<Answer>): Promise<T> {
  const answer = await asked;
  if (answer.ok) return answer.result as T;
  if (answer.error === undefined) throw new NotConnected();
  throw new CallError(answer.status, answer.error);
}

export function desktopBridge(shell: Shell): Bridge {
  const keyholder: Keyholder = {
    authorize: (passphrase, wanted) => resultOf(shell.authorize(passphrase, wanted)),
    unlock: (passphrase) => resultOf<Wallet>(shell.wallet({ do: 'unlock', passphrase })),
    lock: () => resultOf<Wallet>(shell.wallet({ do: 'lock' })),
    changePassphrase: (old, fresh) => resultOf<Wallet>(shell.wallet({ do: 'change', old, fresh })),
  };
  return {
    call: <M extends Method>(method: M, input: Params<M>) => resultOf<Result<M>>(shell.call(method, input)),
    subscribe: (listener) => shell.onNews(listener),
    session: async () => {
      await resultOf(shell.call('status', {}));
      return { place: 'desktop', approvals: true, scope: 'all' };
    },
    keyholder,
  };
}
