/** Distributes a list of work over several servers; each gets as much at once as its pace allows. */
import { ConnectionLost, isOfServer } from './faults.ts';
import type { Haste } from './pace.ts';
import type { Server } from './server.ts';

/**
 * Calls `work` for each item with one of the servers, and returns the items that were not begun before `deadlineMs` (by
 * `performance.now()`). An item at which one server fails goes to another. Throws errors that are no server's fault, and
 * the last server's error when no server is left.
 */
export async function spread<T>(
  servers: readonly Server[],
  items: readonly T[],
  haste: Haste,
  work: (server: Server, item: T) => Promise<void>,
  deadlineMs: number = Number.POSITIVE_INFINITY,
): Promise<T[]> {
  const waiting = [...items].reverse();
  let bug: unknown;
  let failure: unknown = new ConnectionLost('no server is there to ask');
  let open = 0;
  const isOver = (): boolean => bug !== undefined || performance.now() > deadlineMs;

  const serve = async (server: Server): Promise<void> => {
    const running = new Set<Promise<void>>();
    let failed = false;
    while (!failed && !isOver()) {
      const item = waiting.pop();
      if (item === undefined) {
        if (running.size === 0) break;
      } else {
        const one = work(server, item)
          .catch((error: unknown) => {
            if (isOfServer(error)) {
              failed = true;
              failure = error;
              waiting.push(item);
            } else bug ??= error;
          })
          .finally(() => running.delete(one));
        running.add(one);
        if (running.size < server.pace.limit(haste)) continue;
      }
      await Promise.race(running);
    }
    await Promise.all(running);
    if (!failed) open++;
  };
  await Promise.all(servers.map(serve));
  if (bug !== undefined) throw bug;
  if (waiting.length > 0 && open === 0) throw failure;
  // A server failed after the others had ended; its items are still waiting.
  if (waiting.length > 0 && !isOver()) {
    const left = servers.filter((server) => server.state === 'ready');
    return spread(left, waiting.reverse(), haste, work, deadlineMs);
  }
  return waiting.reverse();
}
