/**
 * Every point at which a service on an anvil may die: after each commit, and around each signature and each sending of a
 * transaction. At each point of a recorded life its data directory and the chain are copied while nothing goes on, so that
 * a later life begins exactly where a process that was killed there would have left both.
 */
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { EvmSource } from '../../daemon/chains/evm/spend/source.ts';
import { Store } from '../../daemon/store/store.ts';
import { SignerClient } from '../../daemon/wallet/signer/client.ts';
import type { EvmScene } from '../adapters/evm-controls.ts';
import { HeldLine } from '../support/held-line.ts';

/** What a process that is gone does not leave, and what each start makes anew. */
const NOT_KEPT = new Set(['reserve', 'lock', 'lock-journal', 'operator', 'operator.json', 'countinghouse.db-shm']);

export type Point = {
  /** "committed 12", "before the call 3", "after the call 3". */
  name: string;
  folder: string;
  /** Anvil's snapshot; anvil forgets it, and all later ones, once it returned to it, so that each visit makes another. */
  snapshot: string;
  /** The transactions of ours that were in the pool. */
  pool: string[];
};

type Pool = { pending: Record<string, Record<string, { hash: string }>> };

/** Which files of the vault there are, and when each was written. */
function stampsOf(dataDir: string): string {
  const vault = join(dataDir, 'vault');
  const stamps = readdirSync(vault).map((name) => {
    const stat = statSync(join(vault, name), { throwIfNoEntry: false });
    return `${name} ${stat?.size} ${stat?.mtimeMs}`;
  });
  return stamps.join();
}

export class Recorder {
  readonly points: Point[] = [];
  readonly #scene: EvmScene;
  readonly #line: HeldLine;
  readonly #root = mkdtempSync(join(tmpdir(), 'countinghouse-points-'));
  readonly #undo: (() => void)[] = [];
  /** Every signed transaction that the endpoint was given, in its order, by id. */
  readonly #sent = new Map<string, string>();
  #visits = 0;
  #commits = 0;
  #calls = 0;

  constructor(scene: EvmScene) {
    this.#scene = scene;
    this.#line = new HeldLine(scene.anvil.url);
    scene.proxy.behaviour = {
      changed: ({ method, params }, result) => {
        if (method === 'eth_sendRawTransaction') this.#sent.set(`${result}`, `${params[0]}`);
        return result;
      },
    };
  }

  /** Records the life of the next service that is started. */
  begin(): void {
    const { anvil } = this.#scene;
    const mine = anvil.mine.bind(anvil);
    // a snapshot in the middle of mining would have the blocks of one moment and the balances of another
    anvil.mine = async (count = 1) => void this.#line.ask('anvil_mine', [`0x${count.toString(16)}`]);
    this.#undo.push(() => {
      anvil.mine = mine;
    });
    let dataDir = '';
    const take = (name: string): void => this.#take(name, dataDir);
    const open = Store.open;
    Store.open = async (folder, options) => {
      const store = await open.call(Store, folder, options);
      dataDir = folder;
      store.onCommit = () => take(`committed ${++this.#commits}`);
      return store;
    };
    this.#undo.push(() => {
      Store.open = open;
    });
    this.#watch(SignerClient.prototype, 'sign', take);
    this.#watch(EvmSource.prototype, 'broadcast', take);
  }

  /** Ends the recording; the service was stopped before. */
  end(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  /**
   * Brings the chain back to a point, and returns a copy of its data directory. Points have to be visited from the last one to
   * the first.
   */
  async visit(point: Point): Promise<string> {
    const { anvil } = this.#scene;
    const { snapshot, pool } = point;
    if (!(await anvil.rpc<boolean>('evm_revert', [snapshot]))) throw new Error(`anvil has no snapshot ${snapshot}`);
    point.snapshot = await anvil.rpc<string>('evm_snapshot', []);
    await anvil.rpc('anvil_dropAllTransactions', []);
    for (const [txid, raw] of this.#sent) if (pool.includes(txid)) await anvil.rpc('eth_sendRawTransaction', [raw]);
    const copy = `${point.folder}.${++this.#visits}`;
    cpSync(point.folder, copy, { recursive: true });
    return copy;
  }

  async close(): Promise<void> {
    this.end();
    await this.#line.close();
    rmSync(this.#root, { recursive: true, force: true });
  }

  #take(name: string, dataDir: string): void {
    const snapshot = this.#line.ask('evm_snapshot');
    const { pending } = this.#line.ask('txpool_content') as unknown as Pool;
    const folder = join(this.#root, `${this.points.length}`);
    const isKept = (source: string): boolean => !NOT_KEPT.has(basename(source)) && !source.endsWith('.tmp');
    // the signer is a process of its own, which may be writing its journal
    for (let before = '', now = stampsOf(dataDir); before !== now; now = stampsOf(dataDir)) {
      before = now;
      rmSync(folder, { recursive: true, force: true });
      cpSync(dataDir, folder, { recursive: true, filter: isKept });
    }
    const hashes = Object.values(pending).flatMap((of) => Object.values(of).map(({ hash }) => hash));
    this.points.push({ name, folder, snapshot: `${snapshot}`, pool: hashes });
  }

  /** A point before a call leaves the service, and one when its answer has come and nobody was told. */
  #watch<T extends object>(owner: T, method: keyof T & string, take: (name: string) => void): void {
    const real = owner[method] as (...given: unknown[]) => Promise<unknown>;
    const count = (): number => ++this.#calls;
    const watched = async function (this: unknown, ...given: unknown[]): Promise<unknown> {
      const mine = count();
      take(`before the call ${mine} (${method})`);
      const answer = await real.apply(this, given);
      take(`after the call ${mine} (${method})`);
      return answer;
    };
    Object.defineProperty(owner, method, { value: watched, configurable: true, writable: true });
    this.#undo.push(() => Object.defineProperty(owner, method, { value: real, configurable: true, writable: true }));
  }
}
