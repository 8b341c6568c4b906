/**
 * A wallet for tests of the sandbox, whose signatures owe nothing to the sandbox's own code: PSBTs on BTC and LTC,
 * libauth's compiler on BCH.
 */
import {
  encodeTransaction,
  generateTransaction,
  hexToBin,
  importWalletTemplate,
  walletTemplateP2pkhNonHd,
  walletTemplateToCompilerBCH,
} from '@bitauth/libauth';
import { base58 } from '@scure/base';
import { Psbt, Transaction } from 'bitcoinjs-lib';
import { pointFromScalar, sign } from 'tiny-secp256k1';
import type { WatchList } from '../../daemon/chains/adapter.ts';
import { addressOfKey } from '../../daemon/chains/utxo/address.ts';
import type { UtxoChain } from '../../daemon/chains/utxo/params.ts';
import { CHAINS, type ChainId } from '../../daemon/domain/assets.ts';
import type { AccountKey } from '../../daemon/domain/chain.ts';
import type { SandboxStore } from '../../daemon/sandbox/rows.ts';
import { sandboxStore } from '../../daemon/sandbox/rows.ts';
import { createSandbox, type Sandbox } from '../../daemon/sandbox/sandbox.ts';
import { Store } from '../../daemon/store/store.ts';
import { FactBook } from './fact-book.ts';
import { privateKeyOf, testAccount } from './keys.ts';

/** A fixed Monero account: any scalar as view key, the curve's base point as spend key. */
export const moneroAccount: AccountKey = {
  kind: 'monero',
  privateViewKey: '0b'.padEnd(64, '0'),
  publicSpendKey: `58${'66'.repeat(31)}`,
};

export const accountOf = (chain: ChainId): AccountKey => (chain === 'XMR' ? moneroAccount : testAccount);

export type Coin = { id: string; units: bigint; index: number };
type Spend = {
  coins: Coin[];
  outputs: { script: Uint8Array; units: bigint }[];
  sequence?: number;
  lock?: number;
};

const REPLACEABLE = 0xfffffffd;

/** The private key of the test account's receiving address at an index. */
const secretOf = (index: number): Uint8Array => base58.decode(privateKeyOf(index)).subarray(1, 33);

export const publicKeyOf = (index: number): Uint8Array => {
  const point = pointFromScalar(secretOf(index), true);
  if (!point) throw new Error('no public key');
  return point;
};

/** A signed transaction of coins that were paid to the test account's branch 0. */
export function signSpend(chain: UtxoChain, spend: Spend): Uint8Array {
  return chain === 'BCH' ? signCash(spend) : signSegwit(chain, spend);
}

function signSegwit(chain: UtxoChain, { coins, outputs, sequence = REPLACEABLE, lock = 0 }: Spend): Uint8Array {
  const psbt = new Psbt();
  psbt.setVersion(2);
  psbt.setLocktime(lock);
  for (const { id, units, index } of coins) {
    const [hash, n] = id.split(':') as [string, string];
    const { script } = addressOfKey(publicKeyOf(index), chain, 'sandbox');
    psbt.addInput({ hash, index: Number(n), sequence, witnessUtxo: { script, value: units } });
  }
  for (const { script, units } of outputs) psbt.addOutput({ script, value: units });
  for (const [i, { index }] of coins.entries()) {
    const publicKey = Buffer.from(publicKeyOf(index));
    psbt.signInput(i, { publicKey, sign: (hash) => Buffer.from(sign(hash, secretOf(index))) });
  }
  // Taken out by hand: finalising would refuse the overspends that tests need.
  const tx = Transaction.fromBuffer(psbt.data.getTransaction());
  for (const [i, { partialSig }] of psbt.data.inputs.entries()) {
    if (!partialSig?.[0]) throw new Error('not signed');
    tx.setWitness(i, [partialSig[0].signature, partialSig[0].pubkey]);
  }
  return tx.toBuffer();
}

/** Libauth's own P2PKH template, with ECDSA in the place of Schnorr. */
const cashTemplate = importWalletTemplate({
  ...walletTemplateP2pkhNonHd,
  scripts: {
    ...walletTemplateP2pkhNonHd.scripts,
    unlock: { name: 'Unlock', unlocks: 'lock', script: '<key.ecdsa_signature.all_outputs>\n<key.public_key>' },
  },
});

function signCash({ coins, outputs, sequence = REPLACEABLE, lock = 0 }: Spend): Uint8Array {
  if (typeof cashTemplate === 'string') throw new Error(cashTemplate);
  const compiler = walletTemplateToCompilerBCH(cashTemplate);
  const made = generateTransaction({
    version: 2,
    locktime: lock,
    inputs: coins.map(({ id, units, index }) => ({
      outpointTransactionHash: hexToBin(id.slice(0, 64)),
      outpointIndex: Number(id.slice(65)),
      sequenceNumber: sequence,
      unlockingBytecode: {
        compiler,
        script: 'unlock',
        valueSatoshis: units,
        data: { keys: { privateKeys: { key: secretOf(index) } } },
      },
    })),
    outputs: outputs.map(({ script, units }) => ({ lockingBytecode: script, valueSatoshis: units })),
  });
  if (!made.success) throw new Error(JSON.stringify(made.errors));
  return encodeTransaction(made.transaction);
}

export type Bench = {
  sandbox: Sandbox;
  rows: SandboxStore;
  book: FactBook;
  /** The clock's time in milliseconds: to be set. */
  clock: { now: number };
  store: Store;
  /** What adapters made from now on look up in, instead of `book`. */
  watchWith(watch: WatchList): void;
  close(): Promise<void>;
};

/** A sandbox of all chains on a store, in memory when none is given; `book` is what is watched. */
export async function openBench(options: { dataDir?: string; blockSeconds?: number } = {}): Promise<Bench> {
  const store = options.dataDir ? await Store.open(options.dataDir) : await Store.inMemory();
  const rows = sandboxStore(store);
  const book = new FactBook();
  let watched: WatchList = book;
  const clock = { now: Date.parse('2026-03-01T12:00:00Z') };
  const sandbox = createSandbox({
    store: rows,
    chains: CHAINS,
    watch: () => watched,
    now: () => clock.now,
    blockSeconds: options.blockSeconds ?? 0,
  });
  const close = async (): Promise<void> => {
    await sandbox.close();
    await store.close();
  };
  const watchWith = (watch: WatchList): void => {
    watched = watch;
  };
  return { sandbox, rows, book, clock, store, watchWith, close };
}
