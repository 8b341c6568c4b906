/**
 * The payment page's script. The server renders the page; this requests new renderings, replaces what differs, and adds
 * what needs a script: a clock, copy buttons, the payer's time zone.
 *
 * Invariant: nothing here decides about money. Without this script the page shows the same, only later.
 */
import { ask, poll } from '../sdk/sdk.ts';

type Status = { status: string; version: string; build: string; now: number; view?: string };

const page = document.body;
const { dataset } = page;
const language = document.documentElement.lang;

/** With a stream, polling is only a safety net. */
const STREAM_QUIET_MS = 30_000;
const STREAM_RETRY_MS = 20_000;
const TICK_MS = 500;
const COPIED_MS = 2_000;
const FAILURES_SHOWN = 2;
const SOON_MS = 300_000;
const OWED_RETRY_MS = 2_000;
/** The time for an answer about a price that is over. */
const OWED_GRACE_MS = 5_000;
/** A freshly loaded page that is already outdated comes from a cache in between, so a reload would not help. */
const RELOAD_AFTER_MS = 10_000;

const view = (): HTMLElement => document.getElementById('view') as HTMLElement;
const say = document.getElementById('say') as HTMLElement;
const offline = document.getElementById('offline') as HTMLElement;

// ---- replaces what differs and leaves the rest: focus, selection and opened details stay, also where a row with a key
// has moved

function sameKind(a: Node, b: Node): boolean {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName;
}

