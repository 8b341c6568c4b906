/**
 * Takes signatures of so many coins into a signer's memory until their lines have the given size. Run as a process of its own, whose heap is
 * limited. Prints how many lines it took.
 */
import { randomBytes } from 'node:crypto';
import type { SignLine } from '../../../daemon/wallet/signer/journal-line.ts';
import { JournalMemory } from '../../../daemon/wallet/signer/journal-memory.ts';

const MAC_AND_BREAKS = 66;
const [coins = 1, bytesMax = 0] = process.argv.slice(2).map(Number);
const id = (): string => randomBytes(32).toString('hex');

/** Of a payment under a plan of forwarding to an account, whose line counts in most places. */
function lineOf(n: number): SignLine {
  const uuid = `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`;
  const identity = JSON.stringify(['pay', uuid, 'mainnet', 0, 'BTC', 'BTC', `bc1q${id().slice(26)}`, '100000']);
  return {
    kind: 'sign',
    at: n,
    purpose: 'pay',
    txid: id(),
    fee: '2000',
    inputs: Array.from({ length: coins }, () => `${id()}:0`),
    change: { account: 'mainnet/BTC/0', index: n },
    entries: [{ uuid, identity, feeMax: '0' }],
    spentForward: { subject: 'forward/mainnet/0/BTC', units: '2000', to: { key: 'mainnet/BTC/zpub', index: 0 } },
  };
}

const memory = new JournalMemory();
let bytes = 0;
for (let n = 0; bytes < bytesMax; n++) {
  const text = JSON.stringify(lineOf(n));
  memory.take(JSON.parse(text), { isBeside: false, epoch: null, bytes: text.length + MAC_AND_BREAKS });
  bytes += text.length + MAC_AND_BREAKS;
}
process.stdout.write(`${memory.signed.size}`);
