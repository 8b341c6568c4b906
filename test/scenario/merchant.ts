/** A shop's own program: it calls the merchant API of a test's server with its key. */
import { expect } from 'vitest';
import { type TestDaemon, until } from '../support/daemon.ts';

export class Merchant {
  readonly #service: TestDaemon;
  readonly #key: string;

  constructor(service: TestDaemon, key: string) {
    this.#service = service;
    this.#key = key;
  }

  async #ask<Body>(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> {
    return this.#service.call<Body>(method, path, body, { 'mb-api-key': this.#key });
  }

  /** The address of a new invoice that is paid in this crypto, once its chain is followed. */
  async invoice(crypto: string, usd: number): Promise<{ id: string; address: string }> {
    const { body } = await this.#ask<{ id: string }>('POST', '/invoice', { amount: usd, crypto: 'ALL' });
    const { id } = body;
    const address = await until(`${crypto} is followed`, async () => {
      const asked = await this.#ask<{ address: string }>('POST', `/invoice/rp/${id}`, { crypto });
      return asked.status === 201 && asked.body.address;
    });
    return { id, address };
  }

  isPaid(invoice: string): Promise<unknown> {
    return until('it is paid', async () => {
      return (await this.#ask<{ status: string }>('GET', `/invoice/${invoice}`)).body.status === 'paid';
    });
  }

  async balance(crypto: string): Promise<number> {
    return (await this.#ask<Record<string, number>>('GET', '/balance')).body[crypto] ?? 0;
  }

  async withdraw(crypto: string, amount: string, address: string): Promise<string> {
    const { status, body } = await this.#ask<{ id: string }>('POST', '/withdraw', { amount, crypto, address });
    expect([status, body]).toMatchObject([201, {}]);
    return body.id;
  }
}
