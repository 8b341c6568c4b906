/** A SOCKS5 proxy for tests (RFC 1928, CONNECT only) that leads everything to one port of loopback. */
import { createServer, connect as netConnect, type Server, type Socket } from 'node:net';

export class SocksProxy {
  /** Each "host:port" that it was asked for. */
  readonly asked: string[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor(port: number) {
    this.#server = createServer((socket) => this.#serve(socket, port));
  }

  static async to(port: number): Promise<SocksProxy> {
    const proxy = new SocksProxy(port);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    return `socks5://127.0.0.1:${address.port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket, port: number): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(Uint8Array.of(5, 0));
      socket.once('data', (request: Buffer) => {
        const length = request[4] as number;
        this.asked.push(`${request.toString('latin1', 5, 5 + length)}:${request.readUInt16BE(5 + length)}`);
        const out = netConnect(port, '127.0.0.1', () => {
          socket.write(Uint8Array.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0));
          socket.pipe(out).pipe(socket);
        });
        this.#sockets.add(out);
        out.on('error', () => socket.destroy());
      });
    });
  }
}
