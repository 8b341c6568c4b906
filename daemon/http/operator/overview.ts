/** Methods about the current state: status, doctor, inbox, alerts. */

import type { App } from '../../app/app.ts';
import { examine } from '../../app/operator/doctor.ts';
import { findBusiness } from '../../app/operator/find.ts';
import { adviceOn } from '../../app/operator/inbox-advice.ts';
import { alertPage, inboxPage, markSeen, nextOf, unknownTokenPage, waitingDeposits } from '../../app/operator/lists.ts';
import { chainStatuses, openAlertsCount, poolStatuses, rateStatuses, warningsOf } from '../../app/operator/status.ts';
import type { Parsed, Result } from '../../contract/operator.ts';
import { assetOf } from '../../domain/assets.ts';
import { isoOrNull, toIso } from '../../domain/calendar.ts';
import { FIAT_DECIMALS, formatDecimal, formatUnits } from '../../domain/money.ts';
import type { InboxState } from '../../domain/payment.ts';
import { reachOf } from '../../domain/reach.ts';
import { MS_PER_SECOND } from '../../domain/time.ts';
import type { Context } from './context.ts';

export function status({ app, extra }: Context): Result<'status'> {
  const warnings = warningsOf(app);
  return {
    version: extra.version,
    url: app.publicUrl,
    reach: reachOf(app.publicUrl),
    data_dir: extra.dataDir,
    started_at: toIso(extra.startedAt),
    uptime_seconds: Math.max(0, Math.floor((app.now() - extra.startedAt) / MS_PER_SECOND)),
    businesses: app.directory.businesses().map(({ id, name, network, enabled }) => ({
      id,
      name,
      network,
      cryptos: enabled.map(({ symbol }) => symbol),
    })),
    chains: chainStatuses(app).map((chain) => ({
      network: chain.network,
      chain: chain.chain,
      source: chain.source,
      tip: chain.tip,
      tip_age_seconds: chain.tipAgeMs === null ? null : Math.floor(chain.tipAgeMs / MS_PER_SECOND),
      synced_at: chain.syncedAt === 0 ? null : toIso(chain.syncedAt),
      lagging: chain.lagging,
      error: chain.error,
      withheld: chain.withheld,
    })),
    rates: rateStatuses(app).map(({ network, asset, usd }) => ({
      network,
      crypto: asset,
      usd: usd && formatDecimal(usd.scaled, FIAT_DECIMALS),
      at: usd && toIso(usd.at),
    })),
    pools: poolStatuses(app).map((pool) => ({
      business_id: pool.businessId,
      business: app.directory.business(pool.businessId).name,
      chain: pool.chainKey,
      ready: pool.ready,
      wanted: pool.wanted,
    })),
    open_alerts: openAlertsCount(app),
    warnings,
    storage: storageOf(app),
  };
}

export async function doctor({ app, extra }: Context): Promise<Result<'doctor'>> {
  const findings = [...(await examine(app, extra.dataDir)), ...extra.releases.findings()];
  return {
    findings: findings.map(({ subject, level, text, advice }) => ({ subject, level, text, advice })),
  };
}

function storageOf(app: App): Result<'status'>['storage'] {
  const { freeBytes, logBytes, trouble } = app.store.health();
  return { free_bytes: freeBytes, log_bytes: logBytes, problem: trouble?.message ?? null };
}

type InboxRow = ReturnType<typeof inboxPage>[number];

/** The decision alone is no refund: it may wait for approval, and be rejected. */
function inboxStateOf({ state, withdrawal_state }: InboxRow): InboxState {
  if (state === 'refunded') return withdrawal_state === 'completed' ? 'refunded' : 'refunding';
  return state;
}

/** The dollars of the part that the item is about, rounded down. */
function usdOf({ usd_value, units, part }: InboxRow): string | null {
  if (usd_value === null) return null;
  return formatDecimal(part === null ? usd_value : (usd_value * part) / units, FIAT_DECIMALS);
}

function refundOf({ withdrawal_id: id, withdrawal_state: state, withdrawal_txid, withdrawal_deadline_at }: InboxRow) {
  if (id === null || state === null) return null;
  const deadline = isoOrNull(withdrawal_deadline_at);
  return { id, state, tx_id: withdrawal_txid, deadline_at: deadline };
}

export function inboxList({ app }: Context, params: Parsed<'inbox.list'>): Result<'inbox.list'> {
  const { waiting, limit } = params;
  const rows = waiting === undefined ? inboxPage(app, params) : waitingDeposits(app, findBusiness(app, waiting), limit);
  const items = rows.map((row) => ({
    id: row.id,
    business_id: row.business_id,
    business: app.directory.business(row.business_id).name,
    invoice: row.invoice_slug,
    reason: row.reason,
    advice: row.state === 'open' ? adviceOn(row.reason, row.asset, row.invoice_slug) : null,
    state: inboxStateOf(row),
    refund: refundOf(row),
    decided_at: row.state === 'open' ? null : toIso(row.updated_at),
    chain: row.chain_key,
    crypto: row.asset,
    amount: formatUnits(row.part ?? row.units, assetOf(row.asset)),
    usd_value: usdOf(row),
    address: row.address,
    outpoint: row.outpoint,
    block_height: row.block_height,
    confirmed: row.confirmed,
    gone: row.gone,
    created_at: toIso(row.created_at),
  }));
  return { items, next: waiting === undefined ? nextOf(rows, limit) : null };
}

export function unknownTokens({ app }: Context, params: Parsed<'inbox.unknownTokens'>): Result<'inbox.unknownTokens'> {
  const rows = unknownTokenPage(app, params);
  const tokens = rows.map((row) => {
    const { id, name } = app.directory.business(app.directory.businessOfAccount(row.account_id));
    return {
      id: row.id,
      business_id: id,
      business: name,
      invoice: row.invoice_slug,
      chain: row.chain_key,
      address: row.address,
      contract: row.contract,
      symbol: row.symbol,
      decimals: row.decimals,
      units: `${row.units}`,
      transfers: row.transfers,
      tx_id: row.txid,
      first_seen_at: toIso(row.first_seen_at),
      last_seen_at: toIso(row.last_seen_at),
    };
  });
  return { tokens, next: nextOf(rows, params.limit) };
}

export function alertList({ app }: Context, { limit, after }: Parsed<'alert.list'>): Result<'alert.list'> {
  const [rank = '0', id = '0'] = after?.split(':') ?? [];
  const page = alertPage(app, limit, after === undefined ? null : { rank: Number(rank), id: Number(id) });
  const alerts = page.alerts.map((row) => ({
    id: row.id,
    kind: row.kind,
    subject: row.subject,
    message: row.message,
    network: row.network,
    created_at: toIso(row.created_at),
  }));
  return { alerts, next: page.next && `${page.next.rank}:${page.next.id}` };
}

export async function alertSeen({ app }: Context, { ids }: Parsed<'alert.seen'>): Promise<Result<'alert.seen'>> {
  return { closed: await app.store.write((tx) => markSeen(app, ids, tx)) };
}
