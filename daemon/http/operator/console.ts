/** Methods about the console: its links and its sessions. */
import { findBusiness } from '../../app/operator/find.ts';
import type { CONSOLE } from '../../contract/console.ts';
import { toIso } from '../../domain/calendar.ts';
import type { Methods } from './context.ts';

export const CONSOLE_METHODS: Methods<typeof CONSOLE> = {
  'console.open': async ({ extra }) => {
    const { url, endsAt } = await (await extra.console()).link();
    return { url, ends_at: toIso(endsAt) };
  },
  'console.list': async ({ extra }) => ({
    sessions: (await extra.console()).sessions.list().map(({ id, name, scope, till, createdAt, usedAt }) => ({
      id,
      name,
      scope,
      till,
      created_at: toIso(createdAt),
      used_at: toIso(usedAt),
    })),
  }),
  'till.pair': async ({ app, extra }, { business }) => {
    const { id } = findBusiness(app, business);
    const { urls, code, endsAt } = await (await extra.console()).pairTill(id);
    return { urls: urls.map((url) => `${url}/#sign-in=${code}`), code, ends_at: toIso(endsAt) };
  },
  'console.end': async ({ extra }, { id }) => ({ ended: await (await extra.console()).end(id ?? null) }),
};
