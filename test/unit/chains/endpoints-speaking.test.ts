/** Which endpoints count as operators who speak. */
import { expect, it } from 'vitest';
import { Endpoints } from '../../../daemon/chains/endpoints.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';

const { signal } = new AbortController();
const URLS = ['https://one.example/', 'https://node.one.example/', 'https://two.example/'];

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
