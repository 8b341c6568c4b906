/**
 * The search of the words over Electrum servers: what is asked for first, what never, and whom it believes. The servers have a
 * block whose only transaction pays the used addresses; no node is needed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AccountDiscovery } from '../../daemon/app/recovery/account-discovery.ts';
import type { SearchMemory, SearchRecord } from '../../daemon/app/recovery/discovery-record.ts';
import { ElectrumAdapter } from '../../daemon/chains/utxo/electrum/electrum.ts';
import { scriptHashOf } from '../../daemon/chains/utxo/electrum/histories/scripts.ts';
import type { AccountKey, Branch } from '../../daemon/domain/chain.ts';
import { StubServer } from '../nodes/stub-server.ts';
import { undoAll } from '../support/undo.ts';
import { branch, hashOf, mine, REGTEST_GENESIS } from '../unit/chains/headers-kit.ts';
import { until } from './conformance.ts';

const SUBSCRIBE = 'blockchain.scripthash.subscribe';
const HISTORY = 'blockchain.scripthash.get_history';
const GAP = 50;
const ACCOUNTS = 4;
/** The first gap of the first account, and the first 20 addresses of the others, in both branches. */
const LIKELY = 2 * GAP + 2 * 20 * (ACCOUNTS - 1);

type Place = [account: number, branch: Branch, index: number];

let folder: string;
const opened: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'words-'));
});
afterEach(async () => {
  await undoAll(opened.splice(0).map((one) => () => one.close()));
  await rm(folder, { recursive: true, force: true });
});

const hex = (bytes: Uint8Array | null): string => Buffer.from(bytes ?? []).toString('hex');
const keys: AccountKey[] = Array.from({ length: ACCOUNTS }, (_, account) => {
  const { publicKey, chainCode } = HDKey.fromMasterSeed(Buffer.alloc(32, 7)).derive(`m/84'/1'/${account}'`);
  return { kind: 'secp256k1', publicKey: hex(publicKey), chainCode: hex(chainCode) };
});
const REQUEST = { network: 'regtest', birthday: 0, gap: GAP, jumps: 0, accounts: { BTC: keys } } as const;

function adapterOf(servers: readonly Pick<StubServer, 'url'>[], list: object = {}): ElectrumAdapter {
  const urls = servers.map(({ url }) => url);
  return new ElectrumAdapter({ chain: 'BTC', network: 'regtest', folder, list: list as never, servers: urls });
}

async function scriptsOf(places: readonly Place[]): Promise<Uint8Array[]> {
  const adapter = adapterOf([{ url: 'tcp://127.0.0.1:1' }]);
  const derived = await Promise.all(
    places.map(([account, one, index]) => adapter.deriveAddress(keys[account]!, one, index)),
  );
  await adapter.close();
  return derived.map(({ script }) => script);
}

/** A coinbase with an output of one coin to each script. */
function coinbase(scripts: readonly Uint8Array[]): Buffer {
  const outputs = scripts.map((script) =>
    Buffer.concat([Buffer.from('00e1f50500000000', 'hex'), Buffer.from([script.length]), script]),
  );
  return Buffer.concat([
    Buffer.from(`0100000001${'00'.repeat(32)}ffffffff0401020304ffffffff`, 'hex'),
    Buffer.from([outputs.length]),
    ...outputs,
    Buffer.alloc(4),
  ]);
}

type Serving = StubServer & { asked: string[] };

/** A server whose last block pays these places, of which it hides some; `told` sees each question for a history. */
async function serve(
  paid: readonly Place[],
  {
    host = '127.0.0.1',
    hidden = [],
    told = () => {},
  }: { host?: string; hidden?: readonly Place[]; told?: () => void } = {},
): Promise<Serving> {
  const scripts = await scriptsOf(paid);
  const raw = coinbase(scripts);
  const txid = hashOf(raw);
  const below = branch(REGTEST_GENESIS, 10, 3);
  const last = below.at(-1)!;
  const headers = [...below, mine(last, { timeSeconds: last.readUInt32LE(68) + 600, merkleRoot: txid })];
  const asked: string[] = [];
  const server = await StubServer.start({
    headers,
    host,
    answer: (method, params) => {
      if (method === HISTORY) {
        asked.push(String(params[0]));
        told();
      }
      if (method === 'blockchain.transaction.get') return raw.toString('hex');
      if (method === 'blockchain.transaction.get_merkle') return { merkle: [], pos: 0, block_height: 11 };
      return undefined;
    },
  });
  const isHidden = new Set((await scriptsOf(hidden)).map(scriptHashOf));
  for (const script of scripts) {
    const hash = scriptHashOf(script);
    if (!isHidden.has(hash)) server.histories.set(hash, [{ tx_hash: txid, height: 11 }]);
  }
  opened.push(server);
  return Object.assign(server, { asked });
}

/** A search over these servers. */
function search(servers: readonly StubServer[], memory?: SearchMemory) {
  const adapters: ElectrumAdapter[] = [];
  const discovery = new AccountDiscovery(
    REQUEST,
    (_, __, list) => {
      const adapter = adapterOf(servers, list);
      adapters.push(adapter);
      return adapter;
    },
    memory,
  );
  return { discovery, adapters };
}

const usedIn = ({ state }: AccountDiscovery) =>
  state.used.map(({ account_no, receiving, change }) => [account_no, receiving, change]);

