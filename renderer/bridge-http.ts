/**
 * The bridge of a browser: the console's listener. A session has two halves: a cookie that no script reads, and a key in
 * this origin's storage, which neither another origin nor a service on another port can send.
 */
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
} from './bridge.ts';

const KEY = 'countinghouse-key';
const CHANNEL = 'countinghouse-news';
const LOCK = 'countinghouse-events';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const post = (path: string, body: unknown, signal?: AbortSignal): Promise<unknown> =>
  send(path, 'application/json', JSON.stringify(body), signal);

async function send(path: string, type: string, body: string | Blob, signal?: AbortSignal): Promise<unknown> {
  const init: RequestInit = {
    method: 'POST',
    headers: { 'content-type': type, [KEY]: localStorage.getItem(KEY) ?? '' },
    body,
    credentials: 'same-origin',
    ...(signal ? { signal } : {}),
  };
  let response: Response;
  let answer: unknown;
  try {
    response = await fetch(path, init);
    answer = await response.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new NotConnected();
  }
  if (response.ok) return answer;
  if (response.status === 401) throw new SignedOut();
  const { error } = answer as { error: ConstructorParameters<typeof CallError>[1] };
  throw new CallError(response.status, error);
}

/** Exchanges the code of a sign-in link for a session. Throws `CallError` if the link was used before. */
async function signIn(code: string): Promise<void> {
  const { key } = (await post('/session/sign-in', { code })) as { key: string };
  localStorage.setItem(KEY, key);
}

/** Reads the code of a sign-in link once, and takes it out of the address before anything else happens. */
async function takeLink(): Promise<void> {
  const code = /^#sign-in=([\w-]+)$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(null, '', location.pathname);
  await signIn(code);
}

export function httpBridge(): Bridge {
  const linked = takeLink().catch(() => {});
  const call = async <M extends Method>(method: M, input: Params<M>, signal?: AbortSignal): Promise<Result<M>> => {
    await linked;
    return (await post(`/call/${method}`, input, signal)) as Result<M>;
  };
  return {
    call,
    subscribe: (listener) => subscribe(call, listener),
    session: async () => {
      await linked;
      return { place: 'browser', ...((await post('/session', {})) as Omit<Session, 'place'>) };
    },
    lockToCounter: async () => {
      await post('/session/lock', {});
    },
    downloadBackup: async () => {
      const made = (await post('/session/backup', {})) as { path: string; bytes: number; made_at: string };
      const link = document.createElement('a');
      link.href = made.path;
      link.download = '';
      link.click();
      return { ...made, file: null };
    },
    uploadBackup,
    signOut: async () => {
      await post('/session/end', {});
      localStorage.removeItem(KEY);
    },
  };
}

const UPLOAD_PATH = '/session/upload/';
const UPLOAD_PIECE_BYTES = 1_048_576;
const UPLOAD_RETRY_MS = 1_000;
const TOO_MANY = 429;

async function uploadBackup(file: File, progress: (percent: number) => void, signal: AbortSignal): Promise<string> {
  const { code } = (await post('/session/upload', { bytes: file.size }, signal)) as { code: string };
  let sent = 0;
  for (;;) {
    const piece = file.slice(sent, sent + UPLOAD_PIECE_BYTES);
    try {
      const path = `${UPLOAD_PATH}${code}/${sent}`;
      const { file: whole } = (await send(path, 'application/octet-stream', piece, signal)) as { file: string | null };
      sent += piece.size;
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
  navigator.locks.request(LOCK, { signal }, follow).catch(() => {});
  return () => {
    end.abort();
    channel.close();
  };
}
