/** The sources of a passphrase that nobody types. A helper reads it and seals it: see helper.ts. */
import { z } from 'zod';
import { Unavailable } from '../../domain/errors.ts';
import type { Sealed } from './port.ts';
import { spawnHelper } from './spawn.ts';
import { SealedShape } from './wire.ts';

/** `prompt`: only the operator. `server`: see `WalletEntry`; absent: the service of this computer. */
export type UnlockSource =
  | { kind: 'prompt' }
  | { kind: 'keychain'; server?: string }
  | { kind: 'file'; path: string }
  | { kind: 'systemd' };

type Source = Exclude<UnlockSource, { kind: 'prompt' }>;

const HELPER_MS = 60_000;
const OUTPUT_CHARS_MAX = 100_000;
const RETRY_SECONDS = 60;

const unavailable = (why: string): Unavailable => new Unavailable(why, RETRY_SECONDS);

function jobOf(source: Source, fingerprint: string) {
  if (source.kind === 'file') return { source: source.kind, path: source.path };
  if (source.kind === 'systemd') return { source: source.kind };
  return { source: source.kind, fingerprint, server: source.server ?? null };
}

/** The passphrase, sealed to the signer's key. Throws `Unavailable` with the reason if it cannot be read. */
export async function sealedBy(source: Source, sealKey: string, fingerprint: string): Promise<Sealed> {
  const child = spawnHelper({ sealKey, ...jobOf(source, fingerprint) });
  const said = { out: '', err: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said.out = (said.out + text).slice(0, OUTPUT_CHARS_MAX);
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said.err = (said.err + text).slice(0, OUTPUT_CHARS_MAX);
  });
  const timer = setTimeout(() => {
    said.err = `nobody answered within ${HELPER_MS / 1_000} s`;
    child.kill('SIGKILL');
  }, HELPER_MS);
  const code = await new Promise<number | null>((resolve) => {
    child.once('close', resolve);
    child.once('error', () => resolve(null));
  });
  clearTimeout(timer);
  if (code !== 0) throw unavailable(said.err.trim().split('\n')[0] || 'the passphrase could not be read');
  const sealed = z.preprocess((text) => JSON.parse(String(text)), SealedShape).safeParse(said.out);
  if (!sealed.success) throw unavailable('the passphrase could not be read');
  return sealed.data;
}
