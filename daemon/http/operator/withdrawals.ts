/** The methods about withdrawals, policies and the inbox. */

import type { App } from '../../app/app.ts';
import { findBusiness } from '../../app/operator/find.ts';
import { settingsOf } from '../../app/operator/status.ts';
import { handOut, takeBack } from '../../app/spends/outside.ts';
import { findWithdrawal } from '../../app/spends/rows.ts';
import { type GivenApproval, reject } from '../../app/withdrawals/approve.ts';
import { giveUpBump, holderFor } from '../../app/withdrawals/bump.ts';
import { costOf } from '../../app/withdrawals/cost.ts';
import {
  changePolicyGranted,
  grantsWithout,
  removeAddressGranted,
  type SignedGrant,
  wantedGrants,
} from '../../app/withdrawals/grants.ts';
import { acceptDeposit, keepDeposit, refundDeposit } from '../../app/withdrawals/inbox.ts';
import { listWithdrawals, showWithdrawal } from '../../app/withdrawals/lists.ts';
import { addAddress, addressBook } from '../../app/withdrawals/policy.ts';
import { approveProposal, type Proposal, propose } from '../../app/withdrawals/propose.ts';
import { recipientOf } from '../../app/withdrawals/recipient.ts';
import { requestByOperator } from '../../app/withdrawals/request.ts';
import type { Parsed, Result } from '../../contract/operator.ts';
import type { WITHDRAWALS } from '../../contract/withdrawals.ts';
import { type Asset, type AssetId, findAsset, NETWORKS, type Network } from '../../domain/assets.ts';
import { toIso } from '../../domain/calendar.ts';
import { FIAT } from '../../domain/currencies.ts';
import { Rejected } from '../../domain/errors.ts';
import { FIAT_DECIMALS, formatDecimal, parseDecimal } from '../../domain/money.ts';
import type { Policy } from '../../domain/policy.ts';
import { MS_PER_SECOND } from '../../domain/time.ts';
import type { PolicyGrant } from '../../wallet/signer/port.ts';
import type { Methods } from './context.ts';
import { collectJson } from './gas.ts';
import {
  addressJson,
  costJson,
  detailJson,
  policyJson,
  policyWordsJson,
  previewJson,
  recipientJson,
  withdrawalJson,
} from './present-withdrawals.ts';

type ApprovalJson = Parsed<'withdrawal.approve'>['approvals'][number];

const approvalOf = ({ fee_max, units, until, mac }: ApprovalJson): GivenApproval => ({
  feeMax: BigInt(fee_max),
  units: units === undefined ? null : BigInt(units),
  until,
  mac,
});

/** A fee rate per virtual byte as one per 1,000 virtual bytes. Throws `Rejected` on too many decimals. */
function feeRate(text: string | undefined): bigint | null {
  if (text === undefined) return null;
  const rate = parseDecimal(text, 3);
  if (rate === null || rate <= 0n) throw new Rejected('params', 'A fee rate has at most 3 decimals', 'fee_rate');
  return rate;
}

function dollars(text: string | null, field: string): bigint | null {
  if (text === null) return null;
  const scaled = parseDecimal(text, FIAT_DECIMALS);
  if (scaled === null) throw new Rejected('params', 'An amount of dollars has at most 8 decimals', field);
  return scaled;
}

const policyOf = (params: Parsed<'policy.grants'>): Policy => ({
  mode: params.mode,
  perWithdrawalUsd: dollars(params.per_withdrawal_usd, 'per_withdrawal_usd'),
  perDayUsd: dollars(params.per_day_usd, 'per_day_usd'),
  addressBookOnly: params.address_book_only,
});

/** The schema has the grant's own fields, so that the signed fields are passed on unchanged. */
const signedGrants = (grants: Parsed<'policy.set'>['grants']): SignedGrant[] =>
  grants.map(({ grant, mac }) => ({ grant: grant as PolicyGrant, mac }));

