/**
 * The methods of the Electrum protocol, versions 1.4 to 1.6, over what `ElectrumChain` knows.
 *
 * Source: protocol-methods, protocol-basics and protocol-changes of the Electrum protocol documents. Where they leave
 * something open, it is done as the servers in use do it: their error codes, and refusal of what is too large.
 */
import type { ElectrumChain, HistoryItem, Json, NodeRpc } from './electrum-chain.ts';
import { merkleBranch, readTx } from './electrum-chain.ts';

export const CODES = {
  parse: -32700,
  invalid: -32600,
  method: -32601,
  params: -32602,
  excess: -101,
  busy: -102,
  bad: 1,
  daemon: 2,
};

export class ElectrumError extends Error {
  readonly code: number;
  /** The connection ends with the answer. */
  readonly fatal: boolean;
  constructor(code: number, message: string, fatal = false) {
    super(message);
    this.code = code;
    this.fatal = fatal;
  }
}

/** A protocol version as its numbers: "1.4.2" is [1, 4, 2]. */
export function versionOf(text: unknown): number[] {
  if (typeof text !== 'string' || !/^\d+(\.\d+)+$/.test(text)) {
    throw new ElectrumError(CODES.bad, `unsupported protocol version: ${JSON.stringify(text)}`, true);
  }
  const numbers = text.split('.').map(Number);
  while (numbers.at(-1) === 0) numbers.pop();
  return numbers;
}

export function compareVersions(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** What a method is called with. */
export type Call = {
  node: NodeRpc;
  chain: ElectrumChain;
  segwit: boolean;
  version: readonly number[];
  headersMax: number;
  historyMax: number;
  features: () => Json;
  subscribeHeaders: () => void;
  subscribe: (scripthash: string) => Json;
  unsubscribe: (scripthash: string) => boolean;
};

type Method = { since?: number[]; before?: number[]; params: number; call: (of: Call, params: Json[]) => unknown };

const bad = (message: string): ElectrumError => new ElectrumError(CODES.bad, message);
export const isSorted = (version: readonly number[]): boolean => compareVersions(version, [1, 6]) >= 0;

function natural(value: Json | undefined): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw bad(`${JSON.stringify(value)} should be a non-negative integer`);
}

function boolean(value: Json | undefined): boolean {
  if (value === undefined) return false;
  if (typeof value === 'boolean') return value;
  throw bad(`${JSON.stringify(value)} should be a boolean value`);
}

function hash(value: Json | undefined, what: string): string {
  if (typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)) return value;
  throw bad(`${JSON.stringify(value)} is not a valid ${what}`);
}

const scripthash = (value: Json | undefined): string => hash(value, 'script hash');

function headerAt(chain: ElectrumChain, height: number): string {
  const block = chain.blocks[height];
  if (!block) throw bad(`height ${height} out of range`);
  return block.header.toString('hex');
}

/** The proof that a header is in the chain up to a checkpoint. */
function headerProof(chain: ElectrumChain, height: number, checkpoint: number): { branch: string[]; root: string } {
  if (height > checkpoint || checkpoint > chain.height) {
    throw bad(`require header height ${height} <= cp_height ${checkpoint} <= chain height ${chain.height}`);
  }
  return merkleBranch(
    chain.blocks.slice(0, checkpoint + 1).map((block) => block.hash),
    height,
  );
}

function headers({ chain, version, headersMax: max }: Call, [from, wanted, checkpoint]: Json[]): Json {
  const start = natural(from);
  const list = chain.blocks.slice(start, start + Math.min(natural(wanted), max)).map(({ header }) => header);
  const texts = list.map((header) => header.toString('hex'));
  const cpHeight = natural(checkpoint ?? 0);
  return {
    count: list.length,
    ...(isSorted(version) ? { headers: texts } : { hex: texts.join('') }),
    max,
    ...(list.length > 0 && cpHeight > 0 ? headerProof(chain, start + list.length - 1, cpHeight) : {}),
  };
}

