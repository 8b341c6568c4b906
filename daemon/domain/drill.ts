/** A drill whose passphrase was right. Times: milliseconds since 1970. */
export type DrillState = {
  file: string;
  running: boolean;
  startedAt: number;
  endedAt: number | null;
  report: DrillReport | null;
  error: string | null;
};

/** The result of a drill of a backup, in the words of the operator API. */
export type DrillReport = {
  /** When the backup was made, by ISO 8601. */
  made_at: string;
  invoices: number;
  deposits: number;
  /** How many addresses were derived again from the words. */
  addresses: number;
  /** Accounts of other wallets, each with its descriptor or first address, by the backup's word alone: to be compared with that wallet. */
  watch_only: string[];
  /** Empty if the backup would restore everything. */
  problems: string[];
  /** Differences from the service on this machine that are only due to time. */
  newer: string[];
};
