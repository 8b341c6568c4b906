/**
 * The entries of account chains that turned out to be wrong: what no operator has on the chain is taken out again, and
 * what the operator adopts from the chain is put in. Each change is a row that stays, and an alert.
 */
import { type AssetId, assetOf } from '../../domain/assets.ts';
import { formatUnits } from '../../domain/money.ts';
import { insertCorrection, newestCorrections } from '../../store/queries/corrections.ts';
import type { Tx } from '../../store/store.ts';
import { raiseOn } from '../alerts.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';

const SHOWN_MAX = 20;
export const CORRECTED = 'ledger.corrected';

export type Correction = {
  kind: 'denied' | 'adopted';
  account_id: number;
  target_id: number;
  asset: AssetId;
  /** The units that the address gains by it; below 0: loses. */
  units: bigint;
  ref: string;
  block_height: number | null;
};

/** A correction as people read it. `amount`: in whole coins, signed. */
type ShownCorrection = {
  at: number;
  kind: string;
  address: string;
  asset: AssetId;
  amount: string;
  ref: string;
  height: number | null;
};

/** Stores the corrections, and tells the operator. */
export function noteCorrections(app: App, tx: Tx, { key }: ChainRuntime, corrections: readonly Correction[]): void {
  const at = app.now();
  for (const one of corrections) tx.run(insertCorrection, { ...one, chain_key: key, at });
  const denied = corrections.filter(({ kind }) => kind === 'denied');
  const [first] = denied;
  if (!first) return;
  const { ref, asset, units } = first;
  const amount = formatUnits(units, assetOf(asset));
  const values = { chain: key, count: denied.length, entry: ref, amount, asset };
  raiseOn(app, tx, key, key, CORRECTED, values);
  tx.afterCommit(() =>
    app.log.warn({ chain: key, count: denied.length, entry: ref }, 'entries were taken out of the books'),
  );
}

export function correctionsOf(app: App, chain_key: string): ShownCorrection[] {
  return app.store.all(newestCorrections, { chain_key, limit: SHOWN_MAX }).map((row) => ({
    at: row.at,
    kind: row.kind,
    address: row.address,
    asset: row.asset,
    ref: row.ref,
    height: row.block_height,
    amount: formatUnits(row.units, assetOf(row.asset)),
  }));
}
