/** The result of a transaction that the operator has just requested. */
import { type Message, message } from '../../domain/messages.ts';
import { type VersionRow, versionById } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';

const WAIT_MS_MAX = 5_000;
const LOOK_MS = 50;

/** `sent`: a node has it. `problem`: why not; null while unknown. */
export type Outcome = { sent: boolean; problem: Message | null };

/**
 * Waits some seconds until a version is sent, refused or given up. `problemNow`: why it was not signed, if it was not.
 */
export async function outcomeOf(app: App, versionId: number, problemNow: () => Message | null): Promise<Outcome> {
  const deadline = performance.now() + WAIT_MS_MAX;
  for (;;) {
    const outcome = known(app.store.get(versionById, { id: versionId }), problemNow);
    if (outcome || performance.now() > deadline) return outcome ?? { sent: false, problem: null };
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function known(version: VersionRow | undefined, problemNow: () => Message | null): Outcome | null {
  if (!version) return { sent: false, problem: problemNow() ?? message('wait.needless') };
  if (version.sent_at !== null) return { sent: true, problem: null };
  return version.problem === null ? null : { sent: false, problem: version.problem };
}
