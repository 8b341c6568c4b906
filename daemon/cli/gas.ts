/** `countinghouse gas`: the money on deposit addresses of Ethereum and BNB Smart Chain, and its collection. */

import type { Command } from 'commander';
import type { Result } from '../contract/operator.ts';
import { type AssetId, assetOf } from '../domain/assets.ts';
import { EVM_CHAINS, type EvmChain } from '../domain/evm.ts';
import { GWEI_DECIMALS, needPossiblePlan } from '../domain/gas-plan.ts';
import { parseDecimal } from '../domain/money.ts';
import { MS_PER_DAY, MS_PER_MINUTE } from '../domain/time.ts';
import { confirmedGrant } from './approvals.ts';
import { action, BUSINESS } from './commands.ts';
import { EXIT, Failure, type Io, usage } from './io.ts';
import { endLimits, nextDate, notingLimits } from './limits.ts';
import { time, wholeNumber } from './parse.ts';
import { textIn } from './said.ts';
import { type PassphraseOption, withPassphrase } from './secrets.ts';
import type { Session } from './session.ts';
import { pairs, table, when } from './table.ts';

type Desk = Result<'gas.status'>['desks'][number];
type CollectOptions = PassphraseOption & {
  minUsd: string;
  maxPrice?: string;
  maxCost?: string;
  from?: number;
  until?: number;
  daily?: string;
};

export function gasCommands(root: Command, io: Io): void {
  const gas = root
    .command('gas')
    .description('gas on Ethereum and BNB Smart Chain: the money on deposit addresses, and the cost of moving it');
  gas
    .command('status')
    .description('show the tank, the gas price, and the money on deposit addresses')
    .argument('[business]', BUSINESS[1])
    .action(action(io, showStatus));
  const onChain = (name: string): Command =>
    gas
      .command(name)
      .argument(...BUSINESS)
      .argument('<chain>', EVM_CHAINS.join(' or '), (text) => chainOf(text));
  onChain('forecast')
    .option('--min-usd <usd>', 'leave out addresses that hold less, in US dollars', '5')
    .option(
      '--share <percent>',
      'mark addresses whose cost is a larger share of their worth, in percent',
      wholeNumber,
      10,
    )
    .description('show what it would cost now to collect all money into the tank')
    .action(action(io, showForecast));
  withPassphrase(onChain('collect'))
    .option('--min-usd <usd>', 'leave out addresses that hold less, in US dollars', '5')
    .option('--max-price <gwei>', 'only while gas costs at most this, in gwei')
    .option(
      '--max-cost <amount>',
      "the most that it may cost in all, in the chain's coin (default: twice the forecast, which the service states)",
    )
    .option('--from <time>', 'when the plan begins, such as 2026-01-31T02:00:00Z (default: now)', time)
    .option('--until <time>', 'when the plan ends (default: a day after it begins; with --daily, 31 days)', time)
    .option('--daily <hours>', "only at these hours of each day, in the business's time zone, such as 02:00-05:00")
    .description('collect money from deposit addresses into the tank, now or by a plan; the wallet has to be unlocked')
    .action(action(io, collect));
  withPassphrase(onChain('stop'))
    .description('end the plan, and take its grant back from the wallet')
    .action(action(io, stop));
  withPassphrase(onChain('tank'))
    .description('move to a new tank, because a token blocks the address of the tank; ends the plan')
    .action(action(io, changeTank));
  onChain('resume')
    .description('let a plan go on that halted because one of its transactions failed on the chain')
    .action(action(io, resume));
}

function chainOf(text: string): EvmChain {
  const found = EVM_CHAINS.find((chain) => chain === text.toUpperCase());
  if (!found) throw usage(`${text} is none of ${EVM_CHAINS.join(', ')}`);
  return found;
}

async function showStatus(session: Session, _: object, business?: string): Promise<void> {
  const found = await session.call('gas.status', { business });
  session.print(found, () =>
    found.desks.length === 0 ? 'No business has a chain that needs gas.\n' : found.desks.map(deskText).join('\n'),
  );
}

function deskText({
  business,
  network,
  chain,
  coin,
  tank,
  former_tanks,
  price,
  prices,
  assets,
  needs,
  plan,
}: Desk): string {
  const rows = assets.map((one) => [
    one.crypto,
    one.amount,
    one.in_tank,
    one.on_addresses,
    `${one.addresses}`,
    one.usd_value ?? '-',
  ]);
  const list = table(['CRYPTO', '>HELD', '>IN TANK', '>TO COLLECT', '>ADDRESSES', '>USD'], rows, '');
  const head = pairs([
    ['Business', `${business} (${network})`],
    ['Chain', chain],
    ['Tank', `${tank.amount} ${coin} at ${tank.address}`],
    ...former_tanks.map(({ address, held }): [string, string] => ['Former tank', `${heldText(held)} at ${address}`]),
    ['Gas', `at most ${price} gwei now`],
    ['Cheapest', cheapestText(prices)],
    ['Missing', needs?.text ?? null],
    ...planLines(plan, coin),
  ]);
  return `${head}${list}`;
}

