/** In which order a light client asks a second server about large payments. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import type { Headers } from '../../../daemon/chains/utxo/electrum/headers/types.ts';
import { Agreement } from '../../../daemon/chains/utxo/electrum/histories/agreement.ts';
import type { UnstoredTransaction } from '../../../daemon/chains/utxo/electrum/histories/unstored.ts';
import type { Server } from '../../../daemon/chains/utxo/electrum/servers/server.ts';
import type { ServerSet } from '../../../daemon/chains/utxo/electrum/servers/server-set.ts';
import { reversedHex, sha256d } from '../../../daemon/kit/bytes.ts';

afterEach(() => vi.restoreAllMocks());

it('about one that was not asked about yet before those that it does not show', async () => {
  const header = Buffer.alloc(80);
  const block = { height: 1, hash: reversedHex(sha256d(header)) };
  // more than are asked about at once
  const waiting = Array.from({ length: 25 }, (_, n) => {
    return { txid: `${n}`, place: { block, blockTime: 0 }, agreed: false, mentions: new Set([`script of ${n}`]) };
  });
  const other = {
    operator: 'b',
    header: async () => header,
    history: async (script: string) => (script === 'script of 24' ? [{ txid: '24', height: 1 }] : []),
  } as unknown as Server;
  const set = { operators: 2, primary: { operator: 'a' }, others: () => [other] } as unknown as ServerSet;
  const agreement = new Agreement({
    set,
    headers: { hashAt: () => block.hash } as unknown as Headers,
    isNeeded: () => true,
    listener: { wake: () => {}, bug: (error) => expect.fail(String(error)) },
  });
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  for (let look = 0; look < 2; look++) {
    agreement.check(waiting as unknown as UnstoredTransaction[]);
    await nextTurn();
    now += 2_000;
  }
  agreement.close();
  expect(waiting.flatMap(({ txid, agreed }) => (agreed ? [txid] : []))).toEqual(['24']);
});
