/** The signatures of claimed spends of our coins. The signed transactions are made by the library that signs for the sandbox. */
import { createHash } from 'node:crypto';
import { script as Script, Transaction } from 'bitcoinjs-lib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTransaction } from '../../../daemon/chains/utxo/block.ts';
import type { UtxoChain } from '../../../daemon/chains/utxo/params.ts';
import { isSigned, readSigned } from '../../../daemon/chains/utxo/signatures.ts';
import { payerScript, payFrom, strangerScript } from '../../../daemon/sandbox/signed.ts';

const CHAINS: readonly UtxoChain[] = ['BTC', 'LTC', 'BCH'];
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const outpoint = `${createHash('sha256').update('coin').digest('hex')}:7`;
const units = 123_456_789n;

const made = (chain: UtxoChain): Buffer =>
  Buffer.from(payFrom(chain, { outpoint, units }, [{ script: strangerScript(chain), units: units - 500n }]));
const judged = (chain: UtxoChain, raw: Uint8Array, coin = { script: payerScript(chain), units }, spent = outpoint) =>
  isSigned(readSigned(Buffer.from(raw), chain), spent, coin);

/** The transaction with another proof: the signature and the key. */
function withProof(chain: UtxoChain, change: (proof: Uint8Array[]) => Uint8Array[]): Buffer {
  const tx = Transaction.fromBuffer(made(chain));
  const proof = chain === 'BCH' ? Script.decompile(tx.ins[0]!.script)! : tx.ins[0]!.witness;
  const changed = change(proof as Uint8Array[]);
  if (chain === 'BCH') tx.setInputScript(0, Script.compile(changed));
  else tx.setWitness(0, changed);
  return Buffer.from(tx.toBuffer());
}

/** The other signature that is as true: N - S for S. */
function high(signature: Uint8Array): Uint8Array {
  const compact = Script.signature.decode(Uint8Array.of(...signature.subarray(0, -1), 1)).signature;
  const s = ORDER - BigInt(`0x${Buffer.from(compact.subarray(32)).toString('hex')}`);
  const turned = Buffer.concat([compact.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')]);
  return Uint8Array.of(...Script.signature.encode(turned, 1).subarray(0, -1), signature.at(-1) as number);
}
const typed = (signature: Uint8Array, type: number) => Uint8Array.of(...signature.subarray(0, -1), type);

describe.each(CHAINS)('a claimed spend of a coin of %s', (chain) => {
  it('is signed by whoever has the key', () => {
    expect(judged(chain, made(chain))).toBe('yes');
  });

  it.each([
    ['without a proof', () => withProof(chain, () => []), 'no'],
    [
      'without a signature',
      () => withProof(chain, ([, key]) => [Uint8Array.of(), key!]),
      chain === 'BCH' ? 'unknown' : 'no',
    ],
    ['with the key alone', () => withProof(chain, ([, key]) => [key!]), 'no'],
    ['with something more', () => withProof(chain, (proof) => [...proof, Uint8Array.of(7, 7)]), 'no'],
    [
      'with another key',
      () => withProof(chain, ([one, key]) => [one!, Uint8Array.of(...key!.subarray(0, 32), key!.at(-1)! ^ 1)]),
      'no',
    ],
    ['with a signature that is no signature', () => withProof(chain, ([one, key]) => [one!.subarray(4), key!]), 'no'],
    ['with another hash type', () => withProof(chain, ([one, key]) => [typed(one!, 0x83), key!]), 'unknown'],
    [
      'with the other S',
      () => withProof(chain, ([one, key]) => [high(one!), key!]),
      chain === 'BCH' ? 'unknown' : 'yes',
    ],
  ] as const)('%s', (_, raw, signed) => {
    expect(judged(chain, raw())).toBe(signed);
  });

  it('of another amount, another coin, or with another form of script is not judged as signed', () => {
    const raw = made(chain);
    expect(judged(chain, raw, { script: payerScript(chain), units: units + 1n })).toBe('no');
    expect(judged(chain, raw, { script: strangerScript(chain), units })).toBe('no');
    expect(judged(chain, raw, undefined, `${outpoint}1`)).toBe('no');
    expect(judged(chain, raw, { script: Uint8Array.of(0x51), units })).toBe('unknown');
  });

  it('is never signed when a byte of it is another one', () => {
    const raw = made(chain);
    const at = fc.integer({ min: 0, max: raw.length - 1 });
    fc.assert(
      fc.property(at, fc.integer({ min: 1, max: 255 }), (index, flip) => {
        const changed = Buffer.from(raw);
        changed[index]! ^= flip;
        let signed: string;
        try {
          parseTransaction(changed, chain);
          signed = judged(chain, changed);
        } catch (error) {
          signed = (error as Error).name;
        }
        return signed !== 'yes';
      }),
      { numRuns: 2_000 },
    );
  });
});
