/**
 * The limits that the wallet holds, on the command line: shown by its own journal, and ended without the service's
 * help. The service may be taken over by then, and would name others, or none.
 */
import { join } from 'node:path';
import type { Command } from 'commander';
import { assetOf, nativeAsset } from '../domain/assets.ts';
import { NATIVE_COIN } from '../domain/evm.ts';
import { gasOfDay } from '../domain/forwarding.ts';
import { formatUnits } from '../domain/money.ts';
import { isFileFault, whyRefused } from '../kit/full-disk.ts';
import type { Grant } from '../wallet/signer/port.ts';
import type { AccountGrants } from '../wallet/signer/register.ts';
import { action } from './commands.ts';
import { Failure, type Io } from './io.ts';
import { confirm } from './prompt.ts';
import { type PassphraseOption, passphraseOf } from './secrets.ts';
import type { Session } from './session.ts';
import { table, when } from './table.ts';

/** Added to the commands of the wallet. */
export function limitCommands(wallet: Command, io: Io): void {
  wallet
    .command('grants')
    .description('show what the wallet signs without asking, by its own record and not by the word of the service')
    .action(action(io, showLimits));
  wallet
    .command('halt')
    .description('end every approval and every limit that the wallet was given, and lock it, without its passphrase')
    .action(action(io, halt));
}

const at = (ms: number): string => when(new Date(ms).toISOString());

/** The limits under which the wallet signs, by its own record. */
export async function heldLimits(session: Session): Promise<AccountGrants> {
  const { limitsHeldIn } = await import('../wallet/signer/register.ts');
  return session.asOwner(() => limitsHeldIn(session.walletFolder, Date.now()));
}

async function showLimits(session: Session): Promise<void> {
  const limits = await heldLimits(session);
  session.print(
    {
      policies: limits.policies.map(({ grant, used }) => ({ ...grant, used: used.toString() })),
      gas: limits.gas.map(({ grant, used }) => ({ ...grant, used: used.toString() })),
      forwards: limits.forwards.map(({ grant, used, gas }) => {
        return { ...grant, used: used.toString(), ...(gas !== undefined && { gas: gas.toString() }) };
      }),
    },
    () => textOf(limits),
  );
}

function textOf({ policies, gas, forwards }: AccountGrants): string {
  const rows = policies.map(({ grant, used }) => {
    const { network, accountNo, asset, perWithdrawal, perDay, addresses, issuedAt } = grant;
    const amount = (units: string | bigint): string => formatUnits(BigInt(units), assetOf(asset));
    const to = addresses === null ? 'any address' : `${addresses.length} addresses`;
    return [`${network}/${accountNo}`, asset, amount(perWithdrawal), amount(perDay), amount(used), to, at(issuedAt)];
  });
  const gasRows = gas.map(({ grant, used }) => {
    const { network, accountNo, chain, feeMax, until } = grant;
    const coin = NATIVE_COIN[chain];
    const amount = (units: string | bigint): string => formatUnits(BigInt(units), assetOf(coin));
    return [`${network}/${accountNo}`, `gas on ${chain}`, '-', amount(feeMax), amount(used), 'own', at(until)];
  });
  const forwardRows = forwards.flatMap(({ grant, used, gas: given }) => {
    const { network, accountNo, asset, address, feeDay, issuedAt } = grant;
    const coin = nativeAsset(assetOf(asset).chain);
    const amount = (units: string | bigint): string => `${formatUnits(BigInt(units), coin)} ${coin.symbol}`;
    const fees = (units: string | bigint): string => `${amount(units)} fees`;
    const account = `${network}/${accountNo}`;
    const row = [account, `forward ${asset}`, 'any', fees(feeDay), fees(used), address, at(issuedAt)];
    if (given === undefined) return [row];
    const most = gasOfDay(BigInt(feeDay));
    return [row, [account, `gas for ${asset}`, '-', amount(most), amount(given), 'own', at(issuedAt)]];
  });
  const heads = ['ACCOUNT', 'CRYPTO', '>EACH', '>IN 24 HOURS', '>USED', 'TO', 'SINCE (GAS: UNTIL)'];
  return table(heads, [...rows, ...gasRows, ...forwardRows], 'The wallet signs nothing without asking.');
}

