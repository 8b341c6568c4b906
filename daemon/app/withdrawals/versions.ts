/**
 * Other versions of what was signed: faster ones, cancellations, several withdrawals in one transaction, and a child that
 * pays for a stuck deposit.
 *
 * Invariants. Every version of a spend names its anchor, so that one at most confirms. Nothing is replaced that a later
 * transaction of ours spends from. BCH knows no replacement: there stored bytes are sent again, and nothing else.
 */
import { randomUUIDv7 } from 'node:crypto';
import { replacementRate } from '../../chains/utxo/spend/fees.ts';
import { Rejected } from '../../domain/errors.ts';
import { type VersionRow, versionsOf, type WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { ADDRESS_SELF, type Approval, type Intent } from '../../wallet/signer/port.ts';
import type { App } from '../app.ts';
import { deadline } from '../deadline.ts';
import { approvedFields, describePlan, type GivenApproval, type Preview, raiseFee } from './approve.ts';
import { addVersion, claim, claimBump, needReplaceable, Overtaken, spendOf } from './claim.ts';
import { coinAt } from './coins.ts';
import { feeRateNow, isUtxo, spendingOf, TARGET_BLOCKS_FAST } from './fees.ts';
import { type Place, type Planned, placeOf, prepare } from './plan.ts';
import { APPROVAL_HOLDS_MS, assetFor, findWithdrawal } from './request.ts';
import { applyEvent, saveWithdrawal, withdrawalOf } from './rows.ts';
import { intentOf, paidBy, type StoredBump } from './sign.ts';
import { readPlan } from './stored-plan.ts';

const FEE_UNLIMITED = 1n << 256n;
const RATE_TIMEOUT_MS = 10_000;
export const BATCH_MAX = 100;

export type ReplaceWish = {
  /** A withdrawal of the transaction that is to be replaced. */
  name: string;
  /** `speed-up`: the same payments. `cancel`: all of them but this one; with no other, back to ourselves. */
  kind: 'speed-up' | 'cancel';
  /** Smallest units per 1,000 virtual bytes; null: what the next blocks ask for. */
  feeRate: bigint | null;
};

type Replacement = {
  place: Place;
  row: WithdrawalRow;
  versions: VersionRow[];
  /** Whom the replacement pays. */
  pays: WithdrawalRow[];
  /** Whose approvals it needs: of a cancellation, everybody's that was ever signed with it. */
  concerned: WithdrawalRow[];
  planned: Planned;
};

/** What a replacement would be, and the intents of which a higher fee has to be approved. */
export async function previewReplacement(app: App, wish: ReplaceWish): Promise<Preview & { until: number }> {
  const { place, planned, pays, concerned } = await replacement(app, wish, FEE_UNLIMITED);
  const purpose = pays.length === 0 ? 'cancel' : 'pay';
  const share = divided(planned.plan.fee, concerned.length);
  // only a fee above what was approved has to be approved anew
  const intents = concerned
    .filter((row) => share > BigInt(row.fee_held))
    .map((row): Intent => ({ ...intentOf(place, row), feeMax: share.toString() }));
  const feeMax = concerned.reduce((sum, { fee_held }) => {
    const held = BigInt(fee_held);
    return sum + (share > held ? share : held);
  }, 0n);
  const until = app.now() + APPROVAL_HOLDS_MS;
  return { ...describePlan(app, place, planned.plan, pays), purpose, intents, feeMax, until };
}

const divided = (fee: bigint, shares: number): bigint => (fee + BigInt(shares) - 1n) / BigInt(shares);

/**
 * Replaces a transaction that is not confirmed yet; it is signed and sent afterwards. `approvals`: for those withdrawals
 * that may now cost more than was approved. Throws `Rejected`.
 */
export async function replace(
  app: App,
  wish: ReplaceWish,
  approvals: ReadonlyMap<string, GivenApproval>,
): Promise<WithdrawalRow> {
  const row = findWithdrawal(app.store, wish.name);
  const spendId = row.spend_id;
  const concerned = spendId === null ? [row] : concernedBy(app.store, row, wish.kind);
  const feeMax = concerned.reduce((sum, one) => sum + (approvals.get(one.uuid)?.feeMax ?? BigInt(one.fee_held)), 0n);
  const found = await replacement(app, wish, feeMax);
  return app.store.write((tx) =>
    overtakenIsRejected(() => {
      for (const { id } of found.concerned) {
        const now = withdrawalOf(tx, id);
        const given = approvals.get(now.uuid);
        if (given && given.feeMax > BigInt(now.fee_held)) raiseFee(app, tx, now, given);
      }
      needOpen(tx, found.place, found.row);
      needReplaceable(tx, found.place, found.versions);
      if (wish.kind === 'cancel') {
        const now = withdrawalOf(tx, found.row.id);
        saveWithdrawal(app, tx, { ...now, cancel: 1, problem: null }, now.state);
      }
      const kind = found.pays.length === 0 ? 'cancel' : 'pay';
      const { planned, place } = found;
      addVersion(app, tx, place, {
        spendId: found.versions[0]!.spend_id,
        kind,
        approval: null,
        planned,
        pays: found.pays,
      });
      tx.afterCommit(() => app.wake.withdrawals(found.place.chain.key));
      return withdrawalOf(tx, found.row.id);
    }),
  );
}

async function replacement(app: App, { name, kind, feeRate }: ReplaceWish, feeMax: bigint): Promise<Replacement> {
  const row = findWithdrawal(app.store, name);
  const place = placeOf(app, row);
  const versions = needOpen(app.store, place, row);
  needReplaceable(app.store, place, versions);
  const newest = versions.at(-1)!;
  const paid = paidBy(app.store, newest);
  const pays = kind === 'cancel' ? paid.filter(({ id }) => id !== row.id) : paid;
  if (kind === 'cancel' && !paid.some(({ id }) => id === row.id)) {
    throw new Rejected('withdrawal.canceled', `Withdrawal ${row.id} is being canceled already: speed it up instead`);
  }
  const inputs = readPlan(newest.plan).inputs.map(({ outpoint }) => outpoint);
  const planned = await prepare(app, place, {
    payouts: pays.map(({ address, units, sweep }) => ({ address, units: sweep === 1 ? null : BigInt(units) })),
    anchors: inputs,
    // what takes everything, or gives everything back, has coins enough
    ...(pays.length === 0 || pays.some(({ sweep }) => sweep === 1) ? { only: [] } : {}),
    feeRate: await replacingRate(place, versions, feeRate),
    feeMin: versions.reduce((most, { fee }) => (BigInt(fee) > most ? BigInt(fee) : most), 0n),
    feeMax,
  });
  return { place, row, versions, pays, concerned: concernedBy(app.store, row, kind), planned };
}

function concernedBy(reader: Reader, row: WithdrawalRow, kind: ReplaceWish['kind']): WithdrawalRow[] {
  const versions = reader.all(versionsOf, { spend_id: row.spend_id ?? 0 });
  const newest = versions.findLast(({ txid }) => txid !== null);
  const paid = newest ? paidBy(reader, newest) : [];
  const others = kind === 'cancel' ? paid.filter(({ id }) => id !== row.id) : paid;
  return others.length > 0 ? others : [row];
}

/** The least rate that replaces every version, or what the next blocks ask for, or what the operator said. */
async function replacingRate(place: Place, versions: readonly VersionRow[], wanted: bigint | null): Promise<bigint> {
  const { chain } = place.chain.adapter;
  const known = versions.map(({ fee, vsize }) => ({ fee: BigInt(fee), vsize: Math.max(1, vsize) }));
  const least = isUtxo(chain) ? replacementRate(chain, known) : 0n;
  const rate = wanted ?? (await fastRate(place));
  return rate > least ? rate : least;
}

function fastRate({ chain }: Place): Promise<bigint> {
  return spendingOf(chain).feeRate(TARGET_BLOCKS_FAST, deadline(RATE_TIMEOUT_MS, chain.key));
}

/** The signed versions of a withdrawal whose transaction can still be replaced. Throws `Rejected`. */
function needOpen(reader: Reader, place: Place, row: WithdrawalRow): VersionRow[] {
  const { state, spend_id, id } = withdrawalOf(reader, row.id);
  if (place.chain.adapter.chain === 'BCH') {
    throw new Rejected('withdrawal.no_replacement', 'BCH knows no replacement: the transaction is sent again as it is');
  }
  if ((state !== 'signed' && state !== 'broadcast') || spend_id === null) {
    throw new Rejected('withdrawal.state', `Withdrawal ${id} is ${state}: there is nothing to replace`);
  }
  const versions = reader.all(versionsOf, { spend_id });
  if (versions.length === 0 || versions.some(({ txid }) => txid === null)) {
    throw new Rejected('withdrawal.state', 'Another version is being signed: try again in a moment');
  }
  const anchor = coinAt(reader, place.chain, spendOf(reader, spend_id).anchor);
  if (anchor?.spent_in_block) throw new Rejected('withdrawal.state', 'It is confirmed: there is nothing to replace');
  return versions;
}

function overtakenIsRejected<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Overtaken)) throw error;
    throw new Rejected('withdrawal.overtaken', `The chain moved on meanwhile (${error.message}): try again`);
  }
}

