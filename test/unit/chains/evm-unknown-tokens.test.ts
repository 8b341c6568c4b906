/** Which transfers of tokens that are not known here are shown, from the events of one endpoint. */
import { describe, expect, it } from 'vitest';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import type { Log } from '../../../daemon/chains/evm/answers.ts';
import type { EvmEndpoint } from '../../../daemon/chains/evm/endpoint.ts';
import { paddedAddress, TRANSFER } from '../../../daemon/chains/evm/transfers.ts';
import { UnknownTokens } from '../../../daemon/chains/evm/unknown-tokens.ts';

const OURS = `0x${'a'.repeat(40)}`;
const PAYER = `0x${'b'.repeat(40)}`;
const BLOCK = { height: 7, hash: `0x${'7'.repeat(64)}` };

const event = (contract: string, index: number): Log => ({
  contract,
  topics: [TRANSFER, paddedAddress(PAYER), paddedAddress(OURS)],
  data: `0x${'5'.padStart(64, '0')}`,
  txid: `0x${'e'.repeat(64)}`,
  height: BLOCK.height,
  blockHash: BLOCK.hash,
  index,
});

async function shown(...contracts: string[]): Promise<string[]> {
  const list: Partial<ScriptList> = { active: () => [[{ id: 1, script: Buffer.from(OURS.slice(2), 'hex') }]] };
  const endpoint: Partial<EvmEndpoint> = {
    logs: async () => contracts.map(event),
    tokenTraits: async (all) => all.map(() => ({ symbol: null, decimals: null })),
  };
  const unknown = new UnknownTokens([], list as ScriptList, 0);
  const found = await unknown.look(endpoint as EvmEndpoint, [BLOCK], AbortSignal.timeout(5_000));
  return found.map(({ contract }) => contract);
}

describe('an unknown token', () => {
  const token = `0x${'c'.repeat(40)}`;

  it('is shown', async () => {
    expect(await shown(token)).toEqual([token]);
  });

  it('is not the coin, whose transfers are events of the chain itself since Amsterdam', async () => {
    expect(await shown('0xfffffffffffffffffffffffffffffffffffffffe', token)).toEqual([token]);
  });
});
