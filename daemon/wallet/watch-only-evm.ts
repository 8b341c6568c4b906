/**
 * Reads the public key of an account of Ethereum or BNB Smart Chain whose private keys are in another wallet: an extended public key of
 * m/44'/60'/account', such as `xpub…`, with or without its key origin. Both chains and their tokens have the same addresses of it.
 *
 * Invariant: a private key is refused, and neither it nor another part of the text is in an error.
 */
import type { Network } from '../domain/assets.ts';
import type { AccountKey, WatchOnly } from '../domain/chain.ts';
import { Rejected } from '../domain/errors.ts';
import type { EvmChain } from '../domain/evm.ts';
import { bad, FIELD, needNetwork, needPublic, ORIGIN, originOf, readExtended } from './extended-key.ts';
import { FORM_NAMES } from './watch-only.ts';

/** An account of another wallet, on a chain of accounts. */
type EvmWatchOnlyKey = Extract<AccountKey, { kind: 'secp256k1' }> & { watch: WatchOnly & { form: null } };

/** The levels of m/44'/60'/account'. */
const ACCOUNT_DEPTH = 3;
const HARDENED = 2 ** 31;
const PATH = "m/44'/60'/0'";

const KEY = new RegExp(String.raw`^${ORIGIN}(?<key>[1-9A-HJ-NP-Za-km-z]+)(?<steps>(?:\/[0-9<>;hH'*]+)*)$`);

/**
 * Reads the key of an account. On test networks a key of mainnet is taken, too, because wallets use one key for all networks there.
 * Throws `Rejected`: `account.private`, `.checksum`, `.key`, `.network` (of another coin, or of a test network), `.script` (of one of
 * Bitcoin's kinds of address) and `.depth` (the master key, a branch or an address in place of an account).
 */
export function readEvmWatchOnly(text: string, chain: EvmChain, network: Network): EvmWatchOnlyKey {
  const given = needPublic(text);
  if (given.includes('(')) {
    throw bad(
      `Output descriptors are of BTC, LTC and BCH. A ${chain} account is an extended public key: the xpub of ${PATH}`,
    );
  }
  const groups = KEY.exec(given)?.groups;
  if (!groups) throw bad(`It is no extended public key, such as the xpub of ${PATH}`);
  const { key: extended = '', steps = '' } = groups;
  if (steps !== '' && steps !== '/0/*' && steps !== '/<0;1>/*') {
    throw bad('Addresses are made at /0/* of an account; the key has another path behind it');
  }
  const { version, depth, child, publicKey, chainCode } = readExtended(extended);
  if (version.chains.length === 1) {
    throw new Rejected('account.network', `The key is of ${version.chains.join()}, not of ${chain}`, FIELD);
  }
  if (version.form !== null) {
    throw new Rejected(
      'account.script',
      `The key is of a Bitcoin account with ${FORM_NAMES[version.form]} addresses, and ${chain} has none of these: give the xpub of ${PATH}`,
      FIELD,
    );
  }
  if (network === 'mainnet') needNetwork(version, network);
  if (depth !== ACCOUNT_DEPTH || child < HARDENED) throw deep(`It is at depth ${depth}`);
  const origin = originOf(groups);
  if (origin && origin.path !== '') checkPath(origin.path, child - HARDENED, chain, network);
  return { kind: 'secp256k1', publicKey, chainCode, watch: { form: null, origin } };
}

const deep = (why: string): Rejected =>
  new Rejected(
    'account.depth',
    `The key is not that of an account: ${why}, and an account is at depth ${ACCOUNT_DEPTH}, as ${PATH} is. Export the key of the account itself`,
    FIELD,
  );

/** `44h/60h/0h`: purpose and coin are the chain's, and the account is that of the key. */
function checkPath(path: string, account: number, chain: EvmChain, network: Network): void {
  const [purpose, coin, last, ...rest] = path.split('/');
  if (purpose !== '44h' || last === undefined || rest.length > 0) throw deep(`its path is ${path}`);
  const isOfTests = network !== 'mainnet' && coin === '1h';
  if (coin !== '60h' && !isOfTests) {
    throw new Rejected(
      'account.network',
      `The path ${path} is of another coin, not of ${chain}: give the key of ${PATH}`,
      FIELD,
    );
  }
  if (last !== `${account}h`)
    throw bad(`The path ${path} is of another account than the key, which is account ${account}`);
}
