/** Which endpoints count as operators who speak, and which one is asked first. */
import { afterEach, expect, it, vi } from 'vitest';
import { Endpoints } from '../../../daemon/chains/endpoints.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';

const { signal } = new AbortController();
const URLS = ['https://one.example/', 'https://node.one.example/', 'https://two.example/'];

afterEach(() => {
  vi.restoreAllMocks();
});

function endpoints() {
  return new Endpoints(
    'test',
    URLS,
    (url) => ({ name: new URL(url).hostname, identify: async () => {}, close: () => {} }),
    () => {},
  );
}

it('counts an operator until an endpoint fails, and again once it answers', async () => {
  const all = endpoints();
  expect([all.operators, all.speaking]).toEqual([2, 2]);
  const [first, second, other] = all.servers();
  let away = [other?.name];
  const ask = () =>
    all.each(async ({ name }) => {
      if (away.includes(name)) throw new Unavailable('it is away', 1);
      return name;
    }, signal);
  expect(await ask()).toEqual([first?.name, second?.name]);
  expect(all.speaking).toBe(1);
  // the other endpoint of one operator is not a second one
  away = [];
  const endpoint = await all.first(async (one) => one, signal);
  if (endpoint) all.caught(endpoint, 'it lies');
  expect(all.speaking).toBe(1);
});

it('asks the endpoint that was put back last after the others, so that none is asked for ever because the next was put back once', async () => {
  const all = endpoints();
  const now = vi.spyOn(performance, 'now').mockReturnValue(0);
  const first = async () => (await all.first(async (one) => one, signal))!;
  const order = async () => (await all.each(async ({ name }) => name, signal)).map((name) => name.split('.')[0]);
  const putBack = async (atMs: number) => {
    now.mockReturnValue(atMs);
    all.askLater(await first());
  };
  await putBack(1_000);
  expect(await order()).toEqual(['node', 'two', 'one']);
  await putBack(2_000);
  await putBack(3_000);
  expect(await order()).toEqual(['one', 'node', 'two']);
  await putBack(4_000);
  expect(await order()).toEqual(['node', 'two', 'one']);
  now.mockReturnValue(11 * 60_000);
  expect(await order()).toEqual(['one', 'node', 'two']);
});
