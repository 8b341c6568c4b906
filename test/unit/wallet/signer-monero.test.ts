/**
 * What the signer signs of Monero, and what it refuses: every way in which a plan may differ from what was approved, and a signed
 * transaction from the plan. The chain is made here by the sender's half of the protocol; the signatures are real.
 */
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import type { KeptTransactions } from '../../../daemon/chains/spending.ts';
import type { Scanner } from '../../../daemon/chains/xmr/scan.ts';
import type { OwnChainOutput } from '../../../daemon/chains/xmr/spend/outputs.ts';
import { type MoneroSource, MoneroSpending } from '../../../daemon/chains/xmr/spend/spending.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import type { MoneroPlan, PlannedOutput, RingMember, SignedSpend } from '../../../daemon/domain/spend.ts';
import { addressAt, scriptOf, subaddress } from '../../../daemon/monero/address.ts';
import {
  commitment,
  hashToPoint,
  hashToScalar,
  maskOf,
  outputScalar,
  Point,
  scalarBytes,
  scalarOf,
  sealed,
  viewTagOf,
} from '../../../daemon/monero/curve.ts';
import { readKept, writeKept } from '../../../daemon/monero/kept.ts';
import { parseSigned } from '../../../daemon/monero/transaction.ts';
import { varint } from '../../../daemon/monero/varint.ts';
import { accountKey, moneroSecretOf } from '../../../daemon/wallet/accounts.ts';
import { SignerClient } from '../../../daemon/wallet/signer/client.ts';
import { type Intent, type MoneroOrder, SEAL_UNLOCK } from '../../../daemon/wallet/signer/port.ts';
import { seal } from '../../../daemon/wallet/signer/seal.ts';
import { serveSigner } from '../../../daemon/wallet/signer/service.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { type Content, checkSigned } from '../../../daemon/wallet/signer/xmr/check.ts';
import { signWithLibrary } from '../../../daemon/wallet/signer/xmr/library.ts';
import { REPEAT, sampleOf } from '../../support/sample.ts';
import { approve, codeOf, hex, PASSPHRASE, SEED, useClock, walletFolder } from './signer-kit.ts';

const COIN = 10n ** 12n;
const FEE = COIN / 1_000n;
const now = Date.UTC(2030, 0);
useClock(() => now);
afterAll(() => useClock(Date.now));

const account = accountKey(SEED, 'XMR', 'regtest', 0);
const stranger = accountKey(Buffer.alloc(64, 9), 'XMR', 'regtest', 0);
const randomScalar = (): bigint => scalarOf(randomBytes(32));
const randomPoint = (): string => Point.BASE.multiply(randomScalar()).toHex();
let minor = 1;
const theirs = () => subaddress(stranger, 0, minor++, 'regtest');

const loaded = (): string[] =>
  Object.keys(createRequire(import.meta.url).cache)
    .map((path) => path.replaceAll(sep, '/').split('/node_modules/').at(-1) ?? '')
    .filter((path) => path.startsWith('monero-ts/'));

let wallet: Awaited<ReturnType<typeof walletFolder>>;
let session: Session;
/** What of the library was loaded before any test signed. */
let loadedFirst: string[];
beforeAll(async () => {
  wallet = await walletFolder();
  session = await Session.open(wallet.folder, PASSPHRASE, () => now);
  loadedFirst = loaded();
});
afterAll(async () => {
  await session.close();
  await wallet.remove();
});

type Paid = { txid: string; outpoint: string; kept: string; key: string; commitment: string };

/** A transaction that pays an address of 65 bytes, as the chain has it. */
function paying(script: Uint8Array, units: bigint): Paid {
  const secret = randomScalar();
  const [spend, view] = [Point.fromBytes(script.subarray(1, 33)), Point.fromBytes(script.subarray(33, 65))];
  const isStandard = script[0] === 18;
  const publicKey = (isStandard ? Point.BASE : spend).multiply(secret).toBytes();
  const shared = view.multiply(secret).multiplyUnsafe(8n).toBytes();
  const scalar = outputScalar(shared, 0);
  const key = Point.BASE.multiply(scalar).add(spend).toBytes();
  const clear = Buffer.alloc(8);
  clear.writeBigUInt64LE(units);
  const committed = commitment(maskOf(scalar), units).toBytes();
  const ring = Array.from({ length: 16 }, () => varint(1));
  const parts = [
    varint(2),
    varint(0),
    varint(1),
    Uint8Array.of(2),
    varint(0),
    varint(16),
    ...ring,
    randomBytes(32),
    varint(1),
    varint(0),
    Uint8Array.of(3),
    key,
    Uint8Array.of(viewTagOf(shared, 0)),
    varint(33),
    Uint8Array.of(1),
    publicKey,
    Uint8Array.of(6),
    varint(1_000),
    sealed(clear, scalar),
    committed,
  ];
  const kept = writeKept(1_000, hex(randomBytes(32)), Buffer.concat(parts));
  const txid = readKept(kept).transaction.id;
  return { txid, outpoint: `${txid}:0`, kept: hex(kept), key: hex(key), commitment: hex(committed) };
}

