/** The parts of the light client that need no server: lines, what answers must look like, pins, and steps to a tip. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import { checkpointAt, nextStep } from '../../../daemon/chains/utxo/electrum/headers/steps.ts';
import type { Headers } from '../../../daemon/chains/utxo/electrum/headers/types.ts';
import { Rotation } from '../../../daemon/chains/utxo/electrum/histories/rotation.ts';
import { Scripts, scriptHashOf } from '../../../daemon/chains/utxo/electrum/histories/scripts.ts';
import * as answers from '../../../daemon/chains/utxo/electrum/servers/answers.ts';
import { endpointOf, operatorOf } from '../../../daemon/chains/utxo/electrum/servers/endpoint.ts';
import { Between, Misbehaved, serverText, TooLong } from '../../../daemon/chains/utxo/electrum/servers/faults.ts';
import { END_BYTES, Lines } from '../../../daemon/chains/utxo/electrum/servers/lines.ts';
import { Pins } from '../../../daemon/chains/utxo/electrum/servers/pins.ts';
import type { Server } from '../../../daemon/chains/utxo/electrum/servers/server.ts';
import type { ServerSet } from '../../../daemon/chains/utxo/electrum/servers/server-set.ts';
import { ChainAlert } from '../../../daemon/domain/errors.ts';
import { inParallel } from '../../../daemon/kit/async.ts';

describe('lines', () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 30 }).filter((text) => !text.includes('\n'));
  const none = () => expect.fail('a line that is too long');
  const limits = (bytesMax: number, skippedBytesMax = bytesMax) => ({ bytesMax, skippedBytesMax });

  it('are the same however the stream is cut, and of long ones the ends', () => {
    const long = fc.integer({ min: 1_001, max: 4_000 }).map((length) => 'x'.repeat(length));
    const texts = fc.array(fc.oneof({ weight: 4, arbitrary: line }, { weight: 1, arbitrary: long }), { maxLength: 20 });
    fc.assert(
      fc.property(texts, fc.array(fc.nat(), { maxLength: 40 }), (texts, cuts) => {
        const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(''));
        const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
        const lines = new Lines(limits(1_000, 4_000));
        const taken: string[] = [];
        const takeEnds = (start: Buffer, end: Buffer) => taken.push(`${start}…${end}`);
        let from = 0;
        for (const to of [...places, bytes.length]) {
          expect(lines.push(bytes.subarray(from, to), (one) => taken.push(one.toString()), takeEnds)).toBe(true);
          from = to;
        }
        const ends = 'x'.repeat(END_BYTES);
        expect(taken).toEqual(texts.map((text) => (text.length > 1_000 ? `${ends}…${ends}` : text)));
      }),
    );
  });

  it('are refused beyond their limit, whole or in drops', () => {
    expect(new Lines(limits(10)).push(Buffer.from(`${'x'.repeat(11)}\n`), none, none)).toBe(false);
    expect(new Lines(limits(10)).push(Buffer.from('x'.repeat(11)), none, none)).toBe(false);
    const drops = new Lines(limits(1_000, 3_000));
    for (let i = 0; i < 3_000; i++) expect(drops.push(Buffer.from('x'), none, none)).toBe(true);
    expect(drops.push(Buffer.from('x'), none, none)).toBe(false);
    const whole = new Lines(limits(3_000));
    const taken: number[] = [];
    for (let i = 0; i < 3_000; i++) whole.push(Buffer.from('x'), none, none);
    expect(whole.push(Buffer.from('\n'), (one) => taken.push(one.length), none)).toBe(true);
    expect(taken).toEqual([3_000]);
  });
});

describe('answers', () => {
  const txid = 'ab'.repeat(32);

  it('of the forms of the protocol are read, in both forms of headers', () => {
    const header = Buffer.alloc(80, 7);
    const hex = header.toString('hex');
    expect(answers.readTip({ height: 5, hex })).toEqual({ height: 5, header });
    expect(answers.readHeaders({ count: 2, hex: hex + hex, max: 2016 }, 2)).toEqual(Buffer.concat([header, header]));
    expect(answers.readHeaders({ count: 2, headers: [hex, hex], max: 2016 }, 2)).toHaveLength(160);
    expect(answers.readHeaders({ count: 0, hex: '', max: 2016 }, 2)).toHaveLength(0);
    expect(answers.readStatus(null)).toBeNull();
    expect(answers.readHistory([{ tx_hash: txid, height: -1, fee: 200 }])).toEqual([{ txid, height: -1 }]);
    expect(answers.readMerkle({ merkle: [txid], pos: 1, block_height: 3 })).toEqual({ branch: [txid], position: 1 });
    expect(answers.readFee(-1)).toBe(-1);
  });

  it.each<[string, () => unknown]>([
    ['a tip without height', () => answers.readTip({ hex: '00'.repeat(80) })],
    ['a tip of half a block', () => answers.readTip({ height: 1.5, hex: '00'.repeat(80) })],
    ['a tip with a height of text', () => answers.readTip({ height: '1', hex: '00'.repeat(80) })],
    ['a header of 81 bytes', () => answers.readTip({ height: 1, hex: '00'.repeat(81) })],
    ['a header of letters', () => answers.readHeaderBytes('zz'.repeat(80))],
    ['more headers than asked for', () => answers.readHeaders({ hex: '00'.repeat(160) }, 1)],
    ['half a header', () => answers.readHeaders({ hex: '00'.repeat(40) }, 1)],
    ['headers that are none', () => answers.readHeaders(null, 1)],
    ['a status in capitals', () => answers.readStatus('AB'.repeat(32))],
    ['a status that is a number', () => answers.readStatus(5)],
    ['a history that is an object', () => answers.readHistory({})],
    ['a transaction twice', () => answers.readHistory([1, 2].map((height) => ({ tx_hash: txid, height })))],
    ['a height of -2', () => answers.readHistory([{ tx_hash: txid, height: -2 }])],
    ['an id that is short', () => answers.readHistory([{ tx_hash: 'ab', height: 1 }])],
    ['a branch of 33', () => answers.readMerkle({ merkle: Array(33).fill(txid), pos: 0 })],
    ['a position below 0', () => answers.readMerkle({ merkle: [txid], pos: -1 })],
    ['a transaction of half a byte', () => answers.readTransaction('abc')],
    ['a fee of text', () => answers.readFee('0.1')],
  ])('refuses %s', (_, read) => {
    expect(read).toThrow(Misbehaved);
  });

  it.each([
    [5, 0],
    [0, 5],
    [5, -1],
    [0, 0],
    [0, -1],
  ])('with a transaction at %i and at %i are from between two states', (...heights) => {
    expect(() => answers.readHistory(heights.map((height) => ({ tx_hash: txid, height })))).toThrow(Between);
  });

  it.each([
    [5, 5],
    [5, 6],
    [5, 0, 6],
    [0, 5, 5],
  ])('with a transaction in blocks %i and %i are lies', (...heights) => {
    expect(() => answers.readHistory(heights.map((height) => ({ tx_hash: txid, height })))).toThrow(Misbehaved);
  });

  it.each([
    ['a history', answers.readHistory],
    ['coins', answers.readUnspent],
  ])('refuses %s without end, which is no lie', (_, read) => {
    expect(() => read(Array(answers.HISTORY_ENTRIES_MAX + 1).fill({}))).toThrow(TooLong);
  });

  it('whatever is sent ends in a value or in Misbehaved', () => {
    const readers = [answers.readTip, answers.readStatus, answers.readHistory, answers.readMerkle, answers.readFirst];
    fc.assert(
      fc.property(fc.constantFrom(...readers), fc.jsonValue(), (read, value) => {
        try {
          read(value);
        } catch (error) {
          expect(error).toBeInstanceOf(Misbehaved);
        }
      }),
    );
  });

  it('show nothing of a server but a bounded line of text', () => {
    expect(serverText('a\u0000b\u202ec\nd')).toBe('a b c d');
    expect(serverText('x'.repeat(1_000))).toHaveLength(300);
    expect(serverText({})).toBe('no reason given');
  });
});

it('hashes a script as the protocol documents do', () => {
  const script = Buffer.from('76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac', 'hex');
  expect(scriptHashOf(script)).toBe('8b01df4e368ea28f8dc0423bcf7a4923e3a12d307c875e47a0cfbf90b5c39161');
});

it.each([
  ['ssl://electrum.example:50002', { host: 'electrum.example', port: 50_002, tls: true }],
  ['tcp://[::1]:50001', { host: '::1', port: 50_001, tls: false }],
])('reads %s', (name, endpoint) => {
  expect(endpointOf(name)).toEqual({ name, ...endpoint });
});

it('does work in order, a few things at a time, and stops after a failure', async () => {
  let most = 0;
  let now = 0;
  const done: number[] = [];
  const work = async (item: number) => {
    most = Math.max(most, ++now);
    await new Promise((resolve) => setImmediate(resolve));
    now--;
    if (item === 20) throw new Error('twenty');
    done.push(item);
  };
  await inParallel([1, 2, 3, 4, 5, 6, 7], 3, work);
  expect(done).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(most).toBe(3);
  await expect(inParallel([18, 19, 20, 21, 22, 23, 24], 2, work)).rejects.toThrow('twenty');
  expect(done).not.toContain(23);
});

describe('a list that is longer than what is read', () => {
  it.each([answers.readHistory, answers.readUnspent])('is as good as a refusal', (read) => {
    expect(() => read(Array(answers.HISTORY_ENTRIES_MAX + 1).fill({}))).toThrow(TooLong);
  });
});

describe('operators', () => {
  it.each([
    ['electrum.hodlister.co', 'hodlister.co'],
    ['electrum5.hodlister.co', 'hodlister.co'],
    ['shop.example.co.uk', 'example.co.uk'],
    ['one.duckdns.org', 'one.duckdns.org'],
    ['fulcrum.greyh.at', 'grey'],
    ['fulcrum.grey.pw', 'grey'],
    [`${'a'.repeat(56)}.onion`, `${'a'.repeat(56)}.onion`],
    ['192.0.2.7', '192.0.2.7'],
    ['2001:db8::7', '2001:db8::7'],
    ['localhost', 'localhost'],
    ['electrum', 'electrum'],
  ])('of %s: %s', (host, operator) => {
    expect(operatorOf({ host })).toBe(operator);
  });
});

describe('pins', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pins-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('hold for good, and give way only to a certificate that is vouched for', async () => {
    const path = join(folder, 'new', 'pins.json');
    const pins = new Pins(path);
    expect(await pins.check('a:1', 'f1', false)).toBe('accepted');
    expect(await pins.check('b:1', 'f9', true)).toBe('accepted');
    const again = new Pins(path);
    expect(await again.check('a:1', 'f1', false)).toBe('accepted');
    expect(await again.check('a:1', 'f2', false)).toBe('changed');
    expect(await again.check('b:1', 'f9', false)).toBe('changed');
    expect(await again.check('a:1', 'f3', true)).toBe('accepted');
    expect(await again.check('a:1', 'f1', false)).toBe('changed');
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ 'a:1': 'trusted', 'b:1': 'trusted' });
  });

  it('that an operator takes out of the file are forgotten at once', async () => {
    const path = join(folder, 'pins.json');
    const pins = new Pins(path);
    await Promise.all([pins.check('a:1', 'f1', false), pins.check('b:1', 'f9', false)]);
    expect(await pins.check('a:1', 'f2', false)).toBe('changed');
    await writeFile(path, JSON.stringify({ 'b:1': 'f9' }));
    expect(await pins.check('a:1', 'f2', false)).toBe('accepted');
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ 'a:1': 'f2', 'b:1': 'f9' });
  });

  it('that cannot be read are not taken for none', async () => {
    const path = join(folder, 'pins.json');
    await writeFile(path, '[]x');
    await expect(new Pins(path).check('a:1', 'f1', false)).rejects.toThrow('is damaged: repair or remove it');
  });
});

describe('scripts', () => {
  it('whose history was being read when the chain was reorganised are read again', async () => {
    const script = Uint8Array.of(1);
    const status = 'ab'.repeat(32);
    const list = { stamp: () => '', *active() {} } as unknown as ScriptList;
    const server = { statuses: new Map([[scriptHashOf(script), status]]) } as unknown as Server;
    const scripts = new Scripts(list);
    scripts.pin({ id: 1, script });
    const one = scripts.byId(1)!;
    const read = (meanwhile: () => void): boolean => {
      scripts.dirty.add(one);
      const { touches } = one;
      meanwhile();
      scripts.settle(one, server, status, touches);
      return scripts.dirty.has(one);
    };
    // after a start no height of its history is known
    expect(one.top).toBe(0);
    expect(read(() => scripts.markAbove(62))).toBe(true);
    expect(read(() => {})).toBe(false);
    one.top = 62;
    scripts.markAbove(62);
    expect(scripts.dirty.has(one)).toBe(false);
    scripts.markAbove(61);
    expect(scripts.dirty.has(one)).toBe(true);
  });

  /** Scripts of which none is listed, and a server that has announced a status for the first `known` ids. */
  const unlisted = (known: number) => {
    const script = (id: number): Uint8Array => Uint8Array.of(id >> 8, id);
    const list = { stamp: () => '', *active() {} } as unknown as ScriptList;
    const ids = Array.from({ length: known }, (_, i) => i + 1);
    const statuses = new Map(ids.map((id) => [scriptHashOf(script(id)), 'cd'.repeat(32)]));
    const server = { statuses } as unknown as Server;
    const scripts = new Scripts(list);
    const pin = (id: number): void => scripts.pin({ id, script: script(id) });
    const read = (id: number): void => {
      const one = scripts.byId(id)!;
      scripts.settle(one, server, server.statuses.get(one.hash), one.touches);
    };
    return { ids, scripts, pin, read };
  };

  it('with news stay watched until they were read, whatever their number', async () => {
    const { ids, scripts, pin, read } = unlisted(6_000);
    ids.forEach(pin);
    expect(await scripts.refresh()).toEqual([]);
    expect([scripts.size, scripts.hasRoom()]).toEqual([6_000, false]);
    ids.forEach(read);
    expect((await scripts.refresh()).map(({ id }) => id)).toEqual(ids.slice(0, 1_001));
    expect([scripts.size, scripts.hasRoom()]).toEqual([4_999, true]);
  });

  it('that are listed no longer are given up once their news was read', async () => {
    const script = Uint8Array.of(1);
    const statuses = new Map([[scriptHashOf(script), 'ab'.repeat(32)]]);
    const listed = [{ id: 1, script }];
    const list = {
      stamp: () => '',
      *active() {
        yield listed;
      },
    } as unknown as ScriptList;
    const scripts = new Scripts(list);
    await scripts.refresh();
    const one = scripts.byId(1)!;
    scripts.dirty.add(one);
    listed.pop();
    expect(await scripts.refresh()).toEqual([]);
    scripts.settle(one, { statuses } as unknown as Server, 'ab'.repeat(32), one.touches);
    expect(await scripts.refresh()).toEqual([one]);
  });

  it('are not looked for while too many wait to be read', async () => {
    const { ids, scripts, pin, read } = unlisted(5_000);
    ids.forEach(pin);
    const asked: string[] = [];
    const other = {
      state: 'ready',
      pace: { isSlowed: false, limit: () => 1 },
      history: async (hash: string) => {
        asked.push(hash);
        return [];
      },
    } as unknown as Server;
    const rotation = new Rotation({
      set: { primary: other, others: () => [other] } as unknown as ServerSet,
      scripts,
      list: { page: () => [{ id: 7_001, script: Uint8Array.of(9) }] } as unknown as ScriptList,
      path: '',
      isWatched: () => false,
      hasExcess: () => false,
      isKnown: () => true,
      listener: { wake: () => {}, log: () => {}, bug: () => {}, alert: () => {}, leftOut: () => {} },
    });
    expect(await rotation.look(7_000, 10)).toBe(7_000);
    expect(asked).toEqual([]);
    read(1);
    expect(await rotation.look(7_000, 10)).toBe(7_001);
    expect(asked).toEqual([scriptHashOf(Uint8Array.of(9))]);
  });
});

