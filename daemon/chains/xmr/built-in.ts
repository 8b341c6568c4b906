/**
 * Public nodes, for an operator who chooses to use such (`monero.public_nodes`); none is trusted. They come and go, and an operator
 * can name others.
 *
 * Sources: the defaults of Feather (feather-wallet/feather, src/assets/nodes.json), of Cake Wallet (cake-tech/cake_wallet,
 * assets/node_list.yml) and of Monerujo (m2049r/xmrwallet, DefaultNodes.java), as of 2025. Here are those with TLS that at least
 * two of them name, one of each operator. Onion services are left out, because nothing shows who of these operators runs
 * them, and a second node has to be another one's.
 */
import type { Network } from '../../domain/assets.ts';

const MAINNET = [
  'https://xmr-node.cakewallet.com:18081',
  'https://node.sethforprivacy.com:443',
  'https://node.monerodevs.org:18089',
  'https://xmr.stormycloud.org:18089',
  'https://selsta1.featherwallet.net:18081',
];

/** The built-in nodes, in the order in which they are asked; none on networks for tests. */
export const builtInNodes = (network: Network): readonly string[] => (network === 'mainnet' ? MAINNET : []);
