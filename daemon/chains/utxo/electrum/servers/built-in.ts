/**
 * Public Electrum servers to begin with, as other wallets publish them; none is trusted. They come and go, so a list is
 * long where it can be, and an operator can name others.
 *
 * Sources. BTC: the lists of Electrum (spesmilo/electrum, electrum/chains/mainnet/servers.json) and of its release 4.3.4
 * as Debian ships it; here are those in both that have a name and TLS. LTC: Electrum-LTC (electrum_ltc/servers.json);
 * each is also in the defaults of other wallets (electrum1.cipig.net in Komodo's). BCH: the first four are in the lists
 * of both Electron Cash (electroncash/servers.json) and Cashonize (cashonize/cashonize-wallet), the other two in
 * Cashonize's and in the defaults of other wallets. Test networks: Electrum's list for testnet; the LTC
 * ones are in Qortal's.
 */
import type { Network } from '../../../../domain/assets.ts';
import type { UtxoChain } from '../../params.ts';

const ssl = (port: number, ...hosts: string[]): string[] => hosts.map((host) => `ssl://${host}:${port}`);

const BTC_MAINNET = [
  ...ssl(50_002, 'electrum.blockstream.info', 'electrum.emzy.de', 'electrum.bitaroo.net', 'bitcoin.lu.ke'),
  ...ssl(50_002, 'electrum.pabu.io', 'electrum.dcn.io', 'electrum.hodlister.co', 'electrum3.hodlister.co'),
  ...ssl(50_002, 'electrum5.hodlister.co', 'electrum.qtornado.com', 'electrumx.schulzemic.net', 'de.poiuty.com'),
  ...ssl(50_002, 'bitcoin.aranguren.org', 'alviss.coinjoined.com', 'skbxmit.coinjoined.com', 'guichet.centure.cc'),
  ...ssl(50_002, 'exs.dyshek.org', 'stavver.dyshek.org', 'hodlers.beer', 'blkhub.net', 'btc.litepay.ch'),
  ...ssl(50_002, 'ex.btcmp.com', 'electrumx.erbium.eu', 'horsey.cryptocowboys.net', 'xtrum.com', 'btc.ocf.sh'),
  ...ssl(700, 'blockstream.info'),
  ...ssl(443, 'fortress.qtornado.com'),
  ...ssl(51_002, 'fulcrum.grey.pw'),
  ...ssl(56_002, 'bitcoins.sk'),
  ...ssl(57_002, 'blackie.c3-soft.com'),
  ...ssl(60_002, 'btc.electroncash.dk'),
];

const LTC_MAINNET = [
  ...ssl(50_002, 'electrum-ltc.bysh.me', 'electrum.ltc.xurious.com', 'ltc.rentonisk.com'),
  ...ssl(443, 'backup.electrum-ltc.org'),
  ...ssl(20_063, 'electrum1.cipig.net'),
];

const BCH_MAINNET = [
  ...ssl(50_002, 'bch.imaginary.cash', 'electrum.imaginary.cash', 'electroncash.dk', 'bch.loping.net'),
  ...ssl(50_002, 'cashnode.bch.ninja', 'fulcrum.greyh.at'),
];

const BTC_TESTNET = [
  ...ssl(51_002, 'testnet.aranguren.org', 'testnet.qtornado.com'),
  ...ssl(60_002, 'electrum.blockstream.info'),
  ...ssl(993, 'blockstream.info'),
  ...ssl(57_006, 'blackie.c3-soft.com'),
];

const SERVERS: Readonly<Record<UtxoChain, Partial<Record<Network, readonly string[]>>>> = {
  BTC: { mainnet: BTC_MAINNET, testnet: BTC_TESTNET },
  LTC: { mainnet: LTC_MAINNET, testnet: ssl(51_002, 'electrum-ltc.bysh.me', 'electrum.ltc.xurious.com') },
  BCH: { mainnet: BCH_MAINNET },
};

/** The built-in servers of a chain as "ssl://host:port"; of test networks those of the first one in `rules.ts`. */
export const builtInServers = (chain: UtxoChain, network: Network): readonly string[] => SERVERS[chain][network] ?? [];
