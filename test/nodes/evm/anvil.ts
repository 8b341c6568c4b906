/**
 * anvil (Ethereum's and BNB Smart Chain's test node) from npm: a process of its own on a free loopback port, which mines
 * only when a test says so, with a funded payer and tokens that behave like the real ones. It is no dependency of the
 * product: it lies in test/nodes/node_modules, which `test/run.mjs` installs.
 */
import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Abi, encodeDeployData, encodeFunctionData, type Hex, numberToHex } from 'viem';
import { spawnBound } from '../../support/bound-child.ts';
import { postJson } from '../../support/exchange.ts';
import { freePort } from '../litecoind.ts';

const HERE = import.meta.dirname;
const MODULES = join(HERE, '..', 'node_modules');
const CONTRACTS = join(HERE, '..', '..', '..', 'node_modules', '.cache', 'countinghouse-contracts');
const PROGRAM = join(
  MODULES,
  '@foundry-rs',
  `anvil-${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`,
  'bin',
  'anvil',
);

export const hasAnvil = existsSync(PROGRAM) || process.env.CI === 'true';
export const anvilTitle = (what: string): string =>
  hasAnvil ? what : `${what} (skipped: npm ci --ignore-scripts --prefix test/nodes)`;

const READY_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 5_000;
export const REQUEST_TIMEOUT_MS = 60_000;
const GAS_LIMIT = 25_000_000;

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type Compiled = { abi: Abi; bytecode: Hex };
/**
 * The rules of blocks. `cancun` is for thousands of blocks: later rules keep the hashes of 8,191 blocks in a contract
 * (EIP-2935), which anvil 1.7.1 hashes and copies for each block, so that 10,000 blocks take 68 s of processor time instead
 * of 7.
 */
export type Hardfork = 'cancun' | 'latest';
type ContractName = 'TetherLike' | 'Standard' | 'Moody' | 'FeeOnTransfer' | 'Payer' | 'Forger';

type SolcContract = { abi: Abi; evm: { bytecode: { object: string } } };
type SolcOutput = {
  errors?: { severity: string; formattedMessage: string }[];
  contracts: Record<string, Record<string, SolcContract>>;
};
let compiled: Map<string, Compiled> | null = null;

/** The contracts of tokens.sol. */
function contract(name: ContractName): Compiled {
  compiled ??= compile();
  const found = compiled.get(name);
  if (!found) throw new Error(`tokens.sol has no ${name}`);
  return found;
}

function compile(): Map<string, Compiled> {
  const settings = { optimizer: { enabled: true }, outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } };
  const contracts = Object.entries(compiledFile('Solidity', 'tokens.sol', settings));
  return new Map(contracts.map(([name, { abi, evm }]) => [name, { abi, bytecode: `0x${evm.bytecode.object}` }]));
}

/** The bytes of a program in Yul, in instructions that both chains have had since 2021. */
export function compiledYul(file: string): Hex {
  const optimizer = { enabled: true, details: { yul: true } };
  const settings = { evmVersion: 'london', optimizer, outputSelection: { '*': { '*': ['evm.bytecode.object'] } } };
  const [only] = Object.values(compiledFile('Yul', file, settings));
  if (!only) throw new Error(`${file} has no program`);
  return `0x${only.evm.bytecode.object}`;
}

/** Compiled once for all runs: the compiler takes 3 s of processor time in each process that uses it. */
function compiledFile(language: string, file: string, settings: object): Record<string, SolcContract> {
  const sources = { [file]: { content: readFileSync(join(HERE, file), 'utf8') } };
  const input = JSON.stringify({ language, sources, settings });
  const compiler = readFileSync(join(MODULES, 'solc', 'package.json'));
  const kept = join(CONTRACTS, `${createHash('sha256').update(compiler).update(input).digest('hex')}.json`);
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, 'utf8')) as Record<string, SolcContract>;
  const output = JSON.parse(loadSolc().compile(input)) as SolcOutput;
  const errors = (output.errors ?? []).filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'));
  const contracts = output.contracts[file] ?? {};
  mkdirSync(CONTRACTS, { recursive: true });
  // another process may be at it, too
  const made = `${kept}.${process.pid}`;
  writeFileSync(made, JSON.stringify(contracts));
  renameSync(made, kept);
  return contracts;
}

/** Without the listener that it leaves, which would end the process at a rejected promise of anybody. */
function loadSolc(): { compile(input: string): string } {
  const before = process.listeners('unhandledRejection');
  const solc = createRequire(join(HERE, '..', 'package.json'))('solc');
  for (const listener of process.listeners('unhandledRejection')) {
    if (!before.includes(listener)) process.off('unhandledRejection', listener);
  }
  return solc;
}

/** What a transaction without a recipient carries to make a contract. */
export function deployOf(name: ContractName, args: readonly unknown[] = []): Hex {
  const { abi, bytecode } = contract(name);
  return encodeDeployData({ abi, bytecode, args });
}

