/** What a transaction took from an address of ours, by its receipt. */
import { expect, it } from 'vitest';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import type { Log, Receipt, Sending } from '../../../daemon/chains/evm/answers.ts';
import { hexOfScript } from '../../../daemon/chains/evm/endpoint.ts';
import { OutgoingReader } from '../../../daemon/chains/evm/outgoing.ts';
import { tokensOf } from '../../../daemon/chains/evm/params.ts';
import { paddedAddress, TRANSFER } from '../../../daemon/chains/evm/transfers.ts';

const [ours, theirs, issuer] = [1, 2, 3].map((byte) => new Uint8Array(20).fill(byte)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
];
const [tokens, txid, blockHash] = [tokensOf('mainnet', 'ETH', {}), `0x${'ab'.repeat(32)}`, `0x${'cd'.repeat(32)}`];
const contractOf = (asset: string): string => tokens.find((one) => one.asset === asset)?.contract ?? '';
const tether = contractOf('USDT_ERC20');
const successor = `0x${'5c'.repeat(20)}`;
const list: Partial<ScriptList> = { targetIdOf: () => undefined };
const reader = new OutgoingReader('ETH', tokens, list as ScriptList);

const event = (contract: string, to: Uint8Array, units: bigint): Log => ({
  contract,
  topics: [TRANSFER, paddedAddress(hexOfScript(ours)), paddedAddress(hexOfScript(to))],
  data: `0x${units.toString(16).padStart(64, '0')}`,
  txid,
  height: 9,
  blockHash,
  index: 0,
});

/** A payment of 1,000 units of Tether that succeeded, with these events. */
function taken(...logs: Log[]) {
  const receipt: Receipt = { txid, succeeded: true, height: 9, blockHash, fee: 21n, logs };
  const transfer = { to: theirs, units: 1_000n };
  const sending: Sending = { txid, from: hexOfScript(ours), nonce: 4n, to: tether, value: 0n, transfer };
  const { spends, debits } = reader.taken({ target: { id: 1, script: ours }, receipt, sending }, 0);
  return {
    failed: spends.map(({ failed = false }) => failed),
    debits: debits.map(({ kind, amount }) => [kind, amount.asset, amount.units]),
  };
}

const FEE = ['fee', 'ETH', 21n];

it('takes the events of a contract that a token has passed its work on to for the token’s own', () => {
  expect(taken(event(tether, theirs, 1_000n))).toEqual({
    failed: [false],
    debits: [FEE, ['paid', 'USDT_ERC20', 1_000n]],
  });
  expect(taken(event(successor, theirs, 1_000n))).toEqual({
    failed: [false],
    debits: [FEE, ['paid', 'USDT_ERC20', 1_000n]],
  });
  expect(taken(event(successor, theirs, 990n), event(successor, issuer, 10n))).toEqual({
    failed: [false],
    debits: [FEE, ['paid', 'USDT_ERC20', 990n], ['fee', 'USDT_ERC20', 10n]],
  });
});

it('counts an event once that both contracts tell, and calls failed what none tells', () => {
  expect(taken(event(successor, theirs, 1_000n), event(tether, theirs, 1_000n))).toEqual({
    failed: [false],
    debits: [FEE, ['paid', 'USDT_ERC20', 1_000n]],
  });
  expect(taken()).toEqual({ failed: [true], debits: [FEE] });
});