/** What one transaction for all of these would be. Throws `Rejected`. */
export async function previewBatch(app: App, names: readonly string[]): Promise<Preview & { until: number }> {
  const { place, rows, planned } = await batched(app, names, () => FEE_UNLIMITED);
  const share = divided(planned.plan.fee, rows.length);
  const intents = rows.map((row): Intent => {
    const held = BigInt(row.fee_held);
    return { ...intentOf(place, row), feeMax: (share > held ? share : held).toString() };
  });
  const feeMax = intents.reduce((sum, intent) => sum + BigInt(intent.feeMax), 0n);
  const until = app.now() + APPROVAL_HOLDS_MS;
  return { ...describePlan(app, place, planned.plan, rows), purpose: 'pay', intents, feeMax, until };
}

/** Approves those of them that still wait, and claims all for one transaction. Throws `Rejected`. */
export async function batch(
  app: App,
  names: readonly string[],
  approvals: ReadonlyMap<string, GivenApproval>,
): Promise<WithdrawalRow[]> {
  const { place, rows, planned } = await batched(
    app,
    names,
    (row) => approvals.get(row.uuid)?.feeMax ?? BigInt(row.fee_held),
  );
  return app.store.write((tx) =>
    overtakenIsRejected(() => {
      for (const { id } of rows) approveForBatch(app, tx, withdrawalOf(tx, id), approvals);
      claim(
        app,
        tx,
        place,
        planned,
        rows.map(({ id }) => withdrawalOf(tx, id)),
      );
      tx.afterCommit(() => app.wake.withdrawals(place.chain.key));
      return rows.map(({ id }) => withdrawalOf(tx, id));
    }),
  );
}

