/** `restore words` adds what it can before the search is over, and what is found later when it is. */
import { expect, it } from 'vitest';
import { findAccounts } from '../../../daemon/cli/restore-words.ts';

type Used = { chain: 'LTC'; account_no: number; receiving: number; change: number };

const used = (...accounts: number[]): Used[] =>
  accounts.map((account_no) => ({ chain: 'LTC', account_no, receiving: 5 + account_no, change: -1 }));

/** A service whose search is in one of these states at each look. `interrupted`: of how many accounts the one before it was. */
function serviceOf(states: readonly { near: boolean; running: boolean; used: Used[] }[], interrupted = 0) {
  const log: string[] = [];
  let looks = 0;
  let accounts = 0;
  const session = {
    note: () => {},
    io: { stderr: { write: (text: string) => log.push(text.includes('can be used now') ? 'usable' : 'key') } },
    call: async (method: string, params: { accounts: { LTC: object[] }; anew: boolean } & Record<string, unknown>) => {
      if (method === 'wallet.discover') log.push(`search ${params.accounts.LTC.length} ${params.anew}`);
      if (method === 'business.nextAccount') return { account_no: accounts };
      if (method === 'business.add') {
        log.push(`add ${params.account_no} ${JSON.stringify(params.used)}`);
        accounts++;
        return { business: { id: accounts, name: params.name }, key: { key: 'secret' } };
      }
      if (method !== 'wallet.discovery') return {};
      const state = states[Math.min(looks, states.length - 1)]!;
      // each look for the search is followed by one for the reading of what was found
      looks++;
      const chains = [
        {
          chain: 'LTC',
          derived: null,
          from: null,
          height: null,
          tip: null,
          addresses: null,
          near: state.near,
          done: !state.running,
        },
      ];
      const { running, used: found } = state;
      return { running, resumed: false, chains, used: found, error: null, accounts: interrupted, rescans: [] };
    },
  };
  const words = { account: () => ({}) };
  const find = (anew = true) => {
    const request = { network: 'regtest', birthday: '', gap: 20, restores: 1, anew };
    return findAccounts(
      session as never,
      words as never,
      { ...request, name: 'Found', wait: 60 } as never,
      request as never,
    );
  };
  return { log, find };
}

it('adds accounts once the likely addresses were searched, and the others at the end', async () => {
  const { log, find } = serviceOf([
    { near: false, running: true, used: [] },
    { near: true, running: true, used: used(0) },
    { near: true, running: true, used: used(0) },
    { near: true, running: true, used: used(0) },
    { near: true, running: false, used: used(0, 2) },
  ]);
  const { found, added } = await find();
  expect(added.map(({ account_no }) => account_no)).toEqual([0, 1, 2]);
  expect(found.used).toEqual(used(0, 2));
  // account 2 makes 23 accounts necessary: 20 behind the last used one
  expect(log).toEqual([
    'search 21 true',
    'add 0 {"LTC":{"receiving":5,"change":-1}}',
    'key',
    'usable',
    'search 23 false',
    'add 1 {}',
    'key',
    'add 2 {"LTC":{"receiving":7,"change":-1}}',
    'key',
  ]);
});

it('says nothing of a rest where the search is over at once', async () => {
  const { log, find } = serviceOf([{ near: true, running: false, used: used(0) }]);
  await find();
  expect(log).toEqual(['search 21 true', 'add 0 {"LTC":{"receiving":5,"change":-1}}', 'key']);
});

it('goes on with an interrupted search of more accounts than the first', async () => {
  const states = [{ near: true, running: false, used: used(0, 2) }];
  const again = serviceOf(states, 23);
  await again.find(false);
  expect(again.log[0]).toBe('search 23 false');
  expect(again.log.filter((line) => line.startsWith('search'))).toHaveLength(1);
  const anew = serviceOf(states, 23);
  await anew.find();
  expect(anew.log[0]).toBe('search 21 true');
});
