/** Statements that only the tests of the books need. */
import type { App } from '../../../daemon/app/app.ts';
import { sqlite, statement } from '../../../daemon/store/statement.ts';

const targets = statement((_: Record<never, never>) => sqlite.selectFrom('target').selectAll());

export const allTargets = (app: App) => app.store.all(targets, {});

export const pastUntil = statement((p: { id: number; height: number }) =>
  sqlite.updateTable('account').set({ past_until: p.height }).where('id', '=', p.id),
);

export const zoneOf = statement((p: { id: number; time_zone: string }) =>
  sqlite.updateTable('business').set({ time_zone: p.time_zone }).where('id', '=', p.id),
);
