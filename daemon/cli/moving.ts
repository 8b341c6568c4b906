/**
 * `countinghouse signer move`: how far the way is from a wallet on a server to one at home, and the next commands. On the old server it
 * looks at what is left there; at home, with `--server`, at what is ready and what has arrived.
 *
 * Invariant: it reads and prints. Money moves by `withdrawal sweep` and its approval alone.
 */
import type { Command } from 'commander';
import type { Call, Result } from '../contract/operator.ts';
import { findAsset, isToken } from '../domain/assets.ts';
import { shellWord } from '../kit/shell.ts';
import { type Balance, balanceText, isShown } from './balance-text.ts';
import { action } from './commands.ts';
import { clean, Failure, type Io } from './io.ts';
import type { NextCommand, Step } from './moving-home.ts';
import type { Session } from './session.ts';

type Business = Result<'business.list'>['businesses'][number];

const PAGE = 200;
/** Of a list that filters by hand: as many entries are looked through, the newest first. */
const PAGES_MAX = 50;
const NAMED_MAX = 3;
/** Withdrawals that are under way. */
const UNDER_WAY = ['requested', 'approved', 'signed', 'broadcast'] as const;

const PAYOUT_GAS_UNKNOWN = 'The gas for paying tokens out is not known: this service is of an earlier release';

export function moveCommand(signer: Command, io: Io): void {
  signer
    .command('move')
    .description(
      'from a wallet on a server to one at home: what is done, what is left, and the next commands. On the old server, and with --server at home',
    )
    .action(action(io, move));
}

async function move(session: Session): Promise<void> {
  const { server } = session;
  const { stepsAtHome } = await import('./moving-home.ts');
  const steps = server === null ? await stepsOnServer(session) : await stepsAtHome(session, server);
  const next = steps.find(({ done }) => done === false)?.step ?? null;
  session.print(
    { side: server === null ? 'server' : 'home', next, steps },
    () => `${steps.map(stepText).join('\n')}\n`,
  );
}

const here = (command: string): NextCommand => ({ at: 'here', command: `countinghouse ${command}` });

function stepText({ done, text, commands }: Step, at: number): string {
  const mark = done === null ? '?' : done ? 'x' : ' ';
  const lines = done === true ? [] : commands.map(({ at: place, command }) => `       ${place}:  ${clean(command)}`);
  return [`[${mark}] ${at + 1}. ${clean(text)}`, ...lines].join('\n');
}

/** A step that is done when nothing of a kind is left. `why`: what is left, and what to do. */
function emptyStep(
  step: string,
  left: number,
  aim: string,
  { why, commands }: Pick<Step, 'commands'> & { why: string },
): Step {
  return { step, done: left === 0, text: left === 0 ? `${aim}.` : `${aim}: ${why}`, commands };
}

/** The steps on a server whose wallet lies there. */
async function stepsOnServer(session: Session): Promise<Step[]> {
  const { call } = session;
  const [{ wallet }, { machines }, { businesses }] = [
    await call('wallet.status', {}),
    await call('signer.machines', {}),
    await call('business.list', {}),
  ];
  const [machine] = machines;
  if (machine) {
    throw new Failure(
      `${clean(machine.name)} at home signs for this server. Run there: countinghouse --server NAME signer move`,
    );
  }
  const moved = businesses.filter(({ network }) => network !== 'sandbox');
  if (moved.length === 0) throw new Failure('there is nothing to move: this server has only its sandbox');
  const isHere = wallet.state !== 'none';
  const settled = [
    shopStep(moved),
    await invoiceStep(call, moved),
    await decisionStep(call, moved),
    await planStep(call, moved),
    await paymentStep(call, moved),
    await moneyStep(call, moved, isHere),
  ];
  return [
    {
      step: 'home',
      done: null,
      text: 'The other service has its words at home. At home you see how far that is, where to send the money, and what has arrived.',
      commands: [
        { at: 'new server', command: 'countinghouse signer invite' },
        { at: 'at home', command: 'countinghouse --server NAME signer move' },
      ],
    },
    ...settled,
    vaultStep(
      session,
      isHere,
      settled.every(({ done }) => done === true),
    ),
    await lateStep(call),
  ];
}

/** The symbols of the coins whose keys are in the wallet of the server. */
const ownCoins = ({ watch_only }: Business, cryptos: readonly string[]): string[] =>
  cryptos.filter((crypto) => !(watch_only as string[]).includes(findAsset(crypto)?.chain ?? ''));

