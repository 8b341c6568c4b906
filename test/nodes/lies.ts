/**
 * Ways in which an Electrum server can be bad, each as a behaviour of the test server: what must come of it is in
 * test/adapters/hostile.test.ts. The chain is litecoin's regtest, whose headers anybody can forge with a valid proof of
 * work (scrypt) at once; what protects there is all the rest.
 */
import { randomBytes, scryptSync } from 'node:crypto';
import { assert } from '../../daemon/domain/errors.ts';
import { writeTransaction } from '../adapters/fixtures/serial.ts';
import { type HistoryItem, type Json, reversed, sha256, sha256d, writtenHash } from './electrum-chain.ts';
import { isSorted } from './electrum-methods.ts';
import type { Behaviour, ElectrumServer } from './electrum-server.ts';
import type { Session } from './electrum-session.ts';

type Alter = (history: HistoryItem[], scripthash: string) => HistoryItem[];

/**
 * `server` is the liar; `lied` counts what it said; `scripts` are those that it can pay, by script hash. `alters`: what lies that are
 * told together make of a history, one after the other.
 */
export type Scene = {
  server: ElectrumServer;
  scripts: ReadonlyMap<string, Uint8Array>;
  lied: () => void;
  alters?: Alter[];
};

/**
 * What must come of a lie, besides that no money is miscounted. `dropped`: it proves a bad server, which is used no more.
 * `left`: it may be bad luck (a dead, slow, old or lagging server): another one is used.
 */
export type Lie = {
  name: string;
  ends: 'dropped' | 'left';
  /** It keeps the machine busy, and is tried alone. */
  loud?: true;
  /** What it says of unconfirmed payments cannot be checked: they may be reported, as unconfirmed. */
  unproved?: true;
  behaviour: (scene: Scene) => Behaviour;
};

const HISTORY = 'blockchain.scripthash.get_history';
const SUBSCRIBE = 'blockchain.scripthash.subscribe';
const TIP = 'blockchain.headers.subscribe';
const HEADER = 'blockchain.block.header';
const HEADERS = 'blockchain.block.headers';
const MERKLE = 'blockchain.transaction.get_merkle';
const GET = 'blockchain.transaction.get';
const CHURN_MS = 1_000;
const BITS_LIMIT = 0x207fffff;

const statusOf = (history: readonly HistoryItem[]): string | null =>
  history.length === 0
    ? null
    : sha256(history.map(({ tx_hash, height }) => `${tx_hash}:${height}:`).join('')).toString('hex');

/** What is told together with others, as a part of what. */
const wholes = new WeakMap<Behaviour, Behaviour>();

/** Tells some lies at the same time. Where two answer the same, the later one is told, of what the earlier ones make of the truth. */
export function together(lies: readonly Lie[]): Lie {
  const behaviour = (scene: Scene): Behaviour => {
    const shared: Scene = { ...scene, alters: [] };
    const parts = lies.map((lie) => lie.behaviour(shared));
    const whole: Behaviour = {
      answer: (method, params, honest, session) => {
        const told = (count: number): unknown => {
          const part = parts[count - 1];
          if (!part) return honest();
          return part.answer ? part.answer(method, params, () => told(count - 1), session) : told(count - 1);
        };
        return told(parts.length);
      },
      notify: (method, params, session) => {
        let told: Json[] | null = params;
        for (const { notify } of parts) if (told !== null && notify) told = notify(method, told, session);
        return told;
      },
    };
    for (const part of parts) {
      assert(!part.write && !part.connect, 'lies that are told together are answers and notices');
      wholes.set(part, whole);
    }
    return whole;
  };
  const name = lies.map((lie) => lie.name).join(', and ');
  const ends = lies.some((lie) => lie.ends === 'dropped') ? 'dropped' : 'left';
  return { name, ends, behaviour, ...(lies.some(({ unproved }) => unproved) && { unproved: true }) };
}

/** Answers one method otherwise. */
function instead(method: string, { lied }: Scene, lie: (honest: unknown, params: Json[]) => unknown): Behaviour {
  return {
    answer: async (asked, params, honest) => {
      if (asked !== method) return honest();
      lied();
      return lie(await Promise.resolve(honest()).catch(() => null), params);
    },
  };
}

