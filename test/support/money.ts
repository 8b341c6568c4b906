/** A sandbox business that has money: deposits through invoices, and recipients whose addresses nobody has to know. */
import type { ChainId } from '../../daemon/domain/assets.ts';
import type { AccountKey } from '../../daemon/domain/chain.ts';
import { deriveAddress } from '../../daemon/sandbox/addresses.ts';
import { type TestDaemon, until } from './daemon.ts';

/** BIP-32's first test vector, master key: nobody here has it. */
const STRANGER_KEY: AccountKey = {
  kind: 'secp256k1',
  publicKey: '0339a36013301597daef41fbe593a02cc513d0b55527ec2df1050e2e8ff49c85c2',
  chainCode: '873dff81c02f525623fd1fe5167eac3a55a049de3d314bb42ee227ffed37d508',
};
const STRANGER_XMR: AccountKey = {
  kind: 'monero',
  privateViewKey: '1'.repeat(64),
  publicSpendKey: `58${'66'.repeat(31)}`,
};

/** An address of somebody else on a simulated chain. */
export function stranger(chain: ChainId, index = 0): string {
  return deriveAddress(chain, chain === 'XMR' ? STRANGER_XMR : STRANGER_KEY, 0, index).address;
}

type Invoice = { id: string };
type Payment = { amount: string; address: string };

/** Pays an invoice of so many dollars in a crypto and mines until the balance has it; returns the deposit's id and amount. */
export async function deposit(
  service: TestDaemon,
  crypto: string,
  usd: number,
  blocks = 12,
): Promise<{ invoice: string; tx_id: string; amount: string }> {
  const { body: invoice } = await service.call<Invoice>('POST', '/invoice', { amount: usd });
  // a clock that was moved leaves a chain behind until it was asked again
  await until('a payment can be requested', async () => {
    const { status } = await service.call<Payment>('POST', `/invoice/rp/${invoice.id}`, { crypto });
    return status === 201;
  });
  const { body: paid } = await service.call<{ tx_id: string; amount: string }>('POST', '/sandbox/pay', {
    invoice_id: invoice.id,
  });
  if (blocks > 0) {
    await service.call('POST', '/sandbox/mine', { crypto, blocks });
    await until(`the balance has the deposit of ${paid.amount} ${crypto}`, async () => {
      const { body } = await service.call<{ payment: { confirmed: string } }>('GET', `/invoice/${invoice.id}`);
      return body.payment.confirmed === paid.amount;
    });
  }
  return { invoice: invoice.id, ...paid };
}

export type Shown = {
  id: string;
  status: string;
  tx_id: string | null;
  amount: string;
  crypto: string;
  address: string;
  fee: string | null;
  message?: string;
};

/** What Get withdrawal says. */
export async function withdrawal(service: TestDaemon, id: string): Promise<Shown> {
  return (await service.call<Shown>('GET', `/withdrawal/${id}`)).body;
}
