/** The sandbox's buttons on the page of a sandbox invoice: actions of a payer and of the network. */
import type { App } from '../app/app.ts';
import type { SandboxControls } from '../app/invoices/sandbox.ts';
import { readInvoice } from '../app/invoices/views.ts';
import { Rejected } from '../domain/errors.ts';
import { formatUnits } from '../domain/money.ts';
import { type Html, html } from './html.ts';
import type { Locale } from './locale.ts';
import type { InvoicePage } from './model.ts';

const BUTTONS = {
  exact: 'sandboxExact',
  half: 'sandboxHalf',
  double: 'sandboxDouble',
  late: 'sandboxLate',
  mine: 'sandboxMine',
  reorg: 'sandboxReorg',
  replace: 'sandboxReplace',
  down: 'sandboxDown',
  up: 'sandboxUp',
} as const;
type Control = keyof typeof BUTTONS;

const HALF = 2n;
const DOUBLE = 2n;

/** The buttons that are useful now, in one form. */
export function sandboxPanel({ sandbox, root, slug, query }: InvoicePage, { words }: Locale): Html {
  const names: Control[] = ['mine', sandbox?.down ? 'up' : 'down'];
  if (sandbox?.canReorg) names.unshift('reorg');
  if (sandbox?.canReplace) names.unshift('replace');
  if (sandbox?.canPay) names.unshift('exact', 'half', 'double', 'late');
  const buttons = names.map((name) => html`<button name="do" value="${name}">${words[BUTTONS[name]]}</button>\n`);
  return html`<aside class="sandbox" aria-labelledby="sandbox">
<h2 id="sandbox">${words.sandboxHeading}</h2>
<p>${words.sandboxHint}</p>
<form method="post" action="${root}${slug}/sandbox${query}" class="buttons">
${buttons}</form>
</aside>
`;
}

/**
 * Executes a button. On other networks there are none. Throws `Rejected`; with the code `validation` if the button has
 * no effect any more, for example when it is pressed twice.
 */
export async function press(
  app: App,
  controls: SandboxControls | null,
  slug: string,
  what: string | undefined,
): Promise<void> {
  const { business, payment } = await readInvoice(app, null, slug);
  if (!controls || business.network !== 'sandbox') throw new Rejected('invoice.not_found', 'Invoice not found');
  if (!payment) throw new Rejected('sandbox.no_payment', 'No payment was requested for this invoice yet');
  const { asset, remaining, transactions } = payment;
  const symbol = asset.symbol;
  const pay = (units: bigint) => controls.pay(business, slug, formatUnits(units, asset));
  const actions: Record<Control, () => Promise<unknown>> = {
    exact: () => controls.pay(business, slug),
    half: () => pay(remaining > 1n ? remaining / HALF : remaining),
    double: () => pay(remaining * DOUBLE),
    late: () => controls.payLate(business, slug),
    mine: () => controls.mine(business, symbol, 1),
    reorg: async () => {
      const depths = transactions.map(({ confirmations }) => confirmations).filter((depth) => depth > 0);
      if (depths.length > 0) await controls.reorg(business, symbol, Math.min(...depths), false);
    },
    replace: async () => {
      const unconfirmed = transactions.findLast(({ confirmations }) => confirmations === 0);
      if (unconfirmed) await controls.doubleSpend(business, unconfirmed.txid);
    },
    down: () => controls.outage(business, symbol, true),
    up: () => controls.outage(business, symbol, false),
  };
  if (what === undefined || !Object.hasOwn(actions, what)) {
    throw new Rejected('sandbox.control', 'There is no such control');
  }
  await actions[what as Control]();
}