describe('steps', () => {
  const id = (height: number, branch = 'a') => ({ height, hash: `${branch}${height}` });
  /** A chain from 0 to a height, of branch a up to the fork and of branch b above it. */
  const chain = (height: number, fork = height): Headers =>
    ({ hashAt: (at: number) => (at < 0 || at > height ? null : `${at <= fork ? 'a' : 'b'}${at}`) }) as Headers;
  const blocks = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => id(from + i));

  it('go a bounded way at once, and keep 120 blocks', () => {
    const first = nextStep(blocks(0, 10), id(250), chain(250));
    expect(first).toMatchObject({ orphaned: [], atTip: false });
    expect(first?.checkpoint.at(-1)).toEqual(id(110));
    const second = nextStep(first?.checkpoint ?? [], id(250), chain(250));
    expect(second?.checkpoint).toEqual(blocks(91, 210));
    expect(nextStep(second?.checkpoint ?? [], id(250), chain(250))).toEqual({
      checkpoint: blocks(131, 250),
      orphaned: [],
      atTip: true,
    });
  });

  it('name the blocks that left', () => {
    expect(nextStep(blocks(5, 10), id(11, 'b'), chain(11, 8))).toEqual({
      checkpoint: [...blocks(5, 8), id(9, 'b'), id(10, 'b'), id(11, 'b')],
      orphaned: [id(9), id(10)],
      atTip: true,
    });
  });

  it('are none for a tip that is behind, nor at the tip itself', () => {
    expect(nextStep(blocks(5, 10), id(9), chain(9))).toBeNull();
    expect(nextStep(blocks(5, 10), id(10), chain(10))).toEqual({
      checkpoint: blocks(5, 10),
      orphaned: [],
      atTip: true,
    });
  });

  it('are refused where the chain parted below all that is known', () => {
    expect(() => nextStep(blocks(5, 10), id(12, 'b'), chain(12, 3))).toThrow(ChainAlert);
  });

  it('begin with as many blocks as a checkpoint keeps and the chain has', () => {
    expect(checkpointAt(3, chain(10))).toEqual(blocks(0, 3));
    expect(checkpointAt(200, chain(300))).toEqual(blocks(81, 200));
  });
});