function header({ chain }: Call, [at, checkpoint]: Json[]): Json {
  const [height, cpHeight] = [natural(at), natural(checkpoint ?? 0)];
  const text = headerAt(chain, height);
  return cpHeight === 0 ? text : { header: text, ...headerProof(chain, height, cpHeight) };
}

function limited({ historyMax }: Call, history: HistoryItem[]): HistoryItem[] {
  if (history.length > historyMax) throw bad('history too large');
  return history;
}

async function transaction({ node, chain }: Call, [id, long]: Json[]): Promise<Json> {
  const txid = hash(id, 'transaction hash');
  const verbose = boolean(long);
  const tx = chain.tx(txid);
  if (!tx) throw new ElectrumError(CODES.daemon, `daemon error: no such mempool or blockchain transaction ${txid}`);
  if (!verbose) return tx.raw.toString('hex');
  const refused = (error: Error) => new ElectrumError(CODES.daemon, `daemon error: ${error.message}`);
  const plain = () => node.rpc('getrawtransaction', [txid, true]);
  if (chain.mempool.has(txid)) return plain().catch((error: Error) => Promise.reject(refused(error)));
  // Without an index of its own a node finds it by its block; others do not take a block.
  const block = chain.blocks[tx.height]?.hash ?? '';
  return node
    .rpc('getrawtransaction', [txid, true, block])
    .catch(plain)
    .catch((error: Error) => Promise.reject(refused(error)));
}

function merkle({ chain }: Call, [id, at]: Json[]): Json {
  const [txid, height] = [hash(id, 'transaction hash'), natural(at)];
  const txids = chain.blocks[height]?.txs.map((tx) => tx.txid) ?? [];
  const pos = txids.indexOf(txid);
  if (pos < 0) throw bad(`tx ${txid} not in block at height ${height}`);
  return { merkle: merkleBranch(txids, pos).branch, block_height: height, pos };
}

function idFromPos({ chain }: Call, [at, position, proof]: Json[]): Json {
  const [height, pos] = [natural(at), natural(position)];
  const txids = chain.blocks[height]?.txs.map((tx) => tx.txid) ?? [];
  const txid = txids[pos];
  if (txid === undefined) throw bad(`no tx at position ${pos} in block at height ${height}`);
  return boolean(proof) ? { tx_hash: txid, merkle: merkleBranch(txids, pos).branch } : txid;
}

/** Sends a transaction. Some nodes say yes to whatever they are sent: what counts is whether they have it then. */
async function send({ node, chain, segwit }: Call, raw: Json | undefined): Promise<string> {
  if (typeof raw !== 'string' || !/^(?:[0-9a-f]{2})+$/i.test(raw)) throw bad('a raw transaction is written in hex');
  const refused = (why: string) => bad(`the transaction was rejected by network rules.\n\n${why}\n[${raw}]`);
  const txid = await node.rpc<string>('sendrawtransaction', [raw]).catch((error: Error) => {
    throw refused(error.message);
  });
  const pending = await node.rpc<string[]>('getrawmempool', []);
  if (pending.includes(txid) || chain.tx(txid)) return txid;
  throw refused(`TX rejected: ${readTx(Buffer.from(raw, 'hex'), segwit).txid}`);
}

async function sendPackage(of: Call, [list, long]: Json[]): Promise<Json> {
  if (!Array.isArray(list) || list.length === 0) throw bad('a package is a list of raw transactions');
  if (boolean(long)) throw bad('this node has no submitpackage of its own');
  const errors: Json[] = [];
  for (const raw of list) {
    await send(of, raw).catch((error: Error) => {
      const txid = typeof raw === 'string' ? readTx(Buffer.from(raw, 'hex'), of.segwit).txid : '';
      errors.push({ txid, error: error.message.split('\n')[2] ?? error.message });
    });
  }
  return errors.length === 0 ? { success: true } : { success: false, errors };
}

