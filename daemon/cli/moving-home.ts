/**
 * The half of `signer move` at home: whether the new wallet is ready, which addresses of it take the old money, and what arrived there.
 *
 * Invariant: an address is shown only if this computer derived the same one from its own keys.
 */
import type { Call, Result } from '../contract/operator.ts';
import { type ChainId, findAsset } from '../domain/assets.ts';
import type { AccountKey } from '../domain/chain.ts';
import { formatUnits, parseDecimal } from '../domain/money.ts';
import { failIfStopped } from './audit.ts';
import { clean, EXIT, Failure } from './io.ts';
import type { Session } from './session.ts';

/** `done`: null where this side cannot see it. `commands`: what comes next, each with where it is run. */
export type Step = { step: string; done: boolean | null; text: string; commands: NextCommand[] };
export type NextCommand = { at: 'here' | 'at home' | 'old server' | 'new server'; command: string };

type Business = Result<'business.list'>['businesses'][number];
type Invoice = Result<'invoice.show'>['invoice'];
type Destination = { business: Business; crypto: string; chain: ChainId; key: AccountKey };

/** The reference of the invoices that take money of our own. */
const OWN_MONEY = 'own-money';
const PAGE = 200;

/**
 * The steps of a move as a computer at home sees them. Throws `Failure` with `EXIT.foreign` while signing is stopped,
 * and for an address that is not of its keys.
 */
export async function stepsAtHome(session: Session, server: string): Promise<Step[]> {
  await failIfStopped(session);
  const [{ withServer }, { version }] = await Promise.all([import('../home/call.ts'), import('./version.ts')]);
  // the server lets few connections in a minute
  return withServer(session.dataDir, version(), (call) => stepsOver(call, session, server));
}

async function stepsOver(call: Call, session: Session, server: string): Promise<Step[]> {
  const run = (command: string): NextCommand => ({
    at: 'here',
    command: `countinghouse --server ${server} ${command}`,
  });
  const [machine] = (await call('signer.machines', {})).machines;
  const destinations = await destinationsOf(call, session);
  const names = [...new Set(destinations.map(({ business }) => business.name))];
  const isConnected = machine?.connected === true;
  const steps: Step[] = [
    {
      step: 'words',
      done: names.length > 0,
      text:
        names.length > 0
          ? `The words are on this computer. The server takes money for ${names.join(', ')} with public keys of them.`
          : 'The words are made on this computer, with a business: it gets an API key of its own.',
      commands: [run('business add --name "My shop" --network mainnet')],
    },
    {
      step: 'connected',
      done: isConnected,
      text: isConnected
        ? 'This computer is connected.'
        : 'This computer is connected, so that it can sign: it is not now.',
      commands: [run('signer run')],
    },
  ];
  for (const destination of destinations) steps.push(await addressStep(call, destination, run));
  steps.push({
    step: 'old',
    done: null,
    text: 'The old server shows what is left there. Send a small amount first, and the rest once that has arrived.',
    commands: [{ at: 'old server', command: 'countinghouse signer move' }],
  });
  return steps;
}

/** The coins that the server takes with keys which this computer derived. */
async function destinationsOf(call: Call, { dataDir, walletFolder }: Session): Promise<Destination[]> {
  const [{ hasWallet }, { accountIn, readAccounts }] = await Promise.all([
    import('../wallet/wallet.ts'),
    import('../home/accounts.ts'),
  ]);
  if (!(await hasWallet(walletFolder))) return [];
  const accounts = await readAccounts(dataDir);
  const { businesses } = await call('business.list', {});
  return businesses.flatMap((business) =>
    business.cryptos.flatMap((crypto) => {
      const chain = findAsset(crypto)?.chain;
      const { network, account_no } = business;
      if (chain === undefined || network === 'sandbox') return [];
      const key = accountIn(accounts, network, account_no, chain);
      return key ? [{ business, crypto, chain, key }] : [];
    }),
  );
}

/**
 * An address for the old money: that of the newest invoice for it, which is canceled, so that the money is none of its
 * takings.
 */
