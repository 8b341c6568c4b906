/** The thread that reads blocks: each message is a `Task`, and is answered with a `Done`. It reads one after the other. */
import { parentPort } from 'node:worker_threads';
import type { AccountKey } from '../../domain/chain.ts';
import { Malformed } from '../../domain/errors.ts';
import { atOnce } from '../slices.ts';
import { type ReadBlocks, readBlocks } from './read.ts';
import { Receiver } from './receive.ts';

export type Task = { no: number; body: Uint8Array; from: number; count: number; accounts: readonly AccountKey[] };
/** `malformed`: what the endpoint sent. `error`: any other failure. */
export type TaskResult =
  | { no: number; read: ReadBlocks }
  | { no: number; malformed: string }
  | { no: number; error: string };

let receivers: Receiver[] = [];
let receiving = '';

function receiversOf(accounts: readonly AccountKey[]): Receiver[] {
  const wanted = JSON.stringify(accounts);
  if (wanted !== receiving) receivers = accounts.map((account) => new Receiver(account));
  receiving = wanted;
  return receivers;
}

function done({ no, body, from, count, accounts }: Task): TaskResult {
  try {
    return { no, read: atOnce(readBlocks(body, from, count, receiversOf(accounts))) };
  } catch (error) {
    if (error instanceof Malformed) return { no, malformed: error.message };
    return { no, error: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.on('message', (task: Task) => parentPort?.postMessage(done(task)));
