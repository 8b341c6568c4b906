/** Bad luck of nodes that have no room or no newest blocks. Each action says in words what it did. */
import { MEDIAN_BLOCKS } from './network.ts';
import { name } from './people.ts';
import type { World } from './world.ts';

const DAY_MS = 86_400_000;
/** A day longer than mempools keep a transaction. */
const EXPIRY_DAYS = 15;

/** The appliance's node starts again with older data, and without its mempool: it has no newer block for a while. */
export function older(world: World): string {
  const network = world.network(world.anyCoin());
  const { own } = network;
  const depth = world.random.weighted([
    [6, 1],
    [4, 3],
    [1, 9],
  ]);
  const tip = own.chain[own.chain.length - 1 - depth];
  if (!tip || tip.height < MEDIAN_BLOCKS) return '';
  own.follow(tip);
  own.forgetMempool();
  network.catchesUp = true;
  network.downloads = true;
  network.onChange();
  if (!world.unseenSince.has(network.name)) world.unseenSince.set(network.name, world.time.truth);
  return `the node of ${network.name} has ${depth} blocks less`;
}

/** Mempools are full: what pays too little is thrown out, and taken again when they are not. */
export function fill(world: World): string {
  const network = world.network(world.anyCoin());
  network.relayRate = world.random.pick([1n, 3n, 8n, 30n]) ?? 1n;
  const out = network.evictCheap();
  for (const { txid } of out) world.vanished.set(txid, world.time.truth);
  return `mempools of ${network.name} ask for ${network.relayRate}: ${out.map(name).join(' ') || 'nothing'} leaves them`;
}

/** Somebody tells the nodes again of a transaction that they threw out, maybe after weeks. */
export async function sendAgain(world: World): Promise<string> {
  const { random } = world;
  const network = world.network(world.anyCoin());
  if (random.chance(0.1)) await world.appliance.pass(random.whole(1, EXPIRY_DAYS) * DAY_MS);
  const tx = random.pick([...world.vanished.keys()].flatMap((txid) => network.txs.get(txid) ?? []));
  if (!tx || network.miner.blockOf(tx.txid) || network.miner.mempool.has(tx.txid)) return '';
  const refusal = network.submit(tx);
  if (refusal === null) world.vanished.delete(tx.txid);
  return `${name(tx)} of ${network.name} is sent again: ${refusal ?? 'taken'}`;
}
