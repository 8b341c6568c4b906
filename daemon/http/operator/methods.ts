/** The methods of the operator API: each calls a use case and presents its result. */
import type { App } from '../../app/app.ts';
import { freeRows } from '../../app/maintenance.ts';
import { openBusiness } from '../../app/operator/businesses.ts';
import { findBusiness, findClient, keyOf } from '../../app/operator/find.ts';
import {
  countInvoices,
  decide,
  INVOICES_COUNTED_MAX,
  listGroup,
  listInvoices,
  showInvoice,
  sumInvoices,
} from '../../app/operator/invoices.ts';
import { importImages } from '../../app/operator/key-images.ts';
import { clientsOf, keysOf, nextOf, showWebhook, webhookPage } from '../../app/operator/lists.ts';
import { changeBrand } from '../../app/shops/branding.ts';
import { birthdayAtHeight, changeBusiness, needPast, nextAccountNo } from '../../app/shops/businesses.ts';
import { addClient, changeClient, endClient } from '../../app/shops/clients.ts';
import type { Business } from '../../app/shops/directory.ts';
import { addApiKey, endApiKey } from '../../app/shops/keys.ts';
import { leftoversOf } from '../../app/withdrawals/leftovers.ts';
import { requestRefund } from '../../app/withdrawals/refund.ts';
import type { OPERATOR, Parsed, Result } from '../../contract/operator.ts';
import { assetOf } from '../../domain/assets.ts';
import { dayBounds } from '../../domain/calendar.ts';
import { Rejected } from '../../domain/errors.ts';
import { GAP } from '../../domain/indices.ts';
import { formatUnits } from '../../domain/money.ts';
import { BOOKS_METHODS } from './books.ts';
import { CONSOLE_METHODS } from './console.ts';
import type { Context, Methods } from './context.ts';
import { COUNTER_METHODS } from './counter.ts';
import { ENDPOINT_METHODS } from './endpoints.ts';
import { FORWARD_METHODS } from './forwarding.ts';
import { GAS_METHODS } from './gas.ts';
import { LINK_METHODS } from './links.ts';
import { MACHINE_METHODS } from './machines.ts';
import { alertList, alertSeen, doctor, inboxList, status, unknownTokens } from './overview.ts';
import { businessJson, clientJson, detailJson, fiat, invoiceJson, keyJson, webhookJson } from './present.ts';
import { withdrawalJson } from './present-withdrawals.ts';
import { REACH_METHODS } from './reach.ts';
import { RECOVERY_METHODS } from './recovery.ts';
import { REFUND_METHODS } from './refunds.ts';
import { RELEASE_METHODS } from './releases.ts';
import { SHOP_METHODS } from './shop.ts';
import { SOURCE_METHODS } from './sources.ts';
import { WALLET_METHODS } from './wallet.ts';
import { WITHDRAWAL_METHODS } from './withdrawals.ts';

const businessOrAll = (app: App, ref: string | undefined): Business | null =>
  ref === undefined ? null : findBusiness(app, ref);

