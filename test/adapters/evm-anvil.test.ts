/** The adapter of Ethereum and BNB Smart Chain on a real anvil: the conformance suite for tokens and for native coins. */
import { describe } from 'vitest';
import { anvilTitle, hasAnvil } from '../nodes/evm/anvil.ts';
import { conformance } from './conformance.ts';
import { EvmScene } from './evm-controls.ts';

describe.skipIf(!hasAnvil)(anvilTitle('on a real anvil'), () => {
  conformance({
    name: 'Tether on Ethereum',
    confirmedOnly: true,
    spendsUnseen: true,
    start: async () => {
      const scene = await EvmScene.start('ETH');
      return scene.controls((outputs) => scene.payTokens(outputs));
    },
  });
  conformance({
    name: "BNB Smart Chain's own coin",
    confirmedOnly: true,
    spendsUnseen: true,
    oneCreditPerBlock: true,
    start: async () => {
      const scene = await EvmScene.start('BSC');
      return scene.controls((outputs) => scene.payCoins(outputs));
    },
  });
});
