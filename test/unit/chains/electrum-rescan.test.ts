/** What a rescan of a light client reads again. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import { Rotation } from '../../../daemon/chains/utxo/electrum/histories/rotation.ts';
import { Scripts } from '../../../daemon/chains/utxo/electrum/histories/scripts.ts';
import type { Server } from '../../../daemon/chains/utxo/electrum/servers/server.ts';
import type { ServerSet } from '../../../daemon/chains/utxo/electrum/servers/server-set.ts';

it('has the scripts read again that are watched, and so not polled', async () => {
  const list = { stamp: () => '', *active() {}, page: () => [] } as unknown as ScriptList;
  const scripts = new Scripts(list);
  const statuses = new Map<string, string>();
  for (const id of [1, 2, 3]) {
    scripts.pin({ id, script: Uint8Array.of(id) });
    const one = scripts.byId(id)!;
    if (id < 3) statuses.set(one.hash, 'ab'.repeat(32));
    scripts.settle(one, { statuses } as unknown as Server, statuses.get(one.hash), one.touches);
  }
  scripts.dirty.clear();
  const primary = { statuses } as unknown as Server;
  let wake = (): void => {};
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const rotation = new Rotation({
    set: { primary, ready: () => [] } as unknown as ServerSet,
    scripts,
    list,
    path: join(tmpdir(), 'nowhere', 'rotation.json'),
    isWatched: () => true,
    hasExcess: () => false,
    isKnown: () => true,
    // at its end it says so
    listener: { wake, log: wake, bug: () => {}, alert: () => {}, leftOut: () => {} },
  });
  rotation.rescan();
  rotation.start();
  await woken;
  await rotation.close();
  expect([...scripts.dirty].map(({ id }) => id)).toEqual([1, 2]);
});