const heldText = (held: Desk['former_tanks'][number]['held']): string =>
  held.map(({ crypto, amount, blocked }) => `${amount} ${crypto}${blocked ? ' (BLOCKED)' : ''}`).join(', ');

/** The cheapest of the measured hours; null if there are too few to choose from. */
function cheapestText(prices: Desk['prices']): string | null {
  const [first, ...others] = prices;
  if (!first || others.length === 0) return null;
  const least = others.reduce((best, one) => (Number(one.low) < Number(best.low) ? one : best), first);
  return `${least.low} gwei in the hour of ${when(least.at)}, of ${prices.length} hours measured`;
}

function planLines(plan: Desk['plan'], coin: string): [string, string | null][] {
  if (!plan) return [];
  const price = plan.price_max === null ? '' : `, while gas costs at most ${plan.price_max} gwei`;
  return [
    [
      'Plan',
      `${plan.state}: ${plan.only_needed ? 'what withdrawals wait for' : `from ${plan.min_usd} USD an address${price}`}`,
    ],
    ['Each day', plan.daily && `${plan.daily.from} to ${plan.daily.to}`],
    ['Begins', when(plan.begins_at)],
    ['Ends', when(plan.ends_at)],
    ['Cost', `up to ${plan.fee_max} ${coin}, ${plan.used} of it used`],
    ['Waits', textIn(plan.problem)],
  ];
}

async function showForecast(session: Session, options: { minUsd: string; share: number }, ...given: unknown[]) {
  const [business, chain] = [String(given[0]), given[1] as EvmChain];
  const { minUsd: min_usd, share: share_percent } = options;
  const found = await session.call('gas.forecast', { business, chain, min_usd, share_percent });
  session.print(found, () => forecastText(found));
}

const LEFT = { minimum: 'too little', rate: 'no rate', busy: 'under way', blocked: 'BLOCKED' };

function forecastText({ items, worth, cost, cost_usd, coin, price, needs }: Result<'gas.forecast'>): string {
  const rows = items.map((one) => [
    one.address,
    one.crypto,
    one.amount,
    one.usd_value ?? '-',
    one.cost,
    one.cost_usd ?? '-',
    one.left !== null ? LEFT[one.left] : one.dear ? 'DEAR' : '',
  ]);
  const list = table(
    ['ADDRESS', 'CRYPTO', '>AMOUNT', '>USD', `>${coin}`, '>COST USD', 'NOTE'],
    rows,
    'Nothing is to collect.',
  );
  const dollars = cost_usd === null ? '' : ` (${cost_usd} USD)`;
  const missing = needs ? `\n${coin}: ${needs.text}` : '';
  return `${list}${worth} worth collecting, for at most ${cost} ${coin}${dollars} at ${price} gwei.${missing}\n`;
}

async function collect(session: Session, options: CollectOptions, ...given: unknown[]): Promise<void> {
  const [business, chain] = [String(given[0]), given[1] as EvmChain];
  const min_usd = options.minUsd;
  if (options.daily !== undefined && options.maxCost === undefined) {
    throw usage('--daily needs --max-cost: the most that all its days may cost together');
  }
  const forecast = await session.call('gas.forecast', { business, chain, min_usd });
  if (!session.json) session.note(forecastText(forecast).trimEnd());
  const feeMax = options.maxCost === undefined ? BigInt(forecast.fee_max) : unitsOf(options.maxCost, forecast.coin);
  if (feeMax === 0n)
    throw new Failure('there is nothing worth collecting now: name --max-cost for a plan', EXIT.failed, 'gas');
  if (!session.json && forecast.worth === 0)
    session.note('Nothing is worth collecting now: the plan waits for payments.');
  const price_max = options.maxPrice === undefined ? null : priceOf(options.maxPrice);
  const now = Date.now();
  const begins_at = options.from ?? now;
  const daily = options.daily === undefined ? null : hoursOf(options.daily);
  const { GAS_GRANT_MS_MAX: longest } = await import('../wallet/signer/limits.ts');
  // of a daily plan the longest that the wallet can be granted, less a minute for a clock that differs
  const ends_at = options.until ?? (daily ? now + longest - MS_PER_MINUTE : begins_at + MS_PER_DAY);
  // a separate signer gets the grant before the service could refuse the plan
  needPossiblePlan({ feeMax, beginsAt: begins_at, endsAt: ends_at, daily }, now, longest);
  const signed = await signedGrant(session, options, { business, chain, feeMax, until: ends_at });
  const plan = { business, chain, min_usd, price_max, daily, begins_at, ends_at, fee_max: feeMax.toString(), signed };
  const done = await notingLimits(session, session.call('gas.collect', plan));
  session.print(done, () => pairs(planLines(done.plan, forecast.coin)));
}