export const METHODS: Methods<typeof OPERATOR> = {
  ...RECOVERY_METHODS,
  ...BOOKS_METHODS,
  ...WALLET_METHODS,
  ...WITHDRAWAL_METHODS,
  ...GAS_METHODS,
  ...FORWARD_METHODS,
  ...ENDPOINT_METHODS,
  ...SOURCE_METHODS,
  ...SHOP_METHODS,
  ...LINK_METHODS,
  ...REACH_METHODS,
  ...COUNTER_METHODS,
  ...REFUND_METHODS,
  ...RELEASE_METHODS,
  ...CONSOLE_METHODS,
  ...MACHINE_METHODS,
  status,
  doctor,
  'inbox.list': inboxList,
  'inbox.unknownTokens': unknownTokens,
  'maintenance.free': ({ app }) => freeRows(app, new AbortController().signal),
  'alert.list': alertList,
  'alert.seen': alertSeen,
  'alert.test': async ({ extra }) => ({ channels: await extra.testAlerts() }),

  'business.list': ({ app }) => ({ businesses: app.directory.businesses().map((one) => businessJson(app, one)) }),
  'business.leftovers': async ({ app }, { business }) => ({
    cryptos: await leftoversOf(app, findBusiness(app, business)),
  }),
  'business.nextAccount': ({ app }, { network }) => ({ account_no: nextAccountNo(app, network) }),
  'business.add': addNewBusiness,
  'business.change': async ({ app }, params) => {
    const { id } = findBusiness(app, params.business);
    await app.store.write((tx) => {
      const { name, time_zone: timeZone, enable = [], disable = [] } = params;
      changeBusiness(app, app.directory.business(id), { name, timeZone, enable, disable }, tx);
    });
    return { business: businessJson(app, app.directory.business(id)) };
  },

  'business.keyImages': async ({ app }, { business, part }) => {
    const { unproven, ...counts } = await importImages(app, findBusiness(app, business), part);
    return { ...counts, unproven: formatUnits(unproven, assetOf('XMR')) };
  },
  'business.brand': async ({ app }, { business, logo, ...change }) => {
    const { id } = findBusiness(app, business);
    const bytes = typeof logo === 'string' ? Buffer.from(logo, 'base64') : logo;
    await app.store.write((tx) => changeBrand(app, app.directory.business(id), { ...change, logo: bytes }, tx));
    return { business: businessJson(app, app.directory.business(id)) };
  },

  'key.list': ({ app }, { business, revoked }) => ({
    keys: keysOf(app, businessOrAll(app, business), revoked).map((row) => keyJson(app, row)),
  }),
  'key.add': async ({ app }, params) => {
    const { id, network } = findBusiness(app, params.business);
    const added = await app.store.write((tx) =>
      addApiKey(app, tx, id, network === 'mainnet', params.name, [...new Set(params.scopes)], params.per_minute),
    );
    return { key: { ...keyJson(app, keyOf(app.store, added.id)), key: added.key } };
  },
  'key.revoke': async ({ app }, { id }) => {
    await app.store.write((tx) => endApiKey(app, tx, id));
    return {};
  },

  'client.list': ({ app }, { business, revoked }) => ({
    clients: clientsOf(app, businessOrAll(app, business), revoked).map((row) => clientJson(app, row)),
  }),
  'client.add': async ({ app }, { business, name, origins, hosts }) => {
    const owner = findBusiness(app, business);
    const row = await app.store.write((tx) => addClient(app, tx, owner, { name, origins, hosts }));
    return { client: clientJson(app, row) };
  },
  'client.change': async ({ app }, { client, origins, hosts }) => {
    const row = await app.store.write((tx) => changeClient(app, tx, findClient(tx, client), { origins, hosts }));
    return { client: clientJson(app, row) };
  },
  'client.revoke': async ({ app }, { client }) => {
    await app.store.write((tx) => endClient(app, tx, findClient(tx, client).id));
    return {};
  },

  'invoice.list': async (
    { app },
    {
      business: ref,
      status: wanted = null,
      only = null,
      order_id: orderId = null,
      crypto: asset = null,
      from,
      to,
      limit,
      before = null,
    },
  ) => {
    const business = businessOrAll(app, ref);
    if (only !== null) {
      if (!business || wanted || orderId || asset || from !== undefined || to !== undefined) {
        throw new Rejected('params', '`only` takes a business, and no other filter', 'only');
      }
      const { lines, next } = await listGroup(app, business, { only, limit, before });
      return { invoices: lines.map((line) => invoiceJson(app, line)), next };
    }
    const timeZone = business?.timeZone ?? 'UTC';
    const createdFrom = from === undefined ? null : dayBounds(from, timeZone).from;
    const createdTo = to === undefined ? null : dayBounds(to, timeZone).to;
    const filter = { business, status: wanted, orderId, asset, createdFrom, createdTo, limit, before };
    const { lines, next } = await listInvoices(app, filter);
    return { invoices: lines.map((line) => invoiceJson(app, line)), next };
  },
  'invoice.counts': async ({ app }, { business }) => ({
    ...(await countInvoices(app, findBusiness(app, business))),
    most: INVOICES_COUNTED_MAX,
  }),
  'invoice.sums': ({ app }, { business, from, to }) => {
    const found = sumInvoices(app, findBusiness(app, business), Date.parse(from), Date.parse(to));
    const amounts = found.amounts.map(({ currency, amount }) => ({ currency, amount: fiat(amount) }));
    return { ...found, amounts };
  },
  'invoice.show': ({ app }, { invoice }) => ({ invoice: detailJson(app, showInvoice(app, invoice)) }),
  'invoice.cancel': async ({ app }, { invoice }) => ({
    invoice: detailJson(app, await decide(app, invoice, 'cancel')),
  }),
  'invoice.markPaid': async ({ app }, { invoice }) => ({
    invoice: detailJson(app, await decide(app, invoice, 'mark-paid')),
  }),

  'invoice.refund': async ({ app }, { invoice: ref, address, amount = null, crypto = null, request = null }) => ({
    withdrawal: withdrawalJson(app, await requestRefund(app, ref, { address, amount, crypto }, request)),
  }),

  'webhook.list': ({ app }, page) => {
    const found = webhookPage(app, page);
    const next = nextOf(
      found.map(({ webhook }) => webhook),
      page.limit,
    );
    return { webhooks: found.map(webhookJson), next };
  },
  'webhook.resend': async ({ app, extra }, { id }) => {
    const { status: answer, error } = await extra.sendWebhook(id);
    return { status: answer, error, webhook: webhookJson(showWebhook(app, id)) };
  },
};

