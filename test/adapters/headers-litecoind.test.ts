/** The chain of headers and merkle proofs on what a real litecoind mines: scrypt, reorganisations, real blocks. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HeaderChain } from '../../daemon/chains/utxo/electrum/headers/chain.ts';
import { BadProof, verifyMerkle } from '../../daemon/chains/utxo/electrum/headers/merkle.ts';
import { fromReversedHex, sha256d } from '../../daemon/kit/bytes.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';

const STEPS_MAX = 10;

describe.skipIf(!hasLitecoind)(litecoindTitle('headers of a real litecoind'), () => {
  let node: Litecoind;
  let chain: HeaderChain;
  let address: string;
  const folder = mkdtempSync(join(tmpdir(), 'headers-'));

  /** The node's headers by height, asked for once a block: a call is slow when the machine is busy. */
  const mined: { hash: string; header: string }[] = [];
  async function mine(count: number, to: string, from = mined.length): Promise<void> {
    const hashes = await node.rpc<string[]>('generatetoaddress', [count, to]);
    mined.length = from;
    // one at a time: a node's queue of calls is short
    for (const hash of hashes) mined.push({ hash, header: await node.rpc<string>('getblockheader', [hash, false]) });
  }
  async function headers(from: number, to: number): Promise<Buffer> {
    const list = mined.slice(from, to + 1).map(({ header }) => header);
    return Buffer.from(list.join(''), 'hex');
  }
  /** As a client does after the news of a tip: that header alone, then as far back as is asked for. */
  async function follow() {
    const tip = mined.length - 1;
    let from = tip;
    for (let step = 0; step < STEPS_MAX; step++) {
      const result = await chain.connect(await headers(from, tip), from);
      if (result.kind !== 'apart') return result;
      from = result.retryFrom;
    }
    throw new Error('never connected');
  }

  beforeAll(async () => {
    node = await Litecoind.start();
    address = await node.rpc<string>('getnewaddress', []);
    const genesis = await node.rpc<string>('getblockhash', [0]);
    mined.push({ hash: genesis, header: await node.rpc<string>('getblockheader', [genesis, false]) });
    await mine(110, address);
    chain = await HeaderChain.open({ chain: 'LTC', network: 'regtest', folder });
  });
  afterAll(async () => {
    await chain?.close();
    await node?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it('are followed from the first block to the tip', async () => {
    expect(chain.wantedBelow()).toEqual({ from: 0, count: 1 });
    await chain.prepend(await headers(0, 0), 0);
    expect(await follow()).toMatchObject({ kind: 'extended', added: 110, orphaned: [] });
    expect(chain.tip).toEqual({ height: 110, hash: await node.rpc('getbestblockhash', []) });
    const { mediantime, time, merkleroot } = await node.rpc<{ mediantime: number; time: number; merkleroot: string }>(
      'getblockheader',
      [chain.tip.hash],
    );
    expect(chain.medianTimeSeconds(110)).toBe(mediantime);
    expect(chain.at(110)).toMatchObject({ timeSeconds: time, merkleRoot: merkleroot });
  });

  it('are followed through a reorganisation, whose blocks are named', async () => {
    const hashes = mined.slice(107).map(({ hash }) => hash);
    await node.rpc('invalidateblock', [hashes[0] as string]);
    // As many blocks as before are no reason to change: the first seen stays.
    const other = await node.rpc<string>('getnewaddress', []);
    await mine(4, other, 107);
    expect(await follow()).toMatchObject({ kind: 'weaker', forkHeight: 106, missingWork: 1n });
    await mine(1, other);
    expect(await follow()).toMatchObject({
      kind: 'extended',
      added: 5,
      orphaned: hashes.map((hash, index) => ({ height: 107 + index, hash })),
    });
    expect(chain.tip).toEqual({ height: 111, hash: await node.rpc('getbestblockhash', []) });
  });

  it('prove the transactions of a block, each at its place', async () => {
    for (let n = 0; n < 5; n++) {
      const txid = await node.rpc<string>('sendtoaddress', [address, 0.01]);
      const { hex } = await node.rpc<{ hex: string }>('gettransaction', [txid]);
      await node.rpc('sendrawtransaction', [hex]);
    }
    await mine(1, address);
    const { hash } = mined[112] as { hash: string };
    await follow();
    const { tx, merkleroot } = await node.rpc<{ tx: string[]; merkleroot: string }>('getblock', [hash, 1]);
    expect(tx).toHaveLength(6);
    expect(chain.at(112)).toMatchObject({ hash, merkleRoot: merkleroot });
    for (const [position, txid] of tx.entries()) {
      const raw = Buffer.from(await node.rpc<string>('getrawtransaction', [txid, false, hash]), 'hex');
      const claim = {
        chain: 'LTC',
        raw,
        txid,
        branch: branchOf(tx, position),
        position,
        merkleRoot: merkleroot,
      } as const;
      expect((await verifyMerkle(claim)).coinbase).toBe(position === 0);
      await expect(verifyMerkle({ ...claim, merkleRoot: chain.at(111)?.merkleRoot as string })).rejects.toThrow(
        BadProof,
      );
    }
  });
});

/** The hashes beside the path of the transaction at `position`, as nodes print them. */
function branchOf(txids: string[], position: number): string[] {
  const branch: string[] = [];
  let level = txids.map(fromReversedHex);
  for (let at = position; level.length > 1; at >>= 1) {
    const beside = level[at ^ 1] ?? (level[at] as Buffer);
    branch.push(Buffer.from(beside).reverse().toString('hex'));
    const left = level.filter((_, index) => index % 2 === 0);
    const all = level;
    level = left.map((hash, index) => sha256d(Buffer.concat([hash, all[2 * index + 1] ?? hash])));
  }
  return branch;
}