it('asks where money most likely is first, once for each of thousands of addresses, and subscribes none', async () => {
  const likely: Place[] = [
    [0, 0, 5],
    [0, 1, GAP - 1],
    [2, 0, 3],
  ];
  // a gap behind the last used ones, and behind one restore
  const next: Place[] = [
    [0, 1, 2 * GAP - 1],
    [2, 0, 3 + GAP],
    [0, 0, 10_020],
  ];
  const last: Place[] = [
    [1, 0, GAP - 2],
    [3, 1, GAP - 1],
  ];
  let askedBefore = 0;
  const server = await serve([...likely, ...next, ...last], {
    told: () => {
      if (!discovery.state.chains[0]?.near) askedBefore = server.asked.length;
    },
  });
  const { discovery } = search([server]);
  await discovery.done;
  expect(discovery.state.error).toBeNull();
  expect(usedIn(discovery)).toEqual([
    [0, 10_020, 2 * GAP - 1],
    [1, GAP - 2, -1],
    [2, 3 + GAP, -1],
    [3, -1, GAP - 1],
  ]);
  const whenOf = async (places: readonly Place[]) =>
    (await scriptsOf(places)).map((script) => server.asked.indexOf(scriptHashOf(script)));
  for (const when of await whenOf(likely)) expect(when).toBeLessThan(LIKELY);
  // what is not likely at all comes after all that makes a wallet usable
  for (const when of await whenOf(next)) expect(when).toBeLessThan(askedBefore);
  for (const when of await whenOf(last)) expect(when).toBeGreaterThanOrEqual(askedBefore);
  const { asked, of } = discovery.state.chains[0]!.addresses!;
  expect(of).toBeGreaterThan(5_000);
  expect(asked).toBe(of);
  expect(server.asked).toHaveLength(of);
  expect(new Set(server.asked).size).toBe(of);
  expect(server.calls.get(SUBSCRIBE)).toBeUndefined();
});

it('goes on after an interruption, and asks for no page of addresses again', async () => {
  let stored: SearchRecord | null = null;
  const memory: SearchMemory = {
    read: () => stored,
    write: async (chains) => {
      stored = structuredClone(chains);
    },
  };
  const paid: Place[] = [
    [0, 0, 5],
    [1, 0, GAP - 2],
  ];
  const server = await serve(paid);
  const first = search([server], memory);
  await until(() => stored !== null && server.asked.length > LIKELY, 'it is in the middle', 60_000);
  await first.discovery.stop();
  expect(first.discovery.state.chains[0]).toMatchObject({ done: false });
  const kept = (stored as SearchRecord | null)?.BTC?.asked ?? 0;
  expect(kept).toBeGreaterThan(0);
  const begun = server.asked.slice(0, kept);
  server.asked.length = 0;
  const second = search([server], memory);
  await second.discovery.done;
  expect(second.discovery.state).toMatchObject({ error: null, resumed: true });
  expect(usedIn(second.discovery)).toEqual([
    [0, 5, -1],
    [1, GAP - 2, -1],
  ]);
  const again = new Set(server.asked);
  expect(begun.filter((hash) => again.has(hash))).toEqual([]);
});

it('believes no server alone that an address was never used, where another operator is connected', async () => {
  const paid: Place[] = [
    [0, 0, 5],
    [0, 1, 7],
  ];
  const liar = await serve(paid, { hidden: [[0, 0, 5]] });
  const other = await serve(paid, { host: 'localhost', hidden: [[0, 1, 7]] });
  const scripts = await scriptsOf([...paid, [0, 0, 6]]);
  const adapter = adapterOf([liar, other], { stamp: () => '', active: () => [], page: () => [] });
  opened.push(adapter);
  await adapter.begin(null, AbortSignal.timeout(20_000));
  await until(
    () => adapter.servers().every(({ state, behind }) => state === 'ready' && behind === 0),
    'both are connected',
  );
  expect(await adapter.areUsed(scripts, AbortSignal.timeout(20_000))).toEqual([true, true, false]);
  expect(liar.asked.filter((hash) => hash === scriptHashOf(scripts[2]!))).toHaveLength(1);
  expect(other.asked.filter((hash) => hash === scriptHashOf(scripts[2]!))).toHaveLength(1);
});

it('leaves a server that goes on naming what it does not prove, and counts no use by its word', async () => {
  const server = await serve([[0, 0, 5]]);
  const scripts = await scriptsOf([[0, 0, 6]]);
  server.histories.set(scriptHashOf(scripts[0]!), [{ tx_hash: 'ab'.repeat(32), height: 11 }]);
  const { answer } = server;
  server.answer = (method, params) => {
    if (method === 'blockchain.transaction.get') throw new Error('no such transaction');
    return answer(method, params);
  };
  const adapter = adapterOf([server], { stamp: () => '', active: () => [], page: () => [] });
  opened.push(adapter);
  const ask = () =>
    adapter.areUsed(scripts, AbortSignal.timeout(20_000)).then(
      (used) => used,
      (error: Error) => error.message,
    );
  const isLeft = (): boolean => adapter.servers()[0]?.state === 'waiting';
  const said = new Set<unknown>();
  await until(
    async () => {
      if (!isLeft()) said.add(await ask());
      return isLeft();
    },
    'it is left',
    60_000,
  );
  expect([...said].some((one) => String(one).includes('does not prove'))).toBe(true);
  expect([...said].filter(Array.isArray)).toEqual([]);
});

it('believes no server whose newest block is old that an address was never used', async () => {
  const server = await serve([[0, 0, 5]]);
  const [script] = await scriptsOf([[0, 0, 4]]);
  const adapter = adapterOf([server]);
  opened.push(adapter);
  const ask = () => adapter.areUsed([script!], AbortSignal.timeout(20_000));
  expect(await ask()).toEqual([false]);
  // its blocks are of 2011, which says something on a public network only
  Object.assign(adapter, { network: 'mainnet' });
  await expect(ask()).rejects.toThrow(/the newest block of .* is \d+ hours old/);
});
