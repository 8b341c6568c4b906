/** Whether nodes of Monero vouch for it that nothing more was paid, so that a deadline may end an invoice. */
import { expect, it } from 'vitest';
import { Endpoints } from '../../../daemon/chains/endpoints.ts';
import { BlockAbsence } from '../../../daemon/chains/xmr/absence.ts';
import type { MoneroNode } from '../../../daemon/chains/xmr/node.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';

type Head = { height: number; hash: string };
const TIP = { height: 100, hash: 'a block' };
const signal = () => AbortSignal.timeout(1_000);

function absenceOf(urls: Record<string, Head | null>) {
  const asked: string[] = [];
  const open = (url: string) => {
    const head = async () => {
      asked.push(url);
      const known = urls[url];
      if (!known) throw new Unavailable('it is away', 1);
      return known;
    };
    return { name: new URL(url).host, identify: async () => {}, close: () => {}, head } as unknown as MoneroNode;
  };
  const nodes = new Endpoints<MoneroNode>('monerod', Object.keys(urls), open, () => {});
  return { absence: new BlockAbsence(nodes), asked };
}

const [MINE, OTHER, SAME] = ['http://one.example', 'http://other.example', 'http://b.one.example'] as const;

it.each<[what: string, heads: Record<string, Head | null>, named: string[] | null]>([
  ['two operators have the block that was read', { [MINE]: TIP, [OTHER]: TIP }, ['one.example', 'other.example']],
  ['both nodes are of one operator', { [MINE]: TIP, [SAME]: TIP }, null],
  ['the other one is away', { [MINE]: TIP, [OTHER]: null }, null],
  ['the other one is ahead', { [MINE]: TIP, [OTHER]: { height: 101, hash: 'the next' } }, null],
  ['the other one is behind', { [MINE]: TIP, [OTHER]: { height: 99, hash: 'the one before' } }, null],
  ['the other one has another block', { [MINE]: TIP, [OTHER]: { height: 100, hash: 'another' } }, null],
  ['the asked one went on meanwhile', { [MINE]: { height: 101, hash: 'the next' }, [OTHER]: TIP }, null],
  ['a third one is ahead', { [MINE]: TIP, [OTHER]: TIP, 'http://c.example': { height: 105, hash: 'more' } }, null],
])('when %s', async (_, heads, named) => {
  const { absence } = absenceOf(heads);
  expect(await absence.showNothing(null, signal())).toBe(null);
  absence.noteRead(TIP);
  expect(await absence.showNothing(null, signal())).toEqual(named);
});

it('asks once for many invoices, and again after another block', async () => {
  const { absence, asked } = absenceOf({ [MINE]: TIP, [OTHER]: TIP });
  absence.noteRead(TIP);
  await Promise.all(Array.from({ length: 50 }, () => absence.showNothing(null, signal())));
  expect(asked).toEqual([MINE, OTHER]);
  absence.noteRead({ height: 101, hash: 'the next' });
  expect(await absence.showNothing(null, signal())).toBe(null);
  expect(asked).toHaveLength(4);
});
