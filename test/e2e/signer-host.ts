/**
 * A daemon whose memory a test looks through: the whole service, and a second end of the signer on the same wallet, for
 * which the test seals what it sends. One of the two is open at a time. Told what to do over IPC, one message after the other.
 */
import { join } from 'node:path';
import { createLog } from '../../daemon/log.ts';
import { startDaemon } from '../../daemon/main.ts';
import { SignerClient } from '../../daemon/wallet/signer/client.ts';
import type { Sealed, SignOrder } from '../../daemon/wallet/signer/port.ts';

export type HostRequest =
  | { call: 'sealKey' }
  | { call: 'lock' }
  | { call: 'unlock'; sealed: Sealed }
  | { call: 'sign'; order: SignOrder };

const dataDir = process.argv[2] ?? '';
const daemon = await startDaemon({ dataDir, log: createLog({ level: 'trace', format: 'json' }) });
const signer = new SignerClient({
  folder: join(dataDir, 'vault'),
  autoLockMinutes: 15,
  source: () => ({ kind: 'prompt' }),
  sandbox: {
    sign: () => {
      throw new Error('not of the sandbox');
    },
  },
  log: (message) => process.stderr.write(`${message}\n`),
});

async function carryOut(request: HostRequest): Promise<unknown> {
  if (request.call === 'sealKey') return signer.sealKey();
  if (request.call === 'lock') return signer.lock();
  if (request.call === 'unlock') return signer.unlock(request.sealed);
  return signer.sign(request.order);
}

process.on('message', (request: HostRequest) => {
  carryOut(request).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', async () => {
  await signer.close();
  await daemon.stop();
  process.exit(0);
});
process.send?.({ result: daemon.url });