/** Histories are altered, and the statuses with them. `other` answers the rest. */
export function histories(
  { server, lied, alters = [] }: Scene,
  alter: Alter,
  other: (method: string, params: Json[]) => unknown = () => undefined,
): Behaviour {
  alters.push(alter);
  const altered = (scripthash: string, { version }: Session): HistoryItem[] => {
    const honest = server.chain.historyOf(scripthash, isSorted(version ?? []));
    const told = alters.reduce((history, one) => one(history, scripthash), honest);
    if (told.length !== honest.length || JSON.stringify(told) !== JSON.stringify(honest)) lied();
    return told;
  };
  // A long history that is told again and again costs its status once.
  const statuses = new WeakMap<HistoryItem[], string | null>();
  const statusIn = (scripthash: string, session: Session): string | null => {
    const told = altered(scripthash, session);
    if (!statuses.has(told)) statuses.set(told, statusOf(told));
    return statuses.get(told) ?? null;
  };
  return {
    answer: (method, params, honest, session) => {
      if (method === HISTORY) return altered(String(params[0]), session);
      if (method !== SUBSCRIBE) return other(method, params) ?? honest();
      honest();
      return statusIn(String(params[0]), session);
    },
    notify: (method, params, session) =>
      method === SUBSCRIBE ? [params[0] as string, statusIn(String(params[0]), session)] : params,
  };
}

type HeaderFields = { previous: Buffer; timeSeconds: number; bits?: number; worked?: boolean };

/** A header of litecoin's regtest. Not `worked`: one whose hash is above the target. */
function forgedHeader({ previous, timeSeconds, bits = BITS_LIMIT, worked = true }: HeaderFields): Buffer {
  const header = Buffer.alloc(80);
  header.writeUInt32LE(0x20000000, 0);
  previous.copy(header, 4);
  randomBytes(32).copy(header, 36);
  header.writeUInt32LE(timeSeconds, 68);
  header.writeUInt32LE(bits, 72);
  const size = bits >>> 24;
  const target = BigInt(bits & 0x7fffff) << BigInt(8 * (size - 3));
  for (let nonce = 0; ; nonce++) {
    header.writeUInt32LE(nonce, 76);
    const work = scryptSync(header, header, 32, { N: 1024, r: 1, p: 1 });
    if (BigInt(`0x${reversed(work).toString('hex')}`) <= target === worked) return header;
  }
}

const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** Serves these headers instead of the chain's. `list` is asked anew for every tip of the real chain. */
export function headersOf({ server, lied }: Scene, list: (honest: Buffer[]) => Buffer[]): Behaviour {
  let made: { tip: string; headers: Buffer[] } | null = null;
  const headers = (): Buffer[] => {
    const tip = server.chain.tip.hash;
    if (made?.tip !== tip) made = { tip, headers: list(server.chain.blocks.map(({ header }) => header)) };
    lied();
    return made.headers;
  };
  const tip = (): Json => ({ hex: headers().at(-1)?.toString('hex') ?? '', height: headers().length - 1 });
  return {
    answer: (method, params, honest, session) => {
      if (method === TIP) {
        honest();
        return tip();
      }
      if (method === HEADER) return headers()[Number(params[0])]?.toString('hex') ?? honest();
      if (method !== HEADERS) return honest();
      const [from, count] = params.map(Number) as [number, number];
      const part = headers().slice(from, from + count);
      const texts = part.map((header) => header.toString('hex'));
      const told = isSorted(session.version ?? []) ? { headers: texts } : { hex: texts.join('') };
      return { count: part.length, max: 2016, ...told };
    },
    notify: (method, params) => (method === TIP ? [tip()] : params),
  };
}

/** Headers on top of the honest ones. */
const onTop =
  (make: (previous: Buffer) => Buffer, count = 1) =>
  (honest: Buffer[]): Buffer[] => {
    const list = [...honest];
    for (let i = 0; i < count; i++) list.push(make(sha256d(list.at(-1) as Buffer)));
    return list;
  };

