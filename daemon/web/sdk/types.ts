/**
 * The browser client of Countinghouse, as its users see it. This file is published as it stands at `/js/sdk.d.ts`, so it
 * declares and holds no code. Amounts are decimal strings; times are ISO 8601 in UTC.
 */

export type ClientOptions = {
  /** A public client ID, `ch_client_…`. Never an API key. */
  clientId: string;
  /** Where the browser API is; by default on the host that the script came from. */
  apiBase?: string;
};

export type NewInvoice = {
  /** In `currency`; worth at least 10 USD. A payer can change it in the browser: check it on your server. */
  amount: number | string;
  /** A fiat currency; USD by default. */
  currency?: string;
  /** A cryptocurrency, or ALL (the default): then the payer chooses. */
  crypto?: string;
  /** MM/DD/YYYY, today or later, at most 90 days off; by default the end of the month. */
  due_date?: string;
  /** The page's link back to the shop. */
  close_url?: string;
  /** Where the payer is sent once the invoice is paid; wins over `close_url`. */
  redirect_url?: string;
  /** Whether the payer is taken there without a click. */
  automatic_redirect?: boolean;
  /** https only; gets one POST without a body once the invoice is paid. */
  webhook_url?: string;
  /** The shop's number of the order: 1 to 100 characters, shown to the payer. */
  order_id?: string;
  /** The goods: 1 to 500 characters, shown to the payer. */
  description?: string;
};

export type CreatedInvoice = {
  /** The slug, which the other functions take. */
  id: string;
  /** The hosted payment page: send the payer there. */
  invoice_url: string;
  amount: string;
  currency: string;
  crypto: string;
  due_date: string;
  status: InvoiceState;
  success: true;
  rates: null;
};

export type InvoiceState = 'unpaid' | 'paid' | 'canceled';
export type PaymentState = 'pending' | 'paid' | 'overdue';

export type Payment = {
  invoice_id: string;
  /** Absent where nothing may be sent there: when the price is no longer held, or the invoice was canceled. */
  address?: string;
  /** In `crypto`. */
  amount: string;
  status: PaymentState;
  crypto: string;
  /** A JSON object, as text: the prices of one coin, by `usd`, `eur`, `gbp`. */
  rates: string;
  created_at: string;
  updated_at: string;
  received: string;
  confirmed: string;
  /** The refunds whose transactions have a confirmation. In `crypto`. */
  refunded: string;
  remaining: string;
  confirmations: number;
  required_confirmations: number;
  quote_expires_at: string;
  /** Each in its own crypto: the payer may have changed the coin before all of them were seen. */
  transactions: { tx_id: string; internal?: boolean; crypto?: string; amount: string; confirmations: number }[];
  underpaid: boolean;
  overpaid: boolean;
  late: boolean;
  /** A reorganisation of the chain removed the payment of the invoice. */
  undone: boolean;
  /** A part of the received money has no value yet for lack of a rate. */
  unvalued: boolean;
  /** The names of those of the five above that are true. */
  flags: ('underpaid' | 'overpaid' | 'late' | 'undone' | 'unvalued')[];
};

export type Invoice = {
  id: string;
  url_slug: string;
  invoice_url: string;
  status: InvoiceState;
  amount: string;
  currency: string;
  crypto: string;
  order_id: string | null;
  description: string | null;
  due_date: string;
  created_at: string;
  rates: string | null;
  close_url: string | null;
  redirect_url: string | null;
  automatic_redirect: boolean;
  /** Absent until a payment was requested. */
  payment?: Payment;
};

/** All but `status` are null until a payment was requested. */
export type InvoiceStatus = {
  status: InvoiceState;
  payment_status: PaymentState | null;
  received: string | null;
  remaining: string | null;
  confirmations: number | null;
  required_confirmations: number | null;
};

export type Crypto = { id: number; name: string; symbol: string };
/** Prices of one coin, by its symbol. A currency without a rate is absent. */
export type Rates = { [symbol: string]: { usd?: number; eur?: number; gbp?: number } };

/**
 * The error of the functions. Without `details` the service was not reached, and `message` is "Network error".
 * `details.retryAfter`: in how many seconds to try again, where the service said so.
 */
export type SdkError = Error & { details?: { status: number; payload: unknown; retryAfter?: number } };

export type PollOptions<T> = {
  /** Called with each answer. An error that it throws is reported to the console, and polling continues. */
  onUpdate?: (value: T) => void;
  /** Ends the polling; the promise then rejects with an `AbortError`. */
  signal?: AbortSignal;
  /** Milliseconds between two questions, from 1,000; 3,000 by default, 15,000 after five minutes. */
  interval?: number;
};

export type Client = {
  createInvoice(invoice: NewInvoice): Promise<CreatedInvoice>;
  getInvoice(slug: string): Promise<Invoice>;
  getInvoiceStatus(slug: string): Promise<InvoiceStatus>;
  /** `crypto`: only for an invoice in ALL, as a symbol or as `{ crypto }`. */
  requestPayment(slug: string, crypto?: string | { crypto?: string }): Promise<Payment>;
  /**
   * Asks for the status until it is `paid` or `canceled`, and resolves to it. Paused while the page is hidden, and asks at
   * once when it is shown again. Network errors, 429 and 5xx are retried; any other refusal, such as 404, rejects.
   */
  pollInvoice(slug: string, options?: PollOptions<InvoiceStatus>): Promise<InvoiceStatus>;
  /** The rates loaded last; `{}` before. Loads them anew in the background once they are older than five minutes. */
  rates(): Rates;
  /** The enabled cryptocurrencies loaded last; `[]` before. As old as `rates()`. */
  cryptos(): Crypto[];
  /** Loads both now. */
  load(): Promise<void>;
};

/** Makes a client and loads cryptos and rates. From then on the functions of this object call that client. */
export declare function init(options: ClientOptions): Promise<Client>;
/** Makes a client and loads nothing. */
export declare function createClient(options: ClientOptions): Client;

export declare const createInvoice: Client['createInvoice'];
export declare const getInvoice: Client['getInvoice'];
export declare const getInvoiceStatus: Client['getInvoiceStatus'];
export declare const requestPayment: Client['requestPayment'];
export declare const pollInvoice: Client['pollInvoice'];
export declare const rates: Client['rates'];
export declare const cryptos: Client['cryptos'];

/** Reads any JSON resource, with errors as above, for example for `poll`. */
export declare function ask<T>(url: string, init?: RequestInit): Promise<T>;
/**
 * The polling itself: reads until `isEnd`. `wake` is called once with a function that asks at once, for pages that have
 * another source of hints.
 */
export declare function poll<T>(
  read: () => Promise<T>,
  isEnd: (value: T) => boolean,
  options?: PollOptions<T> & { wake?: (askNow: () => void) => void },
): Promise<T>;
