/**
 * The declaration of one method of the operator API: its parameters, its result, and who may call it. Every listener and the log go by
 * these rules alone.
 */
import type { z } from 'zod';
import type { NETWORKS } from '../domain/assets.ts';

/**
 * Which money a call could let leave, or lets somebody spend. `passphrase`: whatever the passphrase opens. `policy`: of a business whose
 * policy approves by itself.
 */
export type Spending =
  | { by: 'passphrase' }
  | { by: 'business' | 'policy'; business: string }
  | { by: 'network'; network: (typeof NETWORKS)[number] }
  | { by: 'withdrawals'; ids: readonly string[] };

type Rules<P> = {
  /**
   * `page`, the default: every page of an operator. `browser`: pages in a browser; the desktop program does it for its own page.
   * `machine`: only programs on the machine itself.
   */
  scope?: 'page' | 'browser' | 'machine';
  /**
   * Absent: not for a session that is locked to the counter of one business. Else it sees and makes that counter's sales alone: by the
   * parameter `business`, by the parameter `invoice`, or by the events in the answer.
   */
  counter?: 'business' | 'invoice' | 'events';
  /** Absent or null: no money leaves by it. Sessions may not do it while `approvals = false`, unless the money is the sandbox's. */
  approves?: (params: P) => Spending | null;
};

/** A method of whatever shapes. */
export type AnyMethod = Rules<never> & { params: z.ZodType; result: z.ZodType; does: 'reads' | 'changes' };

/** A method that changes nothing that an operator decides. */
export const reads = <P extends z.ZodType, R extends z.ZodType>(
  params: P,
  result: R,
  rules: Rules<z.output<P>> = {},
) => ({
  ...rules,
  does: 'reads' as const,
  params,
  result,
});

/** A method whose calls are in the log. */
export const changes = <P extends z.ZodType, R extends z.ZodType>(
  params: P,
  result: R,
  rules: Rules<z.output<P>> = {},
) => ({ ...rules, does: 'changes' as const, params, result });

export const byPassphrase = (): Spending => ({ by: 'passphrase' });
export const ofBusiness = ({ business }: { business: string }): Spending => ({ by: 'business', business });