/** Spends every coin of a script, without a signature. It may hide who paid it. */
function inventsSpends(scene: Scene): Behaviour {
  const made = new Map<string, Buffer>();
  const spend = (scripthash: string): HistoryItem[] => {
    const inputs = scene.server.chain
      .historyOf(scripthash, true)
      .flatMap(({ tx_hash }) =>
        (scene.server.chain.tx(tx_hash)?.outputs ?? []).flatMap((output, vout) =>
          output.scripthash === scripthash ? [{ txid: tx_hash, vout }] : [],
        ),
      );
    if (inputs.length === 0) return [];
    const raw = writeTransaction({
      inputs,
      outputs: [{ units: 1_000n, script: Buffer.from(`0014${'ee'.repeat(20)}`, 'hex') }],
    });
    made.set(writtenHash(raw), raw);
    return [{ tx_hash: writtenHash(raw), height: 0, fee: 500 }];
  };
  return histories(
    scene,
    (history, scripthash) => [...history, ...spend(scripthash)],
    (method, [txid]) => (method === GET ? made.get(String(txid))?.toString('hex') : undefined),
  );
}

/** Calls `turn` each second for as long as the server behaves so, and tells every subscriber of the status after it. */
function eachSecond({ server }: Scene, behaviour: Behaviour, turn: () => void): Behaviour {
  const timer = setInterval(() => {
    turn();
    if (server.behaviour !== (wholes.get(behaviour) ?? behaviour)) clearInterval(timer);
    else tellAll(server);
  }, CHURN_MS);
  timer.unref();
  return behaviour;
}

/** Histories with one more transaction, another one each second, which every subscriber is told of. */
function churned(scene: Scene, alter: (history: HistoryItem[]) => HistoryItem[]): Behaviour {
  const { blocks } = scene.server.chain;
  let turn = 0;
  const extra = (): HistoryItem[] => {
    const txid = blocks[1 + (turn % (blocks.length - 1))]?.txs[0]?.txid;
    return txid === undefined ? [] : [{ tx_hash: txid, height: 0 }];
  };
  const behaviour = histories(scene, (history) => [...alter(history), ...extra()]);
  return eachSecond(scene, behaviour, () => turn++);
}

/** Hides every transaction, and tells of a status that is of no history, another one each second. */
function hidesAndChurns(scene: Scene): Behaviour {
  let turn = 0;
  const behaviour: Behaviour = {
    ...histories(scene, () => []),
    notify: (method, params) =>
      method === SUBSCRIBE ? [params[0] as string, sha256(`${turn} ${params[0]}`).toString('hex')] : params,
  };
  return eachSecond(scene, behaviour, () => turn++);
}

/** Tells the present status of every subscription; the behaviour's own `notify` says which it is. */
export function tellAll({ sessions }: ElectrumServer): void {
  for (const session of sessions) {
    if (!session.open) continue;
    for (const scripthash of session.subscriptions.keys()) session.notify(SUBSCRIBE, [scripthash, null]);
  }
}

/** The first block's only transaction. */
function strangersIn({ server }: Scene): HistoryItem[] {
  const txid = server.chain.blocks[1]?.txs[0]?.txid;
  return txid === undefined ? [] : [{ tx_hash: txid, height: 1 }];
}

/** A transaction that pays a script, spending a coin that does not exist. */
const inventedPayment = (script: Uint8Array): Buffer =>
  writeTransaction({
    inputs: [{ txid: sha256(script).toString('hex'), vout: 0 }],
    outputs: [{ units: 77_000_000n, script }],
  });

/** Pays every script that is asked for what never was paid, in a block (`height` of the tip) or in the mempool. */
function invents(scene: Scene, confirmed: boolean, proof: (honest: Json) => Json = (honest) => honest): Behaviour {
  const { server, scripts, lied } = scene;
  const made = new Map<string, { raw: Buffer; txid: string }>();
  const paymentTo = (scripthash: string) => {
    const script = scripts.get(scripthash);
    if (!script) return null;
    const raw = made.get(scripthash)?.raw ?? inventedPayment(script);
    const payment = { raw, txid: writtenHash(raw) };
    made.set(scripthash, payment);
    return payment;
  };
  const height = () => (confirmed ? server.chain.height : 0);
  const add = (history: HistoryItem[], scripthash: string): HistoryItem[] => {
    const payment = paymentTo(scripthash);
    return payment
      ? [...history, { tx_hash: payment.txid, height: height(), ...(confirmed ? {} : { fee: 1000 }) }]
      : history;
  };
  return histories(scene, add, (method, params) => {
    const payment = [...made.values()].find(({ txid }) => txid === params[0]);
    if (!payment) return undefined;
    lied();
    if (method === GET) return payment.raw.toString('hex');
    if (method !== MERKLE) return undefined;
    // A true branch of the same block, of its coinbase: that of another transaction.
    const honest = { block_height: server.chain.height, merkle: ['ab'.repeat(32)], pos: 1 };
    return proof(honest);
  });
}

