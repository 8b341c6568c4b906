/** Spending on the sandbox's XMR: every simulated transaction spends whole coins, and cannot be replaced. */

import {
  type Description,
  type Estimate,
  type EstimateRequest,
  type OwnParts,
  type PaymentRequest,
  planByTiers,
  type Spending,
} from '../chains/spending.ts';
import { deepestOf, withChange } from '../chains/utxo/spend/spending.ts';
import { assert, Rejected } from '../domain/errors.ts';
import {
  type Coin,
  type Decoded,
  oldestWithin,
  type PlannedOutput,
  type SandboxPlan,
  type SandboxUnsigned,
  type SpendPlan,
} from '../domain/spend.ts';
import { decodeSimulated, planSimulated, simulatedSpend } from './simulated.ts';
import { SimulatedFamily } from './simulated-family.ts';

const FEE_UNLIMITED = 1n << 256n;

export class SimulatedSpending extends SimulatedFamily implements Spending {
  readonly replacement = 'none';

  estimate({ payout, ...request }: EstimateRequest): Estimate {
    const change = { address: payout.address, script: this.scriptOf(payout.address), index: 0 };
    const limits = { conflictKeys: [], feeMin: 0n, feeMax: FEE_UNLIMITED };
    try {
      const plan = this.#plan({ ...request, ...limits, payouts: [payout], change });
      return { fee: plan.fee, plan };
    } catch (error) {
      if (!(error instanceof Rejected) || error.code !== 'spend.insufficient') throw error;
      return { fee: request.feeRate, plan: null };
    }
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
    const { conflictKeys, outputs: paid } = this.decode(raw);
    const outputs = paid.map((output): PlannedOutput => {
      const { address, script, units } = output;
      const index = own.changeIndex(output);
      const to = { address: address ?? '', script, units };
      return index === null ? { kind: 'payout', ...to } : { kind: 'change', ...to, index };
    });
    const inputs = conflictKeys.flatMap((key) => own.coin(key) ?? []);
    const { accountNo, fee } = own;
    return {
      kind: 'sandbox',
      network: 'sandbox',
      chain: this.chain,
      accountNo,
      asset: this.feeAsset,
      inputs,
      outputs,
      fee,
    };
  }
}

function simulatedPlan(plan: SpendPlan): SandboxPlan {
  assert(plan.kind === 'sandbox', 'a plan of a simulated chain');
  return plan;
}
