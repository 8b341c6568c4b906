/** Methods about the console: its links and its sessions. */
import type { CONSOLE } from '../../contract/console.ts';
import type { Parsed, Result } from '../../contract/operator.ts';
import { toIso } from '../../domain/calendar.ts';
import type { Context } from './context.ts';

type Methods = {
  [M in keyof typeof CONSOLE]: (context: Context, params: Parsed<M>) => Promise<Result<M>>;
};

export const CONSOLE_METHODS: Methods = {
  'console.open': async ({ extra }) => {
    const { url, endsAt } = await (await extra.console()).link();
    return { url, ends_at: toIso(endsAt) };
  },
  'console.list': async ({ extra }) => ({
    sessions: (await extra.console()).sessions.list().map(({ id, name, scope, createdAt, usedAt }) => ({
      id,
      name,
      scope,
      created_at: toIso(createdAt),
      used_at: toIso(usedAt),
    })),
  }),
  'console.end': async ({ extra }, { id }) => ({ ended: await (await extra.console()).end(id ?? null) }),
};
