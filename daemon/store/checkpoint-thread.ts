/**
 * The thread that folds a database's log into it. `workerData` is the database's file; each message asks for one folding, and
 * is answered with the number of the log's pages that are in the database.
 */
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

const db = new Database(workerData as string, { fileMustExist: true });
db.pragma('synchronous = FULL');
parentPort?.on('message', () => {
  let folded = 0;
  try {
    const [row] = db.pragma('wal_checkpoint(PASSIVE)') as { checkpointed: number }[];
    folded = Math.max(row?.checkpointed ?? 0, 0);
  } catch {
    // a full or failing disk: the writer meets it too, and reports it
  }
  parentPort?.postMessage(folded);
});
