/**
 * A grant of forwarding, made by the operator's own program from the operator's terms alone. It uses no statement of
 * the service: the address is the one that was typed, and the decimals of the coins are this program's.
 */
import { type Asset, isToken, type Network, nativeAsset } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import { gasOfDay, SHARE_DECIMALS } from '../domain/forwarding.ts';
import { formatDecimal, formatUnits, parseDecimal } from '../domain/money.ts';
import { inGroups } from '../domain/policy.ts';
import { type ForwardKey, forwardKeyOf, isForwardKey, nextOf } from '../wallet/forward-key.ts';
import type { ForwardGrant } from '../wallet/signer/port.ts';

/** A destination as a grant has it, and the first addresses that an extended public key pays; none: it is an address. */
export type Destination = { address: string; next: readonly string[] };

/** Reads a destination as it was typed. Throws `Rejected('account.*')` for what is no extended public key of the asset. */
export function destinationOf(
  text: string,
  from: number,
  { network, asset }: Pick<Account, 'network' | 'asset'>,
): Destination {
  if (!isForwardKey(text)) return { address: text, next: [] };
  const key = forwardKeyOf(text, asset.symbol, network);
  return { address: key.text, next: nextOf(key, from) };
}

/** `from`: of an extended public key, the first index; absent: 0. As typed: a share such as 0.01, and amounts of the coin that fees are paid in. */
export type ForwardLimits = {
  address: string;
  from?: number;
  feeShare: string | null;
  feeMax: string | null;
  feeDay: string;
};
type Account = { network: Network; accountNo: number; asset: Asset };

/** Throws `Rejected('forward.fee')` for what is no amount, and `account.*` for what is no extended public key. */
export function forwardGrantOf(
  { network, accountNo, asset }: Account,
  { address, from = 0, feeShare, feeMax, feeDay }: ForwardLimits,
  now: number,
): ForwardGrant {
  const coin = nativeAsset(asset.chain);
  const units = (text: string, decimals: number, field: string): bigint => {
    const value = parseDecimal(text, decimals);
    if (value === null)
      throw new Rejected('forward.fee', `${text} is no amount of at most ${decimals} decimals`, field);
    return value;
  };
  const key = isForwardKey(address) ? forwardKeyOf(address, asset.symbol, network) : null;
  return {
    kind: 'forward',
    network,
    accountNo,
    asset: asset.symbol,
    address: key?.text ?? address,
    ...(key && { from }),
    feeSharePpm: feeShare === null ? null : Number(units(feeShare, SHARE_DECIMALS, 'fee_share')),
    feeMax: feeMax === null ? null : units(feeMax, coin.decimals, 'fee_max').toString(),
    feeDay: units(feeDay, coin.decimals, 'fee_day').toString(),
    issuedAt: now,
  };
}

/** The actions that the grant permits to the wallet. `before`: the address of the plan that it replaces. */
export function forwardGrantText(grant: ForwardGrant, { chain, symbol }: Asset, before: string | null): string {
  const { network, accountNo, address, from, feeSharePpm, feeMax, feeDay } = grant;
  const coin = nativeAsset(chain);
  const account = `${symbol}, ${network}, account ${accountNo}`;
  if (feeDay === '0') return `${account}\nThe wallet forwards nothing any more.`;
  const amount = (units: string): string => `${formatUnits(BigInt(units), coin)} ${coin.symbol}`;
  const share =
    feeSharePpm === null ? [] : [`${formatDecimal(BigInt(feeSharePpm), SHARE_DECIMALS - 2)} % of its amount`];
  const most = [...share, ...(feeMax === null ? [] : [amount(feeMax)])].join(' and at most ');
  const old = before !== null && before !== address ? [`until now to   ${inGroups(before).join(' ')}`] : [];
  return [
    account,
    'The wallet may send any amount without asking',
    ...old,
    `${old.length > 0 ? 'from now on to ' : 'to '}${inGroups(address).join(' ')}`,
    ...(from === undefined ? [] : nextLines(forwardKeyOf(address, symbol, network), from)),
    `A payment costs at most ${most}, and all of 24 hours at most ${amount(feeDay)} in fees.`,
    ...(isToken(symbol) ? [gasLine(amount(`${gasOfDay(BigInt(feeDay))}`))] : []),
  ].join('\n');
}

const gasLine = (most: string): string =>
  `Your own deposit addresses get at most ${most} in 24 hours for that, from the tank, as gas.`;

/** The first addresses of an extended public key that are paid, derived here. */
const nextLines = (key: ForwardKey, from: number): string[] => [
  'Each payment goes to the next address of this account. Compare the first ones with the wallet that has its keys:',
  ...nextOf(key, from).map((address, i) => `  ${from + i}: ${inGroups(address).join(' ')}`),
];
