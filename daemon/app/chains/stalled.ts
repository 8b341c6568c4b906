/** The alert about a chain that makes no blocks final: large payments wait for that, and nothing else does. */
import { isStalled } from '../../domain/finality.ts';
import { message } from '../../domain/messages.ts';
import type { Tx } from '../../store/store.ts';
import { endIn, raiseIn } from '../alerts.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from './chains.ts';

const KIND = 'chain.finality';

/** Raises the alert, or ends it. A tip without a final height, of a source that tells none, changes nothing. */
export function tellStalled(
  app: App,
  tx: Tx,
  { key, adapter }: ChainRuntime,
  tip: Parameters<typeof isStalled>[1],
): void {
  const { height, finalized } = tip;
  if (finalized === null) return;
  if (isStalled(adapter.chain, tip)) {
    raiseIn(app, tx, adapter.network, KIND, key, message(KIND, { chain: key, finalized, height }));
  } else endIn(app, tx, KIND, key);
}
