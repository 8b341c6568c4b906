/** CoinGecko: volume-weighted over many exchanges. https://docs.coingecko.com/reference/simple-price */
import { at, type Source, timeOf } from '../source.ts';

const IDS: [code: string, id: string][] = [
  ['BTC', 'bitcoin'],
  ['BCH', 'bitcoin-cash'],
  ['LTC', 'litecoin'],
  ['XMR', 'monero'],
  ['ETH', 'ethereum'],
  ['BNB', 'binancecoin'],
  ['USDT', 'tether'],
  ['XAUT', 'tether-gold'],
  ['PAXG', 'pax-gold'],
];

export const coingecko: Source = {
  name: 'coingecko',
  kind: 'coin',
  base: 'https://api.coingecko.com',
  path:
    `/api/v3/simple/price?ids=${IDS.map(([, id]) => id).join(',')}` +
    '&vs_currencies=usd&include_last_updated_at=true&precision=full',
  read(json) {
    return IDS.map(([code, id]) => ({
      code,
      price: at(json, id, 'usd'),
      asOf: timeOf(at(json, id, 'last_updated_at')),
    }));
  },
};
