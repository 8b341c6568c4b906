/**
 * The chain families that pay out, for suites that hold for each of them. A case that a family cannot have is not registered
 * for it; each field says why one cannot.
 */
import { PayBench } from './pay-bench.ts';
import { PaySandbox } from './pay-sandbox.ts';

export type PayFamily = {
  name: 'BTC' | 'LTC' | 'BCH' | 'ETH' | 'USDT_BEP20' | 'XMR';
  open(): Promise<PayBench>;
  /** The same with the confirmations that a deposit needs by default. */
  openUsual(): Promise<PayBench>;
  /** Whether another transaction can take the place of an unconfirmed one. On Monero a key image is used once. */
  replaces: boolean;
  /**
   * Whether payments spend coins, which can vanish one by one, be dust, or come back as change. An account chain takes its
   * payments from the balance of an address.
   */
  hasCoins: boolean;
  /** Whether fees are paid in another asset. */
  hasGas: boolean;
  /** The blocks after which what comes back from a payment can be spent. Only Monero locks it. */
  lockBlocks: number;
};

const coins = { replaces: true, hasCoins: true, hasGas: false, lockBlocks: 0 };
const accounts = { replaces: true, hasCoins: false, hasGas: false, lockBlocks: 0 };

/** Only confirmed tokens are paid out. Where the depth of deposits is not the question, one block confirms them. */
const ONE_BLOCK = { 'networks.mainnet.USDT_BEP20.confirmations': '0:1' };

function family(name: PayFamily['name'], rules: Omit<PayFamily, 'name' | 'open' | 'openUsual'>): PayFamily {
  const open = (flags: Record<string, string>): Promise<PayBench> =>
    name === 'BTC' || name === 'LTC' || name === 'BCH' ? PayBench.open(name) : PayBench.on(new PaySandbox(name, flags));
  return { name, ...rules, open: () => open(ONE_BLOCK), openUsual: () => open({}) };
}

export const BTC = family('BTC', coins);
export const LTC = family('LTC', coins);
export const BCH = family('BCH', coins);
export const ETH = family('ETH', accounts);
export const TOKEN = family('USDT_BEP20', { ...accounts, hasGas: true });
export const XMR = family('XMR', { replaces: false, hasCoins: true, hasGas: false, lockBlocks: 10 });

/** One of each kind. */
export const FAMILIES: readonly PayFamily[] = [LTC, ETH, TOKEN, XMR];
