/** Statements about transactions that paid us, which signing needs when their outputs are spent. */
import { matching, sqlite, statement } from '../statement.ts';

/** Stores a transaction as its present block has it: another block gives Monero's outputs other numbers. */
export const keepPrevious = statement((p: { txid: string; chain_key: string; base: Uint8Array }) =>
  sqlite
    .insertInto('previous_tx')
    .values({ txid: p.txid, chain_key: p.chain_key, base: p.base })
    .onConflict((conflict) =>
      conflict
        .columns(['txid', 'chain_key'])
        .doUpdateSet((eb) => ({ base: eb.ref('excluded.base') }))
        .whereRef('previous_tx.base', '!=', 'excluded.base'),
    ),
);

export const previousTx = matching('previous_tx', ['txid', 'chain_key'], {}, ['base']);