const flipped = (hex: string): string => `${hex.startsWith('0') ? '1' : '0'}${hex.slice(1)}`;
type Proof = { merkle: string[]; pos: number; block_height: number };
type Rewrite = (proof: Proof) => Json;
const proofs =
  (rewrite: Rewrite) =>
  (scene: Scene): Behaviour =>
    instead(MERKLE, scene, (honest) => (honest ? rewrite(honest as Proof) : honest));

/** Sends bytes of its own instead of the answer to a method. */
function writes(method: string, { lied }: Scene, send: (session: Session, honest: string) => void): Behaviour {
  const pending = new WeakMap<Session, number>();
  return {
    answer: (asked, _params, honest, session) => {
      if (asked === method) pending.set(session, (pending.get(session) ?? 0) + 1);
      return honest();
    },
    write: (line, session) => {
      const due = pending.get(session) ?? 0;
      if (due === 0) return session.write(line);
      pending.set(session, due - 1);
      lied();
      send(session, line);
    },
  };
}

/** Goes on sending for as long as the connection takes it. */
function pour(session: Session, chunk: string | Uint8Array): void {
  const more = (): void => {
    if (!session.open) return;
    if (session.socket.write(chunk)) setImmediate(more);
    else session.socket.once('drain', more);
  };
  more();
}

const answerWith =
  (method: string, value: Json | ((honest: unknown) => unknown)) =>
  (scene: Scene): Behaviour =>
    instead(method, scene, (honest) => (typeof value === 'function' ? value(honest) : value));

/** Hides the histories of some scripts, which may change meanwhile. */
export const hides = (server: ElectrumServer, hidden: ReadonlySet<string>): Behaviour =>
  histories({ server, scripts: new Map(), lied: () => undefined }, (history, scripthash) =>
    hidden.has(scripthash) ? [] : history,
  );

