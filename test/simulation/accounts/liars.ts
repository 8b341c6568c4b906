/**
 * Several endpoints of an account chain, one of which may lie: several lies at a time, for as long as it likes. It knows
 * our addresses, because it is asked about them.
 */
import { encodeAbiParameters, type Hex, keccak256, numberToHex, pad } from 'viem';
import type { Random } from '../random.ts';
import type { Mined, Shown, ShownLog } from './network.ts';
import { type Answered, type Asked, answer, blocksOf, isWanted, type Json, type LogFilter } from './rpc.ts';

const TRANSFER = keccak256(new TextEncoder().encode('Transfer(address,address,uint256)'));
const STRANGER: Hex = `0x${'5e'.repeat(20)}`;
const FULL_BLOOM: Hex = `0x${'ff'.repeat(256)}`;
const LOW_GAS: Hex = '0x5400';

/** What is asked of an address. `units`: of the invoice that it was given to. */
export type Target = { address: Hex; units: bigint; token: Hex | null };
type Lies = { network: Shown; targets: readonly Target[]; seed: string };
type Lie = { name: string; change(lies: Lies, asked: Asked, told: Answered): Answered | Promise<Answered> };

type Fields = { [key: string]: Json };
const isFields = (value: Json | undefined): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const NO_METHOD: Answered = { error: { code: -32_601, message: 'the method eth_getBlockReceipts does not exist' } };
const resultOf = (told: Answered): Json => ('result' in told ? told.result : null);
const quantity = (number: bigint | number): Hex => `0x${number.toString(16)}`;

/** A transfer that never was, in a real block. `from` and `to`: which side is ours. */
type Forged = { mined: Mined; id: Hex; target: Target; log: ShownLog; isOurs: boolean };

function forgedIn(mined: Mined, { targets, seed }: Lies, isOurs: boolean): Forged | null {
  const target = targets[mined.height % Math.max(1, targets.length)];
  const token = target?.token ?? targets.find((one) => one.token !== null)?.token;
  if (!target || !token || mined.height < 2) return null;
  if (!isOurs && target.token === null) return null;
  const id = keccak256(new TextEncoder().encode(`${seed}/${mined.hash}/${isOurs}`));
  const [from, to] = isOurs ? [target.address, STRANGER] : [STRANGER, target.address];
  const log: ShownLog = {
    address: token,
    topics: [TRANSFER, pad(from), pad(to)],
    data: encodeAbiParameters([{ type: 'uint256' }], [isOurs ? 1n : target.units]),
    blockNumber: quantity(mined.height),
    blockHash: mined.hash,
    transactionHash: id,
    transactionIndex: quantity(mined.txs.length),
    logIndex: quantity(mined.txs.reduce((sum, { logs }) => sum + logs.length, 0)),
    removed: false,
  };
  return { mined, id, target, log, isOurs };
}

const FORGED_BLOCKS = 3;

/** The newest blocks have one each. */
function forgedOf(lies: Lies, isOurs: boolean): Forged[] {
  return lies.network.chain.slice(-FORGED_BLOCKS).flatMap((mined) => forgedIn(mined, lies, isOurs) ?? []);
}

/** Its fee is as much as the invoice asks for, so that a missing payment looks like a spent one. */
function forgedReceipt({ mined, id, target, log, isOurs }: Forged): Fields {
  const gasUsed = 50_000n;
  const price = isOurs && target.token === null ? target.units / gasUsed : 2_000_000_000n;
  return {
    transactionHash: id,
    transactionIndex: log.transactionIndex,
    blockHash: mined.hash,
    blockNumber: quantity(mined.height),
    from: isOurs ? target.address : STRANGER,
    to: log.address,
    cumulativeGasUsed: quantity(gasUsed * 20n),
    gasUsed: quantity(gasUsed),
    effectiveGasPrice: quantity(price),
    contractAddress: null,
    logs: [log],
    logsBloom: FULL_BLOOM,
    status: '0x1',
    type: '0x2',
  };
}

function forgedTransaction({ mined, id, target, log, isOurs }: Forged): Fields {
  return {
    hash: id,
    from: isOurs ? target.address : STRANGER,
    to: log.address,
    nonce: '0x0',
    value: '0x0',
    input: '0x',
    gas: quantity(60_000),
    type: '0x2',
    chainId: '0x539',
    maxFeePerGas: quantity(10n ** 18n),
    maxPriorityFeePerGas: '0x1',
    accessList: [],
    r: numberToHex(1n),
    s: numberToHex(1n),
    v: '0x0',
    yParity: '0x0',
    blockHash: mined.hash,
    blockNumber: quantity(mined.height),
    transactionIndex: log.transactionIndex,
  };
}

const inventing =
  (isOurs: boolean) =>
  (lies: Lies, { method, params }: Asked, told: Answered): Answered => {
    const [first] = params;
    const found = forgedOf(lies, isOurs);
    const asked = found.find(({ id }) => id === first);
    if (method === 'eth_getLogs') {
      const filter = first as LogFilter;
      const blocks = new Set(blocksOf(lies.network, filter)?.map(({ hash }) => hash));
      const added = found.filter(({ mined, log }) => blocks.has(mined.hash) && isWanted(filter, log));
      const list = resultOf(told);
      return Array.isArray(list) ? { result: [...list, ...added.map(({ log }) => log)] } : told;
    }
    if (method === 'eth_getTransactionReceipt' && asked) return { result: forgedReceipt(asked) };
    if (method === 'eth_getTransactionByHash' && asked) return { result: forgedTransaction(asked) };
    if (method === 'eth_getBlockReceipts') {
      const list = resultOf(told);
      const added = found.filter(({ mined }) => mined.hash === first || quantity(mined.height) === first);
      return Array.isArray(list) ? { result: [...list, ...added.map(forgedReceipt)] } : told;
    }
    if (method === 'eth_getTransactionCount' && isOurs && found.some(({ target }) => target.address === first)) {
      return { result: '0x1' };
    }
    if (method.startsWith('eth_getBlockBy')) {
      const block = resultOf(told);
      if (!isFields(block) || !found.some(({ mined }) => mined.hash === block.hash)) return told;
      return { result: { ...block, logsBloom: FULL_BLOOM } };
    }
    return told;
  };

