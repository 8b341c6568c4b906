/** Blocks and transactions of Monero's main network, and oddities that its rules allow: what is read, and what is not believed. */
import type http from 'node:http';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { wholeBlocks } from '../../../daemon/chains/xmr/blocks.ts';
import { MoneroNode } from '../../../daemon/chains/xmr/node.ts';
import { straight } from '../../../daemon/chains/xmr/reach.ts';
import { Scanner } from '../../../daemon/chains/xmr/scan.ts';
import { Malformed } from '../../../daemon/domain/errors.ts';
import { subaddress } from '../../../daemon/monero/address.ts';
import { parseBlock } from '../../../daemon/monero/block.ts';
import { readExtra } from '../../../daemon/monero/extra.ts';
import { readKept, writeKept } from '../../../daemon/monero/kept.ts';
import { parseTransaction, prefixLength } from '../../../daemon/monero/transaction.ts';
import { varint } from '../../../daemon/monero/varint.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';
import { FactBook } from '../../adapters/fact-book.ts';
import { Front } from '../../nodes/front.ts';
import { paying } from '../../support/monero-outputs.ts';
import mainnet from './monero-mainnet.json' with { type: 'json' };

const bytesOf = (hex: string): Uint8Array => Buffer.from(hex, 'hex');
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const hashOf = (...parts: Uint8Array[]): string => hexOf(keccak_256(Buffer.concat(parts)));
const blocks = Object.entries(mainnet.blocks);
const transactions = Object.entries(mainnet.transactions);
const NO_HASH = '00'.repeat(32);
/** 19 inputs, 61 outputs, of 2014. */
const OLD = '2180a87f724702d37af087e22476297e818a73579ef7b7da947da963245202a3';
const YOUNG = 'e57440ec66d2f3b2a5fa2081af40128868973e7c021bb3877290db3066317474';
const rawOf = (id: string): Uint8Array => bytesOf(transactions.find(([one]) => one === id)?.[1] ?? '');
const signal = () => AbortSignal.timeout(20_000);

type Sent = { tx_hash: string; as_hex: string; pruned_as_hex: string; prunable_hash: string };

/** The parts of a transaction without its signatures, and their hash, as a monerod sends them. */
function prunedOf(raw: Uint8Array): Pick<Sent, 'pruned_as_hex' | 'prunable_hash'> {
  const at = prefixLength(raw);
  if (raw[0] === 1) return { pruned_as_hex: hexOf(raw.subarray(0, at)), prunable_hash: NO_HASH };
  // of these: type, fee, 8 bytes and a commitment for each output; see `serialize_rctsig_base`
  const { outputs, fee } = parseTransaction(raw);
  const end = at + 1 + varint(fee).length + outputs.length * ((outputs[0]?.sealedUnits?.length ?? 0) + 32);
  return { pruned_as_hex: hexOf(raw.subarray(0, end)), prunable_hash: hashOf(raw.subarray(end)) };
}

describe('what the main network has', () => {
  it.each(blocks)('is read with its own hash: block %s', (hash, hex) => {
    const block = parseBlock(bytesOf(hex));
    expect(block.hash).toBe(hash);
    const heights = [2_751_506, 202_611, 202_609, 202_612, 1_731_606];
    expect(block.height).toBe(heights[blocks.findIndex(([one]) => one === hash)]);
    expect(block.coinbase.isCoinbase).toBe(true);
    // of its own content, and of nothing else
    expect(() => parseBlock(bytesOf(`${hex}00`))).toThrow(Malformed);
    const spoilt = bytesOf(hex);
    // of the block before
    spoilt[10]! ^= 1;
    expect(parseBlock(spoilt).hash).not.toBe(hash);
  });

  it.each(transactions)('is read with its own id: transaction %s', (id, hex) => {
    const raw = bytesOf(hex);
    const { version, isCoinbase, outputs, ...rest } = parseTransaction(raw);
    expect({ ...rest, id: rest.id }).toMatchObject({ id });
    expect(outputs.length).toBeGreaterThan(1);
    const longer = bytesOf(`${hex}00`);
    if (version === 1) expect(() => parseTransaction(longer)).toThrow(/bytes after/);
    else expect(parseTransaction(longer).id).not.toBe(id);
    const { pruned_as_hex, prunable_hash } = prunedOf(raw);
    const pruned = bytesOf(pruned_as_hex);
    if (version === 2) expect(parseTransaction(pruned, prunable_hash).id).toBe(id);
    else if (!isCoinbase) expect(() => parseTransaction(pruned, prunable_hash)).toThrow(/end too early/);
    const kept = writeKept(7, prunable_hash, version === 1 ? raw : pruned);
    expect(readKept(kept)).toMatchObject({ firstIndex: 7, transaction: { id } });
  });
});

