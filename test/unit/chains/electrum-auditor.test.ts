/** Which of two Electrum servers is called a liar where a block may come between their answers. */
import { afterEach, expect, it } from 'vitest';
import { Auditor } from '../../../daemon/chains/utxo/electrum/histories/auditor.ts';
import type { Script } from '../../../daemon/chains/utxo/electrum/histories/scripts.ts';
import type { HistoryEntry } from '../../../daemon/chains/utxo/electrum/servers/answers.ts';
import { Misbehaved } from '../../../daemon/chains/utxo/electrum/servers/faults.ts';

type Asked = { tip: { hash: string; height: number } };
type Parts = ConstructorParameters<typeof Auditor>[0];
const SCRIPT = { hash: 'ab'.repeat(32) } as Script;
const ENTRY: HistoryEntry = { txid: 'cd'.repeat(32), height: 18 };
const opened: Auditor[] = [];
afterEach(() => {
  for (const auditor of opened.splice(0)) auditor.close();
});

/** Asks two servers about a script; `between`: happens while the second one answers. Returns what each is accused of. */
async function accused(between: (servers: Asked[]) => void): Promise<string[]> {
  const said: string[] = [];
  const serverOf = (name: string, history: () => HistoryEntry[]) => ({
    tip: { hash: 'old', height: 18 },
    history: async () => history(),
    subscribe: async () => 'status',
    caught: (reason: string) => {
      said.push(`${name}: ${reason}`);
      return new Misbehaved(reason);
    },
  });
  const first = serverOf('first', () => []);
  const second: Asked = serverOf('second', () => {
    between([first, second]);
    return [ENTRY];
  });
  const parts = {
    set: { primary: first, others: () => [second] },
    scripts: { size: 1, all: () => [], dirty: new Set() },
    headerSync: { behind: () => 0 },
    reader: { shows: async () => 'shown' },
    listener: { wake: () => {} },
  };
  const auditor = new Auditor(parts as unknown as Parts);
  opened.push(auditor);
  await auditor.compare(SCRIPT);
  return said;
}

it('is not, where the newest block is replaced between the two answers', async () => {
  const replace = (servers: Asked[]) => {
    for (const server of servers) server.tip = { hash: 'new', height: 18 };
  };
  expect(await accused(replace)).toEqual([]);
});

it('is where nothing happens between them', async () => {
  expect(await accused(() => {})).toEqual([`first: it keeps back that transaction ${ENTRY.txid} is in block 18`]);
});
