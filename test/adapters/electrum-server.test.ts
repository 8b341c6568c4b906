/** The test Electrum server itself, by the protocol documents and their examples, and on a real litecoind. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scriptOf } from '../../daemon/chains/utxo/address.ts';
import { ElectrumChain, type Json, merkleBranch, scripthashOf, sha256, writtenHash } from '../nodes/electrum-chain.ts';
import { ElectrumServer, FollowedChain } from '../nodes/electrum-server.ts';
import { Talk } from '../nodes/electrum-talk.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { idOf, type Written, writeBlock, writeCoinbase, writeTransaction } from './fixtures/serial.ts';

type History = { tx_hash: string; height: number; fee?: number }[];
type Tip = { hex: string; height: number };

const HEADERS = 'blockchain.headers.subscribe';
const SUBSCRIBE = 'blockchain.scripthash.subscribe';

describe('by the examples of the protocol documents', () => {
  it('hashes scripts', () => {
    const script = Buffer.from('76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac', 'hex');
    expect(scripthashOf(script)).toBe('8b01df4e368ea28f8dc0423bcf7a4923e3a12d307c875e47a0cfbf90b5c39161');
  });

  it('proves headers', () => {
    // Bitcoin's first nine blocks; the branch and the root of height 5 are those of the document.
    const hashes = [
      '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f',
      '00000000839a8e6886ab5951d76f411475428afc90947ee320161bbf18eb6048',
      '000000006a625f06636b8bb6ac7b960a8d03705d1ace08b1a19da3fdcc99ddbd',
      '0000000082b5015589a3fdf2d4baff403e6f0be035a5d9742c1cae6295464449',
      '000000004ebadb55ee9096c9a2f8880e09da59c0d68b1c228da88e48844a1485',
      '000000009b7262315dbf071787ad3656097b892abffd1f95a1a022f896f533fc',
      '000000003031a0e73735690c5a1ff2a4be82553b2a12b776fbd3a215dc8f778d',
      '0000000071966c2b1d065fd446b1e485b2c9d9594acd2007ccbd5441cfc89444',
      '00000000408c48f847aa786c2268fc3e6ec2af68e8468a34a28c61b7f1de0dc6',
    ];
    expect(merkleBranch(hashes, 5)).toEqual({
      branch: [
        '000000004ebadb55ee9096c9a2f8880e09da59c0d68b1c228da88e48844a1485',
        '96cbbc84783888e4cc971ae8acf86dd3c1a419370336bb3c634c97695a8c5ac9',
        '965ac94082cebbcffe458075651e9cc33ce703ab0115c72d9e8b1a9906b2b636',
        '89e5daa6950b895190716dd26054432b564ccdc2868188ba1da76de8e1dc7591',
      ],
      root: 'e347b1c43fd9b5415bf0d92708db8284b78daf4d0e24f9c3405f45feb85e25db',
    });
  });
});

describe('a reorganisation of several blocks', () => {
  it('leaves no transaction twice in the history of what it spent', async () => {
    const script = Buffer.from(`0014${'11'.repeat(20)}`, 'hex');
    const elsewhere = Buffer.from(`0014${'22'.repeat(20)}`, 'hex');
    const parent: Written = { inputs: [{ txid: 'aa'.repeat(32), vout: 0 }], outputs: [{ units: 9_000n, script }] };
    const child: Written = {
      inputs: [{ txid: idOf(parent), vout: 0 }],
      outputs: [{ units: 8_000n, script: elsewhere }],
    };
    let salt = 0;
    const branch = (from: string, ...lists: Written[][]): { hash: string; bytes: Buffer }[] => {
      const made: { hash: string; bytes: Buffer }[] = [];
      for (const list of lists) {
        const previous = made.at(-1)?.hash ?? from;
        const all = [writeCoinbase(++salt, elsewhere), ...list].map(writeTransaction);
        made.push(writeBlock({ previous, timeSeconds: 1_700_000_000 + salt, salt, transactions: all }));
      }
      return made;
    };
    const [first] = branch('00'.repeat(32), []);
    if (!first) throw new Error('no block');
    let blocks = [first, ...branch(first.hash, [parent], [child])];
    const answers: Record<string, (hash: string) => Json> = {
      getbestblockhash: () => blocks.at(-1)?.hash ?? '',
      getblockheader: (hash) => ({ height: blocks.findIndex((block) => block.hash === hash) }),
      getblock: (hash) => blocks.find((block) => block.hash === hash)?.bytes.toString('hex') ?? '',
      getrawmempool: () => [],
    };
    const node = { rpc: async <T>(method: string, [hash]: Json[]) => answers[method]?.(String(hash)) as T };
    const chain = new ElectrumChain(node, true);
    const told = () => chain.historyOf(scripthashOf(script), true).map(({ height }) => height);
    await chain.update();
    expect(told()).toEqual([1, 2]);
    blocks = [first, ...branch(first.hash, [], [parent], [child])];
    await chain.update();
    expect(told()).toEqual([2, 3]);
  });
});

describe.skipIf(!hasLitecoind)(litecoindTitle('on a real litecoind'), () => {
  let node: Litecoind;
  let followed: FollowedChain;
  let server: ElectrumServer;
  const opened: Talk[] = [];
  const talkTo = async (to: ElectrumServer, version: Json = ['1.4', '1.6']) => {
    const talk = await Talk.open(to.url, version);
    opened.push(talk);
    return talk;
  };
  /** A fresh address of the node's, and its script hash. */
  const address = async () => {
    const text = await node.newAddress();
    return { text, scripthash: scripthashOf(scriptOf(text, 'LTC', 'regtest') ?? new Uint8Array()) };
  };

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    followed = await FollowedChain.start(node);
    server = await ElectrumServer.start(followed);
  });
  afterAll(async () => {
    for (const talk of opened) talk.end();
    await server?.stop();
    await followed?.stop();
    await node?.remove();
  });

  it.each([
    { wanted: ['1.4', '1.6'], agreed: '1.6' },
    { wanted: ['1.4', '1.4.3'], agreed: '1.4.3' },
    { wanted: '1.4', agreed: '1.4' },
    { wanted: ['1.0', '9.9'], agreed: '1.6' },
  ])('agrees on $agreed with a client that speaks $wanted', async ({ wanted, agreed }) => {
    const talk = await talkTo(server, null);
    expect(await talk.ask('server.version', ['test', wanted])).toEqual([server.name, agreed]);
    await expect(talk.ask('server.version', ['test', wanted])).rejects.toThrow('already sent');
    expect(await talk.ask('server.ping')).toBeNull();
  });

  it('ends connections that speak another version, or none first', async () => {
    const talk = await talkTo(server, null);
    await expect(talk.ask('server.version', ['test', ['1.7', '2.0']])).rejects.toThrow('unsupported protocol version');
    await expect(talk.until(() => undefined)).rejects.toThrow('ended the connection');
    const hasty = await talkTo(server, null);
    await expect(hasty.ask('server.features')).rejects.toThrow('use server.version');
    await expect(hasty.until(() => undefined)).rejects.toThrow('ended the connection');
  });

  it('speaks over TLS with a certificate of its own', async () => {
    const secure = await ElectrumServer.start(followed, { tls: true });
    expect(secure.url).toMatch(/^ssl:/);
    const talk = await talkTo(secure);
    expect(await talk.ask('server.features')).toMatchObject({
      genesis_hash: '530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9',
      protocol_min: '1.4',
      protocol_max: '1.6',
      hash_function: 'sha256',
      hosts: { '127.0.0.1': { ssl_port: secure.port } },
    });
    await secure.stop();
  });

  it('serves headers in the form of each version, with proofs', async () => {
    const [old, modern] = [await talkTo(server, '1.4.2'), await talkTo(server)];
    const { height } = followed.chain;
    const first = await node.rpc<string>('getblockheader', [await node.rpc<string>('getblockhash', [0]), false]);
    expect(await modern.ask('blockchain.block.header', [0])).toBe(first);
    const long = await old.ask<{ count: number; hex: string; max: number }>('blockchain.block.headers', [0, 5000]);
    expect(long).toMatchObject({ count: height + 1, max: 2016 });
    const list = await modern.ask<{ headers: string[]; root?: string; branch?: string[] }>('blockchain.block.headers', [
      0,
      5000,
      height,
    ]);
    expect(list.headers.join('')).toBe(long.hex);
    const hashes = list.headers.map((header) => writtenHash(Buffer.from(header, 'hex')));
    expect(list).toMatchObject(merkleBranch(hashes, height));
    await expect(modern.ask('blockchain.block.header', [height + 1])).rejects.toThrow('out of range');
    await expect(modern.ask('blockchain.block.header', [5, 4])).rejects.toThrow('cp_height');
  });

  it('has in each version the methods of that version', async () => {
    const [v14, v16] = [await talkTo(server, '1.4'), await talkTo(server)];
    expect(await v14.ask('blockchain.relayfee')).toBeGreaterThan(0);
    await expect(v16.ask('blockchain.relayfee')).rejects.toThrow('-32601');
    await expect(v14.ask('mempool.get_info')).rejects.toThrow('-32601');
    expect(await v16.ask('mempool.get_info')).toMatchObject({ minrelaytxfee: expect.any(Number) });
    await expect(v14.ask('blockchain.scripthash.unsubscribe', ['0'.repeat(64)])).rejects.toThrow('-32601');
    expect(await v16.ask('blockchain.scripthash.unsubscribe', ['0'.repeat(64)])).toBe(false);
    expect(await v16.ask('blockchain.estimatefee', [2])).toBe(-1);
    expect(await v16.ask('server.banner')).toEqual(expect.any(String));
    expect(await v16.ask('server.donation_address')).toBe('');
    expect(await v16.ask('server.peers.subscribe')).toHaveLength(1);
  });

  it('tells a payment, its block and its proof, and knows the coin', async () => {
    const talk = await talkTo(server);
    const { text, scripthash } = await address();
    expect(await talk.ask(SUBSCRIBE, [scripthash])).toBeNull();
    await talk.ask(HEADERS);
    const txid = await node.pay([{ address: text, units: 50_000n }]);
    const about = (params: Json[]) => params[0] === scripthash;
    const [, pending] = await talk.told(SUBSCRIBE, about);
    expect(pending).toBe(sha256(`${txid}:0:`).toString('hex'));
    expect(await talk.ask('blockchain.scripthash.get_history', [scripthash])).toEqual([
      { tx_hash: txid, height: 0, fee: 20_000 },
    ]);
    const unconfirmed = { confirmed: 0, unconfirmed: 50_000 };
    expect(await talk.ask('blockchain.scripthash.get_balance', [scripthash])).toEqual(unconfirmed);
    expect(await talk.ask('mempool.get_fee_histogram')).not.toEqual([]);
    await node.mine(1);
    const [, confirmed] = await talk.told(SUBSCRIBE, (params) => about(params) && params[1] !== pending);
    const [tip] = (await talk.told(HEADERS)) as [Tip];
    expect(confirmed).toBe(sha256(`${txid}:${tip.height}:`).toString('hex'));
    const coin = { tx_hash: txid, tx_pos: 0, height: tip.height, value: 50_000 };
    expect(await talk.ask('blockchain.scripthash.listunspent', [scripthash])).toEqual([coin]);
    expect(await talk.ask('blockchain.scripthash.get_mempool', [scripthash])).toEqual([]);
    const proof = await talk.ask<{ merkle: string[]; pos: number }>('blockchain.transaction.get_merkle', [
      txid,
      tip.height,
    ]);
    const { tx } = await node.rpc<{ tx: string[] }>('getblock', [await node.rpc<string>('getbestblockhash', [])]);
    expect(proof).toMatchObject({
      block_height: tip.height,
      pos: tx.indexOf(txid),
      merkle: merkleBranch(tx, proof.pos).branch,
    });
    const root = Buffer.from(tip.hex, 'hex').subarray(36, 68).reverse().toString('hex');
    expect(merkleBranch(tx, proof.pos).root).toBe(root);
    expect(await talk.ask('blockchain.transaction.id_from_pos', [tip.height, proof.pos, true])).toEqual({
      tx_hash: txid,
      merkle: proof.merkle,
    });
    const raw = await talk.ask<string>('blockchain.transaction.get', [txid]);
    expect(await talk.ask('blockchain.transaction.get', [txid, true])).toMatchObject({
      txid,
      hex: raw,
      confirmations: 1,
    });
    await expect(talk.ask('blockchain.transaction.get', ['00'.repeat(32)])).rejects.toThrow('2: daemon error');
    await expect(talk.ask('blockchain.transaction.get_merkle', [txid, 1])).rejects.toThrow('not in block');
  });

  it('orders a history by the chain, then what is unconfirmed', async () => {
    const talk = await talkTo(server);
    const { text, scripthash } = await address();
    for (let i = 0; i < 3; i++) await node.pay([{ address: text, units: 60_000n + BigInt(i) }]);
    await node.mine(1);
    await node.pay([{ address: text, units: 70_000n }]);
    await node.pay([{ address: text, units: 80_000n }]);
    await followed.update();
    const history = await talk.ask<History>('blockchain.scripthash.get_history', [scripthash]);
    const { tx } = await node.rpc<{ tx: string[] }>('getblock', [await node.rpc<string>('getbestblockhash', [])]);
    expect(history.slice(0, 3).map(({ tx_hash }) => tx_hash)).toEqual(
      tx.filter((id) => history.some((h) => h.tx_hash === id)),
    );
    expect(history.slice(3).map(({ height }) => height)).toEqual([0, 0]);
    const ids = history.slice(3).map(({ tx_hash }) => tx_hash);
    expect(ids).toEqual([...ids].sort());
    const listed = history.map(({ tx_hash, height }) => `${tx_hash}:${height}:`).join('');
    expect(await talk.ask(SUBSCRIBE, [scripthash])).toBe(sha256(listed).toString('hex'));
    const old = await talkTo(server, '1.4');
    const before = await old.ask<History>('blockchain.scripthash.get_history', [scripthash]);
    expect(before.slice(3)).toEqual(history.slice(3).reverse());
  });

  it('tells only the newest tip of a reorganisation, and histories that it changed', async () => {
    const talk = await talkTo(server);
    const { text, scripthash } = await address();
    const txid = await node.pay([{ address: text, units: 50_000n }]);
    await node.mine(3);
    await followed.update();
    const { height } = await talk.ask<Tip>(HEADERS);
    const before = await talk.ask(SUBSCRIBE, [scripthash]);
    await node.reorg(3, false);
    const [tip] = (await talk.told(HEADERS, ([one]) => (one as Tip).height === height + 1)) as [Tip];
    expect(writtenHash(Buffer.from(tip.hex, 'hex'))).toBe(await node.rpc('getbestblockhash', []));
    const [, status] = await talk.told(SUBSCRIBE, ([, now]) => now !== before);
    expect(status).toBe(sha256(`${txid}:0:`).toString('hex'));
    const fresh = await ElectrumServer.start({ node });
    expect(fresh.chain.blocks.map(({ hash }) => hash)).toEqual(followed.chain.blocks.map(({ hash }) => hash));
    expect(fresh.chain.historyOf(scripthash, true)).toEqual(followed.chain.historyOf(scripthash, true));
    await fresh.stop();
    await node.mine(1);
  });

  it('sends transactions, and says why the node refuses one', async () => {
    const talk = await talkTo(server);
    const { text } = await address();
    const txid = await node.pay([{ address: text, units: 500_000_000n }]);
    const better = await node.conflictOf(txid);
    const sent = await talk.ask<string>('blockchain.transaction.broadcast', [better]);
    expect(await node.rpc('getrawmempool', [])).toContain(sent);
    expect(await talk.ask('blockchain.transaction.broadcast', [better])).toBe(sent);
    const spent = await node.rpc<string>('getrawtransaction', [sent, false]);
    await node.mine(1);
    await followed.update();
    await expect(talk.ask('blockchain.transaction.broadcast', [`${spent.slice(0, -2)}01`])).rejects.toThrow(
      /rejected by network rules/,
    );
    expect(await talk.ask('blockchain.transaction.broadcast_package', [[`${spent.slice(0, -2)}01`]])).toMatchObject({
      success: false,
      errors: [{ error: expect.any(String) }],
    });
  });

  it('answers in another order than it was asked, and batches as batches', async () => {
    const talk = await talkTo(server);
    const from = talk.heard.length;
    const request = (id: number) => ({ jsonrpc: '2.0', id, method: 'server.ping', params: [] });
    talk.write([101, 102, 103].map((id) => `${JSON.stringify(request(id))}\n`).join(''));
    await talk.until(() => talk.heard[from + 2]);
    expect(talk.heard.slice(from).map((one) => !Array.isArray(one) && one.id)).toEqual([103, 102, 101]);
    talk.write(`${JSON.stringify([request(7), { ...request(8), method: 'no.such' }, request(9)])}\n`);
    const batch = await talk.until(() => talk.heard.find(Array.isArray));
    expect(batch).toMatchObject([
      { id: 9, result: null },
      { id: 8, error: { code: -32601 } },
      { id: 7, result: null },
    ]);
  });

  it('has limits', async () => {
    const limits = { subscriptionsMax: 2, batchMax: 3, sendBytesMax: 2_000, headersMax: 20, receiveBytesMax: 10_000 };
    const strict = await ElectrumServer.start(followed, { limits });
    const talk = await talkTo(strict);
    const ended = (one: Talk) => expect(one.until(() => undefined)).rejects.toThrow('ended the connection');
    expect(await talk.ask('blockchain.block.headers', [0, 5])).toMatchObject({ count: 5, max: 20 });
    await expect(talk.ask('blockchain.block.headers', [0, 100])).rejects.toThrow('-101: response too large');
    await talk.ask(SUBSCRIBE, ['00'.repeat(32)]);
    await talk.ask(SUBSCRIBE, ['01'.repeat(32)]);
    await expect(talk.ask(SUBSCRIBE, ['02'.repeat(32)])).rejects.toThrow('-101');
    await ended(talk);
    const greedy = await talkTo(strict);
    greedy.write(`${JSON.stringify(Array.from({ length: 4 }, (_, id) => ({ id, method: 'server.ping' })))}\n`);
    await ended(greedy);
    const endless = await talkTo(strict);
    endless.write('x'.repeat(20_000));
    await ended(endless);
    await strict.stop();
  });
});
