/**
 * The sandbox's payer. It has a public key pair and unlimited premined coins. Each payment spends another coin, so that
 * a double-spend affects no other payment.
 *
 * On BTC, LTC and BCH it makes real transactions, which are checked like all others. Those of XMR and the EVM chains
 * are simulated: a line of JSON that says so, whose hash is the transaction's id.
 */
import { createHash } from 'node:crypto';
import type { UtxoChain } from '../chains/utxo/params.ts';
import type { AssetId, ChainId } from '../domain/assets.ts';
import { deriveAddress, isUtxo } from './addresses.ts';
import { addToMempool, hashFor } from './consensus.ts';
import { PREMINED, type SandboxOutput, type SandboxWriter } from './rows.ts';
import { simulatedRaw } from './simulated.ts';

export type Recipient = { script: Uint8Array; address: string; units: bigint };

interface Payer {
  /** The premined coins' script. */
  readonly script: Uint8Array;
  /** Smallest units on top of the payment. */
  readonly fee: bigint;
  /** The recipient of double-spends. */
  readonly stranger: { script: Uint8Array; address: string };
  /** Spends a whole coin. The rest is the fee. Returns the transaction's id. */
  send(tx: SandboxWriter, coin: SandboxOutput, to: readonly Recipient[], now: number): string;
}

/** The payer of a chain. The first one of BTC, LTC or BCH loads the transaction library (a third of a second). */
export async function loadPayer(chain: ChainId): Promise<Payer> {
  return isUtxo(chain) ? realPayer(chain) : simulatedPayer(chain);
}

/** A fresh coin of the payer's, of exactly these units. */
export function premine(
  tx: SandboxWriter,
  chain: ChainId,
  coin: { script: Uint8Array; asset: AssetId; units: bigint },
): SandboxOutput {
  const txid = hashFor(chain, `Countinghouse sandbox coin ${chain} ${tx.nextSequence(chain)}`);
  const output = { ...coin, outpoint: `${txid}:0`, transactionId: PREMINED, spentBy: null };
  tx.addOutput(chain, output);
  return output;
}

const REAL_FEE_UNITS = 1_000n;

async function realPayer(chain: UtxoChain): Promise<Payer> {
  const [{ accept }, { decode, payerScript, payFrom, strangerScript }] = await Promise.all([
    import('./accept.ts'),
    import('./signed.ts'),
  ]);
  return {
    script: payerScript(chain),
    fee: REAL_FEE_UNITS,
    stranger: { script: strangerScript(chain), address: '' },
    send(tx, coin, to, now) {
      const signed = decode(chain, payFrom(chain, coin, to));
      accept(tx, chain, signed, now);
      return signed.txid;
    },
  };
}

/** A Monero account whose words are not needed: its view key is the hash of a text, its spend key the curve's base point. */
const STRANGER_XMR = {
  kind: 'monero',
  privateViewKey: createHash('sha256').update('Countinghouse sandbox stranger').digest('hex'),
  publicSpendKey: `58${'66'.repeat(31)}`,
} as const;
/** BIP-32's first test vector, master key. */
const STRANGER_EVM = {
  kind: 'secp256k1',
  publicKey: '0339a36013301597daef41fbe593a02cc513d0b55527ec2df1050e2e8ff49c85c2',
  chainCode: '873dff81c02f525623fd1fe5167eac3a55a049de3d314bb42ee227ffed37d508',
} as const;

function simulatedPayer(chain: ChainId): Payer {
  return {
    script: Buffer.from('Countinghouse sandbox payer'),
    fee: 0n,
    stranger: deriveAddress(chain, chain === 'XMR' ? STRANGER_XMR : STRANGER_EVM, 0, 0),
    send(tx, coin, to, now) {
      const raw = simulatedRaw(
        chain,
        [coin.outpoint],
        to.map(({ address, units }) => ({ address, asset: coin.asset, units })),
      );
      const txid = hashFor(chain, raw);
      const outputs = to.map(({ script, units }) => ({ script, asset: coin.asset, units }));
      addToMempool(tx, chain, { txid, raw, inputs: [coin.outpoint], outputs }, now);
      return txid;
    },
  };
}
