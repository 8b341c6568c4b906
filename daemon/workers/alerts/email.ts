/** E-mail over SMTP. The library is loaded with the first message. */
import { loginOf } from '../../kit/login.ts';
import type { Channel, Message } from './channel.ts';

const CONNECT_MS_MAX = 10_000;
const SILENT_MS_MAX = 15_000;

type Mailer = Pick<Channel, 'name'> & {
  send(message: Pick<Message, 'title' | 'text' | 'urgent'>, signal: AbortSignal): Promise<void>;
};
type Mailbox = { server: string; from: string; to: readonly string[] };

/** nodemailer's codes in words. The server's text is omitted, because it may repeat a login. */
const WHY: Readonly<Record<string, string>> = {
  EAUTH: 'refused the login',
  ECONNECTION: 'could not be reached',
  ESOCKET: 'could not be reached',
  EDNS: 'has no address',
  ETIMEDOUT: 'did not answer in time',
  ETLS: 'offers no TLS that holds',
  EENVELOPE: 'refused the sender or a recipient',
  EMESSAGE: 'refused the message',
};

/** The server refused the sender or a recipient for good. */
export class EnvelopeRefused extends Error {}

type MailError = { code?: string; responseCode?: number; message: string };

/** With a code below 500 the server asks to try again later. */
function failure(host: string, { code = '', responseCode = 500, message }: MailError): Error {
  const text = `${host} ${WHY[code] ?? `failed (${code || message.slice(0, 80)})`}`;
  return code === 'EENVELOPE' && responseCode >= 500 ? new EnvelopeRefused(text) : new Error(text);
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
    send: async ({ title, text, urgent }, signal) => {
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
      const { promise: aborted, reject } = Promise.withResolvers<never>();
      const onAbort = (): void => {
        transport.close();
        reject(new Error(`${host} did not answer in time`));
      };
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        const headers = { 'Auto-Submitted': 'auto-generated' };
        const priority = urgent ? ('high' as const) : ('normal' as const);
        await Promise.race([
          transport.sendMail({ from, to: [...to], subject: title, text, headers, priority }),
          aborted,
        ]);
      } catch (error) {
        if (signal.aborted) throw error;
        throw failure(host, error as MailError);
      } finally {
        signal.removeEventListener('abort', onAbort);
        transport.close();
      }
    },
  };
}
