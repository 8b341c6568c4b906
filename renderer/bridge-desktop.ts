/** The bridge of the desktop shell: everything goes to its main process, which has the tokens (main/preload.ts). */
import type { DesktopMethod, DesktopParams, DesktopResult } from '../daemon/operator/desktop.ts';
import {
  type Bridge,
  CallError,
  type Desktop,
  type Method,
  type News,
  NotConnected,
  type Params,
  type Result,
} from './bridge.ts';
import { serverIn } from './place.ts';

type Answer =
  | { ok: true; result: unknown }
  | { ok: false; status: number; error?: ConstructorParameters<typeof CallError>[1] };

type Shell = {
  call(method: string, input: unknown): Promise<Answer>;
  onNews(listener: (news: News) => void): () => void;
};

/** The functions that the preload script put into the page. */
export const shellOf = (place: object): Shell => (place as { countinghouse: Shell }).countinghouse;

async function resultOf<T>(asked: Promise<Answer>): Promise<T> {
  const answer = await asked;
  if (answer.ok) return answer.result as T;
  if (answer.error === undefined) throw new NotConnected();
  throw new CallError(answer.status, answer.error);
}

/** `server`: that the page is about; null: the service of this computer. */
export function desktopBridge(shell: Shell, server = serverIn(location.search)): Bridge & { desktop: Desktop } {
  const call = <M extends Method>(method: M, input: Params<M>) => resultOf<Result<M>>(shell.call(method, input));
  const own = <M extends DesktopMethod>(method: M, input: DesktopParams<M>) =>
    resultOf<DesktopResult[M]>(shell.call(method, input));
  // the process that signs for a server is reached by a unix socket
  const signs = server === null || !navigator.userAgent.includes('Windows');
  return {
    call,
    subscribe: (listener) => shell.onNews(listener),
    session: async () => {
      await call('status', {});
      return { place: 'desktop', approvals: true, home: null, scope: 'all' };
    },
    keyholder: {
      // nobody types a passphrase for the sandbox, which the shape leaves out
      authorize: (passphrase, wanted) =>
        own('desktop.authorize', { passphrase, wanted } as DesktopParams<'desktop.authorize'>),
      unlock: (passphrase) => own('desktop.unlock', { passphrase }),
      lock: () => own('desktop.lock', {}),
      changePassphrase: (old, fresh) => own('desktop.changePassphrase', { old, fresh }),
    },
    custody: {
      create: (passphrase, words) => own('desktop.createWallet', { passphrase, words }),
      words: (passphrase) => own('desktop.words', { passphrase }),
      moneroWords: (passphrase, network, accountNo) => own('desktop.moneroWords', { passphrase, network, accountNo }),
      importMonero: async (passphrase, network, accountNo, words) => {
        await own('desktop.importMonero', { passphrase, network, accountNo, words });
      },
      dropMonero: async (passphrase, network, accountNo) => {
        await own('desktop.dropMonero', { passphrase, network, accountNo });
      },
      prove: async (passphrase) => {
        await own('desktop.prove', { passphrase });
      },
      drill: async (passphrase, file) => {
        await own('desktop.drill', { passphrase, file });
      },
      accounts: (passphrase, network, accountNo) => own('desktop.accounts', { passphrase, network, accountNo }),
    },
    // a server makes its backups on its own machine
    ...(server === null && { downloadBackup: () => own('desktop.saveBackup', {}) }),
    desktop: {
      server,
      chooseBackup: () => own('desktop.chooseBackup', {}),
      keychain: signs
        ? { remember: (passphrase) => own('desktop.remember', { passphrase }), forget: () => own('desktop.forget', {}) }
        : null,
      servers: () => own('desktop.servers', {}),
      join: (asked) => own('desktop.join', asked),
      removeServer: (name) => own('desktop.removeServer', { server: name }),
      alarmMoney: (name) => own('desktop.alarmMoney', { server: name }),
      signAgain: (looked) => own('desktop.signAgain', looked),
      backupPass: (asked) => own('desktop.backupPass', asked),
      settings: () => own('desktop.settings', {}),
      setLanguage: (language) => own('desktop.setLanguage', { language }),
      setStartAtLogin: (on) => own('desktop.setStartAtLogin', { on }),
    },
  };
}
