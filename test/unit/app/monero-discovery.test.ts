/** The search for used accounts of Monero: only accounts that were paid derive addresses, and no payment is missed for that. */
import { expect, it } from 'vitest';
import { AccountDiscovery } from '../../../daemon/app/recovery/account-discovery.ts';
import type { ChainAdapter, ScriptList } from '../../../daemon/chains/adapter.ts';
import { deriveAddress } from '../../../daemon/chains/derive.ts';
import { Scanner } from '../../../daemon/chains/xmr/scan.ts';
import type { AccountKey, Branch, Checkpoint, Credit } from '../../../daemon/domain/chain.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';
import { paying, transactionOf } from '../../support/monero-outputs.ts';

const ACCOUNTS = 21;
const GAP = 20;
const keys = Array.from({ length: ACCOUNTS }, (_, no) => accountKey(Buffer.alloc(64, 9), 'XMR', 'mainnet', no));
const at = (no: number, branch: Branch, index: number) =>
  paying(
    deriveAddress('XMR', 'mainnet', keys[no] as AccountKey, branch, index).script,
    5n,
    BigInt(no * 100 + index + 1),
  );

/** The same as a coinbase has it, whose amount is in clear. */
const mined = (...[no, branch, index]: Parameters<typeof at>) => {
  const { output, publicKey } = at(no, branch, index);
  return { output: { ...output, clearUnits: 5n, sealedUnits: null, commitment: null }, publicKey };
};

/**
 * The payments of each block: an account's first payment is to a later address than its second one. The coin that is mined to account
 * 7 looks as one of others does by chance.
 */
const BLOCKS = [[at(3, 0, GAP - 1), mined(7, 0, 900)], [at(3, 0, 2)], [mined(8, 1, 0), at(3, 1, 1)], [at(20, 0, GAP)]];

/** A chain with these blocks, of which each sync reads one. */
function chainOf(list: ScriptList, accounts: readonly AccountKey[], derived: Map<number, number>): ChainAdapter {
  const scanner = new Scanner('mainnet', list, () => accounts);
  const idOf = (height: number) => ({ height, hash: `${height}` });
  return {
    knowsAccounts: true,
    deriveAddress: async (account: AccountKey, branch: Branch, index: number) => {
      const no = accounts.indexOf(account);
      derived.set(no, (derived.get(no) ?? 0) + 1);
      return deriveAddress('XMR', 'mainnet', account, branch, index);
    },
    begin: async () => [idOf(0)],
    sync: async (since: Checkpoint) => {
      const height = Math.min(BLOCKS.length, (since.at(-1)?.height ?? 0) + 1);
      const credits: Credit[] = [];
      for (const [n, part] of (BLOCKS[height - 1] ?? []).entries()) {
        const where = { block: idOf(height), blockTime: 1 };
        const transaction = transactionOf(`${height}${n}`, [part], { isCoinbase: part.output.clearUnits > 0n });
        credits.push(...(await scanner.find(transaction, where, () => undefined)));
      }
      return { checkpoint: [idOf(height)], credits, mempool: height === BLOCKS.length ? 'complete' : 'unknown' };
    },
    health: () => ({ tip: idOf(BLOCKS.length) }),
    close: async () => undefined,
  } as unknown as ChainAdapter;
}

it('finds payments in any order and in both branches, and derives one address of each account that was never paid', async () => {
  const derived = new Map<number, number>();
  const open = (_: unknown, __: unknown, list: ScriptList, accounts: readonly AccountKey[]) =>
    chainOf(list, accounts, derived);
  const discovery = new AccountDiscovery(
    { network: 'mainnet', birthday: 0, gap: GAP, jumps: 3, accounts: { XMR: keys } },
    open,
  );
  await discovery.done;
  expect(discovery.state).toMatchObject({
    error: null,
    used: [
      { chain: 'XMR', account_no: 3, receiving: GAP - 1, change: 1 },
      { chain: 'XMR', account_no: 8, receiving: -1, change: 0 },
      { chain: 'XMR', account_no: 20, receiving: GAP, change: -1 },
    ],
  });
  const withMore = [...derived].filter(([, count]) => count > 1).map(([no]) => no);
  expect(withMore.sort((a, b) => a - b)).toEqual([3, 8, 20]);
});
