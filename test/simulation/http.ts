/** HTTP without sockets for hosts that end in `.simulated`. */
import { EventEmitter } from 'node:events';
import http from 'node:http';
import type { Health } from './network.ts';
import type { Time } from './time.ts';

/** `body`: bytes as they are, anything else in JSON. */
export type Answer = { status: number; body: object | Buffer };
/** Whoever answers requests under a name. */
export type Host = { health(): Health; answer(asked: string | Uint8Array, path: string): Answer | Promise<Answer> };

const coded = (code: string): Error => Object.assign(new Error(code), { code });

/** What the product's client uses of a request. */
class Request extends EventEmitter {
  readonly #host: Host;
  readonly #time: Time;
  readonly #path: string;
  readonly #connection: object;
  #over = false;

  /** `connection`: the same for all requests over it. */
  constructor(host: Host, time: Time, path: string, connection: object) {
    super();
    this.#path = path;
    this.#host = host;
    this.#time = time;
    this.#connection = connection;
  }

  end(asked: string | Uint8Array): void {
    this.#time.deliver(() => {
      if (this.#over) return;
      this.emit('socket', this.#connection);
      const health = this.#host.health();
      if (health === 'silent') return;
      if (health === 'down') {
        this.#fail(coded('ECONNREFUSED'));
        return;
      }
      const answered = this.#host.answer(asked, this.#path);
      if (!(answered instanceof Promise)) {
        this.#time.deliver(() => this.#respond(answered));
        return;
      }
      void this.#time.outside(answered).then((answer) => this.#respond(answer));
    });
  }

  destroy(error?: Error): void {
    if (!this.#over && error) this.#fail(error);
    this.#over = true;
  }

  #fail(error: Error): void {
    this.#over = true;
    this.emit('error', error);
  }

  #respond({ status, body }: Answer): void {
    if (this.#over) return;
    this.#over = true;
    const response = Object.assign(new EventEmitter(), { statusCode: status });
    this.emit('response', response);
    response.emit('data', Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)));
    response.emit('end');
  }
}

/** Answers requests to `NAME.simulated` from these hosts, for the rest of the process. */
export function serveHosts(hostOf: (name: string) => Host | undefined, time: Time): void {
  const real = http.request;
  const request = (options: http.RequestOptions, ...rest: []): http.ClientRequest => {
    const [name = '', domain] = String(options.hostname).split('.');
    const host = domain === 'simulated' ? hostOf(name) : undefined;
    if (!host) return real(options, ...rest);
    // an agent has one connection, which nobody closes
    const connection = options.agent as unknown as object;
    return new Request(host, time, String(options.path), connection) as unknown as http.ClientRequest;
  };
  Object.assign(http, { request });
}
