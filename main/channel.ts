/**
 * The requests that the page may make of this process: the operator API's methods, and those of this program
 * (daemon/operator/desktop.ts).
 *
 * Invariant: a request counts only from the top frame of the console's own page. Tokens stay here. Every input is checked
 * against its contract before it is passed on, and every answer of the service by the client.
 */
import { type IpcMain, type IpcMainInvokeEvent, ipcMain, type WebContents } from 'electron';
import type { z } from 'zod';
import { OperatorError } from '../daemon/contract/client.ts';
import { type Call, isMethod, type Method, OPERATOR, type Params, rulesOf } from '../daemon/contract/operator.ts';
import { Rejected, Unavailable } from '../daemon/domain/errors.ts';
import {
  DESKTOP,
  type DesktopMethod,
  type DesktopParams,
  isDesktopMethod,
  isOfProgram,
} from '../daemon/operator/desktop.ts';
import { CHANNELS } from './limits.ts';
import type { DesktopMethods } from './methods.ts';
import { isOwnPage, serverOf } from './security.ts';

/** Errors cross as values, because Electron keeps only the message of a thrown one. */
type Answer =
  | { ok: true; result: unknown }
  | { ok: false; status: number; error: { code: string; message: string; field?: string } }
  | { ok: false; status: 0 };

/** The page has no use for the others: this process seals passphrases and asks the user for files itself. */
const isOfPage = (method: Method): boolean => (rulesOf(method).scope ?? 'page') === 'page';

const refused = (status: number, code: string, message: string): Answer => ({
  ok: false,
  status,
  error: { code, message },
});

/** The service of this computer, or a server that this computer signs for, which a page is about. */
export type Target = { call: Call; methods: DesktopMethods };

/** `targetOf`: of a page by the server that its address names, null for this computer; null if there is no such server. */
type Serving = { targetOf(server: string | null): Target | null; ipc?: IpcMain };

export function serveChannel({ targetOf, ipc = ipcMain }: Serving): void {
  ipc.handle(CHANNELS.call, async (event: IpcMainInvokeEvent, method: unknown, input: unknown) => {
    const page = trustedPage(event);
    if (page === null) return refused(403, 'sender', 'Only the console itself has access');
    // a page about a server that was removed leads to the others
    const target = targetOf(serverOf(page)) ?? (isOfProgram(method) ? targetOf(null) : null);
    if (target === null) return refused(404, 'signer.not_found', 'This computer is not connected with that server');
    return answer(target, method, input ?? {}).catch(failed);
  });
}

/** The address of the top frame of a page of ours; null for any other sender. A frame that is gone has no sender any more. */
function trustedPage({ senderFrame, sender }: IpcMainInvokeEvent): string | null {
  const isTop = senderFrame !== null && senderFrame === sender.mainFrame;
  return isTop && isOwnPage(senderFrame.url) ? senderFrame.url : null;
}

async function answer({ call, methods }: Target, method: unknown, input: unknown): Promise<Answer> {
  if (typeof method === 'string' && isDesktopMethod(method)) {
    const params = DESKTOP[method].safeParse(input);
    return params.success ? { ok: true, result: await carryOut(methods, method, params.data) } : misfit(params.error);
  }
  if (typeof method !== 'string' || !isMethod(method) || !isOfPage(method)) {
    return refused(404, 'method.unknown', 'There is no such method');
  }
  const params = OPERATOR[method].params.safeParse(input);
  return params.success
    ? { ok: true, result: await call(method, params.data as Params<Method>) }
    : misfit(params.error);
}

const carryOut = <M extends DesktopMethod>(methods: DesktopMethods, method: M, params: unknown): Promise<unknown> =>
  methods[method](params as DesktopParams<M>);

function misfit({ issues: [issue] }: z.ZodError): Answer {
  return refused(422, 'params', `${issue?.path.join('.') || 'input'}: ${issue?.message ?? 'not valid'}`);
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

/** Sends news to a page, if it is still one of ours, and about `server`; null: about this computer. */
export function tell(contents: WebContents, news: unknown, server: string | null): void {
  if (contents.isDestroyed() || !isOwnPage(contents.getURL())) return;
  if (serverOf(contents.getURL()) === server) contents.send(CHANNELS.news, news);
}
