/**
 * One of several Electrum servers lies, in the ways of `test/nodes/lies.ts`, one or several at a time, while the others tell the
 * truth.
 */
import { scripthashOf } from '../nodes/electrum-chain.ts';
import { LIES, type Lie, together } from '../nodes/lies.ts';
import type { World } from './world.ts';

/** Lies about money. The rest of `LIES` breaks the protocol, or forges LTC's headers by the clock of the process. */
const TOLD = new Set([
  'hides every transaction',
  'hides what is confirmed',
  'calls what is confirmed unconfirmed',
  'says that an unconfirmed transaction is in the newest block',
  'names another block for a transaction',
  'names transactions that nobody has',
  'names a transaction of strangers, with its proof',
  'never tells of scripts',
  'never tells of anything',
  'refuses every history',
  'refuses every proof',
  'refuses every transaction',
  'invents payments in a block',
  'invents payments in a block, with an empty branch',
  'invents unconfirmed payments',
  'invents unsigned spends',
  'hides what is confirmed, and tells of another status each second',
  'names a transaction of strangers, hides the rest, and tells of another status each second',
  'sends wrong merkle branches',
  'changes an amount',
  'has a tip that never moves',
  'stays behind',
]);
const MONEY = LIES.filter(({ name }) => TOLD.has(name));
/** Those that are told with others: one more, so that the runs of earlier seeds stay what they were. */
const COMBINED = [
  ...MONEY,
  ...LIES.filter(({ name }) => name === 'hides every transaction, and tells of another status each second'),
];
const TOGETHER_MAX = 3;

/** A server begins to lie, tells another lie, or the truth again. */
export const lie = (world: World): string => change(world, () => world.random.pick(MONEY));

/** The same with two or three lies at a time. */
export function combineLies(world: World): string {
  return change(world, () => {
    const lies = new Set<Lie>();
    const count = world.random.whole(2, TOGETHER_MAX);
    while (lies.size < count) lies.add(world.random.pick(COMBINED) as Lie);
    return together([...lies]);
  });
}

function change(world: World, choose: () => Lie | undefined): string {
  const { random } = world;
  const coin = world.anyCoin();
  const served = world.servers.get(coin);
  if (!served || world.electrumServers < 2) return '';
  if (served.lie && random.chance(0.5)) {
    served.mend();
    return `the servers of ${coin} tell the truth`;
  }
  const found = choose();
  const server = random.whole(0, world.electrumServers - 1);
  if (!found) return '';
  served.tell(server, found, new Payable(world));
  return `server ${server} of ${coin} ${found.name}`;
}

/** Ends the lies that no client can disprove. The others may be told for ever. */
export function endUnprovedLies(world: World): void {
  for (const served of world.servers.values()) if (served.lie?.unproved) served.mend();
}

/** What invoices ask for, by script hash: read when it is asked for, as there are more of them later. */
class Payable extends Map<string, Uint8Array> {
  readonly #world: World;

  constructor(world: World) {
    super();
    this.#world = world;
  }

  override get(scripthash: string): Uint8Array | undefined {
    for (const { asks } of this.#world.invoices) {
      const script = asks.map((ask) => Buffer.from(ask.script, 'hex')).find((one) => scripthashOf(one) === scripthash);
      if (script) return script;
    }
    return undefined;
  }
}