function ringAround({ key, commitment: committed }: Paid): RingMember[] {
  const at = 5;
  return Array.from({ length: 16 }, (_, i) =>
    i === at
      ? { index: 1_000, key, commitment: committed }
      : { index: 995 + i, key: randomPoint(), commitment: randomPoint() },
  );
}

/** An encoding that no point has. */
const NO_POINT = `02${'00'.repeat(31)}`;

/** The numbers of as many outputs as a ring needs besides ours, so that it has them all. */
const DECOYS_TOLD = Array.from({ length: 15 }, (_, at) => 1_100 + at);

/** What a node tells of a chain of a thousand blocks with two outputs each. `lies`: what it tells otherwise, by number. */
class ToldOutputs implements MoneroSource {
  readonly lies = new Map<number, Partial<RingMember>>();

  distribution = async () => ({ startHeight: 0, counts: Array.from({ length: 1_000 }, (_, at) => (at + 1) * 2) });
  outputs = async (indices: readonly number[], own: OwnChainOutput) =>
    indices.map((index) => {
      const other = { key: randomPoint(), commitment: randomPoint(), ...this.lies.get(index) };
      const ours = { key: own.key, commitment: own.commitment! };
      return { index, unlocked: true, ...(index === own.at ? ours : other) };
    });
  lacksOwn = async () => null;
  transaction = async () => expect.fail('every transaction is kept');
  feeRate = async () => 0n;
  broadcast = async () => {};
}

let uuids = 0;
type Wish = { address: string; units: bigint };

/** An order that is right in every way: two coins, payments, and the change. */
function order(wishes: Wish[], { sweep = false, own = 0 } = {}): MoneroOrder {
  const places = [
    { branch: 0, index: 3 },
    { branch: 1, index: own },
  ] as const;
  const coins = places.map(({ branch, index }) => paying(addressAt(account, branch, index, 'regtest').script, COIN));
  const paid = wishes.reduce((sum, { units }) => sum + units, 0n);
  const outputs = wishes.map(({ address, units }): PlannedOutput => {
    return { kind: 'payout', address, script: scriptOf(address, 'regtest')!, units };
  });
  const change: PlannedOutput = {
    kind: 'change',
    ...addressAt(account, 1, 0, 'regtest'),
    units: 2n * COIN - paid - FEE,
    index: 0,
  };
  const plan: MoneroPlan = {
    kind: 'monero',
    network: 'regtest',
    chain: 'XMR',
    accountNo: 0,
    inputs: coins.map(({ outpoint }, at) => ({
      outpoint,
      units: COIN,
      script: new Uint8Array(65),
      ...places[at]!,
      confirmations: 20,
      decoys: [],
    })),
    outputs: sweep ? outputs : [...outputs, change],
    fee: FEE,
    weight: 3_000,
  };
  const withdrawals = wishes.map(({ address, units }) => {
    const intent: Intent = {
      uuid: `xmr-${uuids++}`,
      network: 'regtest',
      accountNo: 0,
      chain: 'XMR',
      asset: 'XMR',
      address,
      units: units.toString(),
      sweep,
      coins: null,
      feeMax: FEE.toString(),
    };
    return { intent, approval: approve(intent) };
  });
  const previous = Object.fromEntries(coins.map(({ txid, kept }) => [txid, kept]));
  return { purpose: 'pay', plan, withdrawals, previous, rings: coins.map(ringAround) };
}

const one = () => order([{ address: theirs().address, units: COIN }]);
const integrated = () => {
  const { script } = subaddress(stranger, 0, 0, 'regtest');
  const body = Uint8Array.of(19, ...script.subarray(1), 1, 2, 3, 4, 5, 6, 7, 8);
  return { script: body, id: body.subarray(65) };
};

