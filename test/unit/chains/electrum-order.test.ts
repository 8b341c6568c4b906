/** What a history tells does not depend on the order in which a server answers. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import { parseTransaction } from '../../../daemon/chains/utxo/block.ts';
import type { HeaderSync } from '../../../daemon/chains/utxo/electrum/headers/sync.ts';
import type { Headers } from '../../../daemon/chains/utxo/electrum/headers/types.ts';
import { HistoryReader } from '../../../daemon/chains/utxo/electrum/histories/reader.ts';
import type { Script, Scripts } from '../../../daemon/chains/utxo/electrum/histories/scripts.ts';
import { UnstoredTransactions } from '../../../daemon/chains/utxo/electrum/histories/unstored.ts';
import type { Server, Tip } from '../../../daemon/chains/utxo/electrum/servers/server.ts';
import { payerScript, payFrom, strangerScript } from '../../../daemon/sandbox/signed.ts';

const TARGET = 1;
const script = Buffer.from(payerScript('BTC'));
const parsed = (raw: Uint8Array) => ({ raw: Buffer.from(raw), txid: parseTransaction(Buffer.from(raw), 'BTC').txid() });
const parent = parsed(payFrom('BTC', { outpoint: `${'aa'.repeat(32)}:0`, units: 9_000n }, [{ script, units: 8_000n }]));
const spender = parsed(
  payFrom('BTC', { outpoint: `${parent.txid}:0`, units: 8_000n }, [{ script: strangerScript('BTC'), units: 7_000n }]),
);

it.each([parent.txid, spender.txid])(
  'a spend of our coin is told, though the answer about %s comes last',
  async (late) => {
    const list = {
      targetIdOf: (one: Uint8Array) => (script.equals(one) ? TARGET : undefined),
      isOurCoin: () => false,
      coin: () => undefined,
      coinsOf: () => [],
      page: () => [{ id: TARGET, script }],
    } as unknown as ScriptList;
    const unstored = new UnstoredTransactions('BTC', list);
    const other = late === parent.txid ? spender.txid : parent.txid;
    let asked = 0;
    const server = {
      statuses: new Map([['hash', 'status']]),
      isOrdered: false,
      history: async () => [parent, spender].map(({ txid }) => ({ txid, height: 0 })),
      transaction: async (txid: string) => {
        if (txid === late && asked++ === 0) while (!unstored.get(other)?.mentions.size) await nextTurn();
        return [parent, spender].find((one) => one.txid === txid)?.raw;
      },
    } as unknown as Server;
    const reader = new HistoryReader({
      chain: 'BTC',
      list,
      headers: {} as Headers,
      headerSync: {} as HeaderSync,
      unstored,
      scripts: { settle: () => {} } as unknown as Scripts,
      listener: { wake: () => {}, log: () => {}, bug: () => {}, alert: () => {}, leftOut: () => {} },
    });
    const watched = { id: TARGET, hash: 'hash', txids: [], news: 0, touches: 0 } as unknown as Script;
    await reader.take(server, watched, { height: 10 } as Tip);
    const found = { credits: [], spends: [] };
    for (const held of unstored.all()) unstored.tell(held, () => false, found);
    expect(found.spends).toEqual([{ outpoint: `${parent.txid}:0`, txid: spender.txid, block: null }]);
  },
);
