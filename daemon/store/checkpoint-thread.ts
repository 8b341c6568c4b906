/**
 * The thread that folds a database's log into it. `workerData` is the database's file; each message asks for one
 * folding, and is answered with a `Folded`.
 */
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** Pages of the log, how many of them are in the database, and SQLite's error if there was one. */
export type Folded = { log: number; checkpointed: number; error: string | null };

const db = new Database(workerData as string, { fileMustExist: true });
db.pragma('synchronous = FULL');

function fold(): Folded {
  try {
    const [row] = db.pragma('wal_checkpoint(PASSIVE)') as { log: number; checkpointed: number }[];
    return { log: row?.log ?? 0, checkpointed: row?.checkpointed ?? 0, error: null };
  } catch (error) {
    return { log: 0, checkpointed: 0, error: (error as Error).message };
  }
}

parentPort?.on('message', () => parentPort?.postMessage(fold()));