// a mutated signer evaluates text, which its own process forbids
const hasProcess = process.platform !== 'win32' && process.env.STRYKER_MUTATOR_WORKER === undefined;
it.skipIf(!hasProcess)('has key images, which a separate signer names as well', async () => {
  const { folder, remove } = await walletFolder({ beside: true });
  const socket = join(folder, 'signer.sock');
  const common = { folder, autoLockMinutes: 0, source: () => ({ kind: 'prompt' as const }), log: () => {} };
  const service = await serveSigner({ ...common, socket });
  const sandbox = { sign: () => Promise.reject(new Error('no sandbox here')) };
  const client = new SignerClient({ ...common, remote: socket, sandbox });
  const { plan, previous } = one();
  const outputs = plan.inputs.map(({ outpoint, units, branch, index }) => ({
    outpoint,
    units,
    branch,
    index,
    previous: previous[outpoint.slice(0, 64)]!,
  }));
  const request = { network: 'regtest' as const, accountNo: 0, outputs };
  try {
    expect(await codeOf(client.keyImages(request))).toBe('signer.locked');
    await client.unlock(await seal(await client.sealKey(), SEAL_UNLOCK, PASSPHRASE));
    const images = await client.keyImages(request);
    expect(images).toEqual(await session.keyImages(request));
    expect(Object.keys(images)).toEqual(outputs.map(({ outpoint }) => outpoint));
  } finally {
    await client.close();
    await service.close();
    await remove();
  }
});

/** A payment that several tests look at: to sign one takes a second. */
let first: Promise<{ asked: MoneroOrder; signed: SignedSpend }> | null = null;
const signedOnce = () => {
  const sign = async () => {
    const asked = one();
    return { asked, signed: await session.sign(asked) };
  };
  first ??= sign();
  return first;
};

describe('a signed transaction', () => {
  it('is what was approved, with the key images of its coins, and its key as a proof', async () => {
    // the library is large: a signer that signs no Monero has no use for it, and no other process loads it
    expect(loadedFirst).toEqual([]);
    const { asked, signed } = await signedOnce();
    expect(loaded()).toEqual(['monero-ts/dist/monero.js']);
    const { transaction } = parseSigned(Buffer.from(signed.raw, 'hex'));
    expect(transaction).toMatchObject({ id: signed.txid, fee: FEE, unlockTime: 0n });
    expect(transaction.outputs).toHaveLength(2);
    const images = asked.plan.inputs.map(({ outpoint }) => signed.keyImages![outpoint]);
    expect(transaction.keyImages.toSorted()).toEqual(images.toSorted());
    expect(signed.proof).toMatch(/^[0-9a-f]{64}/);
    // signed again after a crash, it has other bytes and the same key images
    const again = await session.sign(asked);
    expect(again.keyImages).toEqual(signed.keyImages);
    expect(again.txid).not.toBe(signed.txid);
  });

  it('pays several subaddresses at once, and a whole balance to one with nothing as change', async () => {
    const many = await session.sign(order([1n, 2n, 3n].map((n) => ({ address: theirs().address, units: n * FEE }))));
    expect(parseSigned(Buffer.from(many.raw, 'hex')).transaction.outputs).toHaveLength(4);
    const all = order([{ address: subaddress(stranger, 0, 0, 'regtest').address, units: 2n * COIN - FEE }], {
      sweep: true,
    });
    expect(parseSigned(Buffer.from((await session.sign(all)).raw, 'hex')).transaction.outputs).toHaveLength(2);
  });

  it('gives the receiver of an integrated address his payment id', async () => {
    const { base58xmr } = await import('@scure/base');
    const { script } = integrated();
    const address = base58xmr.encode(Uint8Array.of(...script, ...keccak_256(script).subarray(0, 4)));
    const signed = await session.sign(order([{ address, units: COIN }]));
    const { nonces } = parseSigned(Buffer.from(signed.raw, 'hex')).transaction;
    expect(nonces).toEqual([expect.objectContaining({ length: 9 })]);
  });
});

const payout = ({ plan }: MoneroOrder): PlannedOutput => plan.outputs[0]!;
const change = ({ plan }: MoneroOrder): PlannedOutput => plan.outputs.at(-1)!;

