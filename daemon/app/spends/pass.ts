/**
 * One pass over a chain's withdrawals: begins the approved ones, signs the claimed ones, and sends the signed ones
 * until the chain shows them. A pass reads everything from rows, so after a crash the next pass continues.
 */
import { toIso } from '../../domain/calendar.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { type Message, message, messageOf, reasonOf, type Value } from '../../domain/messages.ts';
import {
  expiredWithdrawals,
  openSpends,
  type SpendRow,
  triedWithdrawalsAbove,
  untriedWithdrawals,
  type VersionRow,
  versionsOf,
} from '../../store/queries/withdrawals.ts';
import type { Tx } from '../../store/store.ts';
import type { SignerStatus } from '../../wallet/signer/port.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { isQuarantined } from '../recovery/quarantine.ts';
import { inLanes } from './lanes.ts';
import { endUnsigned } from './outside.ts';
import { beginPayment } from './payment.ts';
import { isOutside } from './plan.ts';
import { expire, noteProblem, noteWaiting } from './rows.ts';
import { send, type Unseen, unseenVersions } from './send.ts';
import { isForLater, signClaimed } from './sign.ts';

const CLAIMED_PER_PASS_MAX = 100;
const EXPIRED_PER_PASS_MAX = 1_000;

/**
 * `held`: why nothing may be signed now; null: it may. `progress`: the same object at each pass of a chain; `after` is the id of
 * the last withdrawal that was tried among those that could not be claimed, 0 at the beginning. `isDue`: whether a version must
 * be sent (again) now.
 */
type Pass = { held: Value | null; progress: { after: number }; isDue: (version: VersionRow) => boolean };

/** `waits`: whether something must be tried again later. `refused`: what every node refuses. */
type Passed = { waits: boolean; refused: Unseen[] };

export async function passWithdrawals(app: App, chain: ChainRuntime, { held, progress, isDue }: Pass): Promise<Passed> {
  const unsigned = await signAll(app, chain, held);
  const unclaimed = await claimAll(app, chain, progress, held);
  const { waits, refused } = await sendAll(app, chain, isDue);
  return { waits: unsigned || unclaimed || waits, refused };
}

/** Signs every claimed version, unless signing is `held` back. Returns true if one has to wait. */
async function signAll(app: App, chain: ChainRuntime, held: Value | null): Promise<boolean> {
  let waits = false;
  const unsigned = app.store
    .all(openSpends, { chain_key: chain.key })
    .flatMap((spend) => app.store.all(versionsOf, { spend_id: spend.id }).map((version) => ({ spend, version })))
    .filter(({ version }) => version.txid === null);
  const common = held ?? (unsigned.length > 0 ? await whyBy(app, chain, whyAway) : null);
  const signOrNote = async ({ spend, version }: (typeof unsigned)[number]): Promise<void> => {
    const why = (isSignedHere(app, spend) ? common : held) ?? (await signOne(app, spend, version));
    if (why === null) return;
    waits = true;
    await app.store.write((tx) => noteProblem(tx, version, why));
  };
  await inLanes(chain.spending, unsigned, signOrNote);
  return waits;
}

/** Signs one version. Returns the reason if it has to wait, or null. */
async function signOne(app: App, spend: SpendRow, { id }: VersionRow): Promise<Value | null> {
  try {
    await signClaimed(app, spend, id);
    return null;
  } catch (error) {
    if (!isForLater(error)) throw error;
    return reasonOf(error);
  }
}

/** Claims new withdrawals first, then a part of the waiting ones in turn, so that each of them is tried. */
async function claimAll(
  app: App,
  chain: ChainRuntime,
  progress: Pass['progress'],
  held: Value | null,
): Promise<boolean> {
  const page = { chain_key: chain.key, limit: CLAIMED_PER_PASS_MAX };
  const tried = app.store.all(triedWithdrawalsAbove, { ...page, id: progress.after });
  progress.after = tried.length === CLAIMED_PER_PASS_MAX ? tried.at(-1)!.id : 0;
  const rows = [...app.store.all(untriedWithdrawals, page), ...tried];
  // a plan made while the wallet is locked would be outdated when it is signed
  const common = held ?? (rows.length > 0 ? await whyUnsigned(app, chain) : null);
  let waits = false;
  for (const row of rows) {
    const why = (isSignedHere(app, row) ? common : held) ?? (await beginPayment(app, row));
    if (why === null) continue;
    waits = true;
    await app.store.write((tx) => noteWaiting(app, tx, row.id, why));
  }
  const unsigned = rows.length > 0 && (await signAll(app, chain, held));
  return waits || unsigned;
}

/** False where another wallet has the keys: nothing waits for the signer then. */
function isSignedHere(app: App, { account_id }: { account_id: number }): boolean {
  return !isOutside(app.directory.accountOf(account_id));
}

/** The signer's status; null on simulated chains, whose wallet has no lock. */
async function statusFor(app: App, chain: ChainRuntime): Promise<SignerStatus | null> {
  return chain.adapter.network === 'sandbox' ? null : app.signer.status();
}

/** Why nothing can be signed now; null: it can. */
export function whyUnsigned(app: App, chain: ChainRuntime): Promise<Message | null> {
  return whyBy(app, chain, (status) => {
    return whyAway(status) ?? (status === null || status.state === 'unlocked' ? null : message('wait.locked'));
  });
}

/** The wallet's files may be damaged, or their disk may refuse them: what is signed already is sent all the same. */
async function whyBy(
  app: App,
  chain: ChainRuntime,
  read: (status: SignerStatus | null) => Message | null,
): Promise<Message | null> {
  try {
    return read(await statusFor(app, chain));
  } catch (error) {
    if (!(error instanceof Rejected || error instanceof Unavailable)) throw error;
    return messageOf(reasonOf(error));
  }
}

/** A signing machine at home that is away; null: there is none, or it is connected. */
function whyAway(status: SignerStatus | null): Message | null {
  if (!status?.away) return null;
  const { name: machine, seenAt } = status.away;
  return seenAt === null
    ? message('wait.machine_never', { machine })
    : message('wait.machine_away', { machine, seen: toIso(seenAt) });
}

async function sendAll(app: App, chain: ChainRuntime, isDue: Pass['isDue']): Promise<Passed> {
  let waits = false;
  const refused: Unseen[] = [];
  for (const unseen of unseenVersions(app.store, chain)) {
    waits = true;
    // a stored transaction may have been mined while the service or its source was away, so a sync must come first
    if (!chain.isCurrent) break;
    if (!isDue(unseen.version)) continue;
    try {
      if (await send(app, chain, unseen)) refused.push(unseen);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      chain.away = true;
      await app.store.write((tx) => noteProblem(tx, unseen.version, reasonOf(error)));
      app.wake.chain(chain.key);
    }
  }
  return { waits, refused };
}

/**
 * Ends withdrawals that waited longer than seven days for a decision or for the signer, and those that were not signed in time in the
 * wallet that has their keys. Called every minute.
 */
export function expireWithdrawals(app: App, tx: Tx): void {
  // a withdrawal may have been paid after the backup, so it must not expire
  if (isQuarantined(tx)) return;
  const now = app.chains.credibleNow(app.now());
  endUnsigned(app, tx, now);
  for (const row of tx.all(expiredWithdrawals, { now, limit: EXPIRED_PER_PASS_MAX })) {
    expire(app, tx, row);
  }
}
