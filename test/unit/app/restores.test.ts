/** Restores in a row: how far each moves the next address of an account. */
import { expect, it } from 'vitest';
import { derive, takeAddress } from '../../../daemon/app/addresses/pool.ts';
import { deriveSkipped } from '../../../daemon/app/addresses/skipped.ts';
import { beginQuarantine } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { EARLIER_RESTORES_MAX, JUMPS_SEARCHED, jumpAfter } from '../../../daemon/domain/indices.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { openAlerts } from '../../../daemon/store/queries/effects.ts';
import { Bench } from './bench.ts';

const JUMP = 40;
const GIVEN = 3;
const READY = 30;

it('a restore moves the next address by one jump from those that were given out, however many are ready', async () => {
  const { app, at } = await Bench.open('LTC');
  const [account] = app.directory.accounts();
  const given: number[] = [];
  for (let machine = 0; machine < 4; machine++) {
    await derive(app, account!, READY);
    for (let i = 0; i < GIVEN; i++) {
      const { id } = await app.store.write((tx) => takeAddress(app, account!, machine + 1, true, tx));
      given.push(app.store.get(targetById, { id })!.idx);
    }
    await app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, at, JUMP));
    await deriveSkipped(app, account!, () => false);
  }
  expect(given).toEqual([0, 1, 2, 3].flatMap((jumps) => [0, 1, 2].map((n) => jumps * (JUMP + GIVEN) + n)));
});

it('tells how many jumps a search by the words must be told, once it would not look so far', async () => {
  const { app, at } = await Bench.open('LTC');
  const told = () => app.store.all(openAlerts, { rank: 0, id: Number.MAX_SAFE_INTEGER, limit: 10 });
  const restore = (jump: number) => app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, at, jump));
  await restore(jumpAfter(EARLIER_RESTORES_MAX));
  expect(told()).toEqual([]);
  await restore(jumpAfter(0));
  expect(told()).toMatchObject([{ kind: 'restore.far', message: { values: { jumps: JUMPS_SEARCHED + 1 } } }]);
});
