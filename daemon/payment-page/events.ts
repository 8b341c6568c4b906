/**
 * A stream that tells an open page when to read its status. It carries no data. Pages that cannot use it poll.
 *
 * Invariant: the number of streams is bounded in total, per address and per network, and each ends after a while.
 */
import type { Request, RequestHandler, Response } from 'express';
import type { App } from '../app/app.ts';
import { findInvoice } from '../app/invoices/invoices.ts';
import { Places, type Shares } from '../http/places.ts';

export const STREAMS_PER_ADDRESS_MAX = 40;
const STREAMS_SHARES: Shares = [STREAMS_PER_ADDRESS_MAX, 80, 160];
/** Each is a connection, also behind a proxy: the others are for requests. */
const STREAMS_MAX = 2_000;
/** Shorter than half a minute, after which some proxies close silent connections. */
const HEARTBEAT_MS = 25_000;
const STREAM_AGE_MAX_MS = 3_600_000;
const RETRY_MS = 3_000;

type Stream = { response: Response; openedAt: number };

/** `slugOf` throws for a path without a valid slug. */
export function eventStreams(app: App, slugOf: (request: Request) => string): RequestHandler {
  const open = new Set<Stream>();
  const places = new Places({ total: STREAMS_MAX, shares: STREAMS_SHARES, equals: 'newcomer' });
  let heartbeat: NodeJS.Timeout | null = null;

  const beat = (): void => {
    const now = performance.now();
    for (const { response, openedAt } of open) {
      if (now - openedAt > STREAM_AGE_MAX_MS) response.end();
      else if (!response.writableNeedDrain) response.write(':\n\n');
    }
  };

  return (request, response) => {
    const invoice = findInvoice(app.store, slugOf(request));
    if (request.method === 'HEAD') {
      response.type('text/event-stream').end();
      return;
    }
    const stream: Stream = { response, openedAt: performance.now() };
    const leave = places.take(request.ip ?? '', () => {
      response.end();
      // also if nobody reads the end
      request.socket.destroySoon();
    });
    const forget =
      leave &&
      app.invoiceSubscribers.watch(invoice.id, {
        // a slow reader already has a notice waiting
        changed: () => !response.writableNeedDrain && response.write('event: change\ndata: 1\n\n'),
        ended: () => response.end(),
      });
    if (!forget) {
      leave?.();
      // browsers treat 204 as an end without error and go on polling
      response.status(204).end();
      return;
    }
    open.add(stream);
    heartbeat ??= setInterval(beat, HEARTBEAT_MS).unref();
    response.once('close', () => {
      forget();
      open.delete(stream);
      leave?.();
      if (open.size > 0 || !heartbeat) return;
      clearInterval(heartbeat);
      heartbeat = null;
    });
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    response.write(`retry: ${RETRY_MS}\n\n`);
  };
}
