/** How many requests at once to a monerod end when there is nothing at its address. */
import http from 'node:http';
import { describe, expect, it } from 'vitest';
import { post } from '../../../daemon/chains/http.ts';
import { agentOf, straight } from '../../../daemon/chains/xmr/reach.ts';
import { listening } from '../../nodes/listening.ts';

const TIMEOUT_MS = 60_000;

describe('the connections to a monerod', () => {
  it('are tried for each request that waits for one, and tell each why there is none', async () => {
    const open: http.ServerResponse[] = [];
    const server = http.createServer((_, response) => open.push(response));
    const url = new URL(`http://127.0.0.1:${await listening(server, 0)}`);
    const agent = agentOf(url, straight(), 2, TIMEOUT_MS);
    const begun = Promise.withResolvers<void>();
    server.on('request', () => open.length === 2 && begun.resolve());
    const ask = (): Promise<string> =>
      post({
        url,
        agent,
        headers: {},
        body: '{}',
        timeoutMs: TIMEOUT_MS,
        responseBytesMax: 100,
        signal: new AbortController().signal,
        onNewConnection: () => {},
      }).then(
        () => 'answered',
        (error: Error) => error.message,
      );
    const connected = [ask(), ask()];
    await begun.promise;
    const waiting = [ask(), ask(), ask(), ask(), ask()];
    server.close();
    server.closeAllConnections();
    expect(await Promise.all(connected)).toEqual(['socket hang up', 'socket hang up']);
    const refused = 'nothing answers there (connection refused)';
    expect(await Promise.all(waiting)).toEqual([refused, refused, refused, refused, refused]);
    agent.destroy();
  }, 20_000);
});