export const LIES: readonly Lie[] = [
  // Histories.
  {
    name: 'hides every transaction',
    ends: 'left',
    behaviour: (scene) => histories(scene, () => []),
  },
  {
    name: 'hides what is confirmed',
    ends: 'left',
    behaviour: (scene) => histories(scene, (history) => history.filter(({ height }) => height <= 0)),
  },
  {
    name: 'calls what is confirmed unconfirmed',
    ends: 'left',
    behaviour: (scene) => histories(scene, (history) => history.map((item) => ({ ...item, height: 0 }))),
  },
  {
    name: 'says that an unconfirmed transaction is in the newest block',
    ends: 'dropped',
    behaviour: (scene) =>
      histories(
        scene,
        (history) =>
          history.map((item) => ({ ...item, height: item.height > 0 ? item.height : scene.server.chain.height })),
        (method, [, height]) =>
          method === MERKLE && height === scene.server.chain.height
            ? { merkle: [], pos: 0, block_height: height }
            : undefined,
      ),
  },
  {
    name: 'names another block for a transaction',
    ends: 'dropped',
    behaviour: (scene) =>
      histories(
        scene,
        (history) => history.map((item) => ({ ...item, height: item.height > 0 ? item.height - 1 : item.height })),
        (method, [, height]) =>
          method === MERKLE ? { merkle: ['cd'.repeat(32)], pos: 1, block_height: height ?? 0 } : undefined,
      ),
  },
  {
    name: 'names a block far above the tip',
    ends: 'left',
    behaviour: (scene) => histories(scene, (history) => history.map((item) => ({ ...item, height: 1_000_000 }))),
  },
  {
    name: 'names negative heights',
    ends: 'dropped',
    behaviour: (scene) => histories(scene, (history) => history.map((item) => ({ ...item, height: -5 }))),
  },
  {
    name: 'names transactions in two blocks',
    ends: 'dropped',
    behaviour: (scene) =>
      histories(scene, (history) => [...history, ...history.map((item) => ({ ...item, height: item.height && 3 }))]),
  },
  {
    name: 'names transactions that nobody has',
    ends: 'left',
    behaviour: (scene) => histories(scene, (history) => [...history, { tx_hash: 'fe'.repeat(32), height: 5 }]),
  },
  {
    name: 'hides what is confirmed, and tells of another status each second',
    ends: 'left',
    behaviour: (scene) => churned(scene, (history) => history.filter(({ height }) => height <= 0)),
  },
  {
    name: 'hides every transaction, and tells of another status each second',
    ends: 'left',
    behaviour: hidesAndChurns,
  },
  {
    name: 'names a transaction of strangers, hides the rest, and tells of another status each second',
    ends: 'dropped',
    behaviour: (scene) => churned(scene, () => strangersIn(scene)),
  },
  {
    name: 'names a transaction of strangers, with its proof',
    ends: 'dropped',
    behaviour: (scene) => histories(scene, (history) => [...strangersIn(scene), ...history]),
  },
  {
    name: 'names a hundred thousand transactions',
    ends: 'left',
    loud: true,
    behaviour: (scene) => {
      const many = Array.from({ length: 100_000 }, (_, i) => ({
        tx_hash: sha256(String(i)).toString('hex'),
        height: 1,
      }));
      return histories(scene, () => many);
    },
  },
  { name: 'never tells of scripts', ends: 'left', behaviour: (scene) => silent(scene, /scripthash/) },
  { name: 'never tells of anything', ends: 'left', behaviour: (scene) => silent(scene, /./) },
  { name: 'refuses every history', ends: 'left', behaviour: refuses(HISTORY) },
  { name: 'refuses every subscription', ends: 'left', behaviour: refuses(SUBSCRIBE) },
  { name: 'refuses headers', ends: 'left', behaviour: refuses(HEADERS) },
  {
    name: 'tells of another status all the time',
    ends: 'left',
    loud: true,
    behaviour: (scene) => ({
      answer: (method, params, honest, session) => {
        if (method === SUBSCRIBE) {
          const timer = setInterval(() => {
            scene.lied();
            if (session.open) session.notify(SUBSCRIBE, [params[0] as string, randomBytes(32).toString('hex')]);
            else clearInterval(timer);
          }, 20);
        }
        return honest();
      },
    }),
  },
  {
    name: 'invents unsigned spends',
    ends: 'dropped',
    behaviour: inventsSpends,
  },
  // Transactions and proofs.
  { name: 'invents payments in a block', ends: 'dropped', behaviour: (scene) => invents(scene, true) },
  {
    name: 'invents payments in a block, with an empty branch',
    ends: 'dropped',
    behaviour: (scene) => invents(scene, true, () => ({ merkle: [], pos: 0, block_height: scene.server.chain.height })),
  },
  {
    name: 'invents unconfirmed payments',
    ends: 'left',
    unproved: true,
    behaviour: (scene) => invents(scene, false),
  },
  {
    name: 'sends wrong merkle branches',
    ends: 'dropped',
    behaviour: proofs(({ merkle, ...rest }) => ({
      ...rest,
      merkle: [...merkle.slice(0, -1), flipped(merkle.at(-1) ?? '0')],
    })),
  },
  {
    name: 'sends short branches',
    ends: 'dropped',
    behaviour: proofs((proof) => ({ ...proof, merkle: proof.merkle.slice(1) })),
  },
  {
    name: 'sends long branches',
    ends: 'dropped',
    behaviour: proofs((proof) => ({
      ...proof,
      merkle: [...proof.merkle, ...proof.merkle, ...Array(40).fill('ab'.repeat(32))],
    })),
  },
  { name: 'sends wrong positions', ends: 'dropped', behaviour: proofs((proof) => ({ ...proof, pos: proof.pos ^ 1 })) },
  {
    name: 'sends positions beyond the tree',
    ends: 'dropped',
    behaviour: proofs((proof) => ({ ...proof, pos: proof.pos + 2 ** 20 })),
  },
  {
    name: 'sends negative positions',
    ends: 'dropped',
    behaviour: proofs((proof) => ({ ...proof, pos: -proof.pos - 1 })),
  },
  { name: 'sends proofs that are none', ends: 'dropped', behaviour: proofs(() => ({ merkle: 'no', pos: '0' })) },
  { name: 'refuses every proof', ends: 'left', behaviour: refuses(MERKLE) },
  {
    name: 'passes off an inner node as a transaction of 64 bytes',
    ends: 'left',
    behaviour: (scene) => {
      const node = (): { raw: Buffer; height: number } | null => {
        const height = scene.server.chain.blocks.findLastIndex(({ txs }) => txs.length === 2);
        const txs = scene.server.chain.blocks[height]?.txs;
        return txs ? { raw: Buffer.concat(txs.map(({ txid }) => reversed(Buffer.from(txid, 'hex')))), height } : null;
      };
      return histories(
        scene,
        (history) => {
          const found = node();
          return found && history.length > 0
            ? [{ tx_hash: writtenHash(found.raw), height: found.height }, ...history]
            : history;
        },
        (method, [txid]) => {
          const found = node();
          if (!found || txid !== writtenHash(found.raw)) return undefined;
          if (method === GET) return found.raw.toString('hex');
          return method === MERKLE ? { merkle: [], pos: 0, block_height: found.height } : undefined;
        },
      );
    },
  },
  {
    name: 'sends another transaction than the one asked for',
    ends: 'dropped',
    behaviour: (scene) => instead(GET, scene, () => scene.server.chain.blocks[1]?.txs[0]?.raw.toString('hex')),
  },
  { name: 'changes an amount', ends: 'dropped', behaviour: answerWith(GET, (raw) => changeAmount(String(raw))) },
  {
    name: 'sends a transaction that ends early',
    ends: 'dropped',
    behaviour: answerWith(GET, (raw) => String(raw).slice(0, -10)),
  },
  { name: 'sends a transaction with a tail', ends: 'dropped', behaviour: answerWith(GET, (raw) => `${raw}00`) },
  { name: 'refuses every transaction', ends: 'left', behaviour: refuses(GET) },
  // Headers.
  {
    name: 'forges headers without work',
    ends: 'dropped',
    behaviour: (scene) =>
      headersOf(
        scene,
        onTop((previous) => forgedHeader({ previous, timeSeconds: nowSeconds(), worked: false })),
      ),
  },
  {
    name: 'forges headers of another difficulty',
    ends: 'dropped',
    behaviour: (scene) =>
      headersOf(
        scene,
        onTop((previous) => forgedHeader({ previous, timeSeconds: nowSeconds(), bits: 0x2100ffff })),
      ),
  },
  {
    name: 'forges headers that follow none',
    ends: 'dropped',
    behaviour: (scene) =>
      headersOf(
        scene,
        onTop(() => forgedHeader({ previous: randomBytes(32), timeSeconds: nowSeconds() }), 3),
      ),
  },
  {
    name: 'forges headers older than those before them',
    ends: 'dropped',
    behaviour: (scene) =>
      headersOf(
        scene,
        onTop((previous) => forgedHeader({ previous, timeSeconds: 1_296_688_603 })),
      ),
  },
  {
    name: 'forges headers of the future',
    ends: 'left',
    behaviour: (scene) =>
      headersOf(
        scene,
        onTop((previous) => forgedHeader({ previous, timeSeconds: nowSeconds() + 10 * 3600 })),
      ),
  },
  {
    name: 'serves another chain of the same length from the first block on',
    ends: 'left',
    behaviour: (scene) =>
      headersOf(scene, (honest) => {
        const list = honest.slice(0, 1);
        while (list.length < honest.length - 2) {
          list.push(
            forgedHeader({ previous: sha256d(list.at(-1) as Buffer), timeSeconds: nowSeconds() - 9000 + list.length }),
          );
        }
        return list;
      }),
  },
  {
    name: 'serves a branch with less work',
    ends: 'left',
    behaviour: (scene) => headersOf(scene, (honest) => branch(honest, 6, 4)),
  },
  { name: 'stays behind', ends: 'left', behaviour: (scene) => headersOf(scene, (honest) => honest.slice(0, -20)) },
  {
    name: 'has a tip that never moves',
    ends: 'left',
    behaviour: (scene) => {
      const { length } = scene.server.chain.blocks;
      return headersOf(scene, (honest) => honest.slice(0, length));
    },
  },
  {
    name: 'names a tip whose headers it does not have',
    ends: 'dropped',
    behaviour: (scene) => {
      const tall = headersOf(
        scene,
        onTop((previous) => forgedHeader({ previous, timeSeconds: nowSeconds() }), 30),
      );
      return {
        ...tall,
        answer: (method, params, honest, session) =>
          method === TIP ? tall.answer?.(method, params, honest, session) : honest(),
      };
    },
  },
  {
    name: 'sends more headers than were asked for',
    ends: 'dropped',
    behaviour: answerWith(HEADERS, (honest) => {
      const { headers, ...rest } = honest as { headers: string[] };
      return { ...rest, headers: [...headers, ...headers, ...headers] };
    }),
  },
  { name: 'sends half a header', ends: 'dropped', behaviour: answerWith(TIP, { height: 120, hex: '00'.repeat(40) }) },
  {
    name: 'sends a tip at no height',
    ends: 'dropped',
    behaviour: answerWith(TIP, (tip) => ({ ...(tip as object), height: 1.5 })),
  },
  {
    name: 'is of another chain',
    ends: 'dropped',
    behaviour: (scene) =>
      instead(HEADER, scene, (honest, [height]) =>
        height === 0
          ? forgedHeader({ previous: Buffer.alloc(32), timeSeconds: 1_296_688_602 }).toString('hex')
          : honest,
      ),
  },
  // Types.
  { name: 'answers with a history that is no list', ends: 'dropped', behaviour: answerWith(HISTORY, { length: 3 }) },
  { name: 'answers with a history of texts', ends: 'dropped', behaviour: answerWith(HISTORY, ['a', 'b']) },
  { name: 'answers with a status that is a number', ends: 'dropped', behaviour: answerWith(SUBSCRIBE, 7) },
  { name: 'answers with a transaction that is a list', ends: 'dropped', behaviour: answerWith(GET, ['00']) },
  { name: 'answers with nothing where a tip is due', ends: 'dropped', behaviour: answerWith(TIP, null) },
  {
    name: 'answers with heights as texts',
    ends: 'dropped',
    behaviour: answerWith(HISTORY, (list) =>
      (list as HistoryItem[]).map((item) => ({ ...item, height: String(item.height) })),
    ),
  },
  // Framing.
  {
    name: 'sends what is no JSON',
    ends: 'dropped',
    behaviour: (scene) => writes(TIP, scene, (session) => session.write('{"id":\n')),
  },
  {
    name: 'sends JSON that is no message',
    ends: 'dropped',
    behaviour: (scene) => writes(TIP, scene, (session) => session.write('17\n')),
  },
  {
    name: 'nests deeply',
    ends: 'dropped',
    behaviour: (scene) =>
      writes(TIP, scene, (session) => session.write(`${'['.repeat(200_000)}${']'.repeat(200_000)}\n`)),
  },
  {
    name: 'answers by a wrong id',
    ends: 'dropped',
    behaviour: (scene) => writes(TIP, scene, (session, line) => session.write(line.replace(/"id":\d+/, '"id":987654'))),
  },
  {
    name: 'answers twice',
    ends: 'dropped',
    behaviour: (scene) => writes(TIP, scene, (session, line) => session.write(line + line)),
  },
  {
    name: 'answers what nobody asked',
    ends: 'dropped',
    behaviour: (scene) =>
      writes(TIP, scene, (session, line) => session.write(`${line}{"jsonrpc":"2.0","id":4711,"result":{}}\n`)),
  },
  {
    name: 'sends lines without an end',
    ends: 'dropped',
    loud: true,
    behaviour: (scene) => writes(TIP, scene, (session) => pour(session, 'a'.repeat(65_536))),
  },
  {
    name: 'sends an answer of fifty megabytes',
    ends: 'dropped',
    loud: true,
    behaviour: (scene) =>
      writes(TIP, scene, (session, line) => {
        session.socket.write(line.trimEnd().slice(0, -1));
        session.socket.write(`,"more":"${'x'.repeat(50_000_000)}"}\n`);
      }),
  },
  {
    name: 'floods with notifications',
    ends: 'dropped',
    loud: true,
    behaviour: (scene) =>
      writes(TIP, scene, (session, line) => {
        session.write(line);
        pour(
          session,
          `${JSON.stringify({ jsonrpc: '2.0', method: SUBSCRIBE, params: ['00'.repeat(32), null] })}\n`.repeat(100),
        );
      }),
  },
  {
    name: 'floods with empty lines',
    ends: 'dropped',
    loud: true,
    behaviour: (scene) => writes(TIP, scene, (session) => pour(session, '\n'.repeat(65_536))),
  },
  {
    name: 'sends a byte a second',
    ends: 'left',
    behaviour: (scene) =>
      writes(TIP, scene, (session, line) => {
        let at = 0;
        const timer = setInterval(() => {
          if (session.open) session.write(line[at++ % line.length] ?? ' ');
          else clearInterval(timer);
        }, 1_000);
      }),
  },
  // Connections.
  {
    name: 'closes at once',
    ends: 'left',
    behaviour: ({ lied }) => ({ connect: (socket) => ends(lied, () => socket.destroy()) }),
  },
  {
    name: 'takes connections and says nothing',
    ends: 'left',
    behaviour: ({ lied }) => ({ connect: () => ends(lied, () => undefined) }),
  },
  {
    name: 'closes after the greeting',
    ends: 'left',
    behaviour: (scene) => writes(TIP, scene, (session) => session.socket.destroy()),
  },
  { name: 'freezes after the greeting', ends: 'left', behaviour: (scene) => writes(TIP, scene, () => undefined) },
  {
    name: 'freezes in the middle of an answer',
    ends: 'left',
    behaviour: (scene) => writes(HISTORY, scene, (session, line) => session.write(line.slice(0, 20))),
  },
  { name: 'refuses our version', ends: 'left', behaviour: refuses('server.version') },
  {
    name: 'speaks a version that nobody knows',
    ends: 'left',
    behaviour: answerWith('server.version', ['Odd 1.0', '7.3']),
  },
  { name: 'has no version', ends: 'left', behaviour: answerWith('server.version', { a: 1 }) },
  {
    name: 'has a name of a megabyte with control characters',
    ends: 'left',
    behaviour: answerWith('server.version', [`\u001b[2J\u0007${'n'.repeat(1_000_000)}`, '1.3']),
  },
  {
    name: 'refuses everything',
    ends: 'left',
    behaviour: ({ lied }) => ({
      answer: (method, _params, honest) => (method === 'server.version' ? honest() : refuse(lied)),
    }),
  },
];