function shopStep(businesses: readonly Business[]): Step {
  const taking = businesses.filter((one) => ownCoins(one, one.cryptos).length > 0);
  return {
    step: 'shop',
    done: taking.length === 0,
    text:
      taking.length === 0
        ? 'Nothing new is taken here.'
        : `Your shop uses the new service, and nothing new is taken here: ${listed(taking.map(({ name }) => name))} still takes payments.`,
    commands: taking.map((one) => here(`business change ${one.id} --disable ${ownCoins(one, one.cryptos).join(',')}`)),
  };
}

async function invoiceStep(call: Call, businesses: readonly Business[]): Promise<Step> {
  const open: string[] = [];
  for (const { id } of businesses) {
    const page = async (before?: number) => {
      const found = await call('invoice.list', { business: `${id}`, status: 'unpaid', limit: PAGE, before });
      return { rows: found.invoices, next: found.next };
    };
    open.push(...(await among(page, ({ expired }) => !expired)).map(({ slug }) => slug));
  }
  return emptyStep('invoices', open.length, 'No invoice waits for its payer', {
    why: `${open.length} still do. Let them be paid or end, or cancel them: ${listed(open)}.`,
    commands: open.slice(0, NAMED_MAX).map((slug) => here(`invoice cancel ${slug}`)),
  });
}

/** The inbox, and refunds for which a payer is still to type an address. */
async function decisionStep(call: Call, businesses: readonly Business[]): Promise<Step> {
  const ids = businesses.map(({ id }) => id);
  const inbox = await among(
    async (before) => {
      const { items, next } = await call('inbox.list', { limit: PAGE, before });
      return { rows: items, next };
    },
    ({ state, gone, business_id }) => ids.includes(business_id) && !gone && (state === 'open' || state === 'refunding'),
  );
  const links = await among(
    async (before) => {
      const found = await call('refundLink.list', { limit: PAGE, before });
      return { rows: found.links, next: found.next };
    },
    ({ state, withdrawal }) => withdrawal === null && (state === 'waits' || state === 'given'),
  );
  return emptyStep('decisions', inbox.length + links.length, 'No deposit of the inbox and no refund link waits', {
    why: `${inbox.length} of the one and ${links.length} of the other do.`,
    commands: [
      ...(inbox.length > 0
        ? [here('inbox list'), ...inbox.slice(0, NAMED_MAX).map(({ id }) => here(`inbox keep ${id}`))]
        : []),
      ...(links.length > 0
        ? [here('refund-link list'), ...links.slice(0, NAMED_MAX).map(({ id }) => here(`refund-link end ${id}`))]
        : []),
    ],
  });
}

async function planStep(call: Call, businesses: readonly Business[]): Promise<Step> {
  const plans: Result<'forwarding.list'>['plans'] = [];
  for (const { id } of businesses) plans.push(...(await call('forwarding.list', { business: `${id}` })).plans);
  return emptyStep('plans', plans.length, 'No plan forwards money', {
    why: `${plans.length} still do. Set them again for the new business.`,
    commands: plans.map(({ business_id, crypto }) => here(`forward end ${business_id} ${crypto}`)),
  });
}

async function paymentStep(call: Call, businesses: readonly Business[]): Promise<Step> {
  const ids = businesses.map(({ id }) => id);
  const open: Result<'withdrawal.list'>['withdrawals'] = [];
  for (const state of UNDER_WAY) {
    const page = async (before?: number) => {
      const found = await call('withdrawal.list', { state, limit: PAGE, before });
      return { rows: found.withdrawals, next: found.next };
    };
    open.push(...(await among(page, ({ business_id }) => ids.includes(business_id))));
  }
  return emptyStep('withdrawals', open.length, 'No withdrawal is under way', {
    why: `${open.length} are. Those that were sent wait for their block; approve or reject the others.`,
    commands: open
      .slice(0, NAMED_MAX)
      .map(({ id, state }) => here(state === 'requested' ? `withdrawal approve ${id}` : `withdrawal show ${id}`)),
  });
}

/** Tokens leave before the coin that pays for their gas. Money that is worth less than its fee stays. */
async function moneyStep(call: Call, businesses: readonly Business[], isHere: boolean): Promise<Step> {
  const held = await Promise.all(businesses.map((business) => heldBy(call, business)));
  const left = held.filter(({ moves }) => moves.length > 0);
  const commands = left.flatMap(({ business, moves }) =>
    moves
      .filter((one) => isNext(one, moves))
      .map(({ crypto }) => here(`withdrawal sweep ${business.id} ${crypto} ADDRESS`)),
  );
  const missing = left.some(({ moves }) => moves.some(isTokenBalance)) ? await gasMissing(call, businesses) : [];
  const waits = isHere
    ? 'Only confirmed money leaves.'
    : 'It came to an address of the old words after they were taken away: put the wallet back, unlock it, and sweep it.';
  const texts = left.map(({ business, moves }) => amountsText(business, moves));
  const why = [...texts, ...missing, waits].map((text) => text.replace(/\.$/, '')).join('. ');
  const stays = held.flatMap(({ business, stays }) => (stays.length > 0 ? [amountsText(business, stays)] : []));
  const but = stays.length > 0 ? ` but what is worth less than its fee, and stays (${stays.join('; ')})` : '';
  return emptyStep('money', left.length, `No money is left${but}`, {
    why: `${why}. ADDRESS is one of the new business, as \`signer move\` at home shows it.`,
    commands: left.length > 0 ? [...commands, here('withdrawal approve NUMBER')] : [],
  });
}