/** A call of a contract, as the data of a transaction. */
export const callOf = (name: ContractName, functionName: string, args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: contract(name).abi, functionName, args });

type Sent = { from?: string; to?: string; value?: bigint; data?: Hex; gas?: number; nonce?: number };

export class Anvil {
  readonly port: number;
  readonly chainId: number;
  readonly #hardfork: Hardfork;
  /** Where it writes the states of old blocks, and does not remove them itself: gigabytes after 10,000 blocks. */
  readonly #folder: string;
  /** Unlocked accounts with 10,000 coins each; the first is the payer. */
  accounts: string[] = [];
  #process: ChildProcess | null = null;

  private constructor(port: number, folder: string, chainId: number, hardfork: Hardfork) {
    this.port = port;
    this.#folder = folder;
    this.chainId = chainId;
    this.#hardfork = hardfork;
  }

  /** Starts a node with an empty chain. */
  static async start(chainId: number, hardfork: Hardfork = 'latest', port = 0): Promise<Anvil> {
    const folder = await mkdtemp(join(tmpdir(), 'anvil-'));
    const anvil = new Anvil(port || (await freePort()), folder, chainId, hardfork);
    await anvil.#launch();
    return anvil.#withAccounts();
  }

  /** A node that another process started. */
  static at(chainId: number, port: number): Promise<Anvil> {
    return new Anvil(port, '', chainId, 'latest').#withAccounts();
  }

  async #withAccounts(): Promise<this> {
    this.accounts = await this.rpc<string[]>('eth_accounts', []);
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async #launch(): Promise<void> {
    const options = ['--host', '127.0.0.1', '--port', String(this.port), '--chain-id', String(this.chainId)];
    options.push('--no-mining', '--silent', '--gas-limit', '100000000', '--cache-path', this.#folder);
    if (this.#hardfork !== 'latest') options.push('--hardfork', this.#hardfork);
    const child = spawnBound(PROGRAM, options, { stdio: 'ignore' });
    this.#process = child;
    const deadline = performance.now() + READY_TIMEOUT_MS;
    for (;;) {
      if (child.exitCode !== null) throw new Error(`anvil ended with ${child.exitCode}`);
      try {
        await this.rpc('eth_chainId', []);
        return;
      } catch (error) {
        if (performance.now() > deadline) throw error;
        await sleep(20);
      }
    }
  }

  async rpc<T = Json>(method: string, params: Json[]): Promise<T> {
    const asked = { jsonrpc: '2.0', id: 1, method, params };
    const answer = await postJson(this.url, asked, AbortSignal.timeout(REQUEST_TIMEOUT_MS));
    const { result, error } = answer as { result: T; error?: { message: string } };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  /** Mines blocks, the first with all that is in the pool. */
  async mine(count = 1): Promise<void> {
    await this.rpc('anvil_mine', [numberToHex(count)]);
  }

  /** Whether one of the newest blocks has a transaction. */
  async hasTransactions(blocks: number): Promise<boolean> {
    const tip = Number(await this.rpc<string>('eth_blockNumber', []));
    const heights = Array.from({ length: Math.min(blocks, tip + 1) }, (_, below) => numberToHex(tip - below));
    const counts = heights.map((height) => this.rpc<string>('eth_getBlockTransactionCountByNumber', [height]));
    return (await Promise.all(counts)).some((count) => Number(count) > 0);
  }

  get payer(): string {
    const [first] = this.accounts;
    if (first === undefined) throw new Error('anvil has no account');
    return first;
  }

  /** Puts a transaction of an unlocked account into the pool; returns its id. */
  send({ from = this.payer, to, value = 0n, data, gas = GAS_LIMIT, nonce }: Sent): Promise<string> {
    const transaction = {
      from,
      gas: numberToHex(gas),
      value: numberToHex(value),
      ...(to !== undefined && { to }),
      ...(data !== undefined && { data }),
      ...(nonce !== undefined && { nonce: numberToHex(nonce) }),
    };
    return this.rpc<string>('eth_sendTransaction', [transaction]);
  }

  /** Makes a contract, mines it, and returns its address. */
  async deploy(name: ContractName, args: readonly unknown[] = []): Promise<string> {
    const txid = await this.send({ data: deployOf(name, args) });
    await this.mine();
    const receipt = await this.rpc<{ contractAddress: string } | null>('eth_getTransactionReceipt', [txid]);
    if (!receipt) throw new Error(`${name} was not deployed`);
    return receipt.contractAddress;
  }

  async stop(): Promise<void> {
    const child = this.#process;
    if (child && child.exitCode === null) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      await ended;
      clearTimeout(timer);
    }
    await rm(this.#folder, { recursive: true, force: true });
  }
}