describe('an order is refused', () => {
  it.each<[code: string, what: string, spoil: (order: MoneroOrder) => void]>([
    ['signer.differs', 'that pays another address', (o) => Object.assign(payout(o), theirs())],
    ['signer.differs', 'whose address and bytes differ', (o) => Object.assign(payout(o), { script: theirs().script })],
    [
      'signer.differs',
      'that pays another amount',
      (o) => {
        payout(o).units += 1n;
        change(o).units -= 1n;
      },
    ],
    [
      'signer.differs',
      'that pays somebody more',
      (o) => {
        change(o).units -= 5n;
        o.plan.outputs.push({ kind: 'payout', ...theirs(), units: 5n });
      },
    ],
    ['signer.differs', 'whose change goes elsewhere', (o) => Object.assign(change(o), theirs())],
    [
      'signer.differs',
      'with two changes',
      (o) => {
        change(o).units -= 5n;
        o.plan.outputs.push({ ...change(o), units: 5n });
      },
    ],
    [
      'signer.differs',
      'whose outputs and fee are not its inputs',
      (o) => {
        change(o).units += 1n;
      },
    ],
    [
      'signer.differs',
      'that is of another account',
      (o) => {
        o.withdrawals[0]!.intent.accountNo = 1;
      },
    ],
    [
      'signer.fee',
      'with a fee above the approved one',
      (o) => {
        o.plan.fee += 1n;
        change(o).units -= 1n;
      },
    ],
    [
      'signer.approval',
      'that nobody approved',
      (o) => {
        o.withdrawals[0]!.intent.feeMax = (2n * FEE).toString();
      },
    ],
    [
      'signer.input',
      'with a coin that is worth another amount',
      (o) => {
        o.plan.inputs[0]!.units += 1n;
        change(o).units += 1n;
      },
    ],
    [
      'signer.input',
      'with a coin at another address of ours',
      (o) => {
        o.plan.inputs[0]!.index = 4;
      },
    ],
    [
      'signer.input',
      'with a coin whose transaction is not there',
      (o) => {
        o.previous = {};
      },
    ],
    [
      'signer.input',
      'with a coin whose transaction is another one',
      (o) => {
        o.previous[o.plan.inputs[0]!.outpoint.slice(0, 64)] = Object.values(o.previous)[1]!;
      },
    ],
    [
      'signer.input',
      'with a coin twice',
      (o) => {
        o.plan.inputs[1] = o.plan.inputs[0]!;
        o.rings[1] = o.rings[0]!;
      },
    ],
    [
      'signer.input',
      'with a ring without the coin',
      (o) => {
        o.rings[0] = o.rings[1]!;
      },
    ],
    [
      'signer.input',
      'with a smaller ring',
      (o) => {
        o.rings[0]!.pop();
      },
    ],
    [
      'signer.input',
      'with a ring that is not in order',
      (o) => {
        o.rings[0]!.reverse();
      },
    ],
    [
      'signer.input',
      'with another commitment of the coin',
      (o) => {
        o.rings[0]![5]!.commitment = randomPoint();
      },
    ],
    [
      'signer.input',
      'with a decoy that is no point of the curve',
      (o) => {
        o.rings[0]![7]!.key = 'ff'.repeat(32);
      },
    ],
    [
      'signer.input',
      'with a decoy whose commitment is no point of the curve',
      (o) => {
        o.rings[1]![9]!.commitment = NO_POINT;
      },
    ],
    [
      'signer.unsupported',
      'without rings',
      (o) => {
        o.rings = [];
      },
    ],
  ])('%s: one %s', async (code, _, spoil) => {
    const asked = one();
    spoil(asked);
    expect(await codeOf(session.sign(asked))).toBe(code);
  });

  it('whose change goes to another address of ours, where no search by the words may look', async () => {
    const wishes = [{ address: theirs().address, units: COIN }];
    const asked = order(wishes, { own: 40 });
    Object.assign(change(asked), addressAt(account, 1, 40, 'regtest'), { index: 40 });
    expect(await codeOf(session.sign(asked))).toBe('signer.differs');
    // a coin that is there already is spent
    expect((await session.sign(order(wishes, { own: 40 }))).fee).toBe(FEE);
  });

  it('by the library, whatever it dislikes, and the next one is signed', async () => {
    const secret = moneroSecretOf(SEED, 'regtest', 0);
    const spendKey = hex(scalarBytes(secret.spend));
    const owner = { spendKey, accounts: 1, addresses: 1 };
    const disliked = ['', 'zz', '00'.repeat(500), hex(Buffer.from('Monero unsigned tx set\u0005'))];
    // each takes most of a second
    for (const unsigned of sampleOf(disliked, 2)) {
      expect(await codeOf(signWithLibrary('regtest', owner, unsigned)), REPEAT).toBe('signer.library');
    }
    expect(await codeOf(signWithLibrary('regtest', { ...owner, spendKey: 'zz' }, ''))).toMatch(/^(signer|mnemonic)\./);
    expect((await session.sign(one())).txid).toMatch(/^[0-9a-f]{64}$/);
  });

  it('when a node told of a key or commitment in its ring that is no point, and the next one is signed', async () => {
    const asked = one();
    for (const input of asked.plan.inputs) input.decoys = DECOYS_TOLD;
    const source = new ToldOutputs();
    const spending = new MoneroSpending('regtest', source, {} as ScriptList, {} as Scanner);
    const kept: KeptTransactions = {
      signed: () => null,
      base: (txid) => Buffer.from(asked.previous[txid]!, 'hex'),
      blockOf: () => null,
      limit: () => AbortSignal.timeout(1_000),
    };
    const put = async (): Promise<MoneroOrder> => ({ ...asked, ...(await spending.unsigned(asked.plan, kept)) });
    for (const told of [{ key: NO_POINT }, { key: 'ff'.repeat(32) }, { commitment: NO_POINT }]) {
      source.lies.set(DECOYS_TOLD[6]!, told);
      const spoiled = await put();
      expect(spoiled.rings[0]).toContainEqual(expect.objectContaining({ index: DECOYS_TOLD[6], ...told }));
      const refusal = await session.sign(spoiled).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(Rejected);
      expect(refusal).toMatchObject({ code: 'signer.input' });
    }
    source.lies.clear();
    expect((await session.sign(await put())).txid).toMatch(/^[0-9a-f]{64}$/);
  });

  it('that would pay a second time beside a first, which shares no key image with it', async () => {
    const { asked } = await signedOnce();
    const apart: MoneroOrder = { ...one(), withdrawals: asked.withdrawals };
    Object.assign(payout(apart), { ...payout(asked) });
    expect(await codeOf(session.sign(apart))).toBe('signer.conflict');
  });
});

