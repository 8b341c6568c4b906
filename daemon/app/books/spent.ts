/** What one transaction that spends coins of ours did with them: the one reading that proof and export share. */
import { type CreditRow, creditsOfTransaction, targetById } from '../../store/queries/credits.ts';
import { type VersionRow, versionByTxid } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';

/** Smallest units of one asset: `taken` = `back` + `fee` + `paid`. */
export type Spent = {
  taken: bigint;
  /** To our own change addresses. */
  back: bigint;
  /** 0 where we did not make the transaction, and cannot tell its fee from what it pays. */
  fee: bigint;
  /** To others, and to addresses of ours that payers were given. */
  paid: bigint;
  version: VersionRow | undefined;
};

/** Reads a spend. `taken`: the smallest units of the coins of ours that it spends, all of one asset. */
export function readSpent(
  reader: Reader,
  { txid, chain_key, asset, taken }: { txid: string; chain_key: string; asset: string; taken: bigint },
): Spent {
  const back = reader
    .all(creditsOfTransaction, { from: `${txid}:`, to: `${txid};`, chain_key })
    .filter((row) => row.asset === asset && !row.gone && isChange(reader, row))
    .reduce((sum, { units }) => sum + units, 0n);
  const version = reader.get(versionByTxid, { txid, chain_key });
  const fee = version?.fee ?? 0n;
  return { taken, back, fee, paid: taken - back - fee, version };
}

/** Whether a credit is at an address that was made for change. */
export function isChange(reader: Reader, { target_id }: Pick<CreditRow, 'target_id'>): boolean {
  return reader.get(targetById, { id: target_id })?.branch === 1;
}