/** Receipts of what our addresses sent. */
const changingOurs =
  (change: (receipt: Fields) => Fields): Lie['change'] =>
  ({ targets }, { method }, told) => {
    const isOurs = (one: Json): one is Fields =>
      isFields(one) && targets.some(({ address }) => address === String(one.from).toLowerCase());
    const result = resultOf(told);
    if (method === 'eth_getTransactionReceipt' && isOurs(result)) return { result: change(result) };
    if (method === 'eth_getBlockReceipts' && Array.isArray(result)) {
      return { result: result.map((one) => (isOurs(one) ? change(one) : one)) };
    }
    return told;
  };

const DEARER = 1_000n;
/** How often an answer about the receipts of a block lacks the last one. */
const TRUNCATED_EACH = 3;

const LIES: readonly Lie[] = [
  { name: 'invents transfers from us', change: inventing(true) },
  { name: 'invents payments', change: inventing(false) },
  {
    name: 'invents fees',
    change: changingOurs((one) => ({
      ...one,
      effectiveGasPrice: quantity(BigInt(String(one.effectiveGasPrice)) * DEARER),
    })),
  },
  { name: 'calls ours failed', change: changingOurs((one) => ({ ...one, status: '0x0', logs: [] })) },
  {
    name: 'hides transfers',
    change: (_lies, { method }, told) => (method === 'eth_getLogs' && 'result' in told ? { result: [] } : told),
  },
  {
    name: 'tells more coins',
    change: ({ targets }, { method, params }, told) => {
      const target = targets.find(({ address }) => address === String(params[0]).toLowerCase());
      const balance = resultOf(told);
      if (method !== 'eth_getBalance' || !target || typeof balance !== 'string') return told;
      return { result: quantity(BigInt(balance) + target.units) };
    },
  },
  {
    name: 'tells the coins of an older block',
    change: async ({ network }, asked, told) => {
      if (asked.method !== 'eth_getBalance' && asked.method !== 'eth_call') return told;
      const [first] = asked.params;
      const older = network.chain[Math.max(0, network.tip.height - 4)];
      return older ? answer(network, { ...asked, params: [first ?? null, { blockHash: older.hash }] }) : told;
    },
  },
  {
    name: 'tells too little gas',
    change: (_lies, { method }, told) =>
      method === 'eth_estimateGas' && 'result' in told ? { result: LOW_GAS } : told,
  },
  {
    name: 'tells higher nonces',
    change: (_lies, { method }, told) => {
      const nonce = resultOf(told);
      if (method !== 'eth_getTransactionCount' || typeof nonce !== 'string') return told;
      return { result: quantity(BigInt(nonce) + 1n) };
    },
  },
  {
    name: 'tells nonces of 0',
    change: (_lies, { method }, told) =>
      method === 'eth_getTransactionCount' && 'result' in told ? { result: '0x0' } : told,
  },
  {
    name: 'calls every block final',
    change: async ({ network }, asked, told) =>
      asked.params[0] === 'finalized'
        ? answer(network, { ...asked, params: ['latest', asked.params[1] ?? false] })
        : told,
  },
];

/** How a liar answers about what would disprove it, by turns: truly, never, or in part. */
const ABOUT_PROOFS: readonly (Lie | null)[] = [
  null,
  {
    name: 'tells no receipts of blocks',
    change: (_lies, { method }, told) => (method === 'eth_getBlockReceipts' ? NO_METHOD : told),
  },
  {
    name: 'leaves receipts out of blocks',
    change: (_lies, { method, params }, told) => {
      const list = resultOf(told);
      const isShort = Number(`0x${String(params[0]).slice(-2)}`) % TRUNCATED_EACH === 0;
      return method === 'eth_getBlockReceipts' && Array.isArray(list) && isShort ? { result: list.slice(0, -1) } : told;
    },
  },
];

const TOGETHER_MAX = 4;

/** One of several endpoints. `down`: it does not answer. */
export class Liar {
  /** Which endpoint lies. */
  endpoint = 0;
  lies: readonly Lie[] = [];
  #began = 0;

  /** Begins to tell some lies together; returns them in words. */
  begin(random: Random, endpoints: number): string {
    // a lie that is told by now another endpoint would be two liars
    if (this.lies.length === 0) this.endpoint = random.whole(0, endpoints - 1);
    const count = random.whole(1, TOGETHER_MAX);
    this.lies = Array.from({ length: count }, () => random.pick(LIES) as Lie);
    this.#began++;
    return `endpoint ${this.endpoint} ${this.lies.map(({ name }) => name).join(', ')}`;
  }

  end(): void {
    this.lies = [];
  }

  /** What an endpoint answers. */
  async answer(network: Shown, endpoint: number, targets: readonly Target[], asked: Asked): Promise<Answered> {
    let told = await answer(network, asked);
    if (endpoint !== this.endpoint || this.lies.length === 0) return told;
    const aboutProofs = ABOUT_PROOFS[this.#began % ABOUT_PROOFS.length];
    const lies = aboutProofs ? [...this.lies, aboutProofs] : this.lies;
    for (const lie of lies) told = await lie.change({ network, targets, seed: `${this.#began}` }, asked, told);
    return told;
  }
}
