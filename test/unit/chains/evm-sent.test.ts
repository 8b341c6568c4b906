/** What one of two operators tells of a payment of ours alone, whatever the books have of it. */
import { expect, it } from 'vitest';
import type { ListedScript, ScriptList } from '../../../daemon/chains/adapter.ts';
import { Endpoints } from '../../../daemon/chains/endpoints.ts';
import { checksumAddress } from '../../../daemon/chains/evm/address.ts';
import type { Receipt, Sending } from '../../../daemon/chains/evm/answers.ts';
import type { BlockProofs } from '../../../daemon/chains/evm/block-proofs.ts';
import { type EvmEndpoint, hexOfScript } from '../../../daemon/chains/evm/endpoint.ts';
import { nothingSent, OutgoingReader } from '../../../daemon/chains/evm/outgoing.ts';
import { tokensOf } from '../../../daemon/chains/evm/params.ts';
import { SentFinder } from '../../../daemon/chains/evm/sent.ts';
import { paddedAddress, TRANSFER } from '../../../daemon/chains/evm/transfers.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { nonceKey } from '../../../daemon/domain/spend.ts';

const signal = AbortSignal.timeout(5_000);
const [ours, theirs] = [1, 2].map((byte) => new Uint8Array(20).fill(byte)) as [Uint8Array, Uint8Array];
const [tokens, txid, blockHash] = [tokensOf('mainnet', 'ETH', {}), `0x${'ab'.repeat(32)}`, `0x${'cd'.repeat(32)}`];
const tether = tokens.find(({ asset }) => asset === 'USDT_ERC20')?.contract ?? '';
const target: ListedScript = { id: 1, script: ours };
const word = (units: bigint): string => `0x${units.toString(16).padStart(64, '0')}`;
const log = {
  contract: tether,
  topics: [TRANSFER, paddedAddress(hexOfScript(ours)), paddedAddress(hexOfScript(theirs))],
  data: word(1_000n),
  txid,
  height: 9,
  blockHash,
  index: 0,
};
const receipt: Receipt = { txid, succeeded: true, height: 9, blockHash, fee: 21n, logs: [log] };
const transfer = { to: theirs, units: 1_000n };
const ofToken: Sending = { txid, from: hexOfScript(ours), nonce: 4n, to: tether, value: 0n, transfer };
const ofCoin: Sending = { ...ofToken, to: hexOfScript(theirs), value: 1_000n, transfer: null };
type Said = { receipt: Receipt; sending: Sending };

/** A finder over two operators, of which the first tells something else. `isAway`: the second does not answer. */
function finding(lie: Said, truth: Said, isAway: boolean, stored: Partial<ScriptList> = {}) {
  const open = (url: string): EvmEndpoint => {
    const { receipt: said, sending } = url.includes('one') ? lie : truth;
    const header = (height: number) => ({ height, hash: height === 9 ? blockHash : `block ${height}`, timeMs: 1 });
    const endpoint = {
      name: url,
      identify: async () => {
        if (isAway && url.includes('two')) throw new Unavailable('no answer', 1);
      },
      close: () => {},
      receipts: async (ids: string[]) => ids.map(() => said),
      sendingsOf: async (ids: string[]) => ids.map(() => sending),
      sendings: async () => [sending],
      nonceAfter: async (_: string, { height }: { height: number }) => (height >= 9 ? 5n : 4n),
      headers: async (heights: number[]) => heights.map(header),
    };
    return endpoint as unknown as EvmEndpoint;
  };
  const endpoints = new Endpoints('a setting', ['http://one.example', 'http://two.example'], open, () => {});
  const coins = [{ blockHeight: 5 }] as ReturnType<ScriptList['coinsOf']>;
  const nothing: Partial<ScriptList> = { targetIdOf: () => undefined, openNonces: () => [], debitsAt: () => [] };
  const list = { ...nothing, coinsOf: () => coins, ...stored } as ScriptList;
  const proofs: Partial<BlockProofs> = { hasSent: async () => false };
  const finder = new SentFinder({
    endpoints,
    native: 'ETH',
    list,
    reader: new OutgoingReader('ETH', tokens, list),
    proofs: proofs as BlockProofs,
    needsAgreement: () => true,
  });
  const checkpoint = [4, 5, 6, 7, 8, 9].map((height) => ({
    height,
    hash: height === 9 ? blockHash : `block ${height}`,
  }));
  const view = { checkpoint, orphaned: new Set<string>(), timeOf: () => 1, isFar: false, held: [] };
  return { finder, endpoints, view };
}

const block = { height: 9, hash: blockHash };
/** What the books have of the true payment, whose nonce it used. */
const stored: Partial<ScriptList> = {
  debitsAt: (_, asset) =>
    asset === 'ETH' ? [{ id: `${txid}:fee`, units: 21n, block }] : [{ id: `${txid}:1`, units: 1_000n, block }],
};
const zero: Receipt = { ...receipt, fee: 0n, logs: [{ ...log, data: word(0n) }] };

it.each<[what: string, lie: Said, books: Partial<ScriptList>]>([
  [
    'another fee and number than the books have',
    { receipt: { ...receipt, fee: 999_999n }, sending: { ...ofToken, nonce: 5n } },
    stored,
  ],
  ['a failure without a fee, of a payment that the books have', { receipt: zero, sending: ofToken }, stored],
  ['a failure without a fee', { receipt: zero, sending: ofToken }, {}],
])('takes nothing of an event by the word of one operator: %s', async (_, lie, books) => {
  for (const isAway of [false, true]) {
    const { finder, endpoints, view } = finding(lie, { receipt, sending: ofToken }, isAway, books);
    const left = lie.receipt.logs.map((one) => ({ log: one, from: target }));
    const { spends, debits } = await finder.look(
      endpoints.asked,
      left as Parameters<typeof finder.look>[1],
      view,
      signal,
    );
    expect({ spends, debits }).toEqual(nothingSent());
  }
});

it('takes no failure of a payment of the coin by the word of one operator', async () => {
  const failed: Receipt = { ...receipt, succeeded: false, fee: 0n, logs: [] };
  for (const isAway of [false, true]) {
    const truth = { receipt: { ...receipt, logs: [] }, sending: ofCoin };
    const { finder, endpoints, view } = finding({ receipt: failed, sending: ofCoin }, truth, isAway);
    const sent = nothingSent();
    await finder.addMissing(sent, endpoints.asked, [target], view, signal);
    expect(sent).toEqual(nothingSent());
  }
});

it('tells what two operators agree on until the books have its amounts and the use of its number', async () => {
  const said = { receipt: { ...receipt, fee: 0n, succeeded: false, logs: [] }, sending: ofCoin };
  const key = nonceKey(checksumAddress(ours), 4n);
  let usedIn: string | null = null;
  const openNonces = () => [{ target, key, nonce: 4n, txids: [], usedIn: usedIn ?? 'another' }];
  const { finder, endpoints, view } = finding(said, said, false, { openNonces });
  const first = nothingSent();
  await finder.addMissing(first, endpoints.asked, [target], view, signal);
  expect(first.spends).toMatchObject([{ outpoint: key, failed: true }]);
  const again = async () => (await finder.look(endpoints.asked, [], view, signal)).spends.length;
  expect(await again()).toBe(1);
  usedIn = blockHash;
  expect(await again()).toBe(0);
});
