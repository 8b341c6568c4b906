/** The thread that folds a database's log into it. `workerData` is the database's file; each message asks for one folding. */
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** The second one folds what was written during the first, and leaves little for the writer. */
const PASSES = 2;

const db = new Database(workerData as string, { fileMustExist: true });
db.pragma('synchronous = FULL');
parentPort?.on('message', () => {
  try {
    for (let pass = 0; pass < PASSES; pass++) db.pragma('wal_checkpoint(PASSIVE)');
  } catch {
    // a full or failing disk: the writer meets it too, and reports it
  }
  parentPort?.postMessage('folded');
});
