/** Asks nodes of other operators about what cannot be proved alone, before a payment is made from it. */
import { Malformed } from '../../../domain/errors.ts';
import { type Endpoints, Undecided } from '../../endpoints.ts';
import type { MoneroNode } from '../node.ts';

/** The other operators that must contradict a node before it counts as the one that is wrong. */
const DENIERS_MIN = 2;

export type MoneroNodes = Pick<
  Endpoints<MoneroNode>,
  'first' | 'each' | 'other' | 'deniers' | 'ofOperators' | 'operators'
>;

/** Whether another node says the same; null: it has no say. */
type Affirms = (other: MoneroNode) => Promise<boolean | null>;

/**
 * Throws `Undecided` if one other operator denies a statement of a node, and `Malformed` if two do, so that the next node is asked.
 * Where nobody else answers, the node is believed. `what`: the statement, as the rest of "do not agree on".
 */
export async function needAffirmed(
  nodes: MoneroNodes,
  node: MoneroNode,
  what: string,
  affirms: Affirms,
  signal: AbortSignal,
): Promise<void> {
  if (nodes.operators < 2) return;
  const denying = await nodes.deniers(node, affirms, signal);
  if (denying === null || denying.length === 0) return;
  if (denying.length >= DENIERS_MIN) throw new Malformed(`another answer than two others, on ${what}`);
  const names = `${node.name} and ${denying.map(({ name }) => name).join()}`;
  throw new Undecided(
    `${names} do not agree on ${what}: one of them is wrong or lies. Take it out of monerod in the configuration, or add a third one, which decides`,
  );
}