async function estimateFee({ node }: Call, [blocks]: Json[]): Promise<Json> {
  const target = Math.max(2, natural(blocks));
  const estimate = await node.rpc<{ feerate?: number; fee?: number }>('estimatesmartfee', [target]).catch(() => null);
  const fee = estimate?.feerate ?? estimate?.fee;
  return typeof fee === 'number' && fee > 0 ? fee : -1;
}

async function relayFee({ node }: Call): Promise<number> {
  return (await node.rpc<{ relayfee: number }>('getnetworkinfo', [])).relayfee;
}

async function mempoolInfo(of: Call): Promise<Json> {
  const [relay, info] = [await relayFee(of), await of.node.rpc<{ mempoolminfee?: number }>('getmempoolinfo', [])];
  return { mempoolminfee: info.mempoolminfee ?? relay, minrelaytxfee: relay, incrementalrelayfee: relay };
}

/** Every method but server.version, with the versions that have it and the most parameters that it takes. */
const METHODS: Readonly<Record<string, Method>> = {
  'blockchain.block.header': { params: 2, call: header },
  'blockchain.block.headers': { params: 3, call: headers },
  'blockchain.estimatefee': { params: 2, call: estimateFee },
  'blockchain.headers.subscribe': {
    params: 0,
    call: ({ chain, subscribeHeaders }) => {
      subscribeHeaders();
      return { hex: chain.tip.header.toString('hex'), height: chain.height };
    },
  },
  'blockchain.relayfee': { before: [1, 6], params: 0, call: relayFee },
  'blockchain.scripthash.get_balance': { params: 1, call: ({ chain }, [id]) => chain.balanceOf(scripthash(id)) },
  'blockchain.scripthash.get_history': {
    params: 1,
    call: (of, [id]) => limited(of, of.chain.historyOf(scripthash(id), isSorted(of.version))),
  },
  'blockchain.scripthash.get_mempool': {
    params: 1,
    call: ({ chain, version }, [id]) => chain.unconfirmedOf(scripthash(id), isSorted(version)),
  },
  'blockchain.scripthash.listunspent': { params: 1, call: ({ chain }, [id]) => chain.unspentOf(scripthash(id)) },
  'blockchain.scripthash.subscribe': { params: 1, call: ({ subscribe }, [id]) => subscribe(scripthash(id)) },
  'blockchain.scripthash.unsubscribe': {
    since: [1, 4, 2],
    params: 1,
    call: ({ unsubscribe }, [id]) => unsubscribe(scripthash(id)),
  },
  'blockchain.transaction.broadcast': { params: 1, call: (of, [raw]) => send(of, raw) },
  'blockchain.transaction.broadcast_package': { since: [1, 6], params: 2, call: sendPackage },
  'blockchain.transaction.get': { params: 2, call: transaction },
  'blockchain.transaction.get_merkle': { params: 2, call: merkle },
  'blockchain.transaction.id_from_pos': { params: 3, call: idFromPos },
  'mempool.get_fee_histogram': { params: 0, call: ({ chain }) => chain.feeHistogram() },
  'mempool.get_info': { since: [1, 6], params: 0, call: mempoolInfo },
  'server.add_peer': { params: 1, call: () => false },
  'server.banner': { params: 0, call: () => 'A server for tests' },
  'server.donation_address': { params: 0, call: () => '' },
  'server.features': { params: 0, call: ({ features }) => features() },
  'server.peers.subscribe': { params: 0, call: () => [['127.0.0.1', 'peer.example', ['v1.6', 't', 's50002']]] },
  'server.ping': { params: 0, call: () => null },
};

export function methodOf(name: string, version: readonly number[]): Method {
  const method = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
  const known =
    method &&
    compareVersions(version, method.since ?? [1]) >= 0 &&
    (!method.before || compareVersions(version, method.before) < 0);
  if (!known) throw new ElectrumError(CODES.method, `unknown method "${name}"`);
  return method;
}