/** When the wallet was first used, milliseconds since 1970; null: it is new. */
async function birthdayOf(
  app: App,
  { network, birthday, restore_height: height }: Parsed<'business.add'>,
): Promise<number | null> {
  if (height === undefined) return birthday === null ? null : Date.parse(birthday);
  if (birthday !== null || network === 'sandbox') {
    const why = birthday === null ? 'The sandbox has no past' : 'Give a birthday or a restore height, not both';
    throw new Rejected('business.restore_height', why, 'restore_height');
  }
  return birthdayAtHeight(app, network, height);
}

async function addNewBusiness(
  { app, extra }: Context,
  params: Parsed<'business.add'>,
): Promise<Result<'business.add'>> {
  const { name, network, time_zone: timeZone } = params;
  const sandbox = network === 'sandbox';
  if (sandbox && (params.accounts || params.account_no !== undefined)) {
    throw new Rejected('business.accounts', 'The sandbox has a wallet of its own: leave accounts out', 'accounts');
  }
  if (!sandbox && (!params.accounts || params.account_no === undefined)) {
    throw new Rejected('business.accounts', `A business on ${network} needs its accounts' public keys`, 'accounts');
  }
  const accountNo = params.account_no ?? nextAccountNo(app, network);
  const accounts = params.accounts ?? extra.deriveSandboxAccounts(accountNo);
  const birthday = await birthdayOf(app, params);
  if (birthday !== null && birthday > app.now()) {
    throw new Rejected('business.birthday', 'The birthday of a wallet cannot lie in the future', 'birthday');
  }
  const client = params.client ? { ...params.client, hosts: params.client.hosts } : null;
  if (birthday !== null && !sandbox) await needPast(app, network, birthday);
  const { gap = birthday === null ? null : GAP, used } = params;
  const past = gap === null || sandbox ? {} : { past: { gap, used } };
  const wanted = { name, network, timeZone, accountNo, accounts, birthday, ...past };
  const added = await openBusiness(app, wanted, params.key, client);
  return {
    business: businessJson(app, app.directory.business(added.id)),
    key: { ...keyJson(app, keyOf(app.store, added.keyId)), key: added.key },
    client: added.client && clientJson(app, added.client),
  };
}
