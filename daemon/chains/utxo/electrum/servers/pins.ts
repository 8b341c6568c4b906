/**
 * Remembers the first certificate of each server (trust on first use). Most public servers have self-signed certificates:
 * the first one seen stays the server's, as in Electrum, and another one is refused. A server that once had a certificate
 * that the system trusts must always have one.
 *
 * Invariant: a pin is on the disk before the first byte is sent to its server. The file is read each time, so that removing
 * a line needs no restart.
 */
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

const PINS_MAX = 1_000;
/** In the place of a fingerprint: the system's authorities vouch for this server. */
const TRUSTED = 'trusted';

type Verdict = 'accepted' | 'changed';

export class Pins {
  /** The file's name, for messages to the operator. */
  readonly file: string;
  readonly #path: string | null;
  /** Without a file. */
  readonly #remembered = new Map<string, string>();
  #checking: Promise<unknown> = Promise.resolve();

  /** `path`: a JSON file that nobody else writes; null to remember in memory only. */
  constructor(path: string | null) {
    this.#path = path;
    this.file = basename(path ?? 'certificates.json');
  }

  /**
   * Judges a server's certificate. `fingerprint`: SHA-256 of its DER form in hex. `trusted`: whether the system's
   * authorities vouch for it and for the host's name. Remembers what it accepts for the first time.
   */
  check(server: string, fingerprint: string, trusted: boolean): Promise<Verdict> {
    const verdict = this.#checking.then(() => this.#check(server, trusted ? TRUSTED : fingerprint));
    this.#checking = verdict.catch(() => {});
    return verdict;
  }

  async #check(server: string, shown: string): Promise<Verdict> {
    const pins = this.#path === null ? this.#remembered : new Map(await readPins(this.#path));
    const pin = pins.get(server);
    if (pin === shown) return 'accepted';
    // A certificate that the system trusts replaces the pin of one that it did not.
    if (pin !== undefined && shown !== TRUSTED) return 'changed';
    pins.delete(server);
    pins.set(server, shown);
    const oldest = pins.keys().next().value;
    if (pins.size > PINS_MAX && oldest !== undefined) pins.delete(oldest);
    if (this.#path !== null) await write(this.#path, Object.fromEntries(pins));
    return 'accepted';
  }
}

async function readPins(path: string): Promise<[string, string][]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    // A damaged file is an error below. If it counted as empty, every server could show a new certificate.
  }
  if (typeof value !== 'object' || value === null) throw new Error(`${path} is damaged: repair or remove it`);
  return Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
}

/** Replaces the file as a whole: a power cut leaves the old one or the new one. */
async function write(path: string, pins: Record<string, string>): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.new`;
  const file = await open(next, 'w', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(pins, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(next, path);
}
