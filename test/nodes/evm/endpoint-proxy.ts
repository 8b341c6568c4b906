/**
 * An endpoint in front of a node, for tests: it passes JSON-RPC on, alone or in batches, and can be told to be behind, to
 * be away, to limit, to leave out, to invent, or to answer garbage.
 */
import type http from 'node:http';
import { postJson } from '../../support/exchange.ts';
import { Front } from '../front.ts';
import { type Json, REQUEST_TIMEOUT_MS } from './anvil.ts';

export type Request = { id: number; method: string; params: Json[] };
type Failure = { code: number; message: string };
type Reply = { result: Json } | { error: Failure };
type NodeReply = { id: number; result: Json; error?: Failure };
type Waiting = Pick<Request, 'method' | 'params'> & Pick<PromiseWithResolvers<Reply>, 'resolve' | 'reject'>;
/** Answers instead of the node, or changes what it answered; undefined leaves it as it is. */
export type Behaviour = {
  instead?(request: Request): Reply | undefined | Promise<Reply | undefined>;
  changed?(request: Request, result: Json): Json;
  /** The whole HTTP answer, for what is no JSON-RPC. */
  raw?(response: http.ServerResponse): boolean;
};

export class EndpointProxy extends Front {
  readonly #node: string;
  #waiting: Waiting[] = [];
  behaviour: Behaviour = {};
  /** What it was asked and how many bytes it answered, by method; and the same in all, as requests of HTTP. */
  readonly calls = new Map<string, number>();
  readonly bytesOf = new Map<string, number>();
  requests = 0;
  bytes = 0;

  private constructor(node: string) {
    super();
    this.#node = node;
  }

  static async start(node: string): Promise<EndpointProxy> {
    const proxy = new EndpointProxy(node);
    await proxy.listen();
    return proxy;
  }

  protected async answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const body = (await request.setEncoding('utf8').toArray()).join('');
    this.requests++;
    if (this.behaviour.raw?.(response)) return;
    const asked = JSON.parse(body) as Request | Request[];
    const answers = await Promise.all((Array.isArray(asked) ? asked : [asked]).map((one) => this.#counted(one)));
    const text = Array.isArray(asked) ? `[${answers.join()}]` : `${answers[0]}`;
    this.bytes += text.length;
    response.setHeader('content-type', 'application/json');
    response.end(text);
  }

  async #counted(request: Request): Promise<string> {
    const { method } = request;
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    const text = JSON.stringify(await this.#one(request));
    this.bytesOf.set(method, (this.bytesOf.get(method) ?? 0) + text.length);
    return text;
  }

  async #one(request: Request): Promise<Json> {
    const head = { jsonrpc: '2.0', id: request.id };
    const instead = await this.behaviour.instead?.(request);
    if (instead) return { ...head, ...instead };
    const reply = await this.pass(request);
    if ('error' in reply) return { ...head, ...reply };
    return { ...head, result: this.behaviour.changed?.(request, reply.result) ?? reply.result };
  }

  /** What the node answers. It is asked for all of a turn at once. */
  pass({ method, params }: Pick<Request, 'method' | 'params'>): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    if (this.#waiting.push({ method, params, resolve, reject }) === 1) setImmediate(() => this.#passAll());
    return promise;
  }

  async #passAll(): Promise<void> {
    const waiting = this.#waiting.splice(0);
    try {
      const asked = waiting.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }));
      const replies = await postJson(this.#node, asked, AbortSignal.timeout(REQUEST_TIMEOUT_MS));
      for (const { id, result, error } of replies as NodeReply[]) waiting[id]!.resolve(error ? { error } : { result });
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}

/** An endpoint that has no block above a height. */
export function behindAt(proxy: EndpointProxy, height: number): Behaviour {
  const isAbove = (tag: Json | undefined): boolean =>
    typeof tag === 'string' && tag.startsWith('0x') && tag.length < 66 && Number(tag) > height;
  return {
    async instead({ method, params }) {
      if (method === 'eth_blockNumber') return { result: `0x${height.toString(16)}` };
      if (method !== 'eth_getBlockByNumber') return undefined;
      if (isAbove(params[0])) return { result: null };
      if (params[0] !== 'latest') return undefined;
      return proxy.pass({ method, params: [`0x${height.toString(16)}`, params[1] ?? false] });
    },
  };
}
