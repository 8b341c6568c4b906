/** Every word that the payment page says, in one table per language. Plain text: the templates escape it. */

export const ENGLISH = {
  locale: 'en-GB',
  direction: 'ltr',

  title: (amount: string, business: string) => `${amount} – ${business}`,
  payTo: 'Payment to',
  invoice: 'Invoice',
  dueBy: 'Due by',
  back: 'Back to the shop',

  sandboxBanner: 'Sandbox: no money here is real',
  testBanner: 'Test network: the coins here have no value',

  chooseHeading: 'Choose how to pay',
  chooseHint: 'It cannot be changed for this invoice afterwards.',
  continue: 'Continue',
  fixedHint: 'You get an address and the exact amount on the next page.',
  payWith: (name: string) => `Pay with ${name}`,
  about: (amount: string) => `≈ ${amount}`,
  onNetwork: (network: string) => `on ${network}`,
  rate: (ticker: string, price: string) => `1 ${ticker} = ${price}`,
  withheldOffer: {
    chain: 'Not available now: our connection to its network is behind',
    rate: 'Not available now: there is no current exchange rate',
    wallet: 'Not available now',
  },
  nothingOffered: 'No cryptocurrency can be used at the moment. Please try again in a few minutes.',
  mustChoose: 'Please choose one of the cryptocurrencies.',
  notNow: 'That cryptocurrency cannot be used at the moment. Choose another one, or try again in a few minutes.',

  status: {
    waiting: 'Waiting for your payment',
    partial: 'Part of it has arrived',
    detected: 'Payment found, waiting for confirmations',
    paid: 'Paid. Thank you!',
    canceled: 'This invoice is canceled',
    withheld: 'No payment possible at the moment',
  },
  steps: { label: 'Progress', pay: 'Send', found: 'Found', done: 'Paid' },

  sendExactly: 'Send exactly',
  sendMore: 'Still to send',
  equals: (fiat: string) => `for ${fiat}`,
  partialHint: (received: string, more: string) =>
    `${received} arrived. Please send ${more} more, to the same address.`,
  scan: 'Scan with your wallet',
  qrLabel: (amount: string, name: string) => `QR code to pay ${amount} with ${name}`,
  qrAddressOnly: 'The code holds the address only: enter the amount in your wallet.',
  openWallet: 'Open in wallet',
  toAddress: 'To this address',
  network: 'Network',
  onlyNetwork: (name: string, ticker: string, network: string) =>
    `Send only ${name} (${ticker}), and only on ${network}. Anything else sent here can be lost.`,
  feesHint: 'Network and exchange fees come on top: this amount must arrive in full.',
  priceHolds: 'This price holds until',
  newPriceHint: 'After that this page shows a new one, to the same address.',
  withheld: {
    chain:
      'The price has run out, and our connection to the network is behind. Do not send anything now: the address is shown again, with a new price, as soon as the connection is back.',
    rate: 'The price has run out, and there is no current exchange rate. Do not send anything now: the address is shown again as soon as there is a new price.',
    over: 'The time to pay has passed, and this invoice is about to be canceled. Do not send anything any more: please ask the shop for a new invoice.',
  },

  confirmations: (have: number, need: number) => `${have} of ${need} confirmations`,
  confirmationsHint: 'You can close this page: the shop is told when the payment is complete.',
  overdue: 'The payment is overdue',
  overdueHint: (until: string) => `It can still be paid until ${until}. Please pay soon.`,
  behind: (network: string) =>
    `Our connection to ${network} is behind at the moment: a payment is shown here later than usual. It is not lost, so do not send it twice.`,
  late: 'The payment came after the time it was due.',
  overpaid: 'More than the amount due has arrived',
  overpaidHint: (received: string) =>
    `We received ${received} in total. Please ask the shop what becomes of the difference.`,

  received: 'Received',
  transactions: 'Transactions',
  redirecting: 'You are taken back to the shop in a few seconds.',
  canceledHint: 'Do not send money to its address any more. Please ask the shop for a new invoice.',
  canceledReceived: (received: string) => `${received} had arrived: please ask the shop about it.`,
  refreshes: 'This page looks for news every few seconds by itself.',

  sandboxHeading: 'Sandbox controls',
  sandboxHint: 'What a payer and the network would do.',
  sandbox: { exact: 'Pay exactly', half: 'Pay half', double: 'Pay double', mine: 'Mine a block' },

  problems: {
    notFound: { title: 'There is no such invoice', text: 'Please check the link, or ask the shop for a new one.' },
    tooMany: { title: 'Too many requests', text: 'Please wait a moment, then open this page again.' },
    method: { title: 'This cannot be done here', text: 'Please open the payment page from the shop again.' },
    request: { title: 'This request could not be read', text: 'Please open the payment page from the shop again.' },
    refused: { title: 'That did not work', text: 'Please go back to the payment page and look at its state.' },
    unavailable: { title: 'Not available at the moment', text: 'Please try again in a minute.' },
    bug: {
      title: 'Something went wrong',
      text: 'It was our fault, and it was recorded. Please try again in a minute.',
    },
  },
  toInvoice: 'Back to the payment page',
};

export type Texts = typeof ENGLISH;
export type Problem = keyof Texts['problems'];
