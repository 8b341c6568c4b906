/** What each method of the operator API does: a use case, and its outcome in the contract's form. */
import type { App } from '../../app/app.ts';
import { changeBusiness, nextAccountNo } from '../../app/businesses.ts';
import { addApiKey, endApiKey, endClient } from '../../app/keys.ts';
import { clientOf, openBusiness, openClient, reviseClient } from '../../app/operator/businesses.ts';
import { findBusiness, findClient, keyOf } from '../../app/operator/find.ts';
import { decide, listInvoices, showInvoice, webhookView } from '../../app/operator/invoices.ts';
import type { Method, Parsed, Result } from '../../contract/operator.ts';
import { Rejected } from '../../domain/errors.ts';
import { allApiKeys, allClients } from '../../store/queries/businesses.ts';
import { webhookById, webhooksBelow } from '../../store/queries/effects.ts';
import { invoiceById } from '../../store/queries/invoices.ts';
import { type Context, nextOf } from './context.ts';
import { alertList, alertSeen, inboxList, status } from './overview.ts';
import { businessJson, clientJson, detailJson, invoiceJson, keyJson, webhookJson } from './present.ts';

type Methods = {
  readonly [M in Method]: (context: Context, params: Parsed<M>) => Result<M> | Promise<Result<M>>;
};

const idOf = (app: App, ref: string | undefined): number | null =>
  ref === undefined ? null : findBusiness(app, ref).id;

export const METHODS: Methods = {
  status,
  'inbox.list': inboxList,
  'alert.list': alertList,
  'alert.seen': alertSeen,

  'business.list': ({ app }) => ({ businesses: app.directory.businesses().map((one) => businessJson(app, one)) }),
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

  'key.list': ({ app }, params) => {
    const business = idOf(app, params.business);
    const rows = app.store
      .all(allApiKeys, {})
      .filter((row) => (business === null || row.business_id === business) && (params.revoked || !row.revoked_at));
    return { keys: rows.map((row) => keyJson(app, row)) };
  },
  'key.add': async ({ app }, params) => {
    const { id, network } = findBusiness(app, params.business);
    const added = await app.store.write((tx) =>
      addApiKey(app, tx, id, network === 'mainnet', params.name, [...new Set(params.scopes)]),
    );
    return { key: { ...keyJson(app, keyOf(app.store, added.id)), key: added.key } };
  },
  'key.revoke': async ({ app }, { id }) => {
    await app.store.write((tx) => endApiKey(app, tx, id));
    return {};
  },

  'client.list': ({ app }, params) => {
    const business = idOf(app, params.business);
    const rows = app.store
      .all(allClients, {})
      .filter((row) => (business === null || row.business_id === business) && (params.revoked || !row.revoked_at));
    return { clients: rows.map((row) => clientJson(app, row)) };
  },
  'client.add': async ({ app }, { business, name, origins, hosts }) => {
    const owner = findBusiness(app, business);
    const id = await app.store.write((tx) => openClient(app, tx, owner, { name, origins, hosts }));
    return { client: clientJson(app, clientOf(app.store, id)) };
  },
  'client.change': async ({ app }, { client, origins, hosts }) => {
    const row = await app.store.write((tx) => reviseClient(app, tx, findClient(tx, client), { origins, hosts }));
    return { client: clientJson(app, row) };
  },
  'client.revoke': async ({ app }, { client }) => {
    await app.store.write((tx) => endClient(app, tx, findClient(tx, client).id));
    return {};
  },

  'invoice.list': async ({ app }, { business, status: wanted = null, limit, before = null }) => {
    const owner = business === undefined ? null : findBusiness(app, business);
    const { lines, next } = await listInvoices(app, { business: owner, status: wanted, limit, before });
    return { invoices: lines.map((line) => invoiceJson(app, line)), next };
  },
  'invoice.show': ({ app }, { invoice }) => ({ invoice: detailJson(app, showInvoice(app, invoice)) }),
  'invoice.cancel': async ({ app }, { invoice }) => ({
    invoice: detailJson(app, await decide(app, invoice, 'cancel')),
  }),
  'invoice.markPaid': async ({ app }, { invoice }) => ({
    invoice: detailJson(app, await decide(app, invoice, 'mark-paid')),
  }),

  'webhook.list': ({ app }, { limit, before = Number.MAX_SAFE_INTEGER }) => {
    const rows = app.store.all(webhooksBelow, { id: before, limit });
    return { webhooks: rows.map((row) => webhook(app, row.id)), next: nextOf(rows, limit) };
  },
  'webhook.resend': async ({ app, extra }, { id }) => {
    const { status: answer, error } = await extra.sendWebhook(id);
    return { status: answer, error, webhook: webhook(app, id) };
  },
};

function webhook(app: App, id: number): Result<'webhook.list'>['webhooks'][number] {
  const row = app.store.get(webhookById, { id });
  if (!row) throw new Rejected('webhook.not_found', 'Webhook not found');
  const invoice = app.store.get(invoiceById, { id: row.invoice_id });
  return webhookJson(webhookView(app.store, row), invoice?.slug ?? '');
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
  const birthday = params.birthday === null ? null : Date.parse(params.birthday);
  if (birthday !== null && birthday > app.now()) {
    throw new Rejected('business.birthday', 'The birthday of a wallet cannot lie in the future', 'birthday');
  }
  const client = params.client ? { ...params.client, hosts: params.client.hosts } : null;
  const wanted = { name, network, timeZone, accountNo, accounts, birthday };
  const added = await openBusiness(app, wanted, params.key, client);
  return {
    business: businessJson(app, app.directory.business(added.id)),
    key: { ...keyJson(app, keyOf(app.store, added.keyId)), key: added.key },
    client: added.clientId === null ? null : clientJson(app, clientOf(app.store, added.clientId)),
  };
}
