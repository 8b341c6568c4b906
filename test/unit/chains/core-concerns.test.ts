import { expect, it } from 'vitest';
import { concernsOf } from '../../../daemon/chains/utxo/concerns.ts';

const LTC = { version: 210_504, localrelay: true };

it.each([
  ['a sound node', LTC, 'LTC', 'mainnet', []],
  ['one that shows no payment before its block', { ...LTC, localrelay: false }, 'LTC', 'mainnet', ['blocks_only']],
  ['the release of Debian', { ...LTC, version: 210_201 }, 'LTC', 'mainnet', ['old_litecoin']],
  ['the last unsound release', { ...LTC, version: 210_503 }, 'LTC', 'mainnet', ['old_litecoin']],
  ['an old one for tests', { ...LTC, version: 210_201 }, 'LTC', 'regtest', []],
  ['an old node of another coin', { version: 180_000, localrelay: true }, 'BTC', 'mainnet', []],
  ['a node that does not say whether it relays', { version: 290_000 }, 'BTC', 'mainnet', []],
  ['both faults', { version: 1, localrelay: false }, 'LTC', 'mainnet', ['blocks_only', 'old_litecoin']],
  ['an answer of another form', { version: 'x' }, 'LTC', 'mainnet', []],
  ['no answer', null, 'LTC', 'mainnet', []],
] as const)('of %s', (_, answer, chain, network, concerns) => {
  expect(concernsOf(answer, chain, network)).toEqual(concerns);
});
