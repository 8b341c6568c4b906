/** A wallet with coins, and orders to sign, for the tests of the signer: right in every way until a test spoils one. */
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Transaction } from 'bitcoinjs-lib';
import { childPublicKey } from '../../../daemon/chains/hd.ts';
import { addressOfKey, scriptOf } from '../../../daemon/chains/utxo/address.ts';
import type { UtxoChain } from '../../../daemon/chains/utxo/params.ts';
import { ASSETS, type Network } from '../../../daemon/domain/assets.ts';
import type { AccountKey, Branch } from '../../../daemon/domain/chain.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import type { Coin, UtxoPlan } from '../../../daemon/domain/spend.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';
import { seedOf } from '../../../daemon/wallet/mnemonic.ts';
import { approvalKey, type Epoch, grantMac, intentMac } from '../../../daemon/wallet/signer/approval.ts';
import { epochOf } from '../../../daemon/wallet/signer/journal.ts';
import type { Approval, ApprovalPurpose, Grant, Intent, UtxoOrder } from '../../../daemon/wallet/signer/port.ts';
import { cheapWallet } from '../../support/wallet.ts';
import { DESTINATIONS } from '../chains/spend-kit.ts';

export const WORDS = `${'abandon '.repeat(11)}about`;
export const PASSPHRASE = 'correct horse battery';

let clock = Date.now;
/** From now on orders are approved by this clock. */
export function useClock(now: () => number): void {
  clock = now;
}
/** Until when an approval holds that is made now: seven days. */
export const soon = (): number => clock() + 7 * 86_400_000;

let epoch: Epoch = null;
/** From now on orders are approved for the wallet of this folder as it is now. */
export async function useEpochOf(folder: string): Promise<void> {
  epoch = await epochOf(folder);
}

export const SEED = await seedOf(WORDS, '');
const KEY = approvalKey(SEED);

/** A folder with the wallet of WORDS; the caller removes it. From now on orders are approved for it, unless `beside`. */
export async function walletFolder({ beside = false } = {}): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'signer-'));
  await cheapWallet(folder, { words: WORDS, passphrase: PASSPHRASE });
  if (!beside) await useEpochOf(folder);
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const accounts = new Map<string, AccountKey>();
let seedInUse: Uint8Array = SEED;
/** From now on orders are of this seed's wallet. */
export function useSeed(seed: Uint8Array): void {
  seedInUse = seed;
  accounts.clear();
}

function accountOf(chain: UtxoChain, network: Network, accountNo: number): AccountKey {
  const name = `${chain} ${network} ${accountNo}`;
  const known = accounts.get(name) ?? accountKey(seedInUse, chain, network, accountNo);
  accounts.set(name, known);
  return known;
}

/** Our address, by the daemon's own derivation from public keys: the signer's is another. */
export function own(chain: UtxoChain, branch: Branch, index: number, network: Network = 'regtest', accountNo = 0) {
  return addressOfKey(childPublicKey(accountOf(chain, network, accountNo), branch, index), chain, network);
}

let count = 0;

/** A coin of ours, out of a previous transaction that also pays others. */
export function coin(
  chain: UtxoChain,
  units: bigint,
  { branch = 0, index = 0, n = 1, network = 'regtest', script }: Partial<Coin> & { n?: number; network?: Network } = {},
): { coin: Coin & { sequence: number }; raw: string; txid: string } {
  const previous = new Transaction();
  previous.version = 2;
  previous.addInput(createHash('sha256').update(`previous ${count++}`).digest(), 0);
  const paid = script ?? own(chain, branch, index, network).script;
  for (let i = 0; i <= n + 1; i++)
    previous.addOutput(i === n ? paid : own(chain, 0, 900 + i).script, i === n ? units : 7_000n);
  const txid = previous.getId();
  const made = { outpoint: `${txid}:${n}`, units, script: paid, branch, index, confirmations: 6, sequence: 0xfffffffd };
  return { coin: made, raw: previous.toHex(), txid };
}

export function approve(intent: Intent, until = soon(), purpose: ApprovalPurpose = 'pay'): Approval {
  return { by: 'operator', until, mac: intentMac(KEY, epoch, purpose, intent, until) };
}
export const grantOf = <G extends Grant>(grant: G): [G, string] => [grant, grantMac(KEY, epoch, grant)];

/** A payment to each address: three coins of 0.5 in, change to index 3, a fee of 2,000 of at most 5,000. */
export function payment(
  chain: UtxoChain,
  uuids: string[],
  units = 40_000_000n,
  network: Network = 'regtest',
): UtxoOrder {
  const coins = [0, 1, 2].map((index) =>
    coin(chain, 50_000_000n, { branch: index === 2 ? 1 : 0, index: index * 7, n: index, network }),
  );
  const payouts = uuids.map((_, i) => {
    const address = DESTINATIONS[chain][i % DESTINATIONS[chain].length]!;
    return { kind: 'payout' as const, address, script: scriptOf(address, chain, network) ?? new Uint8Array(), units };
  });
  const change = own(chain, 1, 3, network);
  const fee = 2_000n;
  const plan: UtxoPlan = {
    kind: 'utxo',
    network,
    chain,
    accountNo: 0,
    version: 2,
    lockTime: 120,
    inputs: coins.map((one) => one.coin),
    outputs: [
      ...payouts,
      { kind: 'change', ...change, units: 150_000_000n - units * BigInt(uuids.length) - fee, index: 3 },
    ],
    fee,
    vsize: 400,
  };
  const withdrawals = uuids.map((uuid, i) => {
    const { address } = payouts[i]!;
    const common = { uuid, network, accountNo: 0, chain, asset: chain };
    const intent: Intent = { ...common, address, units: units.toString(), sweep: false, coins: null, feeMax: '5000' };
    return { intent, approval: approve(intent) };
  });
  return { purpose: 'pay', plan, withdrawals, previous: Object.fromEntries(coins.map(({ txid, raw }) => [txid, raw])) };
}

/** A payment of LTC that asks for no person's approval. */
export function byPolicy(uuid: string): UtxoOrder {
  const order = payment('LTC', [uuid]);
  order.withdrawals[0]!.approval = { by: 'policy' };
  return order;
}

/** The limits of an account in every coin that the signer limits. */
export const limitGrants = (accountNo: number, units: string, issuedAt = Date.now()) =>
  ASSETS.map(({ symbol }) => ({
    network: 'regtest' as const,
    accountNo,
    asset: symbol,
    perWithdrawal: units,
    perDay: units,
    addresses: null,
    issuedAt,
  }));

/** The code of what it was rejected with; fails on any other error, and on none. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Rejected) return error.code;
    throw error;
  }
  throw new Error('nothing was rejected');
}
