/**
 * Stands between the operator API's methods and a daemon in this process. What a page and the service say to each other cannot be read or
 * replaced on its way.
 */
import type { Method, Parsed, Result } from '../../daemon/contract/operator.ts';
import { METHODS } from '../../daemon/http/operator/methods.ts';

type Work = (context: unknown, params: never) => unknown;
const table = METHODS as unknown as Record<string, Work>;

/** Has `work` answer a method until the returned function is called. `real`: what the service would answer. */
export function instead<M extends Method>(
  method: M,
  work: (params: Parsed<M>, real: () => Promise<Result<M>>) => unknown,
): () => void {
  const own = table[method]!;
  table[method] = (context, params) => work(params, async () => (await own(context, params)) as Result<M>);
  return () => {
    table[method] = own;
  };
}

/** Notes as JSON what the service is asked and what it answers, until `stop`. */
export function listen(): { heard: string[]; stop(): void } {
  const heard: string[] = [];
  const ends = Object.entries(table).map(([method, own]) => {
    table[method] = async (context, params) => {
      const answer = await own(context, params);
      heard.push(`${method} ${JSON.stringify([params, answer])}`);
      return answer;
    };
    return () => {
      table[method] = own;
    };
  });
  const stop = (): void => {
    for (const end of ends) end();
  };
  return { heard, stop };
}