/**
 * Waits for the service, and says what a separate signer signs without asking from now on: the service could have named another account.
 * Also where it refuses, because the wallet has the limits by then.
 */
export async function notingLimits<T>(session: Session, asked: Promise<T>): Promise<T> {
  const answer = await asked.catch(async (error: unknown) => {
    await noteLimits(session).catch(() => {});
    throw error;
  });
  await noteLimits(session);
  return answer;
}

async function noteLimits(session: Session): Promise<void> {
  if (session.signerSocket === null || session.json) return;
  session.note(`By the wallet's own record, it signs without asking:\n${textOf(await heldLimits(session)).trimEnd()}`);
}

/** The date of limits that are to replace all earlier ones, milliseconds since 1970. */
export async function nextDate(session: Session): Promise<number> {
  const { newestDateIn } = await import('../wallet/signer/register.ts');
  // a record that cannot be read is the signer's to tell
  const newest = await session.asOwner(() => newestDateIn(session.walletFolder)).catch(() => 0);
  return Math.max(Date.now(), newest + 1);
}

/**
 * Ends every limit of this kind that a separate signer holds, of all accounts, since only the service says which business has which
 * account. `isOne`: which of them. The result has the passphrase, so that it is asked for once.
 */
export async function endLimits(
  session: Session,
  options: PassphraseOption,
  kind: keyof AccountGrants,
  isOne: (grant: Grant) => boolean = () => true,
): Promise<PassphraseOption> {
  const { signerSocket: socket, dataDir, walletFolder: folder } = session;
  const limits = socket === null ? null : await heldLimits(session);
  const ones = (limits?.[kind] ?? []).filter(({ grant }: { grant: Grant }) => isOne(grant));
  if (socket === null || ones.length === 0) return options;
  const ending: AccountGrants = { policies: [], gas: [], forwards: [], [kind]: ones };
  if (!session.json) session.note(`The wallet itself is told first to end:\n${textOf(ending).trimEnd()}`);
  await confirm(session.io, session.yes, 'End them, of every account?');
  const passphrase = await passphraseOf(session, options);
  const { endGrants } = await import('../operator/end-grants.ts');
  const grants = ending[kind].map(({ grant }) => grant);
  await endGrants({ dataDir, folder, socket }, passphrase, grants, Date.now());
  const again = ones.length > 1 ? ' Set those of other businesses again.' : '';
  session.note(`The wallet has ended them, whatever the service says.${again}`);
  return { ...options, passphrase };
}

async function halt(session: Session): Promise<void> {
  await confirm(session.io, session.yes, 'Is nothing to be signed that was approved so far, and no limit to hold?');
  const { ENDED_FILE } = await import('../wallet/signer/files.ts');
  const { leaveMark } = await import('../wallet/files.ts');
  const mark = join(session.walletFolder, ENDED_FILE);
  // a mark that a power failure took would leave every approval as it was
  const refusal: unknown = await session
    .asOwner(() => leaveMark(mark))
    .then(
      () => null,
      (error: unknown) => error,
    );
  if (refusal === null) {
    session.note(
      'Nothing is signed from now on. When the wallet is opened next, it ends every approval and every limit first.',
    );
  }
  const { lockNow } = await import('../operator/end-grants.ts');
  const isLocked = await lockNow(session.walletPlace, session.call).then(
    () => true,
    () => false,
  );
  if (refusal !== null) {
    if (!isFileFault(refusal)) throw refusal;
    const locked = isLocked ? 'The wallet is locked' : 'The wallet could not be locked';
    const text = `${locked}, and its approvals and limits did not end. ${mark} cannot be written: ${whyRefused(refusal)}`;
    throw new Failure(`${text}. Mend that, and repeat the command before the wallet is opened`);
  }
  if (!isLocked) session.note('It could not be locked as well: the signer does not answer.');
  session.print({ locked: isLocked }, () => (isLocked ? 'The wallet is locked.\n' : ''));
}