describe('extra', () => {
  const key = bytesOf('1ed062a2854055' + '53705bbc59d31883279a16e4503fc68dad6ff4b70495ba8ce6');
  const other = Uint8Array.from(key, (byte) => byte ^ 1);
  const [KEY, NONCE, MINING, KEYS, MINERGATE] = [1, 2, 3, 4, 0xde];
  it.each<[what: string, extra: number[], found: { publicKeys?: number; outputKeys?: number; nonces?: number }]>([
    ['nothing', [], {}],
    ['padding alone', new Array(255).fill(0), {}],
    ['more padding than Monero reads', new Array(300).fill(0), {}],
    ['a key, then padding', [KEY, ...key, ...new Array(70).fill(0)], { publicKeys: 1 }],
    ['a nonce before the key', [NONCE, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0, KEY, ...key], { publicKeys: 1, nonces: 1 }],
    ['two keys', [KEY, ...key, KEY, ...other], { publicKeys: 2 }],
    ['a key between nonces', [NONCE, 1, 42, KEY, ...key, NONCE, 1, 42], { publicKeys: 1, nonces: 2 }],
    ['a nonce longer than the rest', [KEY, ...key, NONCE, 255, 0, 0], { publicKeys: 1 }],
    ['half a key', [KEY, ...key, KEY, ...key.subarray(0, 9)], { publicKeys: 1 }],
    ['keys of outputs', [KEY, ...key, KEYS, 2, ...key, ...other], { publicKeys: 1, outputKeys: 2 }],
    ['merge mining', [KEY, ...key, MINING, 33, 0, ...other], { publicKeys: 1 }],
    ['the tag of Minergate', [MINERGATE, 4, 1, 2, 3, 4, KEY, ...key], { publicKeys: 1 }],
    ['a tag that nobody knows', [KEY, ...key, 0x77, 1, 2, 3], { publicKeys: 1 }],
    ['no tag that is known', [0x99, KEY, ...key], {}],
    ['a length that never ends', [KEY, ...key, NONCE, ...new Array(12).fill(0xff)], { publicKeys: 1 }],
  ])('of %s gives its keys', (_, extra, { publicKeys = 0, outputKeys = 0, nonces = 0 }) => {
    const read = readExtra(Uint8Array.from(extra));
    expect([read.publicKeys.length, read.outputKeys.length, read.nonces.length]).toEqual([
      publicKeys,
      outputKeys,
      nonces,
    ]);
    if (publicKeys > 0) expect(hexOf(read.publicKeys[0]!)).toBe(hexOf(key));
  });
});

/** A monerod that has these transactions. */
class Having extends Front {
  readonly asked: string[] = [];
  readonly sent = new Map<string, Sent & { whole: string }>();
  block = '';

  has(id: string, raw: Uint8Array, parts = prunedOf(raw)): void {
    this.sent.set(id, { tx_hash: id, as_hex: '', ...parts, whole: hexOf(raw) });
  }