async function gasMissing(call: Call, businesses: readonly Business[]): Promise<string[]> {
  const { desks } = await call('gas.status', {});
  const missing = desks.flatMap(({ needs_out, needs, business_id }) => {
    const lacking = needs_out === undefined ? needs : needs_out;
    const owner = businesses.find(({ id }) => id === business_id);
    return lacking && owner ? [`${owner.name} ${lacking.text}`] : [];
  });
  const isOlder = desks.some(({ needs_out }) => needs_out === undefined);
  return isOlder ? [...missing, PAYOUT_GAS_UNKNOWN] : missing;
}

const amountsText = ({ name }: Business, balances: readonly Balance[]): string =>
  `${name}: ${balances.map(balanceText).join(', ')}`;

const isTokenBalance = ({ crypto }: Balance): boolean => {
  const asset = findAsset(crypto);
  return asset !== undefined && isToken(asset.symbol);
};

/** The balances of a business by the server's own keys: those that can move, now or later, and those that stay. */
async function heldBy(call: Call, business: Business) {
  const cryptos = ownCoins(
    business,
    business.balances.map(({ crypto }) => crypto),
  );
  const own = business.balances.filter((one) => cryptos.includes(one.crypto) && isShown(one));
  const { cryptos: leftovers } = await call('business.leftovers', { business: `${business.id}` });
  const isLeft = ({ crypto, locked }: Balance): boolean => locked === null && leftovers.includes(crypto);
  return { business, moves: own.filter((one) => !isLeft(one)), stays: own.filter(isLeft) };
}

/** Whether it can be swept now: it is there, and no token waits for it as gas. */
function isNext(one: Balance, all: readonly Balance[]): boolean {
  if (one.amount === '0') return false;
  const chain = findAsset(one.crypto)?.chain;
  return isTokenBalance(one) || !all.some((other) => isTokenBalance(other) && findAsset(other.crypto)?.chain === chain);
}

function vaultStep({ walletFolder }: Session, isHere: boolean, isSettled: boolean): Step {
  const folder = shellWord(walletFolder);
  const files = `${folder}/wallet.json ${folder}/signer-journal.*`;
  return {
    step: 'vault',
    done: !isHere,
    text: isHere
      ? `The old wallet is off this server${isSettled ? ': make a last backup, stop the service, take the wallet away on a medium of yours, and start the service again.' : '. The steps above come first.'}`
      : 'The old wallet is off this server.',
    commands:
      isHere && isSettled
        ? [
            here('backup old-wallet.backup'),
            { at: 'here', command: `mkdir -m 700 old-wallet && mv ${files} old-wallet/` },
            { at: 'at home', command: 'scp -r OLD-SERVER:old-wallet OLD-SERVER:old-wallet.backup /MEDIUM/' },
            { at: 'here', command: 'rm -r old-wallet' },
          ]
        : [],
  };
}

async function lateStep(call: Call): Promise<Step> {
  const { last } = await call('address.given', { from: 1, limit: 1 });
  return {
    step: 'late',
    done: null,
    text:
      `Payers still have old addresses: ${last} were given out. Who pays one of them late pays to the old words. While this service runs, ` +
      'it tells of such a payment, and shows it here as money that is left. Destroy the words and the medium only once nobody can pay any more.',
    commands: [here('inbox list')],
  };
}

/** Those that a list has of a kind, as far as it is looked through. */
async function among<T>(
  page: (before?: number) => Promise<{ rows: readonly T[]; next: number | null }>,
  isMeant: (one: T) => boolean,
): Promise<T[]> {
  const found: T[] = [];
  let before: number | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const { rows, next } = await page(before);
    found.push(...rows.filter(isMeant));
    if (next === null) break;
    before = next;
  }
  return found;
}

const listed = (names: readonly string[]): string =>
  names.length > NAMED_MAX
    ? `${names.slice(0, NAMED_MAX).join(', ')} and ${names.length - NAMED_MAX} more`
    : names.join(', ');
