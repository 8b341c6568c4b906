/** An HTTP server in front of a node, for tests: on a loopback port that it keeps while it is away and back again. */
import http from 'node:http';
import { listening } from './listening.ts';

const KEEP_ALIVE_MS = 75_000;

export abstract class Front {
  #server: http.Server | null = null;
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async listen(): Promise<void> {
    const server = http.createServer((request, response) => {
      this.answer(request, response).catch(() => response.destroy());
    });
    // as nginx does
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    this.#port = await listening(server, this.#port);
    this.#server = server;
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = null;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  protected abstract answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void>;
}
