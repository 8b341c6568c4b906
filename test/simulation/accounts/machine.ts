/**
 * EthereumJS's virtual machine (npm `@ethereumjs/vm`, in test/nodes), with types of what is used here: the compiler must
 * not need a package that only some tests install.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const FOLDER = join(import.meta.dirname, '..', '..', 'nodes');
const require = createRequire(join(FOLDER, 'package.json'));

export const hasMachine = existsSync(join(FOLDER, 'node_modules', '@ethereumjs', 'vm')) || process.env.CI === 'true';

type Address = { bytes: Uint8Array };
type Common = object;
type Account = { balance: bigint; nonce: bigint };
type State = {
  getAccount(address: Address): Promise<Account | undefined>;
  putAccount(address: Address, account: Account): Promise<void>;
  getStateRoot(): Promise<Uint8Array>;
  setStateRoot(root: Uint8Array): Promise<void>;
  checkpoint(): Promise<void>;
  revert(): Promise<void>;
};

/** A signed transaction, as the virtual machine reads it. */
export type MachineTx = {
  nonce: bigint;
  gasLimit: bigint;
  value: bigint;
  data: Uint8Array;
  to?: Address;
  type: number;
  chainId: bigint;
  hash(): Uint8Array;
  serialize(): Uint8Array;
  getSenderAddress(): Address;
  toJSON(): Record<string, unknown>;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
};
export type MachineHeader = { number: bigint; timestamp: bigint; baseFeePerGas: bigint; stateRoot: Uint8Array };
export type MachineBlock = { header: MachineHeader & { toJSON(): Record<string, string> }; hash(): Uint8Array };
export type MachineLog = [contract: Uint8Array, topics: Uint8Array[], data: Uint8Array];
export type MachineReceipt = {
  status: 0 | 1;
  cumulativeBlockGasUsed: bigint;
  bitvector: Uint8Array;
  logs: MachineLog[];
};
type TxResult = { totalGasSpent: bigint; receipt: MachineReceipt; createdAddress?: Address };
type CallResult = {
  execResult: { exceptionError?: { error: string }; returnValue: Uint8Array; executionGasUsed: bigint };
};
type Builder = {
  addTransaction(tx: MachineTx): Promise<TxResult>;
  build(): Promise<{ block: MachineBlock }>;
  revert(): Promise<void>;
};
type Vm = { evm: { runCall(call: object): Promise<CallResult> } };

/** The functions of the packages that are used here. */
export type Machine = {
  vm: Vm;
  state: State;
  common: Common;
  addressOf(text: string): Address;
  account(fields: Account): Account;
  genesis(header: object): MachineBlock;
  build(parent: MachineBlock, header: object): Promise<Builder>;
  read(raw: Uint8Array): MachineTx;
  /** Signs with a private key, as a payer does. */
  sign(fields: object, key: Uint8Array): MachineTx;
};

/** Opens a virtual machine with empty state. The rules are Cancun's: those that both chains and their test nodes have. */
export async function openMachine(chainId: number): Promise<Machine> {
  // biome-ignore lint/suspicious/noExplicitAny: the package may be absent when this is compiled
  const from = async (name: string): Promise<any> => import(pathToFileURL(require.resolve(`@ethereumjs/${name}`)).href);
  const [vmOf, stateOf, trieOf, commonOf, blockOf, txOf, utilOf] = await Promise.all(
    ['vm', 'statemanager', 'mpt', 'common', 'block', 'tx', 'util'].map(from),
  );
  const common = commonOf.createCustomCommon({ chainId }, commonOf.Mainnet, { hardfork: commonOf.Hardfork.Cancun });
  const trie = await trieOf.createMPT({ useKeyHashing: true, common });
  const state = new stateOf.MerkleStateManager({ trie, common });
  const vm = await vmOf.createVM({ common, stateManager: state });
  return {
    vm,
    state,
    common,
    addressOf: (text) => utilOf.createAddressFromString(text),
    account: (fields) => utilOf.createAccount(fields),
    genesis: (header) => blockOf.createBlock({ header }, { common }),
    build: (parentBlock, headerData) =>
      vmOf.buildBlock(vm, { parentBlock, headerData, blockOpts: { putBlockIntoBlockchain: false, common } }),
    read: (raw) => txOf.createTxFromRLP(raw, { common }),
    sign: (fields, key) => txOf.createFeeMarket1559Tx({ chainId, ...fields }, { common }).sign(key),
  };
}
