/** What endpoints of Ethereum's family answer to a transaction that is sent, and to one that is asked for. */
import { keccak256 } from 'viem';
import { describe, expect, it } from 'vitest';
import { Endpoints } from '../../../daemon/chains/endpoints.ts';
import type { EvmEndpoint } from '../../../daemon/chains/evm/endpoint.ts';
import { EvmSource } from '../../../daemon/chains/evm/spend/source.ts';
import { RpcError } from '../../../daemon/chains/json-rpc.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';

const signal = () => AbortSignal.timeout(5_000);
const RAW = '0x02c0';
const BYTES = Uint8Array.of(2, 0xc0);
const ID = keccak256(RAW);

/** `send`: what it throws. `has`: whether it has the transaction already. `signed`: its bytes, by what it tells. */
type Answers = { send?: Error; has?: boolean; signed?: Uint8Array | 'other' | null };

function sourceOf(...all: Answers[]) {
  const asked: string[] = [];
  const open = (url: string): EvmEndpoint => {
    const answers = all[Number(new URL(url).hostname.slice(2, 3))]!;
    const endpoint: Partial<EvmEndpoint> = {
      name: url,
      identify: async () => {},
      send: async (raw) => {
        asked.push(`send ${raw}`);
        if (answers.send) throw answers.send;
      },
      sending: async (txid) => {
        asked.push(`has ${txid}`);
        return (answers.has ? {} : null) as never;
      },
      signed: async () => answers.signed ?? null,
      close: () => {},
    };
    return endpoint as EvmEndpoint;
  };
  const urls = all.map((_, i) => `http://op${i}.example`);
  return { source: new EvmSource(new Endpoints('a setting', urls, open, () => {})), asked };
}

const no = (message: string) => new RpcError(-32_000, message);

describe('a transaction that is sent', () => {
  it('goes to every endpoint', async () => {
    const { source, asked } = sourceOf({}, {});
    await source.broadcast(RAW, signal());
    expect(asked).toEqual([`send ${RAW}`, `send ${RAW}`]);
  });

  it.each<[string, Answers[]]>([
    ['one takes, whatever the other says', [{ send: no('nonce too low') }, {}]],
    ['one has already', [{ send: no('already known') }]],
    ['one has already, in other words', [{ send: no('ALREADY IMPORTED') }]],
    ['one has in a block, which calls its nonce too low', [{ send: no('nonce too low'), has: true }]],
    ['one takes, where another is silent', [{ send: new Unavailable('it is silent', 1) }, {}]],
  ])('is out when %s', async (_, answers) => {
    await expect(sourceOf(...answers).source.broadcast(RAW, signal())).resolves.toBeUndefined();
  });

  it('is refused when all refuse it that answer, in the words of the first', async () => {
    const { source, asked } = sourceOf({ send: no('nonce too low') }, { send: no('underpriced') });
    await expect(source.broadcast(RAW, signal())).rejects.toMatchObject({
      code: 'broadcast.refused',
      message: 'nonce too low',
    });
    expect(asked).toContain(`has ${ID}`);
    const silent = sourceOf({ send: new Unavailable('it is silent', 1) }, { send: no('underpriced') });
    await expect(silent.source.broadcast(RAW, signal())).rejects.toMatchObject({ message: 'underpriced' });
  });

  it('is not refused by endpoints that are silent, or ask for less', async () => {
    for (const send of [new Unavailable('it is silent', 1), no('rate limit exceeded')]) {
      await expect(sourceOf({ send }).source.broadcast(RAW, signal())).rejects.not.toMatchObject({
        code: 'broadcast.refused',
      });
    }
  });

  it.each(['', '0x', '02c0', '0x02c', '0x02C0', '0x02c0zz'])('is none where its bytes are %j', async (raw) => {
    const { source, asked } = sourceOf({});
    await expect(source.broadcast(raw, signal())).rejects.toThrow('These are no bytes in hex');
    expect(asked).toEqual([]);
  });
});

describe('a transaction that is asked for', () => {
  const ask = (...all: Answers[]) => sourceOf(...all).source.transaction(ID, null, signal());

  it('is that of the first endpoint whose bytes have its id', async () => {
    expect(await ask({ signed: null }, { signed: Uint8Array.of(2, 0xc1) }, { signed: BYTES })).toBe(RAW);
    expect(await ask({ signed: 'other' }, { signed: BYTES })).toBe(RAW);
  });

  it('is of another kind by the word of those that have it, and else unavailable', async () => {
    await expect(ask({ signed: null }, { signed: 'other' })).rejects.toMatchObject({ code: 'spend.malformed' });
    await expect(ask({ signed: null }, {})).rejects.toThrow('No endpoint has the transaction');
    await expect(ask({ signed: Uint8Array.of(2) })).rejects.toThrow(Unavailable);
  });
});
