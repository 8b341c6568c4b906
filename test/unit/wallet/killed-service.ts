/**
 * A service that unlocks its signer, says so, hands it all orders at once, and is killed by its own hand after so many milliseconds.
 * Its standard input is JSON: the wallet's folder, the passphrase, the milliseconds, and the orders.
 */
import { text } from 'node:stream/consumers';
import { readLines } from '../../../daemon/wallet/signer/lines.ts';
import { SEAL_UNLOCK } from '../../../daemon/wallet/signer/port.ts';
import { seal } from '../../../daemon/wallet/signer/seal.ts';
import { spawnSigner } from '../../../daemon/wallet/signer/spawn.ts';

const LINE_BYTES_MAX = 4_194_304;

const [folder, passphrase, ms, ...orders] = JSON.parse(await text(process.stdin)) as [string, string, number];
const signer = spawnSigner(folder, 0);
const ask = (id: number, call: object): void => void signer.stdin?.write(`${JSON.stringify({ id, ...call })}\n`);
ask(1, { call: 'sealKey' });
for await (const line of readLines(signer.stdout!, LINE_BYTES_MAX)) {
  const { id, result } = JSON.parse(`${line}`);
  if (id === 1) {
    ask(2, { call: 'unlock', sealed: await seal(result, SEAL_UNLOCK, passphrase) });
  } else if (id === 2) {
    for (const [at, order] of orders.entries()) ask(at + 3, { call: 'sign', order });
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), ms);
  }
}
