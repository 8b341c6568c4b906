import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OperatorEvents } from '../../../daemon/app/notifications/operator-events.ts';
import { messageOf } from '../../../daemon/domain/messages.ts';
import { insertAlert } from '../../../daemon/store/queries/effects.ts';
import { Store } from '../../../daemon/store/store.ts';

let store: Store;
let events: OperatorEvents;
beforeEach(async () => {
  store = await Store.inMemory();
  events = new OperatorEvents(() => 42);
});
afterEach(() => store.close());

const next = (cursor: string | null, waitMs = 0) => events.next(store, cursor, waitMs);

describe('what changed', () => {
  it('is told in order, once, from the cursor on', async () => {
    events.tell('withdrawal', '1');
    const { cursor, events: before } = await next(null);
    expect(before).toEqual([]);
    events.tell('withdrawal', '2');
    events.tell('invoice', 'abc');
    const page = await next(cursor);
    expect(page).toMatchObject({
      missed: false,
      events: [
        { kind: 'withdrawal', subject: '2', at: 42 },
        { kind: 'invoice', subject: 'abc', at: 42 },
      ],
    });
    expect((await next(page.cursor)).events).toEqual([]);
  });

  it('wakes those who wait', async () => {
    const { cursor } = await next(null);
    const waiting = next(cursor, 20_000);
    events.tell('inbox', '7');
    expect((await waiting).events).toEqual([{ kind: 'inbox', subject: '7', what: 'changed', at: 42 }]);
  });

  it('an alert is told wherever it was stored', async () => {
    const { cursor } = await next(null);
    await store.write((tx) =>
      tx.run(insertAlert, { kind: 'k', subject: 's', message: messageOf('m'), created_at: 1, network: null }),
    );
    expect((await next(cursor)).events).toEqual([{ kind: 'alert', subject: '1', what: 'm', at: 42 }]);
    expect((await next((await next(null)).cursor)).events).toEqual([]);
  });

  it.each(['', 'nobody 3', 'x'])('who comes with the cursor %j has missed something', async (cursor) => {
    expect(await next(cursor, 20_000)).toMatchObject({ missed: true, events: [] });
  });

  it('who stays away too long has missed something, and goes on from the end', async () => {
    const { cursor } = await next(null);
    for (let i = 0; i < 1_001; i++) events.tell('withdrawal', `${i}`);
    const page = await next(cursor);
    expect(page).toMatchObject({ missed: true, events: [] });
    events.tell('withdrawal', 'last');
    expect((await next(page.cursor)).events.map(({ subject }) => subject)).toEqual(['last']);
  });

  it('stopping ends every wait', async () => {
    const { cursor } = await next(null);
    const waiting = next(cursor, 20_000);
    events.close();
    expect((await waiting).events).toEqual([]);
  });
});
