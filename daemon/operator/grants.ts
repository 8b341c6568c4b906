/**
 * The limits that a policy grants the wallet, as the operator's own program computes them: in coins, which are signed,
 * and in dollars, which the service states.
 *
 * Invariant: limits are granted only from a `GrantReview`, which refuses limits that differ from the request.
 */
import { z } from 'zod';
import { ASSETS, type AssetId, assetOf, nativeAsset } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import { FIAT_DECIMALS, fiatFor, formatUnits, parseDecimal } from '../domain/money.ts';
import type { PolicyMode } from '../domain/policy.ts';
import type { PolicyGrant } from '../wallet/signer/port.ts';
import { BLOCK_BYTES, BLOCKS_MAX } from '../wallet/signer/seal.ts';
import { GrantShape } from '../wallet/signer/wire.ts';
import { macAt } from './keyholder.ts';
import type { Authorize } from './review.ts';
import { cents } from './view.ts';

/** In US dollars, as decimals. */
export type AskedPolicy = {
  mode: PolicyMode;
  per_withdrawal_usd?: string | null;
  per_day_usd?: string | null;
  address_book_only?: boolean;
};

type SaidRate = { network: string; crypto: string; usd: number | string | null };

const CLOCKS_APART_MS_MAX = 3_600_000;
/** Coins for twice the dollars, so that a falling rate does not block payments; slightly more for rounding up. */
const HEADROOM_PERCENT = 201n;

const differs = (why: string): Rejected =>
  new Rejected(
    'review.differs',
    `Nothing was granted. The service asks the wallet for another policy than this one: ${why}`,
  );

const dollars = (text: string | null | undefined): bigint => parseDecimal(text ?? '0', FIAT_DECIMALS) ?? 0n;

const named =
  (symbol: AssetId) =>
  ({ asset }: PolicyGrant): boolean =>
    asset === symbol;

const isNothing = ({ perWithdrawal, perDay }: PolicyGrant): boolean => perWithdrawal === '0' || perDay === '0';

/** The room for limits in a sealed text, bytes: a passphrase of 1,000 characters is in it, too. */
const BOX_ROOM = BLOCKS_MAX * BLOCK_BYTES - 8_192;

/** As they are sealed: JSON as a text in JSON. Addresses are ASCII. */
const roomOf = (grant: PolicyGrant): number => JSON.stringify(JSON.stringify(grant)).length;

function needRoom(grant: PolicyGrant): void {
  const room = roomOf(grant);
  const count = grant.addresses?.length ?? 0;
  if (room <= BOX_ROOM) return;
  const most = Math.floor((BOX_ROOM * count) / room);
  const text = `Nothing was granted. The address book has ${count} addresses for ${grant.asset}, and a limit has room for ${most}: remove some while the policy is manual`;
  throw new Rejected('seal', text);
}

/** Limits that are sealed together. */
function boxesOf(grants: readonly PolicyGrant[]): PolicyGrant[][] {
  const boxes: PolicyGrant[][] = [];
  let left = 0;
  for (const grant of grants) {
    const room = roomOf(grant);
    if (room > left) {
      boxes.push([]);
      left = BOX_ROOM;
    }
    boxes.at(-1)?.push(grant);
    left -= room;
  }
  return boxes;
}

export class GrantReview {
  readonly #asked: AskedPolicy;
  readonly #grants: readonly PolicyGrant[];
  readonly #rates: readonly SaidRate[];

  private constructor(asked: AskedPolicy, grants: readonly PolicyGrant[], rates: readonly SaidRate[]) {
    this.#asked = asked;
    this.#grants = grants;
    this.#rates = rates;
  }

  /**
   * Null if there is nothing to grant: on the sandbox. The limits are dated here, since with a later date the service could
   * bring them back after others have ended them. Throws `Rejected`: `review.differs`, `seal` for too many addresses.
   */
  static of(
    given: unknown,
    asked: AskedPolicy,
    rates: readonly SaidRate[],
    now: number,
    date = now,
  ): GrantReview | null {
    const parsed = z.array(GrantShape).safeParse(given);
    if (!parsed.success) throw differs('it names what no limit has');
    const grants: readonly PolicyGrant[] = parsed.data.map((grant) => ({ ...grant, issuedAt: date }));
    const [first] = grants;
    if (!first) return null;
    if (new Set(grants.map(({ asset }) => asset)).size !== grants.length) throw differs('it names a coin twice');
    // for a coin that is left out, an earlier grant would stay in force
    const left = ASSETS.find(({ symbol }) => !grants.some(named(symbol)));
    if (left) throw differs(`it leaves out ${left.symbol}`);
    const review = new GrantReview(asked, grants, rates);
    // its date is not used, but tells of a service that goes wrong
    const isOdd = parsed.data.some(({ issuedAt }) => Math.abs(issuedAt - now) > CLOCKS_APART_MS_MAX);
    if (isOdd) throw differs("its date is not today's");
    for (const grant of grants) {
      const { network, accountNo } = grant;
      if (network !== first.network || accountNo !== first.accountNo) throw differs('it is of several accounts');
      review.#needAsked(grant);
      needRoom(grant);
    }
    return review;
  }