function syncAttributes(from: Element, to: Element): void {
  for (const { name } of Array.from(from.attributes)) {
    // the reader opens and closes details
    if (!to.hasAttribute(name) && name !== 'open') from.removeAttribute(name);
  }
  for (const { name, value } of Array.from(to.attributes)) {
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
}

const keyOf = (node: Node): string | null => (node instanceof Element ? node.getAttribute('data-key') : null);

function morph(from: Element, to: Element): void {
  syncAttributes(from, to);
  const wanted = Array.from(to.childNodes);
  wanted.forEach((next, i) => {
    const key = keyOf(next);
    const own = key && Array.from(from.children).find((child) => keyOf(child) === key);
    if (own && own !== from.childNodes[i]) from.insertBefore(own, from.childNodes[i] || null);
    const now = from.childNodes[i];
    // another row may be needed further down
    if (!now || keyOf(now) !== key) from.insertBefore(document.importNode(next, true), now || null);
    else if (!sameKind(now, next)) from.replaceChild(document.importNode(next, true), now);
    else if (now instanceof Element) morph(now, next as Element);
    else if (now.nodeValue !== next.nodeValue) now.nodeValue = next.nodeValue;
  });
  while (from.childNodes.length > wanted.length) from.removeChild(from.lastChild as Node);
}

function show(markup: string): void {
  const fresh = new DOMParser().parseFromString(markup, 'text/html').getElementById('view');
  if (!fresh) return;
  const focused = document.activeElement;
  const other = fresh.getAttribute('data-state') !== view().getAttribute('data-state');
  // only this page knows the problem with the form just sent
  const alert = view().querySelector('[role=alert]');
  if (alert && !other) fresh.querySelector('main')?.prepend(document.importNode(alert, true));
  // another state is another page: equal parts of the old one are not kept
  if (other) view().replaceWith(document.importNode(fresh, true));
  else morph(view(), fresh);
  // focus on a removed element moves to the heading, not to the top
  const lost = focused && focused !== page && focused !== document.activeElement;
  // a moved element loses its focus, too
  const next = focused?.isConnected ? focused : view().querySelector('h2');
  if (lost) (next as HTMLElement | null)?.focus({ preventScroll: true });
  dress();
}

// ---- clock, copy buttons and time zone, which the server does not know

const tag = `${language}-u-nu-latn`;
const moment = new Intl.DateTimeFormat(tag, { dateStyle: 'medium', timeStyle: 'short' } as object);
/** For the receipt. */
const zoned = new Intl.DateTimeFormat(tag, {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  timeZoneName: 'short',
} as object);

/** Times in the payer's time zone, announcements for screen readers, and the clock. */
function dress(): void {
  const shown = view();
  for (const time of Array.from(shown.querySelectorAll<HTMLTimeElement>('time[data-local]'))) {
    const local = (time.dataset.local ? zoned : moment).format(new Date(time.dateTime));
    if (time.textContent !== local) time.textContent = local;
  }
  document.title = shown.dataset.title || document.title;
  if (shown.dataset.say && told !== shown.dataset.say) {
    // the first announcement is read with the page itself
    if (told !== undefined) say.textContent = shown.dataset.say;
    told = shown.dataset.say;
  }
  tick();
  leave();
}
let told: string | undefined;

// ---- the clock runs by the service's time, whatever the device's clock says

const [loading] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
const writtenAt = performance.timeOrigin + (loading?.responseStart || performance.now());
let serviceAhead = Number(dataset.now) - writtenAt;
const two = (n: number): string => (n < 10 ? `0${n}` : `${n}`);

function clockText(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

function tick(): void {
  const shown = view();
  const ends = Number(shown.dataset.ends);
  if (!ends) return;
  const left = ends - (Date.now() + serviceAhead);
  const length = ends - Number(shown.dataset.quoted);
  const text = shown.querySelector('.left-text');
  const value = clockText(left);
  if (text && text.textContent !== value) text.textContent = value;
  const bar = shown.querySelector('.bar .left');
  if (bar) bar.setAttribute('width', `${Math.max(0, Math.min(100, (100 * left) / length))}`);
  const head = shown.querySelector('.head');
  if (head) head.classList.toggle('soon', left < SOON_MS);
  // the price is over, and nobody has said what is owed now: also where a proxy answers for a service that is away
  const isUnknown = left <= -OWED_GRACE_MS && answeredAt < ends - serviceAhead;
  shown.querySelector('.send')?.classList.toggle('stale', isUnknown);
  // a new price is due; the first request may be too early by the difference of the clocks
  if (left <= 0 && Date.now() - askedAt > OWED_RETRY_MS) {
    askedAt = Date.now();
    look();
  }
}
let askedAt = 0;

// ---- updates: by polling, and at once if there is a stream

let version = dataset.version || '';
let dirty = false;
let answeredAt = Date.now();
/** The state that the page was rendered with. */
let last: Status = { status: 'unpaid', version, build: dataset.build || '', now: Number(dataset.now) };
let failures = 0;
let askNow = (): void => {};

function look(): void {
  dirty = true;
  askNow();
}

function connected(works: boolean): void {
  failures = works ? 0 : failures + 1;
  const away = failures >= FAILURES_SHOWN;
  if (away === !offline.hidden) return;
  offline.hidden = !away;
  offline.textContent = away ? dataset.offline || '' : '';
  say.textContent = away ? '' : dataset.online || '';
}

async function read(): Promise<Status> {
  const { state, flags } = view().dataset;
  // the stream does not tell when a source is back
  const hinted = state !== 'withheld' && !/behind/.test(flags || '');
  const streams = stream && stream.readyState !== EventSource.CLOSED;
  // an answer of the future is one from before the clock was set back
  const isFresh = Math.abs(Date.now() - answeredAt) < STREAM_QUIET_MS;
  if (hinted && streams && !dirty && isFresh) return last;
  dirty = false;
  const sentAt = Date.now();
  try {
    const path = dataset.status || '';
    last = await ask<Status>(`${path}${path.includes('?') ? '&' : '?'}version=${version}`);
  } catch (error) {
    dirty = true;
    const { details } = error as { details?: { status: number } };
    connected(details !== undefined && details.status < 500);
    throw error;
  }
  connected(true);
  answeredAt = Date.now();
  serviceAhead = last.now - (sentAt + answeredAt) / 2;
  return last;
}

function update(answer: Status): void {
  // the service was updated while the page was open: reload it
  if (answer.build !== dataset.build && performance.now() > RELOAD_AFTER_MS) {
    location.reload();
    return;
  }
  if (answer.view === undefined || answer.version === version) return;
  version = answer.version;
  show(answer.view);
}

let stream: EventSource | undefined;
let streamTimer: ReturnType<typeof setTimeout> | undefined;

/** A browser has few connections per host, so a hidden page closes its stream. */
function listen(): void {
  clearTimeout(streamTimer);
  if (document.hidden || over || typeof EventSource === 'undefined' || !dataset.events) {
    stream?.close();
    stream = undefined;
    return;
  }
  if (stream && stream.readyState !== EventSource.CLOSED) return;
  const opened = new EventSource(dataset.events);
  stream = opened;
  // covers changes between the page and the stream
  opened.addEventListener('open', look);
  opened.addEventListener('change', look);
  opened.addEventListener('error', () => {
    look();
    if (opened === stream && opened.readyState === EventSource.CLOSED)
      streamTimer = setTimeout(listen, STREAM_RETRY_MS);
  });
}
let over = false;

function follow(): void {
  const isEnd = ({ status }: Status): boolean => status !== 'unpaid';
  const options = { onUpdate: update, wake: (now: () => void) => (askNow = now) };
  poll(read, isEnd, options).then(finish, () => location.reload());
}

function finish(): void {
  over = true;
  listen();
}

function shown(): void {
  if (!document.hidden) {
    dirty = true;
    tick();
  }
  listen();
}

// ---- the payer's actions

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (_) {
    // no clipboard without TLS or in this frame: the older way
    const field = document.createElement('textarea');
    field.value = text;
    field.readOnly = true;
    field.className = 'unseen';
    page.appendChild(field);
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    return done;
  }
}

async function copy(button: HTMLElement): Promise<void> {
  const done = await copyText(button.dataset.copy || '');
  button.focus({ preventScroll: true });
  say.textContent = '';
  say.textContent = (done ? dataset.copied : dataset.copyFailed) || '';
  if (!done) return;
  button.classList.add('copied');
  setTimeout(() => button.classList.remove('copied'), COPIED_MS);
}

/** The redirect to the shop happens once: a payer who comes back wants to stay. */
let leaving: ReturnType<typeof setTimeout> | undefined;
function leave(): void {
  const { redirect, seconds } = view().dataset;
  const been = (history.state as { left?: boolean } | null)?.left;
  if (!redirect || !/^https?:/.test(redirect) || leaving !== undefined) return;
  if (been) {
    stay();
    return;
  }
  leaving = setTimeout(() => {
    history.replaceState({ left: true }, '');
    try {
      (window.top || window).location.href = redirect;
    } catch (_) {
      stay();
    }
  }, Number(seconds) * 1000);
}

function stay(): void {
  clearTimeout(leaving);
  leaving = leaving || setTimeout(() => {});
  view().removeAttribute('data-redirect');
  view().querySelector('.going')?.remove();
}

document.addEventListener('click', (event) => {
  const pressed = (event.target as Element).closest<HTMLElement>('button');
  if (!pressed) return;
  if (pressed.dataset.copy) void copy(pressed);
  else if (pressed.classList.contains('print')) window.print();
  else if (pressed.classList.contains('stay')) stay();
});

/** Changes the language at once. The form has a button for pages without scripts. */
document.addEventListener('change', ({ target }) => {
  if (target instanceof HTMLSelectElement && target.id === 'lang') target.form?.submit();
});

/** The sandbox's buttons work without a new page. */
document.addEventListener('submit', (event) => {
  const form = event.target as HTMLFormElement;
  const button = (event as SubmitEvent).submitter as HTMLButtonElement | null;
  if (!form.matches('.sandbox form') || !button) return;
  event.preventDefault();
  const body = new URLSearchParams([[button.name, button.value]]);
  fetch(form.action, { method: 'POST', body, redirect: 'manual' }).then(look, look);
});

document.documentElement.classList.add('js');
// before the polling's own listener, so that its request on return is a real one
document.addEventListener('visibilitychange', shown);
window.addEventListener('online', look);
window.addEventListener('pageshow', (event) => {
  if (!event.persisted) return;
  shown();
  look();
});
window.addEventListener('pagehide', () => {
  stream?.close();
  stream = undefined;
});
dress();
setInterval(tick, TICK_MS);
if (/^(?:paid|canceled)$/.test(view().dataset.state || '')) over = true;
else {
  listen();
  follow();
}
