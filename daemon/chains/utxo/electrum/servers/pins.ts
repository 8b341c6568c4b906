/**
 * Which certificate each server showed first. Most public servers sign their own: then the first certificate seen is the
 * server's for good, as in Electrum, and another one is refused. A server that once had a certificate that the system
 * trusts must go on having one.
 *
 * Invariant: a pin is on the disk before anything is said to the server that it is for. The file is read each time: an
 * operator who takes a line out of it need not start again.
 */
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

const PINS_MAX = 1_000;
/** In the place of a fingerprint: the system's authorities vouch for this server. */
const TRUSTED = 'trusted';

export type Verdict = 'accepted' | 'changed';

export class Pins {
  /** The file's name, for those who are to look into it. */
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
    // A certificate that is vouched for is worth more than the memory of one that was not.
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
    // Told below: what is damaged is not taken for empty, or every server could show a new certificate.
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
