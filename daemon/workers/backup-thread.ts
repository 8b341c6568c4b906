/** The thread that makes a backup: copying and encrypting a database takes longer than a request may wait. */
import { parentPort, workerData } from 'node:worker_threads';
import { type BackupJob, makeBackup } from '../app/backup/make.ts';

const answer = await makeBackup(workerData as BackupJob).then(
  (made) => ({ made }),
  (error: Error & { code?: string; field?: string }) => ({
    // an error loses its class on the way: what the caller needs of it goes in words
    refused: error.name === 'Rejected' ? { code: error.code, message: error.message, field: error.field } : null,
    message: error.message,
  }),
);
parentPort?.postMessage(answer);
