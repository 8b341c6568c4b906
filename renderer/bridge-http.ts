/**
 * The bridge of a browser: the console's listener. A session has two halves: a cookie that no script reads, and a key in
 * this origin's storage, which neither another origin nor a service on another port can send.
 */
import {
  type Bridge,
  CallError,
  type EventKind,
  type Method,
  type News,
  NotConnected,
  type Params,
  type Result,
  type Session,
  SignedOut,
} from './bridge.ts';

const KEY = 'countinghouse-key';
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 15_000;
/** At least so long between two questions for events, so that many events a second are few answers. The first one is told at once. */
const GATHER_MS = 100;
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
      await pause(RETRY_MS_MIN);
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
  navigator.locks.request(LOCK, { signal: end.signal }, () => follow(call, tell, end.signal)).catch(() => {});
  return () => {
    end.abort();
    channel.close();
  };
}

async function follow(call: Call, tell: (news: News) => void, signal: AbortSignal): Promise<void> {
  let cursor: string | undefined;
  let lostAt: number | null = null;
  let retryMs = RETRY_MS_MIN;
  while (!signal.aborted) {
    try {
      const asked = performance.now();
      const page = await call('events.next', cursor === undefined ? {} : { cursor }, signal);
      if (lostAt !== null) tell({ type: 'connected' });
      if (page.missed || lostAt !== null) tell({ type: 'missed' });
      if (page.events.length > 0) tell(changes(page.events));
      const waitedMs = performance.now() - asked;
      // a service with too many readers answers at once
      const leastMs = page.events.length > 0 ? GATHER_MS : cursor === undefined ? 0 : RETRY_MS_MIN;
      if (waitedMs < leastMs) await pause(leastMs);
      ({ cursor } = page);
      lostAt = null;
      retryMs = RETRY_MS_MIN;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof SignedOut) {
        tell({ type: 'signed-out' });
        return;
      }
      lostAt ??= Date.now();
      tell({ type: 'disconnected', since: lostAt, retryAt: Date.now() + retryMs });
      await pause(retryMs);
      retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
    }
  }
}

function changes(events: Result<'events.next'>['events']): News {
  const kinds = [...new Set(events.map(({ kind }): EventKind => kind))];
  return { type: 'changed', kinds, subjects: [...new Set(events.map(({ subject }) => subject))] };
}
