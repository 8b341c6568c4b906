/** The RPC of simulated nodes: what Bitcoin Core, Litecoin Core and Bitcoin Cash Node answer. */
import { scriptOf } from '../../daemon/chains/utxo/address.ts';
import type { Answer, Host } from './http.ts';
import { MISSING, type Network, type Node, type Tx } from './network.ts';

type Params = (string | number | boolean)[];
type Call = { id: unknown; method: string; params: Params };

class Failure {
  readonly code: number;
  readonly message: string;
  constructor(code: number, message: string) {
    this.code = code;
    this.message = message;
  }
}

const NOT_FOUND = -5;
const REJECTED = -26;
const MISSING_CODE = -25;
const MINED = -27;
const COIN = 100_000_000;

/** The result of one call. Throws the node's refusal. */
export function call(network: Network, method: string, params: readonly unknown[]): unknown {
  const result = answer(network, method, params as Params);
  if (result instanceof Failure) throw Object.assign(new Error(result.message), { code: result.code });
  return result;
}

/** What a node answers to one call. */
function answer(network: Network, method: string, params: Params): unknown {
  const node = network.own;
  const [first] = params;
  switch (method) {
    case 'getblockhash':
      return node.chain[Number(first)]?.hash ?? new Failure(-8, 'Block height out of range');
    case 'getbestblockhash':
      return node.tip.hash;
    case 'getblockchaininfo':
      return chainInfo(network);
    case 'getmempoolinfo':
      return mempoolInfo(network);
    case 'getnetworkinfo':
      return { version: 290_000, localrelay: true, relayfee: 0.00001 };
    case 'getblock':
    case 'getblockheader':
      return block(network, method, String(first));
    case 'getrawmempool':
      return [...node.mempool.keys()];
    case 'getmempoolentry':
      return entry(node, node.mempool.get(String(first)));
    case 'getrawtransaction':
      return rawTransaction(network, String(first), params[2] as string | undefined);
    case 'validateaddress':
      return { isvalid: scriptOf(String(first), network.name, 'regtest') !== null };
    case 'estimatesmartfee':
      return { feerate: (network.feeRate * 1_000) / COIN, blocks: 2 };
    case 'estimatefee':
      return (network.feeRate * 1_000) / COIN;
    case 'sendrawtransaction':
      return send(network, String(first));
    case 'gettxout':
      return unspent(network, `${first}:${params[1]}`);
    default:
      throw new Error(`the simulated node does not know ${method}`);
  }
}

function chainInfo(network: Network): unknown {
  const { own, miner } = network;
  return {
    blocks: own.tip.height,
    headers: Math.max(own.tip.height, miner.tip.height),
    bestblockhash: own.tip.hash,
    initialblockdownload: network.downloads,
    pruned: false,
  };
}

function mempoolInfo(network: Network): unknown {
  let bytes = 0;
  let fees = 0n;
  for (const tx of network.own.mempool.values()) {
    bytes += tx.vsize;
    fees += network.feeOf(tx);
  }
  const size = network.own.mempool.size;
  const total = { usage: bytes * 5, total_fee: Number(fees) / COIN };
  return {
    loaded: !network.loads,
    size,
    bytes,
    ...total,
    mempoolminfee: (Number(network.relayRate) * 1_000) / COIN,
    minrelaytxfee: 0.00001,
  };
}

function block(network: Network, method: string, hash: string): unknown {
  const found = network.blocks.get(hash);
  if (!found || network.own.chain[found.height] !== found) return new Failure(NOT_FOUND, 'Block not found');
  if (method === 'getblock') return found.bytes.toString('hex');
  return { hash, height: found.height, time: found.seconds, mediantime: network.medianSeconds(found) };
}

function entry(node: Node, tx: Tx | undefined): unknown {
  if (!tx) return new Failure(NOT_FOUND, 'Transaction not in mempool');
  const parents = tx.inputs.map(({ outpoint }) => outpoint.split(':')[0] as string);
  const family = [...node.family(tx)];
  const sum = (fees: bigint[]): number => Number(fees.reduce((a, b) => a + b, 0n)) / COIN;
  const spentby = [...node.descendants(tx)].filter(({ inputs }) =>
    inputs.some(({ outpoint }) => outpoint.startsWith(`${tx.txid}:`)),
  );
  return {
    depends: [...new Set(parents)].filter((txid) => node.mempool.has(txid)),
    spentby: spentby.map(({ txid }) => txid),
    'bip125-replaceable': node.signals(tx),
    ancestorsize: family.reduce((size, { vsize }) => size + vsize, 0),
    fees: { ancestor: sum(family.map((one) => node.network.feeOf(one))), base: sum([node.network.feeOf(tx)]) },
  };
}

function rawTransaction({ own, txs }: Network, txid: string, blockHash?: string): unknown {
  const there =
    blockHash === undefined ? own.mempool.get(txid) : own.blockOf(txid)?.hash === blockHash && txs.get(txid);
  return there ? there.raw.toString('hex') : new Failure(NOT_FOUND, 'No such mempool or blockchain transaction');
}

/** Of the blocks alone, as it is asked. */
function unspent(network: Network, outpoint: string): unknown {
  const coin = network.own.coins.get(outpoint) === null ? network.coin(outpoint) : undefined;
  return coin ? { bestblock: network.own.tip.hash, value: Number(coin.units) / COIN, coinbase: false } : null;
}

function send(network: Network, raw: string): unknown {
  if (network.refuses) return new Failure(REJECTED, 'mempool min fee not met');
  const tx = network.read(Buffer.from(raw, 'hex'));
  if (network.own.blockOf(tx.txid)) return new Failure(MINED, 'Transaction already in block chain');
  if (network.own.mempool.has(tx.txid)) return new Failure(REJECTED, 'txn-already-in-mempool');
  const refusal = network.own.accept(tx);
  if (refusal === null) {
    network.miner.accept(tx);
    network.forgotten.delete(tx.txid);
    return tx.txid;
  }
  return new Failure(refusal === MISSING ? MISSING_CODE : REJECTED, refusal);
}

function reply(network: Network, { id, method, params }: Call): Answer {
  const result =
    network.health === 'starting' ? new Failure(-28, 'Loading block index') : answer(network, method, params);
  if (!(result instanceof Failure)) return { status: 200, body: { result, error: null, id } };
  return { status: 500, body: { result: null, error: { code: result.code, message: result.message }, id } };
}

/** A node as a host. */
export const hostOfNode = (network: Network): Host => ({
  health: () => network.health,
  answer: (text) => {
    const asked = JSON.parse(String(text)) as Call | Call[];
    if (!Array.isArray(asked)) return reply(network, asked);
    return { status: 200, body: asked.map((call) => reply(network, call).body) };
  },
});
