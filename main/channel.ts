/**
 * The requests that the page may make of this process: the operator API's declared methods, and what needs the wallet's passphrase.
 *
 * Invariant: a request counts only from the top frame of the console's own page. Tokens stay here. Every input is checked
 * against the contract before it is passed on, and every answer by the client.
 */
import { type IpcMain, type IpcMainInvokeEvent, ipcMain, type WebContents } from 'electron';
import { z } from 'zod';
import { OperatorError } from '../daemon/contract/client.ts';
import { type Call, isMethod, type Method, OPERATOR, type Params } from '../daemon/contract/operator.ts';
import { Rejected, Unavailable } from '../daemon/domain/errors.ts';
import type { Keyholder } from '../daemon/operator/keyholder.ts';
import { AuthorizationShape } from '../daemon/wallet/signer/wire.ts';
import { CHANNELS } from './limits.ts';
import { isOwnPage } from './security.ts';

/** Errors cross as values, because Electron keeps only the message of a thrown one. */
export type Answer =
  | { ok: true; result: unknown }
  | { ok: false; status: number; error: { code: string; message: string; field?: string } }
  | { ok: false; status: 0 };

const Passphrase = z.string().min(1).max(1_000);
const WalletRequest = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('unlock'), passphrase: Passphrase }),
  z.strictObject({ do: z.literal('lock') }),
  z.strictObject({ do: z.literal('change'), old: Passphrase, fresh: Passphrase }),
]);
const Authorizing = z.tuple([Passphrase, AuthorizationShape]);

/** Sign-in links are for browsers: this page has no use for one. */
const REFUSED: ReadonlySet<string> = new Set(['console.open']);

const refused = (status: number, code: string, message: string): Answer => ({
  ok: false,
  status,
  error: { code, message },
});

type Serving = { call: Call; keyholder: Keyholder; ipc?: IpcMain };

export function serveChannel({ call, keyholder, ipc = ipcMain }: Serving): void {
  const handle = (channel: string, work: (input: unknown[]) => Promise<Answer>): void => {
    ipc.handle(channel, async (event: IpcMainInvokeEvent, ...input: unknown[]) => {
      if (!isTrusted(event)) return refused(403, 'sender', 'Only the console itself has access');
      return work(input).catch(failed);
    });
  };
  handle(CHANNELS.call, async ([method, input]) => callMethod(call, method, input));
  handle(CHANNELS.authorize, async (input) => {
    const given = Authorizing.safeParse(input);
    if (!given.success) return refused(422, 'params', 'This is nothing that could be approved');
    return { ok: true, result: await keyholder.authorize(...given.data) };
  });
  handle(CHANNELS.wallet, async ([input]) => {
    const given = WalletRequest.safeParse(input);
    if (!given.success) return refused(422, 'params', 'The wallet does not know this');
    return { ok: true, result: await ofWallet(keyholder, given.data) };
  });
}

/** The top frame of a page of ours. A frame that is gone has no sender any more. */
function isTrusted({ senderFrame, sender }: IpcMainInvokeEvent): boolean {
  return senderFrame !== null && senderFrame === sender.mainFrame && isOwnPage(senderFrame.url);
}

async function callMethod(call: Call, method: unknown, input: unknown): Promise<Answer> {
  if (typeof method !== 'string' || !isMethod(method) || REFUSED.has(method)) {
    return refused(404, 'method.unknown', 'There is no such method');
  }
  const params = OPERATOR[method].params.safeParse(input ?? {});
  if (!params.success) {
    const [issue] = params.error.issues;
    return refused(422, 'params', `${issue?.path.join('.') || 'input'}: ${issue?.message ?? 'not valid'}`);
  }
  return { ok: true, result: await call(method, params.data as Params<Method>) };
}

function ofWallet(keyholder: Keyholder, asked: z.infer<typeof WalletRequest>): Promise<unknown> {
  if (asked.do === 'unlock') return keyholder.unlock(asked.passphrase);
  return asked.do === 'lock' ? keyholder.lock() : keyholder.changePassphrase(asked.old, asked.fresh);
}

function failed(error: unknown): Answer {
  if (error instanceof OperatorError) {
    const { status, code, message, field } = error;
    return { ok: false, status, error: { code, message, ...(field === undefined ? {} : { field }) } };
  }
  if (error instanceof Rejected) return refused(400, error.code, error.message);
  if (error instanceof Unavailable) return refused(503, 'unavailable', error.message);
  // the service does not answer: whether it has carried the call out is unknown
  return { ok: false, status: 0 };
}

/** Sends news to a page, if it is still one of ours. */
export function tell(contents: WebContents, news: unknown): void {
  if (!contents.isDestroyed() && isOwnPage(contents.getURL())) contents.send(CHANNELS.news, news);
}
