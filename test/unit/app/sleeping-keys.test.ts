/** API keys that an older state of the data has. */
import { expect, it } from 'vitest';
import { beginQuarantine } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { sleepingKeys } from '../../../daemon/app/recovery/sleeping-keys.ts';
import { addApiKey } from '../../../daemon/app/shops/keys.ts';
import { Bench, HOUR } from './bench.ts';

const JUMP = 20;

it('sleep though the clock was ahead when they were made, and those of after do not though it was put back', async () => {
  const bench = await Bench.open();
  const { app } = bench;
  const made = (name: string) =>
    app.store.write((tx) => addApiKey(app, tx, bench.businessId, true, name, ['withdraw']).id);
  const earlier = [await made('first')];
  bench.advance(HOUR);
  earlier.push(await made('by a clock that is ahead'));
  bench.advance(-HOUR / 2);
  await app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, bench.at, JUMP));
  bench.advance(-HOUR / 4);
  await made('of the quarantine');
  expect(sleepingKeys(app.store).map(({ id }) => id)).toEqual(earlier);
});
