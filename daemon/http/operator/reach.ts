/** Methods about who can open the payment pages. */
import { beginReachTest, type Opening, reachTests } from '../../app/operator/reach.ts';
import type { Result } from '../../contract/operator.ts';
import type { REACH } from '../../contract/reach.ts';
import { toIso } from '../../domain/calendar.ts';
import { reachOf } from '../../domain/reach.ts';
import { ownAddresses } from '../../kit/own-network.ts';
import type { Methods } from './context.ts';

const EVERY_ADDRESS = ['0.0.0.0', '::'];

const openedJson = (opened: Opening | null): Result<'reach.show'>['tested'] =>
  opened && { at: toIso(opened.at), network: opened.network };

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

export const REACH_METHODS: Methods<typeof REACH> = {
  'reach.show': async ({ app, extra }) => {
    const { host } = app.config;
    const { port } = extra.api;
    const addresses = ownAddresses();
    const listens = addresses.find((one) => EVERY_ADDRESS.includes(host) || one === host);
    const { test, tested } = reachTests(app);
    return {
      url: app.publicUrl,
      reach: reachOf(app.publicUrl),
      own_url: `http://${bracketed(extra.api.host)}:${port}`,
      network_url: listens === undefined ? null : `http://${listens}:${port}`,
      addresses,
      tested: openedJson(tested),
      test: test && { url: test.url, ends_at: toIso(test.endsAt), opened: openedJson(test.opened) },
      till_urls: (await extra.console()).tillUrls(),
    };
  },
  'reach.test': async ({ app }) => {
    const { url, endsAt } = await beginReachTest(app);
    return { url, ends_at: toIso(endsAt) };
  },
};
