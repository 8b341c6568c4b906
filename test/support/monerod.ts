/** A monerod whose chain a payer can pay from: mined once in a run, because each of its blocks takes a moment. */
import { Monerod } from '../nodes/monerod.ts';
import { onceInRun } from './bundles.ts';

export async function startMonerod(): Promise<Monerod> {
  return Monerod.start(await onceInRun('monerod', async (folder) => (await Monerod.start()).leave(folder)));
}
