/** The public server: the APIs, their description, and the payment pages. All of it may face the internet. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Express, type RequestHandler } from 'express';
import type { App } from '../app/app.ts';
import type { SandboxControls } from '../app/invoices/sandbox.ts';
import { Rejected } from '../domain/errors.ts';
import { portFault } from '../kit/port-fault.ts';
import { demoPage } from './assets/demo.ts';
import { sdkRouter } from './assets/sdk.ts';
import { clientRouter } from './client/router.ts';
import { CONNECTIONS_MAX, shareConnections } from './connections.ts';
import { errorHandler, notFound, onlyMethods } from './errors.ts';
import { healthCheck } from './health.ts';
import { authenticator } from './merchant/auth.ts';
import { booksRouter } from './merchant/books.ts';
import { directly } from './merchant/direct.ts';
import { type InvoiceOperations, invoiceOperations, merchantRouter } from './merchant/router.ts';
import { sandboxRouter } from './merchant/sandbox.ts';
import { withdrawRouter } from './merchant/withdraw.ts';
import type { RequestMeter } from './metrics/requests.ts';
import { openApi } from './openapi.ts';
import { API_HEADERS } from './send.ts';
import { serve, UNHEARD_OPTIONS } from './unheard.ts';

const API = '/api/v1';
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** For a connection without a request; a proxy in front opens a new one. */
const KEEP_ALIVE_MS = 10_000;
const CONNECTIONS_CHECKED_MS = 2_000;
/** For a connection whose other side reads nothing; an event stream has a heartbeat every 25 s. */
const SILENCE_MS = 60_000;
const DRAIN_MS = 3_000;
/** For hosts that mean every address of this machine. */
const LOOPBACKS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** `pages`: the payment pages, below `/pay`. */
type PublicParts = {
  sandbox: SandboxControls | null;
  pages: RequestHandler;
  /** Null unless metrics are configured. */
  meter: RequestMeter | null;
};

/** `isTrusted`: whether an address is a trusted proxy's. */
type PublicServer = { handle: RequestListener; isTrusted: (address: string, hop: number) => boolean };

export function publicServer(app: App, { sandbox, pages, meter }: PublicParts): PublicServer {
  const invoices = invoiceOperations(app);
  const server = publicApp(app, invoices, sandbox, pages);
  const handle = directly(app, invoices, server);
  const isTrusted = server.get('trust proxy fn') as PublicServer['isTrusted'];
  return { handle: meter ? meter.watching(handle) : handle, isTrusted };
}

function publicApp(
  app: App,
  invoices: InvoiceOperations,
  sandbox: SandboxControls | null,
  pages: RequestHandler,
): Express {
  const server = express();
  server.disable('x-powered-by');
  server.disable('etag');
  server.set('query parser', 'simple');
  server.enable('case sensitive routing');
  server.enable('strict routing');
  server.set('trust proxy', [...app.config.trustedProxies]);
  // after the settings: the first handler creates the router, which copies them
  server.use(API, (_request, response, next) => {
    for (let at = 0; at < API_HEADERS.length; at += 2) response.setHeader(API_HEADERS[at]!, API_HEADERS[at + 1]!);
    next();
  });
  const withKey = authenticator(app);
  server.use(`${API}/merchant`, merchantRouter(app, withKey, invoices));
  server.use(`${API}/merchant`, booksRouter(app, withKey));
  server.use(`${API}/merchant`, withdrawRouter(app, withKey));
  server.use(`${API}/merchant/sandbox`, sandboxRouter(app, withKey, sandbox));
  server.use(`${API}/sdk`, clientRouter(app));
  let description: string | undefined;
  server
    .route(`${API}/openapi.json`)
    .get((_request, response) => {
      description ??= JSON.stringify(openApi(app));
      response.type('application/json').send(description);
    })
    .all(onlyMethods('GET'));
  server.use('/js', sdkRouter());
  server.route('/health').get(healthCheck(app)).all(onlyMethods('GET', 'HEAD'));
  server.route('/demo').get(demoPage(app)).all(onlyMethods('GET', 'HEAD'));
  server.use('/pay', pages);
  server.use(notFound);
  server.use(errorHandler(app.log));
  return server;
}

/** `at`: where the server is reached from this machine. */
type Listening = { port: number; at: { host: string; port: number }; close(): Promise<void> };

/** Listens. Throws `Rejected('port.taken')` where it cannot. */
export async function listen({ handle, isTrusted }: PublicServer, host: string, port: number): Promise<Listening> {
  const server = createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: CONNECTIONS_CHECKED_MS,
    // a request without a body is no stream that ends later
    optimizeEmptyRequests: true,
    ...UNHEARD_OPTIONS,
  });
  serve(server, handle);
  server.timeout = SILENCE_MS;
  server.maxConnections = CONNECTIONS_MAX;
  server.on('connection', shareConnections(isTrusted));
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isPort = error.code === 'EADDRINUSE' || error.code === 'EACCES';
      const remedy = isPort
        ? 'Give another with --port, or 0 for any free one'
        : 'Set host to an address of this machine';
      reject(new Rejected('port.taken', `Port ${port} of ${host} cannot be used: ${portFault(error)}. ${remedy}`));
    });
    server.listen(port, host, resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  const at = { host: LOOPBACKS[host] ?? host, port: taken };
  return { port: taken, at, close: () => closeServer(server) };
}

/** Waits for running requests for a limited time, then closes every connection. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
    server.close(() => {
      clearTimeout(deadline);
      resolve();
    });
    server.closeIdleConnections();
  });
}