function approveForBatch(app: App, tx: Tx, row: WithdrawalRow, approvals: ReadonlyMap<string, GivenApproval>): void {
  if (row.state === 'approved') return;
  const given = approvals.get(row.uuid);
  if (!given) throw new Rejected('withdrawal.approval', `Withdrawal ${row.id} is not approved yet`);
  applyEvent(app, tx, row, 'approve', approvedFields(app, tx, row, given));
}

async function batched(app: App, names: readonly string[], feeMaxOf: (row: WithdrawalRow) => bigint) {
  const rows = [...new Set(names)].map((name) => findWithdrawal(app.store, name)).sort((a, b) => a.id - b.id);
  const [first] = rows;
  if (!first || rows.length < 2 || rows.length > BATCH_MAX) {
    throw new Rejected('withdrawal.batch', `A batch has 2 to ${BATCH_MAX} withdrawals`, 'ids');
  }
  for (const row of rows) {
    if (row.account_id !== first.account_id || row.asset !== first.asset) {
      throw new Rejected('withdrawal.batch', 'A batch is of one business and one crypto', 'ids');
    }
    if ((row.state !== 'requested' && row.state !== 'approved') || row.spend_id !== null) {
      throw new Rejected('withdrawal.state', `Withdrawal ${row.id} is ${row.state}: it cannot join a batch`);
    }
    if (row.sweep === 1 || row.outpoint !== null) {
      throw new Rejected('withdrawal.batch', `Withdrawal ${row.id} takes whole coins and stands alone`, 'ids');
    }
  }
  const place = placeOf(app, first);
  const planned = await prepare(app, place, {
    payouts: rows.map(({ address, units }) => ({ address, units: BigInt(units) })),
    feeRate: await feeRateNow(place.chain),
    feeMax: rows.reduce((sum, row) => sum + feeMaxOf(row), 0n),
    settledOnly: rows.some(({ approved_by }) => approved_by === 'policy'),
  });
  return { place, rows, planned };
}

