/** `countinghouse source`: the chains' sources. */
import type { Command } from 'commander';
import type { Result } from '../contract/operator.ts';
import { action } from './commands.ts';
import type { Io } from './io.ts';
import { symbol } from './parse.ts';
import type { Session } from './session.ts';
import { span, table } from './table.ts';

export function sourceCommands(root: Command, io: Io): void {
  const source = root.command('source').description('sources of the chains: nodes and servers');
  source
    .command('list')
    .description('list every source with its servers: tip, latency, agreement')
    .option('--all', 'also the servers that are not connected')
    .action(action(io, listSources));
  source
    .command('rescan')
    .argument('<chain>', 'such as BTC', symbol)
    .option('--network <network>', 'mainnet, testnet or regtest', 'mainnet')
    .description('search every address of the wallet again, in the background')
    .action(action(io, rescan));
}

type Source = Result<'source.list'>['sources'][number];

async function listSources(session: Session, { all = false }: { all?: boolean }) {
  const found = await session.call('source.list', {});
  // a node and the sandbox have no list of servers
  const overServers = found.sources.filter(({ servers }) => servers.length > 0);
  session.print(found, () =>
    [
      table(
        ['NETWORK', 'CHAIN', 'ASKED', '>TIP', '>AGE', '>AGREE', 'STATE'],
        found.sources.map((source) => [
          source.network,
          source.chain,
          source.source,
          source.tip ? `${source.tip.height}` : '-',
          source.tip_age_seconds === null ? '-' : span(Math.max(0, source.tip_age_seconds)),
          source.agreeing === null ? '-' : `${source.agreeing}`,
          source.error ??
            source.withheld ??
            (source.rescan_percent === null
              ? source.unchecked
                ? 'unchecked: one operator alone answers'
                : 'ok'
              : `searching ${source.rescan_percent} %`),
        ]),
        'No chain is connected.',
      ),
      ...(overServers.length === 0
        ? []
        : [
            table(
              ['CHAIN', 'SERVER', 'STATE', '>TIP', '>BEHIND', '>MS', '>WATCHES', 'SOFTWARE'],
              overServers.flatMap((source) => serverRows(source, all)),
              'No server is connected.',
            ),
          ]),
    ].join('\n'),
  );
}

function serverRows({ network, chain, servers }: Source, all: boolean): string[][] {
  return servers
    .filter(({ state, error }) => all || state === 'ready' || error !== null)
    .map((server) => [
      `${network}:${chain}`,
      server.name,
      server.asked ? 'asked' : server.state,
      ...[server.tip?.height, server.behind, server.latency_ms].map((number) => (number == null ? '-' : `${number}`)),
      `${server.watched}`,
      server.software ?? server.error ?? '-',
    ]);
}

async function rescan(session: Session, { network }: { network: string }, chain: string) {
  const { begun } = await session.call('source.rescan', { network, chain });
  session.print(
    { begun },
    () => 'Every address is being looked at. A node is asked for every block since the birthday.\n',
  );
}