export const WITHDRAWAL_METHODS: Methods<typeof WITHDRAWALS> = {
  'withdrawal.list': ({ app }, { business, state = null, limit, before = null }) => {
    const owner = business === undefined ? null : findBusiness(app, business);
    const { rows, next } = listWithdrawals(app, { business: owner, state, limit, before });
    return { withdrawals: rows.map((row) => withdrawalJson(app, row)), next };
  },
  'withdrawal.show': ({ app }, { id }) => {
    return { withdrawal: detailJson(app, showWithdrawal(app, id)) };
  },
  'withdrawal.add': async ({ app }, { business, request = null, ...asked }) => {
    const row = await requestByOperator(app, findBusiness(app, business), asked, request);
    return { withdrawal: withdrawalJson(app, row) };
  },
  'withdrawal.recipient': async ({ app }, { business, crypto, address, amount }) => {
    const asset = cryptoOf(crypto);
    const of = findBusiness(app, business);
    const units = amount === undefined ? null : parseDecimal(amount, asset.decimals);
    const cost = units === null ? null : await costOf(app, of, { asset, address, units });
    return { ...recipientJson(asset, recipientOf(app, of, asset, address)), cost: cost && costJson(asset, cost) };
  },
  'withdrawal.propose': async ({ app }, params) => {
    const { rows, preview, why, collect } = await propose(app, proposalOf(app, params));
    const withdrawals = rows.map((row) => withdrawalJson(app, row));
    return {
      withdrawals,
      preview: preview && previewJson(preview),
      why,
      collect: collect && collectJson(collect),
    };
  },
  'withdrawal.approve': async ({ app }, { proposal, approvals, gas }) => {
    const given = new Map(approvals.map((one) => [one.uuid, approvalOf(one)]));
    const { rows, outcome } = await approveProposal(app, proposalOf(app, proposal), given, gas);
    const withdrawals = rows.map((row) => withdrawalJson(app, row));
    return { withdrawals, outcome };
  },
  'withdrawal.psbt': async ({ app }, { id }) => {
    const { file, version } = await handOut(app, id);
    const withdrawal = withdrawalJson(app, findWithdrawal(app.store, id));
    return { psbt: Buffer.from(file).toString('base64'), name: `withdrawal-${id}-${version.id}.psbt`, withdrawal };
  },
  'withdrawal.signed': async ({ app }, { id, signed }) => ({
    withdrawal: withdrawalJson(app, await takeBack(app, id, Buffer.from(signed, 'base64'))),
  }),
  'withdrawal.reject': async ({ app }, { id, reason }) => {
    const row = await app.store.write((tx) => reject(app, tx, id, reason ?? null));
    return { withdrawal: withdrawalJson(app, row) };
  },
  'withdrawal.giveUpBump': async ({ app }, { outpoint, ...params }) => {
    const place = holderFor(app, findBusiness(app, params.business).id, cryptoOf(params.crypto).symbol);
    await app.store.write((tx) => giveUpBump(app, tx, place, outpoint));
    return {};
  },

  'policy.show': ({ app }, { business }) => ({ policy: policyJson(app, findBusiness(app, business)) }),
  'policy.grants': ({ app }, params) => ({
    grants: wantedGrants(app, findBusiness(app, params.business), policyOf(params)),
  }),
  'policy.set': async ({ app }, { grants, ...params }) => {
    const business = findBusiness(app, params.business);
    await changePolicyGranted(app, business, policyOf(params), signedGrants(grants));
    return { policy: policyJson(app, business) };
  },

  'addressBook.list': ({ app }, { business }) => ({
    addresses: addressBook(app.store, findBusiness(app, business)).map((row) => addressJson(app, row)),
  }),
  'addressBook.add': async ({ app }, { business, ...entry }) => {
    const owner = findBusiness(app, business);
    return { address: addressJson(app, await app.store.write((tx) => addAddress(app, tx, owner, entry))) };
  },
  'addressBook.grants': ({ app }, { id }) => {
    const { grants, policy } = grantsWithout(app, id);
    return { grants, policy: policyWordsJson(policy) };
  },
  'addressBook.remove': async ({ app }, { id, grants }) => ({
    address: addressJson(app, await removeAddressGranted(app, id, signedGrants(grants))),
  }),

  'inbox.accept': async ({ app }, { id }) => {
    const { slug, status } = await app.store.write((tx) => acceptDeposit(app, tx, id));
    return { invoice: slug, status };
  },
  'inbox.refund': async ({ app }, { id, address }) => ({
    withdrawal: withdrawalJson(app, await refundDeposit(app, id, address)),
  }),
  'inbox.keep': async ({ app }, { id }) => {
    await app.store.write((tx) => keepDeposit(app, tx, id));
    return {};
  },

  'events.next': async ({ app }, { cursor = null, wait_seconds }) => {
    const page = await app.operatorEvents.next(app.store, cursor, wait_seconds * MS_PER_SECOND);
    return { ...page, events: page.events.map(({ at, ...event }) => ({ ...event, at: toIso(at) })) };
  },
  'settings.show': ({ app }) => ({ settings: settingsOf(app) }),

  'rates.list': ({ app }) => ({
    rates: NETWORKS.flatMap((network) => ratesOf(app, network)),
    currencies: NETWORKS.flatMap((network) => currenciesOf(app, network)),
    credits: NETWORKS.flatMap((network) => creditsOf(app, network)),
  }),
};

function cryptoOf(symbol: string): Asset {
  const asset = findAsset(symbol);
  if (!asset) throw new Rejected('params', `${symbol} is no cryptocurrency of this service`, 'crypto');
  return asset;
}

function proposalOf(app: App, params: Parsed<'withdrawal.propose'>): Proposal {
  if (params.kind === 'pay' || params.kind === 'batch') return params;
  const rate = feeRate(params.fee_rate);
  if (params.kind !== 'bump') return { ...params, feeRate: rate };
  const { business, crypto, ...bump } = params;
  return { ...bump, businessId: findBusiness(app, business).id, asset: cryptoOf(crypto).symbol, feeRate: rate };
}

/** For every coin that a business of this network takes, in every currency. */
function creditsOf(app: App, network: Network): Result<'rates.list'>['credits'] {
  const taken = takenOn(app, network);
  if (taken.length === 0) return [];
  return app.rates.credits(network, taken, Object.keys(FIAT)).map((credit) => ({ network, ...credit }));
}

/** On a network that has a business. */
function currenciesOf(app: App, network: Network): Result<'rates.list'>['currencies'] {
  if (!app.directory.businesses().some((business) => business.network === network)) return [];
  return Object.keys(FIAT).flatMap((currency) => {
    const scaled = app.rates.perDollar(network, currency, app.now());
    return scaled === null ? [] : [{ network, currency, per_dollar: formatDecimal(scaled, FIAT_DECIMALS) }];
  });
}

/** Every crypto that a business of this network takes. */
function takenOn(app: App, network: Network): AssetId[] {
  const businesses = app.directory.businesses().filter((business) => business.network === network);
  return [...new Set(businesses.flatMap(({ enabled }) => enabled.map(({ symbol }) => symbol)))];
}

function ratesOf(app: App, network: Network): Result<'rates.list'>['rates'] {
  return takenOn(app, network).map((crypto) => {
    const { usd = null, eur = null, gbp = null } = app.rates.shownKnown(network, crypto, app.now());
    return { network, crypto, usd, eur, gbp };
  });
}
