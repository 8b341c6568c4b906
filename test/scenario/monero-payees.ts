/**
 * A batch of withdrawals of Monero by a service that may die at any time, and its audit from outside: what the recipients' own
 * wallet found in blocks.
 */

import { textOf } from '../../daemon/domain/messages.ts';
import type { Monerod } from '../nodes/monerod.ts';
import { until } from '../support/daemon.ts';
import { Operator } from '../support/operator.ts';
import { PASSPHRASE } from '../support/shop.ts';
import type { Victim } from './victim.ts';

/** `id`: of a withdrawal that waits for its approval. `amount`: XMR. */
export type Payee = { id: string; amount: string; address: string };

const DECIMALS = 12;

const unitsOf = (amount: string): bigint => {
  const [whole = '', part = ''] = amount.split('.');
  return BigInt(`${whole}${part.padEnd(DECIMALS, '0')}`);
};

/** Approves, has it mined, and returns what is wrong, in words. */
export async function paidOnce(victim: Victim, node: Monerod, payees: readonly Payee[]): Promise<string[]> {
  const operator = new Operator(victim.dataDir, PASSPHRASE, victim.operator);
  const ids = payees.map(({ id }) => id);
  const show = (id: string) => victim.alive(() => operator.show(id));
  const proposal = { kind: 'batch' as const, ids };
  const approve = async (): Promise<boolean> => {
    // perhaps it was approved before the service died
    if ((await operator.show(ids[0]!)).state !== 'requested') return true;
    const { preview } = await victim.operator('withdrawal.propose', proposal);
    if (!preview) return false;
    await victim.operator('withdrawal.approve', { proposal, approvals: await operator.approvals(preview) });
    return true;
  };
  await until('the batch can be approved', () => victim.alive(approve));
  const txid = await until('the batch is in the pool', async () => {
    const sent = (await show(ids[0]!)).versions[0]?.tx_id;
    return sent && (await node.pool()).includes(sent) && sent;
  });
  await node.mine(1);
  const faults: string[] = [];
  for (const { id, amount, address } of payees) {
    const done = async () => {
      const now = await show(id);
      return now.state === 'completed' && now;
    };
    const { tx_id, versions } = await until(`withdrawal ${id} is completed`, done);
    if (tx_id !== txid || versions.length !== 1) faults.push(`withdrawal ${id} names ${tx_id}, not ${txid} alone`);
    const found = (await node.payments(address)).map((one) => `${one.units} by ${one.txid}`);
    const wanted = `${unitsOf(amount)} by ${txid}`;
    if (found.join() !== wanted) faults.push(`the payee of withdrawal ${id} got ${found.join()}, not ${wanted}`);
  }
  if ((await node.pool()).length > 0) faults.push('there is another transaction in the pool');
  const { height } = await node.rpc<{ height: number }>('get_info', {});
  const proved = await until('the books have the block', async () => {
    const { chains } = await victim.alive(() => victim.operator('ledger.prove', { chain: 'regtest:XMR' }));
    return chains[0]?.height === height - 1 && chains[0];
  });
  for (const problem of proved.problems) faults.push(`the books: ${JSON.stringify(problem)}`);
  const { alerts } = await victim.alive(() => victim.operator('alert.list', {}));
  for (const { kind, message } of alerts) if (kind.endsWith('.halted')) faults.push(textOf(message));
  return faults;
}
