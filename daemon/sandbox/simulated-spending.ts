/** Spending on the sandbox's XMR: every simulated transaction spends whole coins, and cannot be replaced. */
import {
  type Description,
  type Estimate,
  type EstimateRequest,
  estimateByPlan,
  type OwnParts,
  type PaymentRequest,
  planByTiers,
  plannedOutput,
  type Spending,
} from '../chains/spending.ts';
import { deepestOf, withChange } from '../chains/utxo/spend/spending.ts';
import { assert } from '../domain/errors.ts';
import {
  type Coin,
  type Decoded,
  oldestWithin,
  type SandboxPlan,
  type SandboxUnsigned,
  type SpendPlan,
} from '../domain/spend.ts';
import { decodeSimulated, planSimulated, simulatedSpend } from './simulated.ts';
import { SimulatedFamily } from './simulated-family.ts';

export class SimulatedSpending extends SimulatedFamily implements Spending {
  readonly replacement = 'none';

  estimate(request: EstimateRequest): Estimate {
    const script = this.scriptOf(request.payout.address);
    return estimateByPlan(request, { script, usual: request.feeRate }, (full) => this.#plan(full));
  }

  async plan(request: PaymentRequest): Promise<SandboxPlan> {
    return this.#plan(request);
  }

  #plan({ conflictKeys, payouts, parents: _, ...request }: PaymentRequest): SandboxPlan {
    const base = {
      ...request,
      network: 'sandbox' as const,
      chain: this.chain,
      payouts: payouts.map(({ address, units }) => ({ address, script: this.scriptOf(address), units })),
      requiredInputs: conflictKeys,
    };
    const spent = conflictKeys.map((key) => request.holdings.coin(key));
    const within = (coins: Coin[]): Coin[] => oldestWithin(coins, request.inputsMax ?? null);
    return planByTiers(request, spent, (coins) => planSimulated({ ...base, coins: within(coins) }));
  }

  conflictKeys(plan: SpendPlan): string[] {
    return simulatedPlan(plan).inputs.map(({ outpoint }) => outpoint);
  }

  preferredKey(plan: SpendPlan): string {
    return deepestOf(simulatedPlan(plan).inputs);
  }

  describe(plan: SpendPlan): Description {
    const { conflictKeys, outputs } = this.decode(simulatedSpend(simulatedPlan(plan)).raw);
    return { raw: null, conflictKeys, outputs: withChange(outputs, plan.outputs) };
  }

  async unsigned(plan: SpendPlan): Promise<SandboxUnsigned> {
    return { plan: simulatedPlan(plan) };
  }

  decode(raw: string): Decoded {
    const { txid, inputs, outputs } = decodeSimulated(this.chain, raw);
    return { txid, conflictKeys: inputs.map(({ outpoint }) => outpoint), outputs };
  }

  recover(raw: string, own: OwnParts): SandboxPlan {
    const { conflictKeys, outputs } = this.decode(raw);
    return {
      kind: 'sandbox',
      network: 'sandbox',
      chain: this.chain,
      accountNo: own.accountNo,
      asset: this.feeAsset,
      inputs: conflictKeys.flatMap((key) => own.coin(key) ?? []),
      outputs: outputs.map((output) => plannedOutput(output, own)),
      fee: own.fee,
    };
  }
}

function simulatedPlan(plan: SpendPlan): SandboxPlan {
  assert(plan.kind === 'sandbox', 'a plan of a simulated chain');
  return plan;
}