/** A deposit to us that waits in the mempool. */
export type BumpWish = { business: string; outpoint: string; feeRate: bigint | null };

/** What paying a stuck deposit on to ourselves would be. Throws `Rejected`. */
export async function previewBump(app: App, place: Place, wish: BumpWish): Promise<Preview & { until: number }> {
  const planned = await bumped(app, place, wish, FEE_UNLIMITED);
  const intent = bumpIntent(place, wish, randomUUIDv7(), planned.plan.fee);
  const described = describePlan(app, place, planned.plan, []);
  const until = app.now() + APPROVAL_HOLDS_MS;
  return { ...described, purpose: 'pay', intents: [intent], feeMax: planned.plan.fee, until };
}

/** What is approved when a stuck deposit is paid on to ourselves: that coin, and what it costs. */
const bumpIntent = (place: Place, { outpoint }: BumpWish, uuid: string, feeMax: bigint): Intent => ({
  uuid,
  network: place.business.network,
  accountNo: place.business.accountNo,
  chain: place.chain.adapter.chain,
  asset: place.asset,
  address: ADDRESS_SELF,
  units: '0',
  sweep: false,
  coins: [outpoint],
  feeMax: feeMax.toString(),
});

/** Pays a stuck deposit on to ourselves, with a fee that is enough for both. Throws `Rejected`. */
export async function bump(app: App, place: Place, wish: BumpWish, uuid: string, given: GivenApproval): Promise<void> {
  if (given.mac === null && place.business.network !== 'sandbox') {
    throw new Rejected(
      'withdrawal.approval',
      "The operator's approval is missing: it needs the wallet's passphrase",
      'mac',
    );
  }
  const planned = await bumped(app, place, wish, given.feeMax);
  const intent = bumpIntent(place, wish, uuid, given.feeMax);
  const { until, mac } = given;
  const approval: Approval = mac === null ? { by: 'policy' } : { by: 'operator', until, mac };
  const stored: StoredBump = { intent, approval };
  await app.store.write((tx) =>
    overtakenIsRejected(() => {
      claimBump(app, tx, place, planned, wish.outpoint, JSON.stringify(stored));
      tx.afterCommit(() => app.wake.withdrawals(place.chain.key));
    }),
  );
}

async function bumped(app: App, place: Place, { outpoint, feeRate }: BumpWish, feeMax: bigint): Promise<Planned> {
  const coin = coinAt(app.store, place.chain, outpoint);
  if (!coin || coin.gone === 1) throw new Rejected('bump.not_found', 'There is no such deposit', 'outpoint');
  if (coin.block_height !== null) throw new Rejected('bump.confirmed', 'The deposit is confirmed already', 'outpoint');
  if (coin.locked === 1) throw new Rejected('bump.locked', 'This deposit cannot be spent', 'outpoint');
  const signal = deadline(RATE_TIMEOUT_MS, place.chain.key);
  const parents = await spendingOf(place.chain).unconfirmed(coin.txid, signal);
  if (!parents) throw new Rejected('bump.not_found', 'The deposit is not in the mempool', 'outpoint');
  const rate = feeRate ?? (await fastRate(place));
  return prepare(app, place, { payouts: [], anchors: [outpoint], only: [], feeRate: rate, feeMax, parents });
}

/** The asset's place of a business. Throws `Rejected` when it has none. */
export function placeFor(app: App, businessId: number, asset: string): Place {
  return placeOf(app, { business_id: businessId, asset: assetFor({ asset }).symbol });
}
