/** What every method of the operator API is given. */
import type { App } from '../../app/app.ts';
import type { BackupMade } from '../../app/backup/make.ts';
import type { DiscoveryRequest, DiscoveryState } from '../../app/recovery/account-discovery.ts';
import type { ChainId } from '../../domain/assets.ts';
import type { AccountKey } from '../../domain/chain.ts';

export type OperatorExtra = {
  dataDir: string;
  version: string;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** Sends a notification again and answers when the attempt has ended. Throws `Rejected('webhook.not_found')`. */
  sendWebhook(id: number): Promise<{ status: number | null; error: string | null }>;
  /** Begins a scan of a wallet's accounts, in place of the last one. */
  scanWallet(wish: DiscoveryRequest): Promise<void>;
  /** How that scan goes; null before the first. */
  scanned(): DiscoveryState | null;
  /** Makes a backup while the service runs. Throws `Rejected` `backup.*`. */
  makeBackup(file: string): Promise<BackupMade>;
  deriveSandboxAccounts(accountNo: number): Partial<Record<ChainId, AccountKey>>;
};

export type Context = { app: App; extra: OperatorExtra };
