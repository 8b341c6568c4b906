/** The rules that the simulated chains share: no lowest fee, no dust, and transactions that are known completely. */
import type { SpendingSource } from '../chains/adapter.ts';
import { OfSource } from '../chains/spending.ts';
import { type AssetId, type ChainId, nativeAsset } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import type { DecodedOutput } from '../domain/spend.ts';
import { scriptAt } from './addresses.ts';
import { SIMULATED_VSIZE } from './simulated.ts';

export abstract class SimulatedFamily extends OfSource {
  readonly feeAsset: AssetId;
  readonly changeAddress = 'fixed';
  readonly isWhole = true;
  readonly fallbackRate = 1n;
  protected readonly chain: ChainId;

  constructor(chain: ChainId, source: SpendingSource) {
    super(source);
    this.chain = chain;
    this.feeAsset = nativeAsset(chain).symbol;
  }

  /** The planner itself raises the fee of a replacement. */
  replacementRate(): bigint {
    return 0n;
  }

  sendable(_address: string, units: bigint): bigint {
    return units;
  }

  sizeOf(): number {
    return SIMULATED_VSIZE;
  }

  pays({ script }: DecodedOutput, address: string): boolean {
    return Buffer.compare(script, this.scriptOf(address)) === 0;
  }

  protected scriptOf(address: string): Uint8Array {
    const script = scriptAt(this.chain, address);
    if (script) return script;
    throw new Rejected('withdrawal.address', `${address} is no address of ${this.chain} on this network`, 'address');
  }
}
