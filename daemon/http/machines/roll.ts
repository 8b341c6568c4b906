/**
 * The computers that sign for this server, and the invitations for them.
 *
 * Invariants: a code works once, for ten minutes, and the newest alone. One computer signs. The file has no secret of it: whoever
 * reads it can pose as the server to that computer, and cannot pose as the computer.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { linkName, pageProof, serviceProof } from '../../contract/console-channel.ts';
import { type Greeting, joinOrigin, MachineName, newCode, serverMark } from '../../contract/signing-machine.ts';
import { toIso } from '../../domain/calendar.ts';
import { Rejected } from '../../domain/errors.ts';
import { type ServiceKey, StoredKey, same, serviceKey } from '../console/sessions.ts';
import { NotDurable, writePrivately } from '../private-file.ts';

const INVITATION_MS = 600_000;
/** Codes that are over, which are remembered to say why they do not work. */
const OVER_MAX = 50;
/** How often the time at which the machine was seen is stored. */
const STORE_SEEN_MS = 60_000;

const Machine = z.object({
  name: MachineName,
  /** Its public key. */
  key: z.string(),
  fingerprint: z.string().nullable(),
  joinedAt: z.int(),
  /** Milliseconds since 1970; null: never. */
  seenAt: z.int().nullable(),
});
export type Machine = z.infer<typeof Machine>;

const Stored = z.object({
  service: StoredKey,
  machine: Machine.nullable(),
  over: z.array(z.object({ link: z.string(), at: z.int(), by: z.string().nullable() })),
});
type Stored = z.infer<typeof Stored>;

type Join = Extract<Greeting, { do: 'join' }>;

export class Roll {
  readonly #file: string;
  readonly #now: () => number;
  readonly #key: Promise<ServiceKey>;
  #machine: Machine | null = null;
  #over: Stored['over'] = [];
  #invitation: { code: string; link: string; endsAt: number } | null = null;
  #storedSeenAt = 0;
  #writing: Promise<void> = Promise.resolve();

  /** `file`: where the machine is kept over a restart. `now`: milliseconds since 1970. Throws for a damaged file. */
  constructor(file: string, now: () => number) {
    this.#file = file;
    this.#now = now;
    const kept = read(file);
    if (kept) [this.#machine, this.#over] = [kept.machine, kept.over];
    this.#key = serviceKey(kept?.service ?? null);
  }

  /** By which machines know this server. */
  key = (): Promise<ServiceKey> => this.#key;

  get machine(): Machine | null {
    return this.#machine;
  }

  /** The machine with this public key; null: there is none, or not any more. */
  find(key: string): Machine | null {
    return this.#machine?.key === key ? this.#machine : null;
  }

  /** Throws `Rejected('signer.machine')` if a computer signs already. */
  async invite(): Promise<{ code: string; endsAt: number }> {
    this.#needNone();
    const { said } = await this.#key;
    const code = await newCode(said);
    if (this.#invitation) this.#end(this.#invitation.link, null);
    const endsAt = this.#now() + INVITATION_MS;
    this.#invitation = { code, link: await linkName(code), endsAt };
    // the code names this server's key, which must not be another one after a restart
    await this.#store();
    return { code, endsAt };
  }

  /** Takes a machine in. Throws `Rejected`: `signer.code_*` says what is wrong with the code; `signer.machine`: see `invite`. */
  async join({ mark, link, machine: key, nonce, proof, name }: Join): Promise<{ service: string; proof: string }> {
    const { said: service } = await this.#key;
    const given = this.#invitation;
    if (mark !== (await serverMark(service))) throw new Rejected('signer.code_foreign', FOREIGN);
    const over = this.#over.find((one) => one.link === link);
    if (over) throw isOver(over);
    const said = { origin: joinOrigin(name), page: key, nonce };
    if (given?.link !== link || !same(proof, await pageProof(given.code, said))) {
      throw new Rejected('signer.code_wrong', WRONG);
    }
    if (given.endsAt < this.#now()) throw new Rejected('signer.code_expired', EXPIRED);
    this.#needNone();
    // another call may have used it meanwhile
    if (this.#invitation !== given) throw new Rejected('signer.code_wrong', WRONG);
    this.#invitation = null;
    this.#end(link, name);
    await this.#store({ machine: { name, key, fingerprint: null, joinedAt: this.#now(), seenAt: null } }).catch(
      (error) => {
        // it is taken in: unanswered, it would not know that
        if (!(error instanceof NotDurable)) throw error;
      },
    );
    return { service, proof: await serviceProof(given.code, said, service) };
  }

  /** Notes that the machine was there, and which wallet it has. */
  async seen(fingerprint: string | null = null): Promise<void> {
    const machine = this.#machine;
    if (!machine) return;
    const isNew = fingerprint !== null && machine.fingerprint !== fingerprint;
    machine.seenAt = this.#now();
    if (fingerprint !== null) machine.fingerprint = fingerprint;
    if (!isNew && machine.seenAt - this.#storedSeenAt < STORE_SEEN_MS) return;
    this.#storedSeenAt = machine.seenAt;
    await this.#store();
  }

  /**
   * Throws `Rejected('signer.not_found')`, and `Unavailable` if the disk does not take it: then the computer is still
   * known, but for `NotDurable`.
   */
  async remove(name: string): Promise<void> {
    if (this.#machine?.name !== name) throw new Rejected('signer.not_found', `No computer called ${name} signs here`);
    await this.#store({ machine: null });
  }

  #needNone(): void {
    if (!this.#machine) return;
    const { name } = this.#machine;
    const text = `${name} signs already, and one computer signs for a wallet: two would not know of each other's signatures. \`countinghouse signer remove "${name}"\` ends it`;
    throw new Rejected('signer.machine', text);
  }

  #end(link: string, by: string | null): void {
    this.#over = [...this.#over, { link, at: this.#now(), by }].slice(-OVER_MAX);
  }

  /** One write after the other. A change counts once the file has it, or a restart would take it back. Throws as `writePrivately`. */
  #store(change?: Pick<Stored, 'machine'>): Promise<void> {
    const next = async (): Promise<void> => {
      const { stored: service } = await this.#key;
      const kept: Stored = { service, machine: this.#machine, over: this.#over, ...change };
      const failure = await writePrivately(this.#file, JSON.stringify(kept)).catch((error: Error) => error);
      if (change && (!failure || failure instanceof NotDurable)) this.#machine = change.machine;
      if (failure) throw failure;
    };
    const writing = this.#writing.then(next);
    this.#writing = writing.catch(() => {});
    return writing;
  }
}

function read(file: string): Stored | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    return Stored.parse(JSON.parse(text));
  } catch {
    const what = `${file} is damaged: remove it, start again, and invite the computer at home anew`;
    throw new Rejected('signer.machine', what);
  }
}

const ANEW = 'For a new one, run on the server: countinghouse signer invite';
const FOREIGN = `This code was made by another server. ${ANEW}`;
const WRONG = `This code is wrong, or the server does not know it any more. ${ANEW}`;
const EXPIRED = `This code is too old: a code works for ten minutes. ${ANEW}`;

function isOver({ at, by }: Stored['over'][number]): Rejected {
  if (by === null)
    return new Rejected('signer.code_expired', `This code was ended at ${toIso(at)} by a newer one. ${ANEW}`);
  const text = `This code was used at ${toIso(at)} by ${JSON.stringify(by)}, and works once. If that was not you, run on the server: countinghouse signer remove ${JSON.stringify(by)}. ${ANEW}`;
  return new Rejected('signer.code_used', text);
}
