/**
 * Ways in which an honest Electrum server may differ from another: the protocol documents allow them, or servers in use do
 * so. A client that takes one of them for a lie loses its servers.
 */
import type { Json } from './electrum-chain.ts';
import type { Behaviour, ElectrumServer } from './electrum-server.ts';
import type { Session } from './electrum-session.ts';
import { histories, tellAll } from './lies.ts';

export type Oddity = { name: string; behaviour: (server: ElectrumServer) => Behaviour };

type Line = { [key: string]: Json };

/** Every line that goes out, rewritten. */
const rewritten = (rewrite: (line: Line) => Line): Behaviour => ({
  write: (line, session) => session.write(`${JSON.stringify(rewrite(JSON.parse(line) as Line))}\n`),
});

const HEADERS_AT_ONCE = 30;
const LATENCY_MS = 120;
const TURNS = 3;
const TURN_MS = 30;
const LATE_MS = 400;
const BETWEEN_MS = 2_500;
const ANSWERS_PER_CONNECTION = 60;

/** Bytes in pieces that end anywhere. */
function crumble(line: string, session: Session, bytesMax: number): void {
  const bytes = Buffer.from(line);
  for (let at = 0; at < bytes.length; at += bytesMax) session.write(bytes.subarray(at, at + bytesMax));
}

export const ODDITIES: readonly Oddity[] = [
  {
    name: 'speaks JSON-RPC 1.0',
    behaviour: () =>
      rewritten(({ jsonrpc: _, ...line }) =>
        line.method === undefined ? { error: null, ...line } : { id: null, ...line },
      ),
  },
  {
    name: 'writes more than is asked for',
    behaviour: () => rewritten((line) => ({ ...line, usage: { cost: 0.1 }, served: 'by me' })),
  },
  {
    name: 'ends lines as Windows does',
    behaviour: () => ({ write: (line, session) => session.write(line.replace('\n', '\r\n')) }),
  },
  {
    name: 'writes blanks between tokens',
    behaviour: () => ({
      write: (line, session) => session.write(`${JSON.stringify(JSON.parse(line), null, ' ').replaceAll('\n', ' ')}\n`),
    }),
  },
  { name: 'sends small pieces', behaviour: () => ({ write: (line, session) => crumble(line, session, 97) }) },
  {
    name: 'answers late and in any order',
    behaviour: () => ({
      write: (line, session) => {
        // News come after every answer that was made before them: who subscribes is answered first.
        const turn = Number((JSON.parse(line) as Line).id ?? NaN) % TURNS;
        const delayMs = LATENCY_MS + (Number.isNaN(turn) ? TURNS : turn) * TURN_MS;
        setTimeout(() => session.write(line), delayMs);
      },
    }),
  },
  {
    name: 'sends few headers at once',
    behaviour: () => ({
      answer: (method, params, honest) => {
        if (method !== 'blockchain.block.headers') return honest();
        params[1] = Math.min(Number(params[1]), HEADERS_AT_ONCE);
        return { ...(honest() as object), max: HEADERS_AT_ONCE };
      },
    }),
  },
  {
    name: 'tells everything twice',
    behaviour: () => ({
      write: (line, session) => session.write((JSON.parse(line) as Line).method === undefined ? line : line + line),
    }),
  },
  {
    name: 'tells of things that nobody subscribed to',
    behaviour: () => ({
      write: (line, session) => {
        const more = [
          { method: 'blockchain.scripthash.subscribe', params: ['ab'.repeat(32), 'cd'.repeat(32)] },
          { method: 'server.peers.subscribe', params: [[]] },
          { method: 'mempool.changed', params: [] },
        ];
        session.write(`${more.map((one) => `${JSON.stringify({ jsonrpc: '2.0', ...one })}\n`).join('')}${line}`);
      },
    }),
  },
  {
    name: 'tells of a payment before it is told of the block',
    behaviour: () => ({
      notify: (method, params, session) => {
        if (method !== 'blockchain.headers.subscribe') return params;
        const line = `${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`;
        setTimeout(() => session.write(line), LATE_MS);
        return null;
      },
    }),
  },
  {
    name: 'tells of a block before it knows its payments',
    behaviour: () => ({
      notify: (method, params, session) => {
        if (method !== 'blockchain.scripthash.subscribe') return params;
        const line = `${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`;
        setTimeout(() => session.write(line), LATE_MS);
        return null;
      },
    }),
  },
  {
    name: 'names a mined transaction twice for some seconds',
    behaviour: (server) => {
      const minedAtMs = new Map<string, number>();
      const isNew = (): boolean => {
        const { hash } = server.chain.tip;
        const now = performance.now();
        if (!minedAtMs.has(hash)) {
          minedAtMs.set(hash, now);
          // once the mempool is read again, the histories are others
          setTimeout(() => tellAll(server), BETWEEN_MS).unref();
        }
        return now - (minedAtMs.get(hash) ?? 0) < BETWEEN_MS;
      };
      return histories({ server, scripts: new Map(), lied: () => undefined }, (history) => {
        const mined = isNew() ? history.filter(({ height }) => height === server.chain.height) : [];
        return [...history, ...mined.map(({ tx_hash }) => ({ tx_hash, height: 0 }))];
      });
    },
  },
  {
    name: 'ends connections after a while',
    behaviour: () => {
      const said = new WeakMap<Session, number>();
      return {
        write: (line, session) => {
          const count = (said.get(session) ?? 0) + 1;
          said.set(session, count);
          session.write(line);
          if (count === ANSWERS_PER_CONNECTION) session.socket.end();
        },
      };
    },
  },
  {
    name: 'writes errors as texts',
    behaviour: () =>
      rewritten((line) => {
        const { error } = line;
        return error && typeof error === 'object' && !Array.isArray(error)
          ? { ...line, error: error.message ?? '' }
          : line;
      }),
  },
  {
    name: 'knows no fees, no features and no peers',
    behaviour: () => ({
      answer: (method, _params, honest) => {
        if (!/estimatefee|relayfee|features|peers|banner|histogram|get_info/.test(method)) return honest();
        throw new Error('not here');
      },
    }),
  },
];
