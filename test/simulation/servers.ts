/**
 * What honest Electrum servers do at times: they refuse a history that is longer than their limit, stay some blocks behind, and restart in
 * the middle of an answer. None of it makes a server a liar.
 */
import type { Behaviour, ElectrumServer } from '../nodes/electrum-server.ts';
import { headersOf, histories, together } from '../nodes/lies.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/** Transactions in a history, above which it is refused. */
const LIMITS = [2, 4, 12] as const;
const LAG_MAX = 6;
/** Answers between two restarts: some hundred scripts are subscribed after each. */
const LINES = { from: 400, to: 4_000 } as const;

type Odd = { name: string; behaviour: (server: ElectrumServer, random: Random) => Behaviour };

const told = { scripts: new Map<string, Uint8Array>(), lied: () => undefined };

/** An older chain, and the histories in it. */
function behind(server: ElectrumServer, lag: number): Behaviour {
  const parts = [
    headersOf({ ...told, server }, (honest) => honest.slice(0, -lag)),
    histories({ ...told, server }, (history) => {
      const { height: tip } = server.chain;
      return history.filter(({ height }) => height <= tip - lag);
    }),
  ];
  const lies = parts.map((part) => ({ name: '', ends: 'left' as const, behaviour: () => part }));
  return together(lies).behaviour({ ...told, server });
}

const ODDITIES: readonly Odd[] = [
  {
    // Fulcrum: neither announced nor told
    name: 'tells long histories as empty ones',
    behaviour: (server, random) => {
      const max = random.pick(LIMITS) ?? 2;
      return histories({ ...told, server }, (history) => (history.length > max ? [] : history));
    },
  },
  {
    // ElectrumX
    name: 'refuses long histories',
    behaviour: (server, random) => {
      server.limits.historyMax = random.pick(LIMITS) ?? 2;
      return {};
    },
  },
  { name: 'is behind', behaviour: (server, random) => behind(server, random.whole(1, LAG_MAX)) },
  {
    name: 'restarts within its answers',
    behaviour: (_, random) => {
      let left = random.whole(LINES.from, LINES.to);
      return {
        write: (line, session) => {
          left--;
          session.write(left > 0 ? line : line.slice(0, line.length / 2));
          if (left > 0) return;
          left = random.whole(LINES.from, LINES.to);
          session.socket.destroy();
        },
      };
    },
  },
];

/** A server that tells the truth does so in an awkward way, or as others do again. */
export function trouble(world: World): string {
  const { random } = world;
  const coin = world.anyCoin();
  const served = world.servers.get(coin);
  if (!served) return '';
  const at = random.whole(0, world.electrumServers - 1);
  const odd = random.pick(ODDITIES);
  const server = served.servers[at];
  if (!odd || !server || random.chance(0.3)) {
    served.settle();
    return `every server of ${coin} is as it should be`;
  }
  served.disturb(at, odd.behaviour(server, random));
  return `server ${at} of ${coin} ${odd.name}`;
}
