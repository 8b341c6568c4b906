/** The bridge of a browser: the console's listener, through a channel that only the service can open. */
import { bringCrypto, CALL_PATH, jsonBytes, SESSION_PATH, UPLOAD_PATH } from '../daemon/contract/console-channel.ts';
import { ConsoleClient, NotTheService, SessionEnded } from '../daemon/contract/console-client.ts';
import { followNews } from '../daemon/operator/news.ts';
import {
  type Bridge,
  CallError,
  type Method,
  type News,
  NotConnected,
  type Params,
  type Result,
  type Session,
  SignedOut,
  Strange,
} from './bridge.ts';
import { browserLogin } from './login.ts';

const CHANNEL = 'countinghouse-news';
const LOCK = 'countinghouse-events';
const UPLOAD_PIECE_BYTES = 1_000_000;
const UPLOAD_RETRY_MS = 1_000;
const TOO_MANY = 429;
/** How long signing out waits for the service. */
const SIGN_OUT_MS = 3_000;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const isOk = (status: number): boolean => status >= 200 && status < 300;

/** A page over HTTP from another machine. Browsers leave such pages without some of their functions. */
const isTill = (): boolean => !isSecureContext;

/** Reads the code of a sign-in link once, and takes it out of the address before anything else happens. */
async function takeLink(client: ConsoleClient): Promise<void> {
  if (isTill()) bringCrypto((await import('./own-crypto.ts')).ownCrypto);
  const code = /^#sign-in=([\w-]+)$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(null, '', location.pathname);
  await client.signIn(code);
}

type Ask = (path: string, body: Uint8Array<ArrayBuffer>, signal?: AbortSignal) => Promise<unknown>;

/** Throws `CallError`, `NotConnected`, `SignedOut`, or the abort of `signal`. */
function asker(client: ConsoleClient, linked: Promise<void>): Ask {
  return async (path, body, signal) => {
    await linked;
    const { status, body: answer } = await client.ask(path, body, signal).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      if (error instanceof SessionEnded) throw new SignedOut();
      throw error instanceof NotTheService ? new Strange() : new NotConnected();
    });
    if (isOk(status)) return answer;
    throw new CallError(status, (answer as { error: ConstructorParameters<typeof CallError>[1] }).error);
  };
}

export function httpBridge(): Bridge {
  const client = new ConsoleClient({
    origin: location.origin,
    fetch: (path, init) => fetch(path, { ...init, credentials: 'omit' }),
    store: browserLogin(),
  });
  const linked = takeLink(client).catch(() => {});
  const ask = asker(client, linked);
  const post = (path: string, body: unknown, signal?: AbortSignal) => ask(path, jsonBytes(body), signal);
  const call = async <M extends Method>(method: M, input: Params<M>, signal?: AbortSignal): Promise<Result<M>> =>
    (await post(`${CALL_PATH}${method}`, input, signal)) as Result<M>;
  return {
    call,
    subscribe: (listener) => subscribe(call, listener),
    session: async () => ({ place: 'browser', ...((await post(SESSION_PATH, {})) as Omit<Session, 'place'>) }),
    lockToCounter: async (business) => {
      await post(`${SESSION_PATH}/lock`, { business });
    },
    downloadBackup: async () => {
      const made = (await post(`${SESSION_PATH}/backup`, {})) as { path: string; bytes: number; made_at: string };
      const link = document.createElement('a');
      link.href = made.path;
      link.download = '';
      link.click();
      return { ...made, file: null };
    },
    uploadBackup: (file, progress, signal) => uploadBackup(ask, file, progress, signal),
    ...(isTill() && {
      pair: async (code: string) => {
        await client.signIn(code);
      },
    }),
    signOut: async () => {
      // without its key nobody can use the session here, also where the service does not hear that it ends
      const told = post(`${SESSION_PATH}/end`, {}).catch(() => {});
      // a signal alone would not end the wait for a channel that is being opened
      await Promise.race([told, pause(SIGN_OUT_MS)]);
      await client.forget();
      const channel = new BroadcastChannel(CHANNEL);
      channel.postMessage({ type: 'signed-out' } satisfies News);
      channel.close();
    },
  };
}

async function uploadBackup(
  ask: Ask,
  file: File,
  progress: (percent: number) => void,
  signal: AbortSignal,
): Promise<string> {
  const begun = await ask(`${SESSION_PATH}/upload`, jsonBytes({ bytes: file.size }), signal);
  const { code } = begun as { code: string };
  let sent = 0;
  for (;;) {
    const piece = new Uint8Array(await file.slice(sent, sent + UPLOAD_PIECE_BYTES).arrayBuffer());
    try {
      const { file: whole } = (await ask(`${UPLOAD_PATH}${code}/${sent}`, piece, signal)) as { file: string | null };
      sent += piece.length;
      progress(Math.floor((100 * sent) / file.size));
      if (whole !== null) return whole;
    } catch (error) {
      if (!(error instanceof CallError && error.status === TOO_MANY)) throw error;
      await pause(UPLOAD_RETRY_MS);
    }
  }
}

type Call = Bridge['call'];

/**
 * A browser opens few connections to one server, so of all windows only the one that holds the lock waits for events,
 * and it tells the others.
 */
function subscribe(call: Call, listener: (news: News) => void): () => void {
  const end = new AbortController();
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }: MessageEvent<News>) => listener(data);
  const tell = (news: News): void => {
    listener(news);
    if (!end.signal.aborted) channel.postMessage(news);
  };
  const { signal } = end;
  const follow = (): Promise<void> =>
    followNews({
      ask: (input) => call('events.next', input, signal),
      tell: ({ news }) => tell(news),
      signal,
      isOver: (error) => error instanceof SignedOut,
    });
  // a till has one window, and no locks
  const following = isTill() ? follow() : navigator.locks.request(LOCK, { signal }, follow);
  following.catch(() => {});
  return () => {
    end.abort();
    channel.close();
  };
}
