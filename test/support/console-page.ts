/** A page of the console without a browser: signs in with a link, and calls through its channel. */
import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { jsonBytes } from '../../daemon/contract/console-channel.ts';
import { ConsoleClient, type Login, NotTheService, SessionEnded } from '../../daemon/contract/console-client.ts';

export type Raw = {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Uint8Array<ArrayBuffer>;
};
export type Sent = { method: string; path: string; headers: Record<string, string>; body: Uint8Array | string };

/**
 * Sends exactly these headers, as a browser on `origin` would connect. `tls`: a certificate that nobody has signed is accepted.
 * `localAddress`: of this machine, from which it is sent.
 */
export function sendRaw(origin: string, { method, path, headers, body }: Sent, localAddress?: string): Promise<Raw> {
  const { promise, resolve, reject } = Promise.withResolvers<Raw>();
  const { hostname, port, protocol } = new URL(origin);
  const request = protocol === 'https:' ? tlsRequest : plainRequest;
  const tls = { servername: 'localhost', rejectUnauthorized: false };
  const options = {
    hostname,
    port,
    path,
    method,
    headers,
    agent: false,
    ...tls,
    ...(localAddress && { localAddress }),
  };
  const call = request(options, (response) => {
    const parts: Buffer[] = [];
    response.on('data', (part: Buffer) => parts.push(part));
    response.on('error', reject);
    response.on('end', () =>
      resolve({
        status: response.statusCode!,
        headers: response.headers,
        bytes: new Uint8Array(Buffer.concat(parts)),
      }),
    );
  });
  call.once('error', reject);
  call.end(method === 'GET' ? undefined : body);
  return promise;
}

export type PageAnswer = { status: number; body: never };

/** The headers that a browser adds to a call of a page. */
const browserHeaders = (origin: string): Record<string, string> => ({
  host: new URL(origin).host,
  origin,
  'sec-fetch-site': 'same-origin',
});

const jsonOf = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch {
    return {};
  }
};

export class ConsolePage {
  readonly client: ConsoleClient;
  login: Login | null = null;
  /** Every request that it sent, as anybody on the way sees it. */
  readonly sent: Sent[] = [];
  origin: string;
  /** Sends in place of the real way. */
  way = (sent: Sent): Promise<Raw> => sendRaw(this.origin, sent);
  #last: Raw | null = null;
  #more: Record<string, string> = {};

  constructor(origin: string, login: Login | null = null) {
    this.origin = origin;
    this.login = login;
    this.client = new ConsoleClient({
      origin,
      fetch: (path, init) => this.#fetch(path, init),
      store: {
        read: async () => this.login,
        write: async (kept) => {
          this.login = kept;
        },
      },
    });
  }

  /** `link`: as the command line prints it. */
  static async signIn(link: string): Promise<ConsolePage> {
    const { origin, hash } = new URL(link);
    const page = new ConsolePage(origin);
    await page.client.signIn(hash.replace('#sign-in=', ''));
    return page;
  }

  /** The answer; 401 if the session has ended; what a server says in the clear if it is not the service. `body`: JSON as a text, or bytes. */
  async ask(path: string, body: object | string = {}, headers: Record<string, string> = {}): Promise<PageAnswer> {
    const bytes =
      body instanceof Uint8Array
        ? new Uint8Array(body)
        : typeof body === 'string'
          ? new Uint8Array(new TextEncoder().encode(body))
          : jsonBytes(body);
    this.#more = headers;
    try {
      return (await this.client.ask(path, bytes)) as PageAnswer;
    } catch (error) {
      if (error instanceof SessionEnded) return { status: 401, body: {} as never };
      if (!(error instanceof NotTheService) || this.#last === null) throw error;
      return { status: this.#last.status, body: jsonOf(this.#last.bytes) as never };
    } finally {
      this.#more = {};
    }
  }

  async #fetch(path: string, { method, headers, body }: RequestInit): Promise<Response> {
    const all = { ...browserHeaders(this.origin), ...(headers as Record<string, string>), ...this.#more };
    const sent = { method: method!, path, headers: all, body: body as Uint8Array };
    this.sent.push(sent);
    const raw = await this.way(sent);
    this.#last = raw;
    return new Response(raw.bytes, { status: raw.status });
  }
}
