/** A channel to the operator, and the messages on it. */
import type { News, Notice } from '../../app/notifications/alert-notices.ts';
import { textOf } from '../../domain/messages.ts';

const CHANNEL_NAMES = ['email', 'ntfy', 'telegram', 'webhook'] as const;
export type ChannelName = (typeof CHANNEL_NAMES)[number];

export type Message = {
  /** One line. */
  title: string;
  text: string;
  urgent: boolean;
  news: News;
};

/** `send` throws an `Error` with words for the operator and without a secret, and ends when `signal` is aborted. */
export type Channel = { name: ChannelName; send(message: Message, signal: AbortSignal): Promise<void> };

/** ntfy takes 4,096 bytes with the title, Telegram 4,096 characters. */
const TEXT_BYTES_MAX = 3_500;
const WORDS: Readonly<Record<string, string>> = {
  'chain.away': 'a chain is away',
  'chain.unchecked': 'one operator alone tells of a chain',
  'storage.low': 'the disk is almost full',
  'storage.full': 'the disk is full',
  'webhook.failed': 'a shop does not take its notifications',
  'backup.failed': 'a backup failed',
  'backup.late': 'a backup is late',
  'inbox.deposit': 'money that counts for no invoice waits for you',
  'ledger.late': 'a proof of the books is late',
  'ledger.unproved': 'the books could not be proved',
  'ledger.corrected': 'entries were taken out of the books',
  'ledger.differs': 'the books differ from the chain',
  'withdrawal.waiting': 'a withdrawal waits for you',
  'withdrawal.unconfirmed': 'a withdrawal that was sent is in no block',
  'withdrawal.unsigned': 'an approved withdrawal is not signed',
};

const wordsOf = ({ kind }: Notice): string => WORDS[kind] ?? kind.replaceAll(/[._]/g, ' ');

/** Text from outside, on one line and without control characters. */
const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/\s+/g, ' ')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');

function line(notice: Notice): string {
  const network = notice.network === null || notice.network === 'mainnet' ? '' : `[${notice.network}] `;
  return oneLine(`${network}${textOf(notice.message)}`);
}

/** At most TEXT_BYTES_MAX bytes of a text in UTF-8, whole characters only, and a sign that more followed. */
function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= TEXT_BYTES_MAX) return text;
  let end = TEXT_BYTES_MAX;
  // the further bytes of a character begin with the bits 10
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return `${bytes.toString('utf8', 0, end)}…`;
}

/** The message about raised and ended alerts. `host`: the service's name for the operator. */
export function compose(news: News, host: string, urgent: boolean): Message {
  const { raised, ended } = news;
  const all = [...raised, ...ended];
  const [first] = all;
  const subject =
    all.length === 1 && first
      ? `${ended.length === 1 ? 'Over: ' : ''}${wordsOf(first)}`
      : [raised.length > 0 ? `${raised.length} alerts` : '', ended.length > 0 ? `${ended.length} over` : '']
          .filter((part) => part !== '')
          .join(', ');
  const lines = [...raised.map((one) => `• ${line(one)}`), ...ended.map((one) => `✓ Over: ${line(one)}`)];
  const text = `${lines.join('\n\n')}\n\ncountinghouse alert list shows what is open.`;
  return { title: oneLine(`Countinghouse ${host}: ${subject}`), text: cut(text), urgent, news };
}

/** Throws unless the server accepted the message. Its text is left out, because it may repeat a secret. */
export async function needTaken(server: string, response: Response): Promise<void> {
  const { ok, status } = response;
  await response.body?.cancel().catch(() => undefined);
  if (!ok) throw new Error(`${server} answered ${status}`);
}

/** The reason why a request got no answer, without the URL, which may hold a secret. */
export function withoutSecrets(server: string, error: unknown): Error {
  const { cause, name, code } = error as { cause?: { code?: string }; name?: string; code?: string };
  const late = name === 'TimeoutError' || name === 'AbortError';
  return new Error(
    `${server} ${late ? 'did not answer in time' : `could not be reached (${cause?.code ?? code ?? name})`}`,
  );
}
