/**
 * The part of monero-ts that makes ring signatures and range proofs: its WebAssembly module alone, without network, files and
 * the packages that the rest of it imports. A wallet exists for the time of one signature.
 */
import { createRequire } from 'node:module';
import { z } from 'zod';
import type { Network } from '../../../domain/assets.ts';
import { assert, Rejected } from '../../../domain/errors.ts';

type Module = {
  create_full_wallet(config: string, id: string, done: (wallet: number | string) => void): void;
  sign_txs(wallet: number, unsigned: string): string;
  get_seed(wallet: number): string;
  get_private_spend_key(wallet: number): string;
  close(wallet: number, save: boolean, done: () => void): void;
  get_exception_message(error: number): string;
  then?: unknown;
};

/** monero-ts's numbers. A regtest chain has mainnet's addresses. */
const NETWORK_TYPES: Readonly<Record<Network, number>> = { mainnet: 0, testnet: 2, regtest: 0, sandbox: 2 };

/** `key`: the transaction's private keys in hex, one, or one more for each output. */
const Signed = z.object({
  signedTxHex: z.string(),
  txs: z.array(z.object({ hash: z.string(), key: z.string() })).length(1),
});

/**
 * `spendKey`: the private spend key (hex). The library derives the first `addresses` addresses of the first `accounts` accounts, to
 * recognise the sources: about 0.2 ms each.
 */
type Owner = { spendKey: string; accounts: number; addresses: number };

let loading: Promise<Module> | undefined;

async function load(): Promise<Module> {
  const create = createRequire(import.meta.url)('monero-ts/dist/monero.js') as () => Promise<Module>;
  const module = await create();
  // as a promise it would be awaited for ever
  delete module.then;
  return module;
}

/**
 * Signs an unsigned file (hex) with a private spend key (hex). Returns the signed file, and the transaction's id and
 * private keys as the library reports them. Throws `Rejected('signer.library')` on what the library refuses.
 */
export async function signWithLibrary(
  network: Network,
  { spendKey, accounts, addresses }: Owner,
  unsigned: string,
): Promise<{ file: string; hash: string; key: string }> {
  const keys = {
    networkType: NETWORK_TYPES[network],
    privateSpendKey: spendKey,
    privateViewKey: '',
    primaryAddress: '',
  };
  const made = { ...keys, accountLookahead: accounts, subaddressLookahead: addresses };
  return withWallet(made, (module, wallet) => {
    const { signedTxHex, txs } = Signed.parse(JSON.parse(module.sign_txs(wallet, unsigned)));
    const [tx] = txs;
    assert(tx, 'one transaction was signed');
    return { file: signedTxHex, ...tx };
  });
}

/** The 25 words in English that Monero's wallets write a private spend key (hex) with. Takes about two seconds. */
export async function moneroWordsOf(spendKey: string): Promise<string> {
  const keys = {
    networkType: NETWORK_TYPES.mainnet,
    privateSpendKey: spendKey,
    privateViewKey: '',
    primaryAddress: '',
  };
  return withWallet({ ...keys, ...SMALL }, (module, wallet) => module.get_seed(wallet));
}

/** The private spend key (hex) of 25 words in English. Throws `Rejected`: `mnemonic.length`, `mnemonic.checksum`. */
export async function spendKeyOf(text: string): Promise<string> {
  const words = text.length > WORDS_CHARS_MAX ? [] : text.toLowerCase().trim().split(/\s+/);
  if (words.length !== WORDS) {
    throw new Rejected(
      'mnemonic.length',
      "The words of a Monero wallet are 25; Polyseed's 16 are not supported",
      'words',
    );
  }
  const seed = { networkType: NETWORK_TYPES.mainnet, seed: words.join(' '), seedOffset: '' };
  return withWallet({ ...seed, ...SMALL }, (module, wallet) => module.get_private_spend_key(wallet));
}

const WORDS = 25;
const WORDS_CHARS_MAX = 1_000;
const SMALL = { accountLookahead: 1, subaddressLookahead: 1 };

/**
 * Calls a function with a wallet of the library, and closes it. Throws `Rejected`: `signer.library` whatever way the library fails in,
 * and then loads it anew the next time, because its memory may be damaged.
 */
async function withWallet<T>(made: object, use: (module: Module, wallet: number) => T): Promise<T> {
  loading ??= load();
  const module = await loading;
  try {
    return await withOpen(module, made, use);
  } catch (error) {
    if (error instanceof Rejected) throw error;
    loading = undefined;
    throw new Rejected('signer.library', `The library for Monero refuses: ${reasonOf(module, error)}`);
  }
}

async function withOpen<T>(module: Module, made: object, use: (module: Module, wallet: number) => T): Promise<T> {
  const config = { password: '', language: 'English', restoreHeight: 0, ...made };
  const wallet = await new Promise<number | string>((done) => {
    module.create_full_wallet(JSON.stringify(config), '', done);
  });
  if (typeof wallet !== 'number') {
    throw new Rejected(
      'mnemonic.checksum',
      'These are not the words of a Monero wallet, or one of them is wrong',
      'words',
    );
  }
  try {
    return use(module, wallet);
  } finally {
    await new Promise<void>((done) => {
      module.close(wallet, false, done);
    });
  }
}

/** The library throws numbers, which stand for its exceptions, and errors of WebAssembly. */
function reasonOf(module: Module, error: unknown): string {
  try {
    if (typeof error === 'number') return module.get_exception_message(error);
  } catch {
    return 'it does not say why';
  }
  return error instanceof Error ? error.message : String(error);
}
