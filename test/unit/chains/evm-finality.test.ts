/** The height of final blocks where operators tell different ones. */
import { expect, it } from 'vitest';
import { Endpoints } from '../../../daemon/chains/endpoints.ts';
import type { Header } from '../../../daemon/chains/evm/answers.ts';
import type { EvmEndpoint } from '../../../daemon/chains/evm/endpoint.ts';
import { Finality } from '../../../daemon/chains/evm/finality.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';

/** What the first endpoint calls final, with those of other operators. Null: it tells none; 'silent': it does not answer. */
function heightOf(...told: (number | null | 'silent')[]): Promise<number | null> {
  const open = (url: string): EvmEndpoint => {
    const height = told[Number(new URL(url).hostname.slice(2, 3))];
    const endpoint: Partial<EvmEndpoint> = {
      identify: async () => {
        if (height === 'silent') throw new Unavailable('it is silent', 1);
      },
      finalized: async () => (typeof height === 'number' ? ({ height, hash: `block ${height}` } as Header) : null),
    };
    return endpoint as EvmEndpoint;
  };
  const urls = told.map((_, i) => `http://op${i}.example`);
  const endpoints = new Endpoints('a setting', urls, open, () => {});
  const checkpoint = [{ height: 1_000, hash: 'block 1000' }];
  return new Finality(endpoints, 0).height(endpoints.asked, checkpoint, AbortSignal.timeout(5_000));
}

it('is the highest on which the asked one and another operator agree', async () => {
  expect(await heightOf(900)).toBe(900);
  expect(await heightOf(900, 890)).toBe(890);
  expect(await heightOf(890, 900)).toBe(890);
  expect(await heightOf(900, null)).toBeNull();
  // one that stands still, or lies, keeps no payment waiting where a third one goes on
  expect(await heightOf(900, 100, 890)).toBe(890);
  expect(await heightOf(900, null, 890)).toBe(890);
  expect(await heightOf(900, 100, 'silent')).toBe(100);
  expect(await heightOf(900, 'silent', 'silent')).toBeNull();
  expect(await heightOf(null, 890, 890)).toBeNull();
});
