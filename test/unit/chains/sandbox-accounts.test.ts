/** What the sandbox's account chains and its XMR refuse, as their nodes do. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChainId } from '../../../daemon/domain/assets.ts';
import { nonceKey, type SandboxAccountPlan } from '../../../daemon/domain/spend.ts';
import { simulatedRaw } from '../../../daemon/sandbox/simulated.ts';
import { accountSpend, ZERO_ADDRESS } from '../../../daemon/sandbox/simulated-accounts.ts';
import { accountOf, type Bench, openBench } from '../../adapters/sandbox-kit.ts';

const ETHER = 10n ** 18n;
const FEE = 1_000n;

let bench: Bench;
let sender: string;
let to: string;

beforeEach(async () => {
  bench = await openBench();
  [sender, to] = [await addressAt('ETH', 0), await addressAt('ETH', 1)];
  await bench.sandbox.pay('ETH', { address: sender, asset: 'ETH', units: ETHER });
  await bench.sandbox.pay('ETH', { address: sender, asset: 'USDT_ERC20', units: 100n });
});
afterEach(() => bench.close());

async function addressAt(chain: ChainId, index: number): Promise<string> {
  const derived = await bench.sandbox.adapter(chain).deriveAddress(accountOf(chain), 0, index);
  bench.book.watch(derived);
  return derived.address;
}

function raw(fields: Partial<SandboxAccountPlan> & { units?: bigint; address?: string } = {}): string {
  const { units = 1n, address = to, ...plan } = fields;
  const output = { kind: 'payout' as const, address, script: new Uint8Array(), units };
  return accountSpend({
    kind: 'sandbox-account',
    network: 'sandbox',
    chain: 'ETH',
    accountNo: 0,
    asset: 'ETH',
    sender,
    nonce: 0n,
    lowestNonce: 0n,
    outputs: [output],
    fee: FEE,
    ...plan,
  }).raw;
}

const send = (text: string, chain: ChainId = 'ETH') => bench.sandbox.broadcast(chain, Buffer.from(text));

describe('a simulated account', () => {
  it('takes its nonces in order, and each once', async () => {
    await bench.sandbox.mine('ETH', 1);
    await expect(send(raw({ nonce: 1n }))).rejects.toMatchObject({ code: 'broadcast.unknown_input' });
    await send(raw());
    await send(raw({ nonce: 1n }));
    await expect(send(raw({ fee: FEE + 99n }))).rejects.toMatchObject({ code: 'broadcast.conflict' });
    await send(raw({ fee: FEE + 100n }));
    // the later one went with it, as it would be sent again
    expect(bench.rows.mempoolSize('ETH')).toBe(1);
    await bench.sandbox.mine('ETH', 1);
    await expect(send(raw({ fee: 9n * FEE }))).rejects.toMatchObject({ code: 'broadcast.conflict' });
  });

  it('spends what a block gave it, and no more', async () => {
    await expect(send(raw())).rejects.toMatchObject({ code: 'broadcast.outputs_exceed_inputs' });
    await bench.sandbox.mine('ETH', 1);
    const above = [raw({ units: ETHER - FEE + 1n }), raw({ asset: 'USDT_ERC20', units: 101n })];
    for (const text of above)
      await expect(send(text)).rejects.toMatchObject({ code: 'broadcast.outputs_exceed_inputs' });
    await send(raw({ asset: 'USDT_ERC20', units: 100n }));
    await send(raw({ nonce: 1n, units: ETHER - 2n * FEE }));
  });

  it('pays the fee of a transfer that fails, and nothing else', async () => {
    const adapter = bench.sandbox.adapter('ETH');
    bench.book.checkpoint = await adapter.begin(null, AbortSignal.timeout(5_000));
    await bench.sandbox.mine('ETH', 1);
    await send(raw({ asset: 'USDT_ERC20', address: ZERO_ADDRESS }));
    await bench.sandbox.mine('ETH', 1);
    const update = await adapter.sync(bench.book.checkpoint, AbortSignal.timeout(5_000));
    expect(update?.spends).toMatchObject([{ outpoint: nonceKey(sender, 0), failed: true }]);
    expect(update?.debits).toMatchObject([{ kind: 'fee', amount: { asset: 'ETH', units: FEE } }]);
  });
});

it('takes a key image once, even before a block has it', async () => {
  const address = await addressAt('XMR', 0);
  const { txid } = await bench.sandbox.pay('XMR', { address, asset: 'XMR', units: 100n });
  const spending = (units: bigint) => simulatedRaw('XMR', [`${txid}:0`], [{ address, asset: 'XMR', units }]);
  expect(spending(1n)).not.toContain(txid);
  await expect(send(spending(101n), 'XMR')).rejects.toMatchObject({ code: 'broadcast.outputs_exceed_inputs' });
  await send(spending(90n), 'XMR');
  await expect(send(spending(10n), 'XMR')).rejects.toMatchObject({ code: 'broadcast.conflict' });
});
