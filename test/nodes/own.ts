/**
 * Nodes of one's own: programs that the environment names, since neither npm nor Debian has them. Tests that need one are
 * skipped without it, under a name that says which variable is missing.
 */
import type { NodeKind } from './litecoind.ts';

/** `name`: as people call it. */
export type OwnNode = Omit<NodeKind, 'program'> & { name: string; variable: string };

export const OWN_NODES: readonly OwnNode[] = [
  { name: 'Bitcoin Core', variable: 'COUNTINGHOUSE_TEST_BITCOIND', chain: 'BTC', options: [] },
  // blocks of today are beyond the date at which a release asks to be renewed
  { name: 'Bitcoin Cash Node', variable: 'COUNTINGHOUSE_TEST_BCHN', chain: 'BCH', options: ['-expire=0'] },
  {
    name: 'Litecoin Core',
    variable: 'COUNTINGHOUSE_TEST_LITECOIND',
    chain: 'LTC',
    options: ['-mempoolreplacement=1'],
  },
];

/** What the environment names, or null. */
export function ownNode({ variable, chain, options }: OwnNode): NodeKind | null {
  const program = process.env[variable];
  return program === undefined || program === '' ? null : { chain, program, options };
}

/** The words that let a continuous integration skip it stand in the name (`test/run.mjs`). */
export const ownTitle = (own: OwnNode, what: string): string =>
  ownNode(own)
    ? `${what} on ${own.name}`
    : `${what} on ${own.name} (needs a networked machine: ${own.variable} names it)`;
