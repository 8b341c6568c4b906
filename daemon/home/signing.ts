/**
 * The wallet at home, which signs for a server as long as it is connected.
 *
 * Invariant: the server is trusted with nothing. Each order is judged by the signer's process, as everywhere, one at a time; what
 * needs a passphrase is refused. When a connection breaks, the next one begins with nothing of it: the server asks again, and the
 * same order has the same bytes.
 */
import type { Duplex } from 'node:stream';
import { Rejected } from '../domain/errors.ts';
import { SignerClient, type SignerOptions } from '../wallet/signer/client.ts';
import { serveOperator, serveServer } from '../wallet/signer/service.ts';
import { aboutOf } from './about.ts';
import { dial } from './dial.ts';
import { readServer, walletFolderIn } from './place.ts';

const RETRY_MS = 1_000;
const RETRY_MS_MAX = 60_000;

type SigningOptions = Pick<SignerOptions, 'autoLockMinutes' | 'source' | 'log'> & {
  /** The server's folder. */
  folder: string;
  release: string;
  /** Told when the connection begins and ends. */
  told: (isConnected: boolean) => void;
};

/**
 * Signs until it is closed; connects again and again. `ended` rejects where a further try is useless: another server answers, or
 * it has removed this computer. Throws `Rejected('signer.service')` if the wallet's folder is another's, or is served already.
 */
export async function signAtHome({ folder, release, told, ...options }: SigningOptions): Promise<{
  ended: Promise<void>;
  close(): Promise<void>;
}> {
  await readServer(folder);
  const wallet = walletFolderIn(folder);
  const unsupported = () => Promise.reject(new Rejected('signer.unsupported', 'The sandbox signs by itself'));
  const signer = new SignerClient({ ...options, folder: wallet, sandbox: { sign: unsupported } });
  const socket = await serveOperator(wallet, signer);
  const closing = new AbortController();
  let stream: Duplex | null = null;
  const connected = async (): Promise<void> => {
    stream = await dial(await readServer(folder), 'signer', await aboutOf(wallet, release));
    if (closing.signal.aborted) stream.destroy();
    told(true);
    await serveServer(stream, signer);
    stream.destroy();
    told(false);
  };
  const run = async (): Promise<void> => {
    let waitMs = RETRY_MS;
    while (!closing.signal.aborted) {
      try {
        await connected();
        // what waits there shall go on within seconds
        waitMs = RETRY_MS;
      } catch (error) {
        if (error instanceof Rejected) throw error;
        options.log((error as Error).message);
        waitMs = Math.min(2 * waitMs, RETRY_MS_MAX);
      }
      await pause(waitMs, closing.signal);
    }
  };
  // begins to open the wallet, if it opens itself
  await signer.status();
  return {
    ended: run(),
    async close() {
      closing.abort();
      stream?.destroy();
      socket.close();
      await signer.close();
    },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
