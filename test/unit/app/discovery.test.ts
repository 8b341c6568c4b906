/** The search for used accounts of a chain whose addresses are asked for: how far it looks behind the jumps of restores. */
import { expect, it } from 'vitest';
import { AccountDiscovery } from '../../../daemon/app/recovery/account-discovery.ts';
import type { ChainAdapter, ScriptList } from '../../../daemon/chains/adapter.ts';
import type { AccountKey, Branch, Checkpoint } from '../../../daemon/domain/chain.ts';
import { INDICES_JUMPED } from '../../../daemon/domain/indices.ts';

const GAP = 20;
const key = {} as AccountKey;
const scriptOf = (branch: Branch, index: number): Buffer => Buffer.from(`${branch}/${index}`);

/** A chain that has paid these addresses, in one block each. A reader of blocks sees what is listed when it comes by. */
function chainOf(list: ScriptList, paid: readonly Buffer[], wholeHistories: boolean): ChainAdapter {
  const idOf = (height: number) => ({ height, hash: `${height}` });
  const tip = paid.length;
  return {
    wholeHistories,
    deriveAddress: async (_: AccountKey, branch: Branch, index: number) => ({ script: scriptOf(branch, index) }),
    begin: async () => [idOf(0)],
    sync: async (since: Checkpoint) => {
      const height = wholeHistories ? tip : Math.min(tip, (since.at(-1)?.height ?? 0) + 1);
      const told = wholeHistories ? paid : paid.slice(height - 1, height);
      const credits = told.flatMap((script) => {
        const targetId = list.targetIdOf(script);
        return targetId === undefined ? [] : [{ targetId }];
      });
      return { checkpoint: [idOf(height)], credits, mempool: height === tip ? 'complete' : 'unknown' };
    },
    health: () => ({ tip: idOf(tip) }),
    close: async () => undefined,
  } as unknown as ChainAdapter;
}

it.each([true, false])(
  'finds one branch behind as many restores as the other one shows (whole histories: %s)',
  async (whole) => {
    // each of five machines was paid, and only the first and the last one sent change
    const receiving = [0, 1, 2, 3, 4].map((jumps) => scriptOf(0, jumps * INDICES_JUMPED + 7));
    const change = [0, 4].map((jumps) => scriptOf(1, jumps * INDICES_JUMPED + 2));
    const open = (_: unknown, __: unknown, list: ScriptList) => chainOf(list, [...change, ...receiving], whole);
    const discovery = new AccountDiscovery(
      { network: 'regtest', birthday: 0, gap: GAP, accounts: { BTC: [key] } },
      open,
    );
    await discovery.done;
    expect(discovery.state).toMatchObject({
      error: null,
      used: [{ chain: 'BTC', account_no: 0, receiving: 4 * INDICES_JUMPED + 7, change: 4 * INDICES_JUMPED + 2 }],
    });
  },
);