function silent({ lied }: Scene, about: RegExp): Behaviour {
  return {
    notify: (method, params) => {
      if (!about.test(method)) return params;
      lied();
      return null;
    },
  };
}

function refuses(method: string): (scene: Scene) => Behaviour {
  return ({ lied }) => ({ answer: (asked, _params, honest) => (asked === method ? refuse(lied) : honest()) });
}

function refuse(lied: () => void): never {
  lied();
  throw new Error('excessive resource usage \u001b[31m'.repeat(100));
}

function ends(lied: () => void, how: () => void): true {
  lied();
  how();
  return true;
}

/** A valid branch that leaves the chain `depth` blocks below its tip, `length` blocks long. */
function branch(honest: Buffer[], depth: number, length: number): Buffer[] {
  const list = honest.slice(0, -depth);
  const previous = list.at(-1) as Buffer;
  for (let i = 1; i <= length; i++) {
    const timeSeconds = Math.max(nowSeconds(), previous.readUInt32LE(68)) + i;
    list.push(forgedHeader({ previous: sha256d(list.at(-1) as Buffer), timeSeconds }));
  }
  return list;
}

/** The same transaction with one more in the lowest byte of the last output's amount. */
function changeAmount(raw: string): string {
  const at = raw.lastIndexOf('160014') - 16;
  if (at < 0) return flipped(raw);
  const byte = (Number.parseInt(raw.slice(at, at + 2), 16) + 1) & 0xff;
  return raw.slice(0, at) + byte.toString(16).padStart(2, '0') + raw.slice(at + 2);
}
