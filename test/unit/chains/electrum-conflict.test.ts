/** How far the long history of a stranger's script is searched for what spent its coin. */
import { expect, it } from 'vitest';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import { parseTransaction } from '../../../daemon/chains/utxo/block.ts';
import type { LightClient } from '../../../daemon/chains/utxo/electrum/client.ts';
import type { HistoryEntry } from '../../../daemon/chains/utxo/electrum/servers/answers.ts';
import { ServerRefusal } from '../../../daemon/chains/utxo/electrum/servers/faults.ts';
import type { Server } from '../../../daemon/chains/utxo/electrum/servers/server.ts';
import { ElectrumSpending } from '../../../daemon/chains/utxo/electrum/spending.ts';

const VANISHED = 'ee'.repeat(32);

/** A transaction that spends the first output of another one, and pays a script of one byte. */
function spending(parent: string): { txid: string; raw: Buffer } {
  const outpoint = `${Buffer.from(parent, 'hex').reverse().toString('hex')}00000000`;
  const raw = Buffer.from(`0100000001${outpoint}00ffffffff01e803000000000000015100000000`, 'hex');
  return { txid: parseTransaction(raw, 'BTC').txid(), raw };
}

const parent = spending('aa'.repeat(32));
const killer = spending(parent.txid);
const strangers = Array.from({ length: 2_000 }, (_, n) => spending(n.toString(16).padStart(64, '0')));

/** A server whose histories have the killer first. `asked`: the transactions that it was asked for. */
function serverOf(operator: string, over: Partial<Server> = {}): Server & { asked: string[] } {
  const asked: string[] = [];
  const known = new Map([parent, killer, ...strangers].map(({ txid, raw }) => [txid, raw]));
  const history = [killer, ...strangers].map(({ txid }, n): HistoryEntry => ({ txid, height: 10 + n }));
  const server = {
    asked,
    operator,
    history: async () => history,
    transaction: async (txid: string) => {
      asked.push(txid);
      const raw = known.get(txid);
      if (!raw) throw new ServerRefusal(0, 'no such transaction');
      return raw;
    },
    ...over,
  };
  return server as unknown as Server & { asked: string[] };
}

function searching(servers: readonly Server[]): () => ReturnType<ElectrumSpending['conflict']> {
  const [asked] = servers as [Server];
  const client = {
    set: { servers, operators: servers.length, others: (server: Server) => servers.filter((one) => one !== server) },
    headers: { hashAt: (height: number) => `block ${height}` },
    reader: { proves: async () => true },
  } as unknown as LightClient;
  const source = new ElectrumSpending({
    chain: 'BTC',
    list: {} as ScriptList,
    setting: 'servers',
    withClient: (_signal, use) => use(client, asked),
  });
  return () => source.conflict(VANISHED, [`${parent.txid}:0`], 0, AbortSignal.timeout(20_000));
}

it('to its end, some of it at a time, and of each transaction once', async () => {
  const server = serverOf('one');
  const search = searching([server]);
  let found = null;
  const reads: number[] = [];
  for (let times = 0; times < 10 && !found; times++) {
    const before = server.asked.length;
    found = await search();
    reads.push(server.asked.length - before);
  }
  expect(found).toEqual({ txid: killer.txid, block: { height: 10, hash: 'block 10' } });
  expect(Math.max(...reads)).toBeLessThanOrEqual(501);
  const others = server.asked.filter((txid) => txid !== parent.txid);
  expect(others.length).toBe(new Set(others).size);
});

it('by the others, however long a history one of them invents', async () => {
  const invented = strangers.map((_, n): HistoryEntry => ({ txid: n.toString(16).padStart(64, 'f'), height: 20 }));
  const liar = serverOf('liar', { history: async () => invented });
  const search = searching([liar, serverOf('one'), serverOf('two')]);
  let found = null;
  for (let times = 0; times < 10 && !found; times++) found = await search();
  expect(found).toEqual({ txid: killer.txid, block: { height: 10, hash: 'block 10' } });
});

it('no further once its time is over', async () => {
  const stop = new AbortController();
  const server = serverOf('one');
  const { transaction } = server;
  server.transaction = (txid) => {
    if (server.asked.length >= 100) stop.abort(new Error('too late'));
    return transaction(txid);
  };
  const client = { set: { servers: [server], operators: 1, others: () => [] } } as unknown as LightClient;
  const source = new ElectrumSpending({
    chain: 'BTC',
    list: {} as ScriptList,
    setting: 'servers',
    withClient: (_signal, use) => use(client, server),
  });
  await expect(source.conflict(VANISHED, [`${parent.txid}:0`], 0, stop.signal)).rejects.toThrow('too late');
  expect(server.asked.length).toBeLessThan(130);
});
