/** Which of two Electrum servers is called a liar where a block may come between their answers. */
import { afterEach, expect, it } from 'vitest';
import { Auditor } from '../../../daemon/chains/utxo/electrum/histories/auditor.ts';
import type { Script } from '../../../daemon/chains/utxo/electrum/histories/scripts.ts';
import type { HistoryEntry } from '../../../daemon/chains/utxo/electrum/servers/answers.ts';
import { Misbehaved } from '../../../daemon/chains/utxo/electrum/servers/faults.ts';
import { sha256 } from '../../nodes/electrum-chain.ts';

type Asked = { tip: { hash: string; height: number } };
type Parts = ConstructorParameters<typeof Auditor>[0];
const SCRIPT = { hash: 'ab'.repeat(32), status: 'old' } as Script;
const ENTRY: HistoryEntry = { txid: 'cd'.repeat(32), height: 18 };
const opened: Auditor[] = [];
afterEach(() => {
  for (const auditor of opened.splice(0)) auditor.close();
});

/** What each server says, and whether the script is to be read again. */
type Told = {
  first: HistoryEntry[];
  second: HistoryEntry[];
  status: string | null;
  between: (servers: Asked[]) => void;
};

/** Asks two servers about a script; `between`: happens while the second one answers. Returns what each is accused of. */
async function compared(
  { first: one, second: two, status, between }: Told,
  script = SCRIPT,
  isStored = false,
): Promise<{ said: string[]; isDirty: boolean }> {
  const said: string[] = [];
  const dirty = new Set<Script>();
  const serverOf = (name: string, history: () => HistoryEntry[]) => ({
    tip: { hash: 'old', height: 18 },
    history: async () => history(),
    subscribe: async () => status,
    caught: (reason: string) => {
      said.push(`${name}: ${reason}`);
      return new Misbehaved(reason);
    },
  });
  const first = serverOf('first', () => one);
  const second: Asked = serverOf('second', () => {
    between([first, second]);
    return two;
  });
  const parts = {
    set: { primary: first, others: () => [second] },
    scripts: { size: 1, all: () => [], dirty },
    headerSync: { behind: () => 0 },
    reader: { shows: async () => 'shown', hasHistory: () => isStored },
    listener: { wake: () => {} },
  };
  const auditor = new Auditor(parts as unknown as Parts);
  opened.push(auditor);
  await auditor.compare(script);
  return { said, isDirty: dirty.has(script) };
}

const accused = async (between: Told['between']): Promise<string[]> =>
  (await compared({ first: [], second: [ENTRY], status: 'status', between })).said;

it('is not, where the newest block is replaced between the two answers', async () => {
  const replace = (servers: Asked[]) => {
    for (const server of servers) server.tip = { hash: 'new', height: 18 };
  };
  expect(await accused(replace)).toEqual([]);
});

it('is where nothing happens between them', async () => {
  expect(await accused(() => {})).toEqual([`first: it keeps back that transaction ${ENTRY.txid} is in block 18`]);
});

// Fulcrum tells an empty history in place of one that is longer than its limit
it.each([
  ['first', [], [ENTRY]],
  ['second', [ENTRY], []],
])('is not, where the %s one tells an empty history of what a block is known to pay', async (_, first, second) => {
  const told = { first, second, status: null, between: () => {} };
  expect(await compared(told, SCRIPT, true)).toEqual({ said: [], isDirty: false });
});

it('is, where it announces a history and tells an empty one', async () => {
  const told = { first: [], second: [ENTRY], status: 'old', between: () => {} };
  const said = [`first: it keeps back that transaction ${ENTRY.txid} is in block 18`];
  expect(await compared(told, SCRIPT, true)).toEqual({ said, isDirty: false });
});

it('has a script read whose history a server tells when it is asked, and does not announce', async () => {
  const told = { first: [ENTRY], second: [ENTRY], between: () => {} };
  expect(await compared({ ...told, status: 'old' })).toEqual({ said: [], isDirty: true });
  const said = [`first: it announces no history of an address, and names transaction ${ENTRY.txid} in it`];
  expect(await compared({ ...told, status: null })).toEqual({ said, isDirty: false });
});

it('has none read that is announced as it is', async () => {
  const status = sha256(`${ENTRY.txid}:18:`).toString('hex');
  const script = { ...SCRIPT, status };
  const told = { first: [ENTRY], second: [ENTRY], between: () => {} };
  expect(await compared({ ...told, status }, script)).toEqual({ said: [], isDirty: false });
});
