/** The thread that copies and encrypts a database for a backup, which takes longer than a request may wait. */
import { parentPort, workerData } from 'node:worker_threads';
import { type BackupJob, makeBackup } from '../app/backup/make.ts';

const answer = await makeBackup(workerData as BackupJob).then(
  (made) => ({ made }),
  (error: Error & { code?: string; field?: string }) => ({
    // an error loses its class between threads: the needed parts are passed as plain values
    refused: error.name === 'Rejected' ? { code: error.code, message: error.message, field: error.field } : null,
    message: error.message,
  }),
);
parentPort?.postMessage(answer);