async function addressStep(call: Call, to: Destination, run: (command: string) => NextCommand): Promise<Step> {
  const { business, crypto } = to;
  const wanted = { business: `${business.id}`, order_id: OWN_MONEY, limit: PAGE };
  const line = (await call('invoice.list', wanted)).invoices.find(({ payment }) => payment?.crypto === crypto);
  const step = `address ${business.id} ${crypto}`;
  if (!line) {
    return {
      step,
      done: false,
      text: `${business.name} has an address for old ${crypto}, made by an invoice of your own that is then canceled.`,
      commands: [run(`invoice add ${plain(`${business.id}`)} 0.01 USD --choose ${crypto} --order ${OWN_MONEY}`)],
    };
  }
  const { invoice } = await call('invoice.show', { invoice: line.slug });
  const { payment } = invoice;
  if (!payment) throw new Failure(`the server says two things about invoice ${line.slug}`);
  await needOwn(call, to, payment.address);
  if (invoice.status === 'unpaid') {
    return {
      step,
      done: false,
      text: `The invoice with the address for old ${crypto} is canceled, so that nothing counts as a sale.`,
      commands: [run(`invoice cancel ${plain(invoice.slug)}`)],
    };
  }
  const { items } = await call('inbox.list', { limit: PAGE });
  const surplus = items.filter((one) => one.invoice === invoice.slug && one.state === 'open' && !one.gone);
  const deposits = invoice.credits.filter((one) => one.crypto === crypto && !one.gone);
  const confirmed = sumOf(
    deposits.filter((one) => one.confirmed),
    crypto,
  );
  const keep = surplus.length > 0 ? ' What is in the inbox of it is yours: keep it.' : '';
  return {
    step,
    done: surplus.length === 0,
    text: `${business.name} takes old ${crypto} at ${payment.address}, an address of your keys: ${sumOf(deposits, crypto)} came, ${confirmed} of it is confirmed.${keep}`,
    commands: surplus.map(({ id }) => run(`inbox keep ${plain(`${id}`)}`)),
  };
}

/** A word of a server that is copied into a shell. Throws `Failure` if it is more than a name or a number. */
function plain(word: string): string {
  if (/^\w{1,64}$/.test(word)) return word;
  throw new Failure(`the server names what is no part of a command: ${clean(word)}`);
}

function sumOf(deposits: Invoice['credits'], crypto: string): string {
  const asset = findAsset(crypto);
  if (!asset) throw new Failure(`${crypto} is not known here: both programs must be of the same release`);
  const units = deposits.map(({ amount }) => parseDecimal(amount, asset.decimals) ?? 0n);
  return formatUnits(
    units.reduce((sum, one) => sum + one, 0n),
    asset,
  );
}

/** Throws `Failure` unless the address is the one that this computer derives at the place that the server names. */
async function needOwn(call: Call, { business, chain, key }: Destination, address: string): Promise<void> {
  const { comparable, isIndex, ownAddress } = await import('../wallet/own-address.ts');
  const { network, account_no } = business;
  // the list of a business may not have the newest ones yet
  const { last } = await call('address.given', { from: 1, limit: 1 });
  const { given } = await call('address.given', { from: Math.max(1, last - PAGE + 1), limit: PAGE });
  const listed = await call('address.list', { business: `${business.id}`, chain, text: address });
  const newest = given.filter((one) => one.network === network && one.chain === chain && one.account_no === account_no);
  const shown = comparable(address, chain, network);
  const isOwn = ({ index }: { index: number }): boolean =>
    isIndex(index) && shown !== null && comparable(ownAddress(key, chain, network, index), chain, network) === shown;
  if (newest.some(isOwn) || listed.addresses.some(isOwn)) return;
  const text = `the server shows ${clean(address)} for ${business.name}, which is not of the keys on this computer: send nothing there, and run \`signer audit\``;
  throw new Failure(text, EXIT.foreign, 'signer.foreign_address');
}
