/** A journal of the maximum size opens: else the wallet would sign nothing any more, long before the journal is full. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { JOURNAL_BYTES_MAX, SIGNER_HEAP_MB_MAX } from '../../../daemon/wallet/signer/files.ts';

/** The journal and the heap are this part of theirs, so that the test is quick. */
const PART = 64;
/** What a process takes without a journal. */
const EMPTY_MB = 40;
const SCRIPT = join(import.meta.dirname, 'full-journal.ts');

it.each([1, 30, 1_400])('of transactions that spend %i coins', async (coins) => {
  const heap = `--max-old-space-size=${SIGNER_HEAP_MB_MAX / PART + EMPTY_MB}`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    heap,
    SCRIPT,
    `${coins}`,
    `${JOURNAL_BYTES_MAX / PART}`,
  ]);
  expect(Number(stdout)).toBeGreaterThan(10);
});
