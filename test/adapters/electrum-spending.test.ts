/** Spending through Electrum servers in front of a real litecoind: what they take, refuse, know and estimate. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ElectrumAdapter } from '../../daemon/chains/utxo/electrum/electrum.ts';
import { FEE_TERMS } from '../../daemon/chains/utxo/spend/fees.ts';
import { withoutWitnesses } from '../../daemon/chains/utxo/spend/transaction.ts';
import { Rejected, Unavailable } from '../../daemon/domain/errors.ts';
import { type Behaviour, ElectrumServer, FollowedChain } from '../nodes/electrum-server.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { coinSource } from './coin-source.ts';
import { until } from './conformance.ts';
import { beginning, FactBook } from './fact-book.ts';
import { testAccount } from './keys.ts';

const signal = () => AbortSignal.timeout(25_000);
const ESTIMATE = 'blockchain.estimatefee';
const HISTORY = 'blockchain.scripthash.get_history';
const MERKLE = 'blockchain.transaction.get_merkle';

describe.skipIf(!hasLitecoind)(litecoindTitle('spending over Electrum'), () => {
  let node: Litecoind;
  let followed: FollowedChain;
  let servers: ElectrumServer[];
  let folder: string;
  let adapter: ElectrumAdapter;

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    followed = await FollowedChain.start(node);
    // each of an operator of its own
    servers = [];
    for (const host of ['127.0.0.1', '127.1', 'localhost'])
      servers.push(await ElectrumServer.start(followed, { host }));
    folder = await mkdtemp(join(tmpdir(), 'electrum-'));
    const list = new FactBook();
    list.watch(await new ElectrumAdapter(optionsFor(list)).deriveAddress(testAccount, 0, 0));
    adapter = new ElectrumAdapter(optionsFor(list));
    list.checkpoint = await beginning(adapter);
    await until(() => adapter.servers().filter(({ state }) => state === 'ready').length === 3, 'three connections');
  });
  afterAll(async () => {
    await adapter?.close();
    for (const server of servers ?? []) await server.stop();
    await followed?.stop();
    await node?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  const optionsFor = (list: FactBook) => ({
    chain: 'LTC' as const,
    network: 'regtest' as const,
    folder,
    list,
    servers: servers.map(({ url }) => url),
  });

  /** A signed transaction that was not sent. */
  async function unsent(units: bigint): Promise<{ raw: string; txid: string }> {
    const outputs = [{ [await node.newAddress()]: Number(units) / 1e8 }];
    const { hex } = await node.rpc<{ hex: string }>('fundrawtransaction', [
      await node.rpc('createrawtransaction', [[], outputs]),
    ]);
    const signed = await node.rpc<{ hex: string }>('signrawtransactionwithwallet', [hex]);
    const { txid } = await node.rpc<{ txid: string }>('decoderawtransaction', [signed.hex]);
    return { raw: signed.hex, txid };
  }

  it('sends, and takes it as sent what is known in the mempool or in a block already', async () => {
    const { raw, txid } = await unsent(10_000_000n);
    await adapter.spending.broadcast(raw, signal());
    expect(await node.rpc<string[]>('getrawmempool', [])).toContain(txid);
    await adapter.spending.broadcast(raw, signal());
    await node.mine(1);
    await followed.update();
    await adapter.spending.broadcast(raw, signal());
    for (const server of servers)
      expect(server.calls.get('blockchain.transaction.broadcast')).toBeGreaterThanOrEqual(3);
  });

  it('gives the reason of a refusal', async () => {
    const { raw } = await unsent(10_000_000n);
    const broken = `${raw.slice(0, 8)}0001${raw.slice(12)}`.replace(/(.{60})../, '$1ff');
    const refusal = await adapter.spending.broadcast(broken, signal()).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Rejected);
    expect((refusal as Rejected).code).toBe('broadcast.refused');
    expect((refusal as Rejected).message.length).toBeGreaterThan(5);
  });

  const BROADCAST = 'blockchain.transaction.broadcast';
  const says = (outcome: () => unknown): Behaviour => ({
    answer: (method, _params, honest) => (method === BROADCAST ? outcome() : honest()),
  });
  const refuses = says(() => {
    throw new Error('no');
  });

  it('is sent if two of three servers take it, and one refuses', async () => {
    const { raw, txid } = await unsent(11_000_000n);
    (servers[2] as ElectrumServer).behaviour = refuses;
    await adapter.spending.broadcast(raw, signal());
    for (const liar of servers) liar.behaviour = {};
    expect(await node.rpc<string[]>('getrawmempool', [])).toContain(txid);
  });

  it.each([0, 1, 2])('is not sent if server %i of three says that it took it, and the others refuse', async (at) => {
    const { raw, txid } = await unsent(11_500_000n);
    for (const [n, server] of servers.entries()) server.behaviour = n === at ? says(() => txid) : refuses;
    const refusal = await adapter.spending.broadcast(raw, signal()).catch((error: unknown) => error);
    for (const server of servers) server.behaviour = {};
    expect(refusal).toMatchObject({ code: 'broadcast.refused' });
    expect(await node.rpc<string[]>('getrawmempool', [])).not.toContain(txid);
  });

  it('gives a transaction without its witnesses, and says when nobody has it', async () => {
    const { raw, txid } = await unsent(12_000_000n);
    await adapter.spending.broadcast(raw, signal());
    await followed.update();
    expect(await adapter.spending.transaction(txid, null, signal())).toBe(withoutWitnesses(raw, txid, 'LTC'));
    await expect(adapter.spending.transaction('ab'.repeat(32), null, signal())).rejects.toThrow(Unavailable);
  });

  it('falls back where servers have no estimate, and takes the middle of what they say within bounds', async () => {
    const { fallback, ceiling, floor } = FEE_TERMS.LTC;
    expect(await adapter.spending.feeRate(6, signal())).toBe(fallback);
    const say = (fees: number[]) => {
      for (const [i, server] of servers.entries()) {
        server.behaviour = { answer: (method, _params, honest) => (method === ESTIMATE ? (fees[i] ?? -1) : honest()) };
      }
    };
    say([0.0005, 0.0003, 900]);
    expect(await adapter.spending.feeRate(6, signal())).toBe(50_000n);
    say([1e-12, 0, 0]);
    expect(await adapter.spending.feeRate(6, signal())).toBe(floor);
    say([500, 500, 500]);
    expect(await adapter.spending.feeRate(6, signal())).toBe(ceiling);
    say([-1, 0.0002, -1]);
    expect(await adapter.spending.feeRate(6, signal())).toBe(20_000n);
    for (const server of servers) server.behaviour = {};
  });

  it('adds up what an unconfirmed transaction and its ancestors pay and weigh', async () => {
    await node.mine(1);
    const parent = await node.pay([{ address: await node.newAddress(), units: 300_000_000n }]);
    // Everything of the wallet in one transaction, so that it spends the parent's outputs too.
    const { txid } = await spendOutputOf(parent);
    await followed.update();
    const entry = await node.rpc<{ ancestorsize: number; fees: { ancestor: number } }>('getmempoolentry', [txid]);
    expect(await coinSource(adapter).unconfirmed(txid, signal())).toEqual({
      fee: BigInt(Math.round(entry.fees.ancestor * 1e8)),
      vsize: entry.ancestorsize,
    });
    await node.mine(1);
    await followed.update();
    expect(await coinSource(adapter).unconfirmed(txid, signal())).toBeNull();
    expect(await coinSource(adapter).unconfirmed('cd'.repeat(32), signal())).toBeNull();
  });

  const TRANSACTION = 'blockchain.transaction.get';
  const sumOf = (txid: string) => coinSource(adapter).unconfirmed(txid, signal());

  describe.each([0, 1, 2])('an unconfirmed sum, while server %i of three lies', (at) => {
    let txid: string;
    let honest: Awaited<ReturnType<typeof sumOf>>;
    const lying = (answer: NonNullable<Behaviour['answer']>): void => {
      (servers[at] as ElectrumServer).behaviour = { answer };
    };

    beforeAll(async () => {
      await until(() => adapter.servers().every(({ state }) => state === 'ready'), 'all are connected', 90_000);
      txid = await node.pay([{ address: await node.newAddress(), units: 20_000_000n }]);
      await followed.update();
      honest = await sumOf(txid);
    });
    afterEach(() => {
      for (const server of servers) server.behaviour = {};
    });

    it('holds no confirmed ancestor that it names as unconfirmed', async () => {
      expect(honest?.fee).toBeGreaterThan(0n);
      lying((method, _params, tell) => {
        const told = tell();
        return method === HISTORY ? (told as object[]).map((entry) => ({ ...entry, height: 0 })) : told;
      });
      expect(await sumOf(txid)).toEqual(honest);
    });

    it('has no witness that it made longer', async () => {
      lying((method, params, tell) => {
        const raw = tell();
        return method === TRANSACTION && params[0] === txid ? withLongWitness(String(raw)) : raw;
      });
      expect(await sumOf(txid)).toEqual(honest);
    });

    it('is there though it says that a block has it', async () => {
      lying((method, _params, tell) => {
        const told = tell();
        return method === HISTORY ? (told as object[]).map((entry) => ({ ...entry, height: 1 })) : told;
      });
      expect(await sumOf(txid)).toEqual(honest);
    });

    it('is told by nobody where a second one is silent', async () => {
      lying((method, _params, tell) => {
        if (method === HISTORY) throw new Error('no');
        return tell();
      });
      const silent = servers[(at + 1) % 3] as ElectrumServer;
      silent.behaviour = (servers[at] as ElectrumServer).behaviour;
      await expect(sumOf(txid)).rejects.toThrow(Unavailable);
    });
  });

  /** The same id, and a witness of the last input that is 10,000 bytes longer. */
  function withLongWitness(raw: string): string {
    const [last, lockTime] = [raw.slice(0, -8), raw.slice(-8)];
    // its last witness item is a compressed key
    const key = last.slice(-66);
    expect(last.slice(-68, -66)).toBe('21');
    return `${last.slice(0, -68)}fd3127${key}${'00'.repeat(10_000)}${lockTime}`;
  }

  async function spendOutputOf(parent: string): Promise<{ txid: string }> {
    const { vout } = await node.rpc<{ vout: { n: number; value: number }[] }>('getrawtransaction', [parent, true]);
    const mine = vout.find(({ value }) => value === 3);
    const raw = await node.rpc('createrawtransaction', [
      [{ txid: parent, vout: mine?.n ?? 0 }],
      [{ [await node.newAddress()]: 2.999 }],
    ]);
    const { hex } = await node.rpc<{ hex: string }>('signrawtransactionwithwallet', [raw]);
    return { txid: await node.rpc<string>('sendrawtransaction', [hex]) };
  }

  describe('what makes a transaction impossible', () => {
    /** Spent by both; neither was in a block when it began. */
    let inputs: string[];
    let vanished: string;
    let killer: { txid: string; raw: string };
    const conflict = (txid = vanished) => coinSource(adapter).conflict(txid, inputs, 0, signal());
    const answering = (lie: NonNullable<Behaviour['answer']>): Behaviour => ({ answer: lie });

    beforeAll(async () => {
      vanished = await node.pay([{ address: await node.newAddress(), units: 50_000_000n }]);
      type Decoded = { vin: { txid: string; vout: number }[] };
      const { vin } = await node.rpc<Decoded>('getrawtransaction', [vanished, true]);
      inputs = vin.map(({ txid, vout }) => `${txid}:${vout}`);
      const raw = await node.conflictOf(vanished);
      const { txid } = await node.rpc<{ txid: string }>('decoderawtransaction', [raw]);
      killer = { txid, raw };
    });
    afterEach(() => {
      for (const server of servers) server.behaviour = {};
    });

    it('is nothing while no block has another spender, though a mempool or a server names one', async () => {
      await followed.update();
      expect(await conflict()).toBeNull();
      await node.rpc('sendrawtransaction', [killer.raw]);
      await followed.update();
      expect(await conflict()).toBeNull();
      const { height } = followed.chain;
      // a block has it, as all of them say and none proves
      const liar = answering((method, _params, honest) => {
        const told = honest();
        if (method !== HISTORY) return told;
        return (told as { tx_hash: string; height: number }[]).map((entry) =>
          entry.tx_hash === killer.txid ? { tx_hash: entry.tx_hash, height } : entry,
        );
      });
      for (const server of servers) server.behaviour = liar;
      expect(await conflict()).toBeNull();
    });

    it('is what a block has, proved by two servers', async () => {
      await node.mine(1);
      await followed.update();
      const [height, hash] = [followed.chain.height, followed.chain.tip.hash];
      await until(() => adapter.health().tip?.height === height, 'the block');
      expect(await conflict()).toEqual({ txid: killer.txid, block: { height, hash } });
      expect(await conflict(killer.txid)).toBeNull();
      expect(await coinSource(adapter).conflict(vanished, inputs, height + 1, signal())).toBeNull();
      const hides = answering((method, params, honest) => {
        if (method === MERKLE && params[0] === killer.txid) throw new Error('no');
        return honest();
      });
      const asked = adapter.servers().findIndex((one) => one.asked);
      expect(asked).toBeGreaterThanOrEqual(0);
      for (const [i, server] of servers.entries()) server.behaviour = i === asked ? {} : hides;
      await expect(conflict()).rejects.toThrow(/no second server proves/);
      // the one that is asked hides it, and two others prove it
      const silent = answering((method, params, honest) => {
        if (method === MERKLE && params[0] === killer.txid) throw new Error('no');
        if (method !== HISTORY) return honest();
        return (honest() as { tx_hash: string }[]).filter(({ tx_hash }) => tx_hash !== killer.txid);
      });
      for (const lie of [hides, silent]) {
        for (const [i, server] of servers.entries()) server.behaviour = i === asked ? lie : {};
        expect(await conflict()).toEqual({ txid: killer.txid, block: { height, hash } });
      }
      // it proves it, and the first of two others does not
      const last = servers.findLastIndex((_, i) => i !== asked);
      for (const [i, server] of servers.entries()) server.behaviour = i === asked || i === last ? {} : hides;
      expect(await conflict()).toEqual({ txid: killer.txid, block: { height, hash } });
    });
  });

  it('is unavailable while no server answers, and nothing was refused', async () => {
    const { raw } = await unsent(13_000_000n);
    for (const server of servers) await server.close();
    await expect(adapter.spending.broadcast(raw, signal())).rejects.toThrow(Unavailable);
    await expect(adapter.spending.feeRate(6, signal())).rejects.toThrow(Unavailable);
    for (const server of servers) await server.listen();
    await until(() => adapter.health().error === null, 'the servers to be back');
    await adapter.spending.broadcast(raw, signal());
  });
});
