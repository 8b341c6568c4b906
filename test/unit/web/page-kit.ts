/** A browser that is none: a page that can be hidden, and a service that answers what the test says. */
import { vi } from 'vitest';

export class FakePage {
  hidden = false;
  readonly #listeners = new Set<() => void>();

  addEventListener(name: string, listener: () => void): void {
    if (name === 'visibilitychange') this.#listeners.add(listener);
  }

  removeEventListener(_name: string, listener: () => void): void {
    this.#listeners.delete(listener);
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  show(shown: boolean): void {
    this.hidden = !shown;
    for (const listener of [...this.#listeners]) listener();
  }
}

type Call = { url: string; method: string; headers: Record<string, string>; body: unknown };
/** What the service says: a status with a body (an object is JSON) and headers, or nothing at all. */
export type Said = { status: number; body: unknown; headers?: Record<string, string> } | 'unreachable';

/** A `fetch` that answers with what `say` returns, and remembers what it was asked. */
export function fakeFetch(say: (call: Call, n: number) => Said | Promise<Said>) {
  const calls: Call[] = [];
  const fetch = vi.fn(async (url: string, init: RequestInit = {}) => {
    const call = {
      url,
      method: init.method ?? 'GET',
      headers: init.headers as Record<string, string>,
      body: init.body === undefined ? undefined : (JSON.parse(init.body as string) as unknown),
    };
    calls.push(call);
    const said = await say(call, calls.length);
    init.signal?.throwIfAborted();
    if (said === 'unreachable') throw new TypeError('Failed to fetch');
    const { status, body, headers = {} } = said;
    return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers });
  });
  return { fetch, calls };
}
