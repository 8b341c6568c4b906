/** Passed to every method of the operator API. */
import type { App } from '../../app/app.ts';
import type { BackupMade } from '../../app/backup/make.ts';
import type { SandboxControls } from '../../app/invoices/sandbox.ts';
import type { Releases } from '../../app/operator/releases.ts';
import type { DiscoveryRequest, DiscoveryState } from '../../app/recovery/account-discovery.ts';
import type { Method, Params, Parsed, Result } from '../../contract/operator.ts';
import type { ChainId } from '../../domain/assets.ts';
import type { AccountKey } from '../../domain/chain.ts';
import type { DrillState } from '../../domain/drill.ts';
import type { ConsoleServer } from '../console/server.ts';
import type { Machines } from '../machines/machines.ts';

/** Drills of backups, one at a time: see daemon/workers/drills.ts. */
type Drills = {
  readonly state: DrillState | null;
  begin(file: string): Promise<string>;
  open(sealed: Params<'backup.drillOpen'>['sealed']): Promise<void>;
};

export type OperatorExtra = {
  dataDir: string;
  version: string;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** Sends a notification again and returns when the attempt has ended. Throws `Rejected('webhook.not_found')`. */
  sendWebhook(id: number): Promise<{ status: number | null; error: string | null }>;
  /** Starts a search for a wallet's accounts, in place of the previous one. */
  /** `anew`: from the beginning, also where the same search was interrupted. */
  discoverAccounts(request: DiscoveryRequest, anew: boolean): Promise<void>;
  /** The state of that search; null before the first. */
  discovery(): DiscoveryState | null;
  /** Makes a backup of the running service. Throws `Rejected` `backup.*`. */
  makeBackup(file: string): Promise<BackupMade>;
  drills: Drills;
  /** Sends a test message over every channel for alerts. */
  testAlerts(): Promise<{ channel: string; error: string | null }[]>;
  /** Sends an endpoint an event about nothing. Throws `Rejected` `endpoint.*`. */
  testEndpoint(id: number): Promise<{ status: number | null; error: string | null; ms: number }>;
  /** Notices of releases, and the question for them, which ends with the answer. */
  releases: Releases;
  askReleases(): Promise<void>;
  sandbox: SandboxControls;
  /** Where the public server listens, as this machine reaches it. */
  api: { host: string; port: number };
  /** The console's listener, which this loads at its first use. */
  console(): Promise<ConsoleServer>;
  /** The computer at home that signs, if there is one. */
  machines: Machines;
  deriveSandboxAccounts(accountNo: number): Partial<Record<ChainId, AccountKey>>;
};

export type Context = { app: App; extra: OperatorExtra };

/** The functions of a part of the contract's methods. */
export type Methods<Part> = {
  readonly [M in Method & keyof Part]: (context: Context, params: Parsed<M>) => Result<M> | Promise<Result<M>>;
};
