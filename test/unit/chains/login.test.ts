/** Logins in the URLs of nodes and servers, also such as are not percent-encoded. */
import { expect, it } from 'vitest';
import { MoneroNode } from '../../../daemon/chains/xmr/node.ts';
import { straight } from '../../../daemon/chains/xmr/reach.ts';
import { loginOf } from '../../../daemon/kit/login.ts';

it.each([
  ['http://me:p%40ss@node', 'me', 'p@ss'],
  ['http://me:50%off@node', 'me', '50%off'],
  ['smtp://m%C3%BC:%@node', 'mü', '%'],
  ['http://node', '', ''],
])('of %s', (url, user, password) => {
  expect(loginOf(new URL(url))).toEqual({ user, password });
});

it('that is not percent-encoded does not keep a node of Monero from being asked', async () => {
  const url = 'http://me:50%off@127.0.0.1:1';
  const node = new MoneroNode({ url, label: 'monerod', network: 'regtest', reach: straight() });
  await expect(node.identify(AbortSignal.timeout(5_000))).rejects.toThrow('nothing answers');
});
