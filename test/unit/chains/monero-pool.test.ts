/** Which unconfirmed transactions of a node are read, and when its view is called whole. */
import { expect, it } from 'vitest';
import type { MoneroNode, NodeTransaction } from '../../../daemon/chains/xmr/node.ts';
import { Pool } from '../../../daemon/chains/xmr/pool.ts';
import type { Scanner } from '../../../daemon/chains/xmr/scan.ts';

const signal = AbortSignal.timeout(5_000);
const hashes = Array.from({ length: 1_200 }, (_, n) => n.toString(16).padStart(64, '0'));

function node(isShowing: boolean): MoneroNode {
  const shown = (id: string) =>
    [id, { transaction: { id, keyImages: [], fee: 0n }, height: null, doubleSpendSeen: false }] as unknown as [
      string,
      NodeTransaction,
    ];
  const answers: Partial<MoneroNode> = {
    transactions: async (ids) => new Map(isShowing ? ids.map(shown) : []),
  };
  return answers as MoneroNode;
}

it('is whole at another node once all is read that the one before named and did not show', async () => {
  const read = new Set<string>();
  const scanner: Partial<Scanner> = {
    find: async ({ id }) => {
      read.add(id);
      return [];
    },
    spends: () => [],
  };
  const pool = new Pool(scanner as Scanner);
  const [hiding, honest] = [node(false), node(true)];
  const look = async (asked: MoneroNode) => (await pool.look(asked, hashes, signal)).isWhole;
  expect([await look(hiding), await look(hiding), await look(hiding)]).toEqual([false, false, true]);
  const views: [isWhole: boolean, read: number][] = [];
  for (let at = 0; at < 3; at++) views.push([await look(honest), read.size]);
  expect(views).toEqual([
    [false, 500],
    [false, 1_000],
    [true, 1_200],
  ]);
});
