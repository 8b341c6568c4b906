/** Methods about notices of releases. */
import type { Release } from '../../app/operator/releases.ts';
import type { Result } from '../../contract/operator.ts';
import type { RELEASES } from '../../contract/releases.ts';
import { toIso } from '../../domain/calendar.ts';
import type { Context, Methods } from './context.ts';

const timeOf = (at: number | null): string | null => (at === null ? null : toIso(at));

const releaseJson = (release: Release | null) =>
  release && { version: release.version, date: release.date, text: release.text };

function stateJson({ extra }: Context): Result<'releases.show'> {
  const state = extra.releases.state();
  return {
    version: state.version,
    feed: state.feed,
    wanted: state.wanted,
    asked_at: timeOf(state.askedAt),
    got_at: timeOf(state.gotAt),
    problem: state.problem,
    made_at: state.madeAt,
    newer: releaseJson(state.newer),
    security: releaseJson(state.security),
  };
}

export const RELEASE_METHODS: Methods<typeof RELEASES> = {
  'releases.show': stateJson,
  'releases.choose': async (context, { wanted }) => {
    await context.extra.releases.choose(wanted);
    if (wanted) await context.extra.askReleases();
    return stateJson(context);
  },
};