  protected async answer(incoming: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const asked = JSON.parse((await incoming.setEncoding('utf8').toArray()).join(''));
    if (incoming.url === '/json_rpc') {
      response.end(JSON.stringify({ result: { status: 'OK', blob: this.block } }));
      return;
    }
    const { txs_hashes, prune } = asked as { txs_hashes: string[]; prune: boolean };
    const common = { in_pool: false, double_spend_seen: false, block_height: 9, output_indices: [5] };
    const txs = txs_hashes.flatMap((id) => {
      const found = this.sent.get(id);
      if (!found) return [];
      this.asked.push(`${id} ${prune ? 'pruned' : 'whole'}`);
      const { whole, ...sent } = found;
      return [prune ? { ...sent, ...common } : { ...sent, pruned_as_hex: '', as_hex: whole, ...common }];
    });
    response.end(JSON.stringify({ status: 'OK', txs }));
  }
}

describe('a node', () => {
  const server = new Having();
  let node: MoneroNode;
  beforeAll(async () => {
    await server.listen();
    node = new MoneroNode({ url: server.url, label: 'monerod', network: 'mainnet', reach: straight() });
  });
  afterEach(() => {
    server.sent.clear();
    server.asked.length = 0;
  });
  afterAll(async () => {
    node.close();
    await server.close();
  });

  it('is asked for transactions of version 1 with their signatures, and for no others', async () => {
    for (const [id, hex] of transactions) server.has(id, bytesOf(hex));
    const known = await node.transactions(
      transactions.map(([id]) => id),
      signal(),
    );
    expect([...known.keys()].toSorted()).toEqual(transactions.map(([id]) => id).toSorted());
    const whole = server.asked.flatMap((one) => (one.endsWith('whole') ? [one.slice(0, 64)] : []));
    expect(whole.toSorted()).toEqual(
      transactions.flatMap(([id, hex]) => (hex.startsWith('01') ? [id] : [])).toSorted(),
    );
    // its stored form is whole, too
    expect(readKept(known.get(OLD)!.kept!())).toMatchObject({ firstIndex: 5, transaction: { id: OLD, version: 1 } });
  });

  it('is not believed about one that has lost its signatures, or has those of another', async () => {
    server.has(OLD, rawOf(OLD).subarray(0, -64), prunedOf(rawOf(OLD)));
    await expect(node.transactions([OLD], signal())).rejects.toThrow('another transaction than was asked for');
    server.has(YOUNG, rawOf(YOUNG), { ...prunedOf(rawOf(YOUNG)), prunable_hash: 'ab'.repeat(32) });
    await expect(node.transactions([YOUNG], signal())).rejects.toThrow('another transaction than was asked for');
  });

  /** A transaction of a form that nobody knows: an output of another type, or signatures of another type. */
  function strange(where: 'output' | 'signatures'): {
    id: string;
    raw: Uint8Array;
    parts: ReturnType<typeof prunedOf>;
  } {
    const type = where === 'output' ? 9 : 3;
    const prefix = Buffer.concat([
      varint(2),
      varint(0),
      varint(1),
      Uint8Array.of(2),
      varint(0),
      varint(1),
      varint(77),
      new Uint8Array(32),
      varint(1),
      varint(0),
      Uint8Array.of(type),
      new Uint8Array(33).fill(8),
      varint(3),
      Uint8Array.of(2, 1, 1),
    ]);
    const base = Buffer.concat([Uint8Array.of(99), new Uint8Array(50).fill(5)]);
    const rest = Buffer.alloc(100, 4);
    const hashes = [prefix, base, rest].map((part) => keccak_256(part));
    const parts = { pruned_as_hex: hexOf(Buffer.concat([prefix, base])), prunable_hash: hexOf(hashes[2]!) };
    return { id: hashOf(...hashes), raw: Buffer.concat([prefix, base, rest]), parts };
  }

  it.each(['output', 'signatures'] as const)('may have one that cannot be read (%s): it is told', async (where) => {
    const { id, raw, parts } = strange(where);
    server.has(id, raw, parts);
    server.has(YOUNG, rawOf(YOUNG));
    const odd: string[] = [];
    const known = await node.transactions([id, YOUNG], signal(), (txid, reason) => odd.push(`${txid} ${reason}`));
    expect([...known.keys()]).toEqual([YOUNG]);
    const type = where === 'output' ? 'an output of type 9' : 'a ring signature of type 99';
    expect(odd).toEqual([`${id} the endpoint sent ${type}`]);
    // bytes that nobody can read hide nothing unless they are proved to be its own
    server.has(id, raw, { ...parts, pruned_as_hex: `${parts.pruned_as_hex.slice(0, -2)}00` });
    await expect(node.transactions([id], signal())).rejects.toThrow('another transaction than was asked for');
  });

  /** A block with one transaction, and its header. */
  function blockWith(txid: string, version: number) {
    const previous = bytesOf('cd'.repeat(32));
    const head = Buffer.concat([varint(version), varint(version), varint(1_700_000_000), previous, Buffer.alloc(4)]);
    const coinbase = Buffer.concat([
      varint(2),
      varint(60),
      varint(1),
      Uint8Array.of(255),
      varint(9),
      varint(1),
      varint(5),
      Uint8Array.of(3),
      new Uint8Array(33),
      varint(0),
      Uint8Array.of(0),
    ]);
    const blob = hexOf(Buffer.concat([head, coinbase, varint(1), bytesOf(txid)]));
    const { hash, height, timeMs, previous: parent } = parseBlock(bytesOf(blob));
    return { blob, header: { hash, height, timeMs, parent } };
  }

  it('stops nothing by one transaction that cannot be read, unless the rules are newer than this program', async () => {
    const { id, raw, parts } = strange('signatures');
    server.has(id, raw, parts);
    const read = async (version: number) => {
      const { blob, header } = blockWith(id, version);
      server.block = blob;
      const odd: unknown[] = [];
      for await (const { transactions: found } of wholeBlocks(node, [header], signal(), (one) => odd.push(one))) {
        expect(found).toEqual([]);
      }
      return odd;
    };
    expect(await read(16)).toMatchObject([
      { txid: id, block: { height: 9 }, reason: expect.stringMatching(/type 99/) },
    ]);
    await expect(read(17)).rejects.toThrow(/^Block 9 of Monero was made by rules 17.*Install a newer version/);
    // one that the node leaves out is no odd one
    server.sent.clear();
    await expect(read(16)).rejects.toThrow('the chain changed while it was read');
  });

  it('cannot leave out a block: each says which one is before it, at which height and time', async () => {
    const { blob, header } = blockWith(YOUNG, 16);
    server.block = blob;
    expect((await node.block(header, signal())).txids).toEqual([YOUNG]);
    for (const lie of [{ parent: 'ee'.repeat(32) }, { height: 8 }, { timeMs: header.timeMs - 1_000 }]) {
      await expect(node.block({ ...header, ...lie }, signal())).rejects.toThrow('another block than was asked for');
    }
  });
});

it('counts no output of version 1: its amount is in the open, and no ring that is made here has its like', async () => {
  const account = accountKey(Buffer.alloc(64, 7), 'XMR', 'regtest', 0);
  const target = subaddress(account, 0, 7, 'regtest');
  const book = new FactBook();
  const id = book.watch(target);
  const { output, publicKey } = paying(target.script, 5n, 77n);
  const raw = Buffer.concat([
    varint(1),
    varint(0),
    varint(1),
    Uint8Array.of(2),
    varint(3),
    varint(1),
    varint(77),
    new Uint8Array(32),
    varint(1),
    varint(500n),
    Uint8Array.of(2),
    output.key,
    varint(33),
    Uint8Array.of(1),
    publicKey,
    Buffer.alloc(64),
  ]);
  const where = { block: { height: 9, hash: 'b'.repeat(64) }, blockTime: 1 };
  const scanner = new Scanner('regtest', book, () => [account]);
  const [credit] = await scanner.find(parseTransaction(raw), where, () => undefined);
  expect(credit).toMatchObject({ targetId: id, amount: { units: 500n }, locked: true });
});