describe('what the library made is refused', () => {
  let content: Content;
  let raw: Buffer;
  let keys: string;
  beforeAll(async () => {
    const { asked, signed } = await signedOnce();
    raw = Buffer.from(signed.raw, 'hex');
    keys = signed.proof!;
    const own = addressAt(account, 1, 0, 'regtest').script;
    content = {
      outputs: [
        { address: payout(asked).script, isSubaddress: true, units: COIN, isOwn: false },
        { address: own, isSubaddress: false, units: COIN - FEE, isOwn: true },
      ],
      fee: FEE,
      rings: new Map(asked.plan.inputs.map(({ outpoint }, at) => [signed.keyImages![outpoint]!, asked.rings[at]!])),
      view: moneroSecretOf(SEED, 'regtest', 0).view,
    };
  });

  const check =
    (fields: Partial<Content> = {}, key = keys) =>
    () =>
      checkSigned(parseSigned(raw).transaction, key, { ...content, ...fields });
  const output = (at: number, fields: Partial<Content['outputs'][number]>) => ({
    outputs: content.outputs.map((one, i) => (i === at ? { ...one, ...fields } : one)),
  });

  it('unless it is right', () => {
    expect(check()).not.toThrow();
  });

  it.each<[what: string, fields: () => Partial<Content>]>([
    ['somebody else is paid', () => output(0, { address: theirs().script })],
    ['another amount is paid', () => output(0, { units: COIN - 1n })],
    ['the change has another amount', () => output(1, { units: COIN })],
    ['the change goes elsewhere', () => output(1, { address: theirs().script })],
    ['there is an output more', () => ({ outputs: content.outputs.slice(0, 1) })],
    ['there is an output less', () => ({ outputs: [...content.outputs, content.outputs[0]!] })],
    ['the fee is another', () => ({ fee: FEE - 10_000n })],
    ['it spends more', () => ({ rings: new Map([...content.rings].slice(1)) })],
    [
      'it spends something else',
      () => ({ rings: new Map([...content.rings].map(([, ring], i) => [`${i}`.repeat(64), ring])) }),
    ],
    [
      'a ring is another',
      () => ({
        rings: new Map(
          [...content.rings].map(([key, ring]) => [key, [...ring.slice(1), { ...ring[15]!, index: 5_000 }]]),
        ),
      }),
    ],
  ])('if %s', (_, fields) => {
    expect(check(fields())).toThrow('Refused to sign');
  });

  it('if its keys are not those that were used', () => {
    expect(check({}, hex(scalarBytes(hashToScalar(Buffer.from('another')))))).toThrow('Refused to sign');
  });
});

it('maps hashes to points as Monero does', () => {
  // from the vectors of key images: tests/crypto/tests.txt of the Monero project, "hash_to_ec"
  expect(
    hashToPoint(Buffer.from('da66e9ba613919dec28ef367a125bb310d6d83fb9052e71034164b6dc4f392d0', 'hex')).toHex(),
  ).toBe('52b3f38753b4e13b74624862e253072cf12f745d43fcfafbe8c217701a6e5875');
});
