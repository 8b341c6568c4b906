/** Methods about notices of releases. */
import type { Release } from '../../app/operator/releases.ts';
import type { Result } from '../../contract/operator.ts';
import type { RELEASES } from '../../contract/releases.ts';
import { isoOrNull } from '../../domain/calendar.ts';
import type { Context, Methods } from './context.ts';

const releaseJson = (release: Release | null) =>
  release && { version: release.version, date: release.date, text: release.text };

function stateJson({ extra }: Context): Result<'releases.show'> {
  const state = extra.releases.state();
  return {
    version: state.version,
    feed: state.feed,
    wanted: state.wanted,
    asked_at: isoOrNull(state.askedAt),
    got_at: isoOrNull(state.gotAt),
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
