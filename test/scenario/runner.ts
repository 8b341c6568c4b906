/**
 * A daemon in a process of its own that kills itself: `node runner.ts DATA_DIR [MOMENT COMMIT]`.
 *
 * MOMENT says when: `committed`, when that commit is on the disk and nobody was told yet; `answered`, when those who
 * waited for it were told. Commit 0 is the opening of the database. `calling` and `called`: before that call of the signer
 * or of a chain's source leaves, and when its answer has come and nobody was told. Every commit is a line "commit" on
 * standard output, every call a line "call", the daemon's address and first keys are a line of JSON.
 */
import { writeSync } from 'node:fs';
import { MoneroSpending } from '../../daemon/chains/xmr/spend/spending.ts';
import { createLog } from '../../daemon/log.ts';
import { startDaemon } from '../../daemon/main.ts';
import { SandboxSpending } from '../../daemon/sandbox/spending.ts';
import { sqlite, statement } from '../../daemon/store/statement.ts';
import { Store } from '../../daemon/store/store.ts';
import { SignerClient } from '../../daemon/wallet/signer/client.ts';

const STDOUT = 1;
const [dataDir, moment, commitText] = process.argv.slice(2);
if (dataDir === undefined) throw new Error('usage: runner.ts DATA_DIR [committed|answered|calling|called NUMBER]');
const fatal = commitText === undefined ? Number.POSITIVE_INFINITY : Number(commitText);
let commits = 0;
let store: Store;
const approvals = statement((_: Record<never, never>) =>
  sqlite
    .selectFrom('withdrawal')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('approved_at', 'is not', null),
);
/** A watcher from outside knows no number of a commit: the one that stores the next approval is the last one. */
let approvalsMax = Number.POSITIVE_INFINITY;
const countApprovals = (): number => store.get(approvals, {})!.count;
process.on('SIGUSR2', () => {
  approvalsMax = countApprovals();
});

const die = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

function onCommit(): void {
  commits++;
  writeSync(STDOUT, 'commit\n');
  if (approvalsMax < Number.POSITIVE_INFINITY && countApprovals() > approvalsMax) die();
  if (commits !== fatal) return;
  if (moment === 'committed') die();
  // answers are written in the turn of the commit; this is the turn after it
  else if (moment === 'answered') setImmediate(die);
}

let calls = 0;

/** Counts the calls of a method that leaves the daemon, and dies at the one that was asked for. */
function watchCalls<T extends object>(owner: T, name: keyof T & string): void {
  const real = owner[name] as (...given: unknown[]) => Promise<unknown>;
  const watched = async function (this: unknown, ...given: unknown[]): Promise<unknown> {
    const mine = ++calls;
    writeSync(STDOUT, 'call\n');
    if (moment === 'calling' && mine === fatal) die();
    const answer = await real.apply(this, given);
    if (moment === 'called' && mine === fatal) die();
    return answer;
  };
  Object.defineProperty(owner, name, { value: watched });
}
watchCalls(SignerClient.prototype, 'sign');
watchCalls(SandboxSpending.prototype, 'broadcast');
watchCalls(MoneroSpending.prototype, 'broadcast');

const open = Store.open;
Store.open = async (folder) => {
  store = await open.call(Store, folder);
  store.onCommit = onCommit;
  if (fatal === 0) die();
  return store;
};

const daemon = await startDaemon({ dataDir, log: createLog({ level: 'warn', format: 'json' }) });
await daemon.acknowledgeKeys();
writeSync(STDOUT, `${JSON.stringify({ url: daemon.url, keys: daemon.firstKeys })}\n`);
process.on('SIGTERM', () => {
  daemon.stop().then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
