/** A node's RPC in front of a monerod, for tests: it can be away, be behind, or answer what a test says. */
import type http from 'node:http';
import { exchange, postJson } from '../support/exchange.ts';
import { Front } from './front.ts';
import type { Json } from './monerod.ts';

type Fields = { [key: string]: Json };
/** A call by its path, or by its method at /json_rpc. */
type Asked = { name: string; params: Fields };
/** Changes an answer (what is below `result` at /json_rpc); undefined leaves it. */
type Change = (asked: Asked, answer: Fields) => Fields | undefined | Promise<Fields | undefined>;

export class MonerodProxy extends Front {
  readonly #node: string;
  change: Change = () => undefined;
  /** Changes an answer in Monero's binary form. */
  changeBytes: (path: string, answer: Buffer) => Buffer = (_, answer) => answer;
  /** Answers by itself, in whatever form. */
  raw: (response: http.ServerResponse) => boolean = () => false;

  private constructor(node: string) {
    super();
    this.#node = node;
  }

  static async start(node: string): Promise<MonerodProxy> {
    const proxy = new MonerodProxy(node);
    await proxy.listen();
    return proxy;
  }

  /** It has no block above a height, and an empty pool. */
  async fallBehind(height: number): Promise<void> {
    const { result } = (await postJson(`${this.#node}/json_rpc`, {
      jsonrpc: '2.0',
      id: '0',
      method: 'get_block_header_by_height',
      params: { height },
    })) as { result: { block_header: Fields } };
    const hash = result.block_header.hash as string;
    this.change = ({ name }, answer) => {
      if (name === 'get_info') return { ...answer, height: height + 1, top_block_hash: hash };
      return name === '/get_transaction_pool_hashes' ? { ...answer, tx_hashes: [] } : undefined;
    };
  }

  protected async answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const asked = Buffer.concat(await request.toArray());
    if (this.raw(response)) return;
    const path = request.url ?? '/';
    if (path.endsWith('.bin')) {
      const sent = await exchange(`${this.#node}${path}`, { method: 'POST', body: asked });
      await this.change({ name: path, params: {} }, {});
      response.end(this.changeBytes(path, sent.body));
      return;
    }
    const body = JSON.parse(asked.toString('utf8')) as Fields;
    const answer = (await postJson(`${this.#node}${path}`, body)) as Fields;
    response.setHeader('content-type', 'application/json');
    if (path === '/json_rpc') {
      const call = { name: String(body.method), params: (body.params ?? {}) as Fields };
      const result = answer.result ? await this.change(call, answer.result as Fields) : undefined;
      response.end(JSON.stringify(result ? { ...answer, result } : answer));
      return;
    }
    const changed = await this.change({ name: path, params: body }, answer);
    response.end(JSON.stringify(changed ?? answer));
  }
}
