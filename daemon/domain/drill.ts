/** The result of a drill of a backup, in the words of the operator API. */
export type DrillReport = {
  /** When the backup was made, by ISO 8601. */
  made_at: string;
  invoices: number;
  deposits: number;
  /** How many addresses were derived again from the words. */
  addresses: number;
  /** Empty if the backup would restore everything. */
  problems: string[];
  /** Differences from the service on this machine that are only due to time. */
  newer: string[];
};
