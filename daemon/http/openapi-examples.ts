/** One example of each answer and each body, for the API description. Tests check them against the schemas. */
const AT = '2026-11-21T10:00:00.000000Z';
const DUE = '2026-11-30T23:59:59.000000Z';
const ADDRESS = 'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9';
const TXID = 'fdf22b4be9ad1f0d4f9e9a2e1f2f6f6a8c1d5b0e7c3a49f8b6d2e1c0a9b8c7d6';

const PAYMENT = {
  invoice_id: '019a9f5e-8c1e-7000-8000-0f1e2d3c4b5a',
  address: ADDRESS,
  amount: '0.3125',
  status: 'pending',
  crypto: 'LTC',
  rates: '{"usd":80,"eur":69.5,"gbp":61.2}',
  created_at: AT,
  updated_at: AT,
  received: '0',
  confirmed: '0',
  refunded: '0',
  remaining: '0.3125',
  confirmations: 0,
  required_confirmations: 3,
  quote_expires_at: '2026-11-21T11:00:00.000000Z',
  transactions: [],
  underpaid: false,
  overpaid: false,
  late: false,
  undone: false,
  unvalued: false,
  flags: [],
};

const CREATED = {
  id: 'aB3dE5gH7jK9',
  success: true,
  invoice_url: 'https://pay.example.com/pay/aB3dE5gH7jK9',
  due_date: DUE,
  amount: '25',
  crypto: 'LTC',
  rates: null,
  currency: 'USD',
  status: 'unpaid',
};

const INVOICE = {
  id: CREATED.id,
  invoice_url: CREATED.invoice_url,
  due_date: DUE,
  amount: '25',
  currency: 'USD',
  crypto: 'LTC',
  url_slug: CREATED.id,
  status: 'unpaid',
  rates: PAYMENT.rates,
  created_at: AT,
  order_id: 'A-1001',
  description: 'Two loaves',
  metadata: { customer: '42' },
  payment: PAYMENT,
};
const { metadata: _, ...OF_PAYERS } = INVOICE;

const WITHDRAWAL = {
  id: '299',
  status: 'completed',
  tx_id: TXID,
  amount: '0.5',
  crypto: 'LTC',
  address: ADDRESS,
  invoice_id: null,
  fee: '0.0000141',
  created_at: AT,
  updated_at: AT,
};

const RECEIPT = {
  tx_id: TXID,
  crypto: 'LTC',
  amount: '0.3125',
  address: ADDRESS,
  status: 'confirmed',
  confirmations: 3,
  required_confirmations: 3,
  network: 'mainnet',
  invoice_id: CREATED.id,
  order_id: 'A-1001',
  counts_for_invoice: true,
  value: '25',
  currency: 'USD',
  value_usd: '25',
  created_at: AT,
};

/** By the name of the schema. */
export const ANSWER_EXAMPLES: Readonly<Record<string, unknown>> = {
  Payment: PAYMENT,
  PayersPayment: PAYMENT,
  CreatedInvoice: CREATED,
  Invoice: INVOICE,
  PayersInvoice: { ...OF_PAYERS, close_url: null, redirect_url: null, automatic_redirect: false },
  InvoiceStatus: {
    status: 'unpaid',
    payment_status: 'pending',
    received: '0',
    remaining: '0.3125',
    confirmations: 0,
    required_confirmations: 3,
  },
  Invoices: { items: [INVOICE], next: null },
  Withdrawals: { items: [WITHDRAWAL], next: null },
  Transactions: { items: [RECEIPT], next: null },
  Cryptos: [{ id: 3, name: 'Litecoin', symbol: 'LTC' }],
  Minimum: { amount: '8.66', currency: 'EUR' },
  Rates: { usd: '80.00', eur: '69.50', gbp: '61.20' },
  RatesByCrypto: { LTC: { usd: 80, eur: 69.5, gbp: 61.2 } },
  Balance: { LTC: 1.4999859, BTC: 0 },
  RequestedWithdrawal: { id: '299', status: 'pending' },
  Withdrawal: WITHDRAWAL,
  WithdrawalError: { message: 'Insufficient balance', status: 'error' },
  SandboxPayment: { tx_id: TXID, amount: '0.3125' },
  SandboxHeight: { height: 203 },
  SandboxReplacement: { tx_id: TXID },
  Nothing: {},
  Message: { message: 'Invalid API key' },
  Error: { error: 'Invoice not found' },
  MessageAndError: { message: 'Payment already requested', error: 'payment.requested' },
  Validation: {
    message: 'The amount field is required.',
    errors: { amount: ['The amount field is required.'] },
  },
};

/** By the operation's id. */
export const BODY_EXAMPLES: Readonly<Record<string, unknown>> = {
  createInvoice: {
    amount: 25,
    currency: 'USD',
    crypto: 'LTC',
    order_id: 'A-1001',
    webhook_url: 'https://shop.example/paid',
  },
  requestPayment: {},
  postBalance: { with_rates: 'true' },
  refundInvoice: { address: ADDRESS, amount: '0.1' },
  withdraw: { amount: '0.5', crypto: 'LTC', address: ADDRESS },
  sandboxPay: { invoice_id: CREATED.id },
  sandboxMine: { crypto: 'LTC', blocks: 3 },
  sandboxReorg: { crypto: 'LTC', depth: 2, drop: false },
  sandboxDoubleSpend: { tx_id: TXID },
  sandboxOutage: { crypto: 'LTC', down: true },
  browserCreateInvoice: { amount: 25, redirect_url: 'https://shop.example/thanks' },
  browserRequestPayment: { crypto: 'LTC' },
};
