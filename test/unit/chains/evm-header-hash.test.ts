/** The hash of a header from its fields: of blocks of Ethereum from before and after each fork, and of a fork that is not known here. */
import { describe, expect, it } from 'vitest';
import { headerOf } from '../../../daemon/chains/evm/answers.ts';
import headers from './evm-headers.json' with { type: 'json' };

type Fields = Record<string, string>;
const NAMED = Object.entries(headers) as [string, Fields][];

describe('the header of a real block', () => {
  it.each(NAMED)('is proved by its hash: %s', (_, fields) => {
    expect(headerOf(fields)).toMatchObject({
      hash: fields.hash,
      timeMs: Number(fields.timestamp) * 1_000,
      isProved: true,
    });
  });

  it.each(NAMED)('is not proved with any other field: %s', (_, fields) => {
    const later = (text: string): string =>
      `0x${(BigInt(text) - 3_600n > 0n ? BigInt(text) - 3_600n : 5n).toString(16)}`;
    const bits = (text: string): string => `${text.slice(0, -1)}${text.endsWith('1') ? '0' : '1'}`;
    const changed = {
      timestamp: later(fields.timestamp ?? '0x0'),
      logsBloom: bits(fields.logsBloom ?? ''),
      stateRoot: bits(fields.stateRoot ?? ''),
      parentHash: bits(fields.parentHash ?? ''),
    };
    for (const [name, value] of Object.entries(changed)) {
      expect([name, headerOf({ ...fields, [name]: value }).isProved]).toEqual([name, false]);
    }
  });

  it.each([
    ['of a later fork', { requestsHash: undefined }],
    ['without a field', { stateRoot: undefined }],
    ['with a field that is no text', { extraData: 7 }],
    ['with a field that is no hex', { extraData: '0xz' }],
    ['with half a byte', { mixHash: '0x1' }],
    ['with a field of megabytes', { extraData: `0x${'00'.repeat(20_000)}` }],
  ])('proves nothing, and is no lie, %s', (_, change) => {
    const [, newest] = NAMED.at(-1)!;
    expect(headerOf({ ...newest, ...change })).toMatchObject({ hash: newest.hash, isProved: false });
  });
});
