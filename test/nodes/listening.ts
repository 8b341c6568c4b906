import type { AddressInfo, Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const RETRY_MS = 100;
const RETRIES_MAX = 300;

/**
 * Listens, on any port if `port` is 0, and returns the port. One that it had before may belong to somebody's connection for a
 * while: the system gives free ports to these.
 */
export async function listening(server: Server, port: number, host = '127.0.0.1'): Promise<number> {
  for (let tries = 1; ; tries++) {
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve();
        });
      });
      return (server.address() as AddressInfo).port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || tries > RETRIES_MAX) throw error;
      await sleep(RETRY_MS);
    }
  }
}