  /** With the operator's MACs. Throws `Rejected` `vault.*`. */
  async signed(authorize: Authorize): Promise<{ grant: PolicyGrant; mac: string }[]> {
    const signed: { grant: PolicyGrant; mac: string }[] = [];
    for (const grants of boxesOf(this.#grants)) {
      const { grants: macs } = await authorize({ approvals: [], change: null, grants });
      signed.push(...grants.map((grant, at) => ({ grant, mac: macAt(macs, at) })));
    }
    return signed;
  }

  /** Lists the limits of each coin, and in total. */
  text(): string {
    const [first] = this.#grants;
    const lines = [`${first?.network}, account ${first?.accountNo}`];
    for (const grant of this.#grants) lines.push(...this.#lines(grant));
    if (this.#asked.mode === 'manual') return `${lines.join('\n')}\n`;
    const each = this.#grants.map((grant) => this.#worth(grant, grant.perDay));
    const total = each.reduce<bigint | null>((sum, one) => (sum === null || one === null ? null : sum + one), 0n);
    lines.push(
      `In total the wallet will sign up to ${total === null ? 'an unknown amount of' : cents(total)} USD in 24 hours without asking: each coin`,
      'has a limit of its own, for twice the dollars, so that a rate that falls stops nothing.',
      'Fees go to whoever makes the block, whatever the addresses: each up to the limit for one withdrawal.',
    );
    return `${lines.join('\n')}\n`;
  }

  #lines(grant: PolicyGrant): string[] {
    const { asset: id, perWithdrawal, perDay, addresses } = grant;
    if (isNothing(grant)) return [`${id}: nothing without asking`];
    const amount = (units: string): string => {
      const worth = this.#worth(grant, units);
      return `${formatUnits(BigInt(units), assetOf(id))} ${id}${worth === null ? '' : ` (${cents(worth)} USD)`}`;
    };
    const rate = this.#rate(grant);
    return [
      `${id}: up to ${amount(perWithdrawal)} for one withdrawal, ${amount(perDay)} in 24 hours with fees`,
      ...(rate === null ? [] : [`  at 1 ${id} = ${cents(rate)} USD, by the service's word`]),
      ...(addresses === null ? ['  to any address'] : addresses.length === 0 ? ['  to no address'] : ['  only to']),
      ...(addresses ?? []).map((address) => `    ${address}`),
      ...this.#feeLines(id),
    ];
  }

  /** A token's fees are in the coin of its chain. */
  #feeLines(token: AssetId): string[] {
    const { symbol } = nativeAsset(assetOf(token).chain);
    if (symbol === token) return [];
    const limit = this.#grants.find(named(symbol));
    const isLimited = limit !== undefined && !isNothing(limit);
    return [
      isLimited
        ? `  its fees count against ${symbol}`
        : `  its fees are in ${symbol}, so that each payment waits for you`,
    ];
  }

  /** 1e-8 US dollars per coin, as the service states it. */
  #rate({ network, asset }: PolicyGrant): bigint | null {
    const said = this.#rates.find((rate) => rate.network === network && rate.crypto === asset)?.usd ?? null;
    return said === null ? null : parseDecimal(`${said}`, FIAT_DECIMALS);
  }

  #worth(grant: PolicyGrant, units: string): bigint | null {
    if (units === '0') return 0n;
    const rate = this.#rate(grant);
    return rate === null ? null : fiatFor(BigInt(units), assetOf(grant.asset), rate);
  }

  #needAsked(grant: PolicyGrant): void {
    const { asset, perWithdrawal, perDay, addresses } = grant;
    const { mode, per_withdrawal_usd, per_day_usd, address_book_only } = this.#asked;
    const isNothing = perWithdrawal === '0' && perDay === '0';
    if (mode === 'manual') {
      if (!isNothing) throw differs(`it would let ${asset} go without asking`);
      return;
    }
    if ((addresses !== null) !== (address_book_only ?? false)) throw differs('the addresses are not as asked');
    const limits: [string, string | null | undefined][] = [
      [perWithdrawal, per_withdrawal_usd],
      [perDay, per_day_usd],
    ];
    for (const [units, usd] of limits) {
      const worth = this.#worth(grant, units);
      if (worth === null) throw differs(`it names no rate of ${asset} to compare with`);
      if (worth * 100n > dollars(usd) * HEADROOM_PERCENT) {
        throw differs(`it would let go more ${asset} than was asked for`);
      }
    }
  }
}
