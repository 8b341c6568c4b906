/** `countinghouse status`. */
import type { Command } from 'commander';
import type { Result } from '../contract/operator.ts';
import { action } from './commands.ts';
import type { Io } from './io.ts';
import { textOf } from './said.ts';
import type { Session } from './session.ts';
import { BYTES_PER_MB, pairs, span, table, when } from './table.ts';

export function statusCommand(root: Command, io: Io): void {
  root
    .command('status')
    .description('show the state of the running service: chains, rates, addresses')
    .action(action(io, printStatus));
}

async function printStatus(session: Session): Promise<void> {
  const status = await session.call('status', {});
  session.print(status, () => statusText(session, status));
}

type Status = Result<'status'>;

function statusText(session: Session, status: Status): string {
  return [
    ...status.warnings.map((warning) => `Warning: ${textOf(warning)}\n`),
    pairs([
      ['Countinghouse', status.version],
      ['Address', status.url],
      ['Data', status.data_dir],
      ['Up for', span(status.uptime_seconds)],
      ['Disk', diskText(status.storage)],
      [
        'Open alerts',
        status.open_alerts === 0 ? 'none' : `${status.open_alerts}: see \`${session.commandText('alert list')}\``,
      ],
    ]),
    table(
      ['>NO', 'BUSINESS', 'NETWORK', 'TAKES'],
      status.businesses.map(({ id, name, network, cryptos }) => [`${id}`, name, network, cryptos.join(' ') || '-']),
      'There is no business yet.',
    ),
    table(
      ['NETWORK', 'CHAIN', '>TIP', '>AGE', 'SOURCE', 'STATE'],
      status.chains.map((chain) => [
        chain.network,
        chain.chain,
        chain.tip ? `${chain.tip.height}` : '-',
        chain.tip_age_seconds === null ? '-' : span(Math.max(0, chain.tip_age_seconds)),
        chain.source,
        stateOf(chain),
      ]),
      'No chain is connected.',
    ),
    table(
      ['NETWORK', 'CRYPTO', '>USD', 'FOUND'],
      status.rates.map(({ network, crypto, usd, at }) => [network, crypto, usd ?? 'no rate', when(at)]),
      'No rates are needed yet.',
    ),
    table(
      ['>NO', 'BUSINESS', 'CHAIN', '>ADDRESSES READY'],
      status.pools.map((pool) => [`${pool.business_id}`, pool.business, pool.chain, `${pool.ready} of ${pool.wanted}`]),
      'No account is connected.',
    ),
  ].join('\n');
}

function diskText({ free_bytes, problem }: Status['storage']): string {
  if (problem !== null) return `nothing can be stored: ${problem}`;
  return free_bytes === null ? 'ok' : `ok, ${Math.floor(free_bytes / BYTES_PER_MB)} MB free`;
}

function stateOf({ error, withheld, synced_at }: Status['chains'][number]): string {
  if (error !== null) return `failing: ${error}`;
  if (synced_at === null) return 'first sync under way';
  return withheld === null ? 'ok' : 'behind: no new payments';
}
