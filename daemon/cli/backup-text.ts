/** The content of a backup and its problems, for people. */
import type { BackupReport } from '../app/backup/verify.ts';
import { type AssetId, assetOf } from '../domain/assets.ts';
import { formatUnits } from '../domain/money.ts';
import { clean } from './io.ts';
import { when } from './table.ts';

export const notOfWords = (account: string): string =>
  `Not from the words, compare it with the wallet that has its keys: ${clean(account)}`;

export function reportText({ manifest, addresses, watch_only: watchOnly, problems, newer }: BackupReport): string {
  const { facts } = manifest;
  const lines = [
    `Backup of ${when(manifest.made_at)}, wallet ${manifest.fingerprint}, release ${manifest.release}`,
    `${facts.counts.invoices} invoices, ${facts.counts.payments} payments, ${facts.counts.credits} deposits`,
    `${addresses} addresses of ${facts.accounts.length - watchOnly.length} accounts derived again from the words`,
    ...watchOnly.map(notOfWords),
    ...facts.balances.map(({ chain_key, account_no, asset, units }) => {
      const amount = formatUnits(BigInt(units), assetOf(asset as AssetId));
      return `${chain_key} account ${account_no}: ${amount} ${asset}`;
    }),
    ...newer.map((text) => `Since then: ${text}`),
    ...problems.map((text) => `PROBLEM: ${text}`),
    problems.length === 0 ? 'This backup brings everything back.' : '',
  ];
  // what is in a backup is the word of whoever had the service
  return `${lines
    .filter((line) => line !== '')
    .map(clean)
    .join('\n')}\n`;
}
