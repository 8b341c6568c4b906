/** The key images that another wallet exported, of coins of which a block that left the chain had one with the same key. */
import { expect, it } from 'vitest';
import { watchList } from '../../../daemon/app/addresses/watch.ts';
import { importImages } from '../../../daemon/app/operator/key-images.ts';
import { readKept, writeKept } from '../../../daemon/monero/kept.ts';
import { varint } from '../../../daemon/monero/varint.ts';
import { publicOf, signed } from '../chains/key-image-kit.ts';
import { Bench } from './bench.ts';

const KEY = 12_345n;
const [bytes, key_image] = [Buffer.from(signed(KEY)), Buffer.from(signed(KEY).subarray(0, 32)).toString('hex')];
const part = { signed: [{ key_image, signature: bytes.subarray(32).toString('hex') }] };

/** A coinbase at a height whose output has that key, as it is stored. */
function keptAt(height: number): { txid: string; kept: Uint8Array } {
  const pruned = Buffer.concat([
    Uint8Array.of(2, 60, 1, 255),
    varint(height),
    varint(1),
    varint(5n),
    Uint8Array.of(2),
    publicOf(KEY),
    Uint8Array.of(0, 0),
  ]);
  const kept = writeKept(0, '00'.repeat(32), pruned);
  return { txid: readKept(kept).transaction.id, kept };
}

it('gives an image to the coin that counts now, once the other one with that key is gone, and knows it afterwards', async () => {
  const key = {
    kind: 'monero',
    privateViewKey: '11'.repeat(32),
    publicSpendKey: '22'.repeat(32),
    watch: true,
  } as const;
  const bench = await Bench.open('XMR', {}, { key });
  const [first, second] = [keptAt(1), keptAt(2)];
  const texts = new Map([first, second].map(({ txid, kept }) => [txid, Buffer.from(kept).toString('hex')]));
  Object.assign(bench.chain.adapter, {
    keyImages: true,
    spending: {
      feeAsset: 'XMR',
      transaction: async (txid: string) => texts.get(txid),
      sendable: (_: string, units: bigint) => units,
    },
  });
  const { targetId } = await bench.invoice();
  const business = bench.app.directory.business(bench.businessId);
  const imported = async () => {
    const { learned, known, unmatched } = await importImages(bench.app, business, part);
    return [learned, known, unmatched];
  };
  const owner = () => watchList(bench.app.store, bench.chain.key).coinOfKeyImage?.(key_image);
  const coin = ({ txid }: { txid: string }) => bench.credit(targetId, 5n, 0, { txid });
  await bench.tell({ blocks: 1, credits: () => [coin(first)] });
  expect([await imported(), owner()]).toEqual([[1, 0, 0], `${first.txid}:0`]);
  await bench.tell({ orphan: 1, blocks: 2 });
  expect([await imported(), owner()]).toEqual([[0, 1, 0], `${first.txid}:0`]);
  await bench.tell({ blocks: 1, credits: () => [coin(second)] });
  expect([await imported(), owner()]).toEqual([[1, 0, 0], `${second.txid}:0`]);
  expect([await imported(), owner()]).toEqual([[0, 1, 0], `${second.txid}:0`]);
});
