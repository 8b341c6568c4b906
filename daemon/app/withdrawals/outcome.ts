/** The result of a transaction that the operator has just requested. */
import { message, type Value } from '../../domain/messages.ts';
import { type VersionRow, versionById } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import { storedProblem } from './rows.ts';

const WAIT_MS_MAX = 5_000;
const LOOK_MS = 50;

/** `sent`: a node has it. `problem`: why not, in words; null while unknown. */
export type Outcome = { sent: boolean; problem: Value | null };

/**
 * Waits some seconds until a version is sent, refused or given up. `problemNow`: why it was not signed, if it was not.
 */
export async function outcomeOf(app: App, versionId: number, problemNow: () => Value | null): Promise<Outcome> {
  const deadline = performance.now() + WAIT_MS_MAX;
  for (;;) {
    const outcome = known(app.store.get(versionById, { id: versionId }), problemNow);
    if (outcome || performance.now() > deadline) return outcome ?? { sent: false, problem: null };
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function known(version: VersionRow | undefined, problemNow: () => Value | null): Outcome | null {
  if (!version) return { sent: false, problem: problemNow() ?? message('wait.needless') };
  if (version.sent_at !== null) return { sent: true, problem: null };
  const problem = storedProblem(version);
  return problem === null ? null : { sent: false, problem };
}
