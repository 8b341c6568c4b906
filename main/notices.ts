/** Native notifications: a payment, a withdrawal to approve, an alert. A click shows the screen that they are about. */
import { Notification } from 'electron';
import type { Call, Result } from '../daemon/contract/operator.ts';
import type { Language } from '../renderer/languages.ts';
import { wordsOf } from '../renderer/screens/alerts/kind-texts.ts';
import type { ShellText } from './texts.ts';

type Event = Result<'events.next'>['events'][number];
type Notice = { title: string; body: string; place: string };

/** More at once are told as one. */
const NOTICES_MAX = 3;
const BODY_CHARS_MAX = 200;

/** Desktops of Linux read links, pictures and styles in the body of a notification, which a server must not put there. */
const MARKS: Readonly<Record<string, string>> = { '<': '‹', '>': '›' };
const plain = (text: string): string =>
  text
    .replace(/[^\P{C}]/gu, ' ')
    .replace(/[<>]/g, (mark) => MARKS[mark] ?? mark)
    .slice(0, BODY_CHARS_MAX);

/** An alert in the words of a language. `subject`: its number. `message`: the service's own words, which are English. */
type AlertWords = (subject: string, message: string) => string;

/** Reads the kinds of new alerts, where the language has words for them; else the messages stay. */
export async function alertWords(call: Call, language: Language, events: readonly Event[]): Promise<AlertWords> {
  const isTold = language !== 'en' && events.some(({ kind }) => kind === 'alert');
  const { alerts } = isTold ? await call('alert.list', {}).catch(() => NO_ALERTS) : NO_ALERTS;
  const kinds = new Map(alerts.map(({ id, kind }) => [`${id}`, kind]));
  return (subject, message) => wordsOf(kinds.get(subject) ?? '', language) ?? message;
}

const NO_ALERTS: Pick<Result<'alert.list'>, 'alerts'> = { alerts: [] };

/** Chooses the events of which a person is told. `what`: the service's words for a change. */
export function noticesOf(text: ShellText, events: readonly Event[], words: AlertWords): Notice[] {
  const notices = events.flatMap(({ kind, subject, what }): Notice[] => {
    const id = plain(subject);
    const part = encodeURIComponent(subject);
    if (kind === 'invoice' && what.startsWith('paid,'))
      return [{ title: text('paid'), body: text('invoice', { id }), place: `invoices/${part}` }];
    if (kind === 'withdrawal' && what.startsWith('requested')) {
      return [
        {
          title: text('withdrawalWaits'),
          body: text('withdrawal', { id }),
          place: `withdrawals/${part}/approve`,
        },
      ];
    }
    // 0 stands for an alert that could not be stored
    if (kind === 'alert' && subject !== '0')
      return [{ title: text('alert'), body: plain(words(subject, what)), place: 'alerts' }];
    return [];
  });
  if (notices.length <= NOTICES_MAX) return notices;
  return [{ title: 'Countinghouse', body: text('happened', { n: notices.length }), place: 'home' }];
}

export function notify(notices: readonly Notice[], show: (place: string) => void): void {
  if (!Notification.isSupported()) return;
  for (const { title, body, place } of notices) {
    const notification = new Notification({ title, body });
    notification.on('click', () => show(place));
    notification.show();
  }
}
