/**
 * The wallet at home, which signs for a server as long as it is connected.
 *
 * Invariant: the server is trusted with nothing. Each order is judged by the signer's process, as everywhere, one at a time; what
 * needs a passphrase is refused. When a connection breaks, the next one begins with nothing of it: the server asks again, and the
 * same order has the same bytes, of Monero the same key images.
 */
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Rejected } from '../domain/errors.ts';
import { SignerClient, type SignerOptions } from '../wallet/signer/client.ts';
import { serveOperator, serveServer } from '../wallet/signer/service.ts';
import { aboutOf } from './about.ts';
import { isStopped } from './alarm.ts';
import { type AuditOptions, type Look, look } from './auditor.ts';
import { withServer } from './call.ts';
import { dial } from './dial.ts';
import { readServer, walletFolderIn } from './place.ts';

const RETRY_MS = 1_000;
const RETRY_MS_MAX = 60_000;
/** The mean time between two looks at the addresses; a server must not know when the next one comes. */
const LOOK_MS = 600_000;
const LOOK_SPREAD = 0.5;
/** A look that another follows at once is followed by so many times its length of rest. */
const RESTS = 3;
/** A server that lets nobody look is told of again after this time. */
const SAY_AGAIN_MS = 6 * 3_600_000;
/** A look that waits for a server keeps nothing, and is not waited for. */
const LOOK_END_MS = 1_000;

type SigningOptions = Pick<SignerOptions, 'autoLockMinutes' | 'source' | 'log'> & {
  /** The server's folder. */
  folder: string;
  release: string;
  /** Told when the connection begins and ends. */
  told: (isConnected: boolean) => void;
  audit: Audit;
};

type Audit = Pick<AuditOptions, 'env'> & {
  /** Told what each look found. */
  told: (found: Look) => void;
  /** The mean time between two looks. */
  everyMs?: number;
};

/**
 * Signs until it is closed; connects again and again. `ended` rejects where a further try is useless: the server has removed this computer,
 * this computer has forgotten the server, or what it keeps is damaged. Another one that answers ends nothing. Throws `Rejected('signer.service')` if the wallet's folder is another's, or is served already.
 */
export async function signAtHome({ folder, release, told, audit, ...options }: SigningOptions): Promise<{
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
    const [place, about] = [await readServer(folder), await aboutOf(wallet, release)];
    stream = await dial(place, 'signer', about, closing.signal).catch(asOfAnybody);
    if (closing.signal.aborted) stream.destroy();
    told(true);
    await serveServer(stream, signer, () => isStopped(folder));
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
  const auditing = lookAgain(folder, release, audit, { log: options.log, signal: closing.signal });
  return {
    ended: run(),
    async close() {
      closing.abort();
      stream?.destroy();
      await Promise.race([auditing, pause(LOOK_END_MS)]);
      socket.close();
      await signer.close();
    },
  };
}

/** Who has not proved to be the server may be anybody on the way: the server may answer the next time. */
function asOfAnybody(error: unknown): never {
  throw error instanceof Rejected && error.code === 'signer.server' ? new Error(error.message) : error;
}

/** Looks at the server's addresses until it is told to stop. The same failure is said every six hours. */
async function lookAgain(
  folder: string,
  release: string,
  { env, told, everyMs = LOOK_MS }: Audit,
  { log, signal }: Pick<SigningOptions, 'log'> & { signal: AbortSignal },
): Promise<void> {
  const options = { folder, now: Date.now, env, signal };
  let [said, saidAt] = ['', 0];
  while (!signal.aborted) {
    let waitMs = everyMs * (1 + LOOK_SPREAD * (2 * Math.random() - 1));
    try {
      const begun = performance.now();
      const found = await withServer(folder, release, (call, server) => look(call, server, options), signal);
      said = '';
      // a list without an end must not keep this computer busy
      if (found.more) waitMs = Math.min(waitMs, Math.max(RETRY_MS, RESTS * (performance.now() - begun)));
      told(found);
    } catch (error) {
      const { message } = error as Error;
      const isOld = performance.now() - saidAt >= SAY_AGAIN_MS;
      if (!signal.aborted && (message !== said || isOld)) {
        log(`The addresses could not be looked at: ${message}`);
        saidAt = performance.now();
      }
      said = message;
      waitMs = Math.min(waitMs, RETRY_MS_MAX);
    }
    await pause(waitMs, signal);
  }
}

/** Leaves nothing behind at the signal, which lives for months. */
const pause = (ms: number, signal?: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }).catch(() => {});
