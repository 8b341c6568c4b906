/**
 * Notices of releases: a feed that the maker signed, asked for at most once a day, and only after the operator said yes. They only
 * tell: nothing is fetched and nothing installed.
 *
 * Invariant: what a feed said stays true. An older one never replaces it, whoever sends it, and no failure takes it away. A clock
 * that is wrong keeps no notice back: it only makes a feed look old.
 */

import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import { type Message, message, type Value } from '../../domain/messages.ts';
import { MS_PER_DAY } from '../../domain/time.ts';
import { compareVersions, isVersion } from '../../domain/version.ts';
import { areNoticesSigned } from '../../kit/release-signature.ts';
import { saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { end, raise } from '../alerts.ts';
import type { App } from '../app.ts';
import { CLOCK_MS_MAX, type Finding } from './doctor.ts';

/** Of the maker of this package; null: the package was made without a key. */
export type Maker = { readonly key: KeyObject; readonly feed: string | null } | null;

const SETTING = 'releases';
const SUBJECT = 'countinghouse';
export const FEED_BYTES_MAX = 65_536;
const RELEASES_MAX = 100;
const TEXT_CHARS_MAX = 300;
const SERIAL_MAX = 1_000_000_000;
/** The maker signs the feed anew each month, also when nothing was released: a longer silence is told. */
const SILENT_DAYS_MAX = 60;
const UNREACHED_DAYS_MAX = 7;

const Version = z.string().refine(isVersion);
const Release = z.object({
  version: Version,
  date: z.iso.date(),
  security: z.boolean(),
  /** The first version that has the fault; absent: all earlier ones have it. */
  since: Version.optional(),
  text: z
    .string()
    .max(TEXT_CHARS_MAX)
    .regex(/^\P{C}*$/u),
});
export type Release = z.infer<typeof Release>;

/** `serial`: higher in each later feed. */
const Notices = z.object({
  serial: z.int().min(1).max(SERIAL_MAX),
  made: z.iso.datetime(),
  releases: z.array(Release).max(RELEASES_MAX),
});
type Notices = z.infer<typeof Notices>;

const Feed = z.object({ signed: z.string().max(FEED_BYTES_MAX), signature: z.string().max(200) });

/** Times in milliseconds since 1970; null: never. */
const Stored = z.object({
  wanted: z.boolean(),
  askedAt: z.int().nullable(),
  gotAt: z.int().nullable(),
  /** Why the last question failed. */
  problem: z.string().nullable(),
  /** The last feed as it came. */
  feed: z.string().nullable(),
  /** The version that the last alert was about. */
  told: z.string().nullable(),
});
type Stored = z.infer<typeof Stored>;
const NOTHING: Stored = { wanted: false, askedAt: null, gotAt: null, problem: null, feed: null, told: null };

/** A feed that cannot be believed. Its message is for the operator. */
export class FeedRefused extends Error {}

/** The notices in a feed that its maker signed. Throws `FeedRefused`. */
export function readFeed(text: string, key: KeyObject): Notices {
  const feed = Feed.safeParse(jsonOf(text));
  if (!feed.success) throw new FeedRefused('the answer is no feed of releases');
  const { signed, signature } = feed.data;
  if (!areNoticesSigned(signed, signature, key)) throw new FeedRefused('the feed is not signed by the maker');
  const notices = Notices.safeParse(jsonOf(signed));
  if (!notices.success) throw new FeedRefused('the feed has a form that this release does not know');
  return notices.data;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type ReleaseState = Pick<Stored, 'wanted' | 'askedAt' | 'gotAt' | 'problem'> & {
  version: string;
  /** Where it is asked for; null: nowhere, because this package names no feed and no key. */
  feed: string | null;
  /** When the stored feed was signed. */
  madeAt: string | null;
  /** The newest release that is later than this one. */
  newer: Release | null;
  /** The newest security release that this version lacks. */
  security: Release | null;
};

export class Releases {
  readonly #app: App;
  readonly #version: string;
  readonly #maker: Maker;

  constructor(app: App, version: string, maker: Maker) {
    this.#app = app;
    this.#version = version;
    this.#maker = maker;
  }

  state(): ReleaseState {
    const { feed: stored, told: _, ...rest } = this.#stored(this.#app.store);
    const notices = this.#believed(stored);
    const later = (notices?.releases ?? [])
      .filter(({ version }) => this.#isLater(version))
      .sort((a, b) => compareVersions(b.version, a.version));
    return {
      ...rest,
      version: this.#version,
      feed: this.#maker?.feed ?? null,
      madeAt: notices?.made ?? null,
      newer: later[0] ?? null,
      security: later.find((one) => this.#concerns(one)) ?? null,
    };
  }

  /** Says yes or no to asking. Resolves to whether it is wanted now. */
  async choose(wanted: boolean): Promise<void> {
    await this.#change((stored) => ({ ...stored, wanted, problem: null }));
  }

  /**
   * Whether the feed may be asked now; notes that it is. A day is counted from the last question, also from a failed one. A time
   * that is yet to come was noted by a wrong clock, and does not count.
   */
  async mayAsk(): Promise<boolean> {
    if (!this.#maker?.feed) return false;
    const now = this.#app.now();
    const isDue = ({ wanted, askedAt }: Stored): boolean =>
      wanted && (askedAt === null || now - askedAt >= MS_PER_DAY || askedAt - now > CLOCK_MS_MAX);
    if (!isDue(this.#stored(this.#app.store))) return false;
    return this.#app.store.write((tx) => {
      const stored = this.#stored(tx);
      if (!isDue(stored)) return false;
      this.#save(tx, { ...stored, askedAt: now });
      return true;
    });
  }

  /** Stores a feed. Throws `FeedRefused` where it is not the maker's, or is older than the stored one. */
  async take(text: string): Promise<void> {
    if (!this.#maker) throw new FeedRefused('this package has no key of releases');
    const { serial } = readFeed(text, this.#maker.key);
    await this.#change((stored) => {
      const known = this.#believed(stored.feed);
      if (known && serial < known.serial) throw new FeedRefused(`the feed is older than the last one`);
      if (known && serial === known.serial && stored.feed !== text)
        throw new FeedRefused('the feed is another one of the same number as the last one');
      return { ...stored, feed: text, gotAt: this.#app.now(), problem: null };
    });
  }

  async failed(problem: string): Promise<void> {
    await this.#change((stored) => ({ ...stored, problem }));
  }

  /** Raises the alert about a security release, once for each, and ends it after the upgrade. */
  async tell(): Promise<void> {
    const { security } = this.state();
    if (security === null) return end(this.#app, 'release.security', SUBJECT);
    if (this.#stored(this.#app.store).told === security.version) return;
    await raise(this.#app, null, 'release.security', SUBJECT, this.#words(security));
    await this.#change((stored) => ({ ...stored, told: security.version }));
  }

  findings(): Finding[] {
    const { security, wanted, feed } = this.state();
    const found = { subject: 'release', level: 'ok', advice: null } as const;
    const own = this.#version;
    if (security !== null)
      return [{ ...found, level: 'problem', text: this.#words(security), advice: message('advice.upgrade') }];
    if (feed === null) return [{ ...found, text: message('doctor.release_no_key', { own }) }];
    if (!wanted) return [{ ...found, text: message('doctor.release_unasked', { own }) }];
    const doubt = this.#doubt();
    return [doubt ? { ...found, level: 'warning', ...doubt } : { ...found, text: this.#rest() }];
  }

  #words({ version, text: reason }: Release): Message {
    return message('release.security', { version, own: this.#version, reason });
  }

  #rest(): Message {
    const { newer, madeAt } = this.state();
    const own = this.#version;
    if (newer !== null) return message('doctor.release_newer', { own, version: newer.version });
    return madeAt === null
      ? message('doctor.release_soon', { own })
      : message('doctor.release_newest', { own, at: madeAt });
  }

  /** Why the silence of the feed may mean nothing. */
  #doubt(): { text: Message; advice: Message } | null {
    const { askedAt, gotAt, madeAt, problem } = this.state();
    const now = this.#app.now();
    if (problem !== null && askedAt !== null && (gotAt === null || now - gotAt > UNREACHED_DAYS_MAX * MS_PER_DAY)) {
      const reason: Value = problem;
      return { text: message('doctor.release_unreached', { reason }), advice: message('advice.releases') };
    }
    if (madeAt === null) return null;
    const age = now - Date.parse(madeAt);
    if (age > SILENT_DAYS_MAX * MS_PER_DAY)
      return { text: message('doctor.release_old', { at: madeAt }), advice: message('advice.releases_by_hand') };
    if (age < -MS_PER_DAY)
      return { text: message('doctor.release_future', { at: madeAt }), advice: message('advice.set_clock') };
    return null;
  }

  /** A version of another form cannot be compared: every release is then the later one. */
  #isLater(version: string): boolean {
    return !isVersion(this.#version) || compareVersions(version, this.#version) > 0;
  }

  #concerns({ security, since }: Release): boolean {
    return security && (since === undefined || !isVersion(this.#version) || compareVersions(since, this.#version) <= 0);
  }

  /** The notices in a stored feed; null unless the maker of this package signed it. */
  #believed(feed: string | null): Notices | null {
    if (feed === null || !this.#maker) return null;
    try {
      return readFeed(feed, this.#maker.key);
    } catch {
      return null;
    }
  }

  #stored(reader: Reader): Stored {
    const row = reader.get(settingOf, { key: SETTING });
    return row ? Stored.parse(JSON.parse(row.value)) : NOTHING;
  }

  #save(tx: Tx, stored: Stored): void {
    tx.run(saveSetting, { key: SETTING, value: JSON.stringify(stored), updated_at: this.#app.now() });
  }

  #change(change: (stored: Stored) => Stored): Promise<void> {
    return this.#app.store.write((tx) => this.#save(tx, change(this.#stored(tx))));
  }
}
