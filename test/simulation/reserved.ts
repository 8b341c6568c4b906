/** Auditors of reservations: a withdrawal reserves its amount and fee when it is asked for, and its coins when it is signed. */
import { Rejected, Unavailable } from '../../daemon/domain/errors.ts';
import type { Network, Node, Tx } from './network.ts';
import { Fault, type World } from './world.ts';

/** The size of a transaction with one input and one output. Nodes relay none for less than one unit per virtual byte. */
const VSIZE_MIN = 100n;

/** The balance must fall by the amount and a fee as soon as a withdrawal is asked for. `taken`: how far it fell. */
export function judgeRequested(id: number, units: bigint, taken: bigint): void {
  const least = units + VSIZE_MIN;
  if (taken >= least) return;
  throw new Fault(
    `withdrawal ${id} of ${units} took ${taken} from the balance: with any fee it takes ${least} or more`,
  );
}

/** Nothing is left for a fee when a withdrawal pays the whole balance: it is refused. */
export function judgeWhole(balance: bigint, request: () => unknown): void {
  try {
    request();
  } catch (error) {
    if (error instanceof Rejected || error instanceof Unavailable) return;
    throw error;
  }
  throw new Fault(`a withdrawal of the whole balance of ${balance} is taken, with no fee`);
}

/** A payment spends no coin of another one that may still be mined, as far as the appliance can know. */
export function judgeUnshared(world: World, network: Network, uuids: ReadonlySet<string>, tx: Tx): void {
  const spent = new Set(tx.inputs.map(({ outpoint }) => outpoint));
  const spend = sameSpend(world, uuids);
  for (const [uuid, versions] of world.signed) {
    if (spend.has(uuid) || world.rejected.has(uuid)) continue;
    for (const other of versions) {
      const shared = other.inputs.find(({ outpoint }) => spent.has(outpoint));
      if (!shared || other.txid === tx.txid || world.withheld.has(other.txid)) continue;
      if (!isPossible(network.own, other) || !isPossible(network.miner, other)) continue;
      throw new Fault(
        `${tx.txid} is signed for ${[...uuids]} with ${shared.outpoint}, which ${other.txid} spends for ${uuid}`,
      );
    }
  }
}

/**
 * The withdrawals of the spend to which these belong: a batch is one payment, and stays one when a later version pays
 * or cancels one withdrawal of it alone.
 */
export function sameSpend(world: World, uuids: ReadonlySet<string>): ReadonlySet<string> {
  const spend = new Set(uuids);
  const txids = new Set<string>();
  for (let size = -1; size < spend.size; ) {
    size = spend.size;
    for (const uuid of spend) for (const { txid } of world.signed.get(uuid) ?? []) txids.add(txid);
    for (const [uuid, versions] of world.signed) if (versions.some(({ txid }) => txids.has(txid))) spend.add(uuid);
  }
  return spend;
}

/** Whether each of its inputs is there for a node, and no block has spent it otherwise. */
export function isPossible(node: Node, { txid, inputs }: Tx): boolean {
  return inputs.every(({ outpoint }) => {
    const spender = node.coins.get(outpoint);
    if (spender === undefined) return node.mempool.has(outpoint.split(':')[0] as string);
    return spender === null || spender === txid;
  });
}
