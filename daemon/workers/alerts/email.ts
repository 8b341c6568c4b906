/** E-mail over SMTP. The library is loaded with the first message. */
import { Readable } from 'node:stream';
import { message, textOf, type Message as Words } from '../../domain/messages.ts';
import { loginOf } from '../../kit/login.ts';
import type { Channel, Message } from './channel.ts';

const CONNECT_MS_MAX = 10_000;
const SILENT_MS_MAX = 15_000;

/** `file`: attached, with the message's end after it. */
type Letter = Pick<Message, 'title' | 'text' | 'urgent'> & { file?: { name: string; type: string; text: string } };
type Mailer = Pick<Channel, 'name'> & { send(letter: Letter, signal: AbortSignal): Promise<void> };
type Mailbox = { server: string; from: string; to: readonly string[] };

/** nodemailer's codes. The server's text is omitted, because it may repeat a login. */
const WHY = {
  EAUTH: 'mail.login',
  ECONNECTION: 'mail.unreached',
  ESOCKET: 'mail.unreached',
  EDNS: 'mail.host',
  ETIMEDOUT: 'mail.late',
  ETLS: 'mail.tls',
  EENVELOPE: 'mail.people',
  EMESSAGE: 'mail.message',
} as const;
const isKnown = (code: string): code is keyof typeof WHY => Object.hasOwn(WHY, code);

/**
 * Why a message was not taken. `isFinal`: the server refused the sender or a recipient for good. `isMaybe`: a message
 * with a file had begun to go out, and the server gave no answer, so it may have been taken.
 */
export class NotTaken extends Error {
  readonly why: Words;
  readonly isFinal: boolean;
  readonly isMaybe: boolean;

  constructor(why: Words, { isFinal = false, isMaybe = false }: { isFinal?: boolean; isMaybe?: boolean } = {}) {
    super(textOf(why));
    this.why = why;
    this.isFinal = isFinal;
    this.isMaybe = isMaybe;
  }
}

type MailError = { code?: string; responseCode?: number; message: string };

/** With a code below 500 the server asks to try again later. `hasText`: the server may have had all of the text. */
function failure(server: string, { code = '', responseCode, message: text }: MailError, hasText: boolean): NotTaken {
  if (hasText && responseCode === undefined) return new NotTaken(message('mail.maybe', { server }), { isMaybe: true });
  const why = isKnown(code)
    ? message(WHY[code], { server })
    : message('mail.failed', { server, reason: code || text.slice(0, 80) });
  return new NotTaken(why, { isFinal: code === 'EENVELOPE' && (responseCode ?? 500) >= 500 });
}

/** A mailbox as a channel; it needs nothing of a message but title and text. */
export function email({ server, from, to }: Mailbox): Mailer {
  const url = new URL(server);
  const { protocol, hostname, port } = url;
  const { user, password: pass } = loginOf(url);
  const secure = protocol === 'smtps:';
  const host = hostname.replace(/^\[|\]$/g, '');
  return {
    name: 'email',
    send: async ({ title, text, urgent, file }, signal) => {
      const { createTransport } = await import('nodemailer');
      const transport = createTransport({
        host,
        port: Number(port) || (secure ? 465 : 587),
        secure,
        // a password is not sent in the clear, except to this machine
        requireTLS: !secure && user !== '' && !['127.0.0.1', '::1', 'localhost'].includes(host),
        ...(user === '' ? {} : { auth: { user, pass } }),
        connectionTimeout: CONNECT_MS_MAX,
        greetingTimeout: CONNECT_MS_MAX,
        socketTimeout: SILENT_MS_MAX,
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      let hasText = false;
      // read last, so the end of the message cannot have gone out before
      const content = function* (): Generator<string> {
        hasText = true;
        yield file!.text;
      };
      const attachments = file
        ? [{ filename: file.name, contentType: file.type, content: Readable.from(content(), { objectMode: false }) }]
        : [];
      const { promise: aborted, reject } = Promise.withResolvers<never>();
      const onAbort = (): void => {
        transport.close();
        reject({ code: 'ETIMEDOUT' });
      };
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        const headers = { 'Auto-Submitted': 'auto-generated' };
        const priority = urgent ? ('high' as const) : ('normal' as const);
        await Promise.race([
          transport.sendMail({ from, to: [...to], subject: title, text, headers, priority, attachments }),
          aborted,
        ]);
      } catch (error) {
        throw failure(host, error as MailError, hasText);
      } finally {
        signal.removeEventListener('abort', onAbort);
        transport.close();
      }
    },
  };
}