async function stop(session: Session, options: PassphraseOption, ...given: unknown[]): Promise<void> {
  const [business, chain] = [String(given[0]), given[1] as EvmChain];
  const known = await endLimits(session, options, 'gas');
  const signed = await signedGrant(session, known, { business, chain, feeMax: 0n, until: Date.now() });
  const done = await session.call('gas.stop', { business, chain, signed });
  session.print(done, () => (done.plan ? `The plan is ${done.plan.state}.\n` : 'There was no plan.\n'));
}

async function resume(session: Session, _: object, ...given: unknown[]): Promise<void> {
  const done = await session.call('gas.resume', { business: String(given[0]), chain: given[1] as EvmChain });
  session.print(done, () => 'The plan goes on.\n');
}

async function changeTank(session: Session, options: PassphraseOption, ...given: unknown[]): Promise<void> {
  const [business, chain] = [String(given[0]), given[1] as EvmChain];
  const { tank } = await deskOf(session, business, chain);
  const index = tank.index + 1;
  if (!session.json) {
    session.note(`The tank is ${tank.address}. It stays watched: send no gas there any more.`);
    session.note('The next plan collects its money into the new one. A token that blocks it keeps its part there.');
  }
  const signed = await signedGrant(session, options, { business, chain, feeMax: 0n, until: Date.now(), tank: index });
  const done = await session.call('gas.tank', { business, chain, index, signed });
  if (signed) await (await import('./grant-first.ts')).tellAfter(session, signed);
  session.print(
    done,
    () => `The tank is ${done.address} now. Collect what the former one holds: ${session.commandText('gas collect')}\n`,
  );
}

type GasOptions = { tank?: number; business: string; chain: EvmChain; feeMax: bigint; until: number };

/** Shows a grant of gas, asks for confirmation, and signs it with the passphrase. Null on the sandbox. */
async function signedGrant(session: Session, options: PassphraseOption, { business, chain, ...wanted }: GasOptions) {
  const desk = await deskOf(session, business, chain);
  if (desk.network === 'sandbox') return null;
  // before the passphrase is asked for: a locked wallet takes nothing but an end
  if (wanted.feeMax > 0n || wanted.tank !== undefined) await (await import('./grant-first.ts')).needOpenWallet(session);
  const { gasGrantOf, gasGrantText } = await import('../operator/gas.ts');
  const grant = gasGrantOf(
    { network: desk.network, accountNo: desk.account_no, chain, ...wanted },
    await nextDate(session),
  );
  if (!session.json) session.note(gasGrantText(grant));
  return confirmedGrant(session, options, grant, questionOf(wanted));
}

const questionOf = ({ feeMax, tank }: Pick<GasOptions, 'feeMax' | 'tank'>): string | undefined => {
  if (tank !== undefined) return 'Move to that tank?';
  return feeMax === 0n ? 'End it?' : undefined;
};

async function deskOf(session: Session, business: string, chain: EvmChain): Promise<Desk> {
  const { desks } = await session.call('gas.status', { business });
  const desk = desks.find((one) => one.chain === chain);
  if (!desk) throw new Failure(`${business} has no chain ${chain} that needs gas`, EXIT.failed, 'gas.chain');
  return desk;
}

function unitsOf(text: string, coin: string): bigint {
  const units = parseDecimal(text, assetOf(coin as AssetId).decimals);
  if (!units) throw usage(`${text} is no amount of ${coin}`);
  return units;
}

/** Gwei, as the service takes it: as text. */
function priceOf(text: string): string {
  if (parseDecimal(text, GWEI_DECIMALS) === null) throw usage(`--max-price ${text} is no number of gwei`);
  return text;
}

type Hours = { from: string; to: string };

function hoursOf(text: string): Hours {
  const [, from, to] = /^((?:[01]\d|2[0-3]):[0-5]\d)-((?:[01]\d|2[0-3]):[0-5]\d)$/.exec(text) ?? [];
  if (from === undefined || to === undefined) throw usage(`--daily ${text}: say 02:00-05:00`);
  return { from, to };
}
