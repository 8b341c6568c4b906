/**
 * Fifty tries to be paid twice by data that is not what it was, on a real litecoind. A life with deposits and withdrawals is
 * copied at many points. Then a service starts from a folder, a database or parts of it that came back older, were
 * overwritten, or were cut, and beside the original. It may refuse to start, be quarantined or go on. The shop repeats all
 * its requests, and the operator approves all that he approved before: nobody is paid twice, and no address comes again.
 *
 * A run makes a sample of them (`support/sample.ts`).
 *
 * What only gave out addresses since it was copied, and was neither paid nor paid anybody, leaves no trace on a chain: each
 * point of the life is followed by a payment.
 */
import { createHash } from 'node:crypto';
import { cp, mkdtemp, open, readFile, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JOURNAL_FILE } from '../../daemon/wallet/signer/files.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { copied } from '../support/copied.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { Operator } from '../support/operator.ts';
import { REPEAT, sampleOf } from '../support/sample.ts';
import { openShop, PASSPHRASE } from '../support/shop.ts';

const COIN = 100_000_000n;
const DEPOSITS = 12;
const BURIED = 12;
const DATABASE = 'countinghouse.db';
const STORED = [DATABASE, `${DATABASE}-wal`, `${DATABASE}-shm`];
const STAMP = 'instance.json';
const JOURNAL = join('vault', JOURNAL_FILE);
const POINTS = 5;
/** A service with damaged data may never answer. */
const ANSWER_MS = 10_000;
const SETTLED_MS = 30_000;
const FRESH = 3;
const TRY_MS = 180_000;
/** All tries together take minutes. */
const ONE_OF = 10;

type Outcome = 'refused' | 'quarantined' | 'silent' | 'went on';
/** `amount`: in LTC, as text. */
type Payment = { id: string; address: string; amount: string };
type Try = { name: string; make: (folder: string) => Promise<void>; isTwin?: boolean };

/** Places that look random and are the same in each run. */
const placeIn = (size: number, seed: string): number =>
  createHash('sha256').update(seed).digest().readUInt32BE(0) % Math.max(1, size);

/** Overwrites some runs of bytes. */
async function damage(path: string, seed: string, places: number, bytes: number): Promise<void> {
  const { size } = await stat(path);
  const file = await open(path, 'r+');
  for (let at = 0; at < places; at++) {
    const noise = createHash('sha512').update(`${seed} noise ${at}`).digest().subarray(0, bytes);
    await file.write(noise, 0, bytes, placeIn(size - bytes, `${seed} ${at}`));
  }
  await file.close();
}

const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** A log is not made shorter when it is begun anew: the frames of an earlier round, with other salts, stand behind its own. */
async function ownBytes(wal: string): Promise<number> {
  const bytes = await readFile(wal);
  const salts = bytes.subarray(16, 24);
  const frame = FRAME_HEADER_BYTES + bytes.readUInt32BE(8);
  let at = WAL_HEADER_BYTES;
  while (at + frame <= bytes.length && bytes.subarray(at + 8, at + 16).equals(salts)) at += frame;
  return at;
}

async function cut(path: string, share: number): Promise<void> {
  await truncate(path, Math.floor((await stat(path)).size * share));
}

describe.skipIf(!hasLitecoind)(litecoindTitle('data that is not what it was, on litecoind'), () => {
  let node: Litecoind;
  let first: TestDaemon;
  let owner: Operator;
  let key: string;
  let folder: string;
  const paid: Record<string, Payment> = {};
  const given: string[] = [];
  const outcomes: Outcome[] = [];

  const call = <Body>(service: TestDaemon, method: string, path: string, body?: unknown, headers = {}) =>
    service.call<Body>(method, path, body, { 'mb-api-key': key, ...headers });

  async function askForAddress(service: TestDaemon): Promise<string | null> {
    const { body } = await call<{ id: string }>(service, 'POST', '/invoice', { amount: 80, crypto: 'LTC' });
    const { status, body: page } = await call<{ address: string }>(service, 'POST', `/invoice/rp/${body.id}`);
    return status === 201 ? page.address : null;
  }
  const giveOut = async (): Promise<string> => {
    const address = await until('an address is given out', () => askForAddress(first));
    given.push(address);
    return address;
  };

  const repeat = (service: TestDaemon, name: string) => {
    const { amount, address } = paid[name]!;
    const headers = { 'idempotency-key': `request ${name}` };
    return call<{ id: string }>(service, 'POST', '/withdraw', { amount, crypto: 'LTC', address }, headers);
  };
  async function request(name: string, amount: string): Promise<void> {
    paid[name] = { id: '', address: await node.newAddress(), amount };
    paid[name].id = (await repeat(first, name)).body.id;
  }
  const sent = (name: string) =>
    until(`"${name}" is sent`, async () => {
      const txid = (await owner.show(paid[name]!.id)).versions[0]?.tx_id;
      return txid && (await node.rpc<string[]>('getrawmempool', [])).includes(txid);
    });
  const completed = (name: string) =>
    until(`"${name}" is completed`, async () => (await owner.show(paid[name]!.id)).state === 'completed');

  const received = async (): Promise<Record<string, number>> => {
    const entries = Object.entries(paid).map(async ([name, { address }]) => {
      return [name, await node.rpc<number>('getreceivedbyaddress', [address, 0])] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  };
  const once = (): Record<string, number> =>
    Object.fromEntries(Object.entries(paid).map(([name, { amount }]) => [name, Number(amount)]));

  const keep = (name: number | string): Promise<void> => copied(first.dataDir, join(folder, `${name}`));

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    folder = await mkdtemp(join(tmpdir(), 'countinghouse-tries-'));
    first = await startTestDaemon(litecoinConfig(`core_rpc = "${node.url}"`));
    ({ key, operator: owner } = await openShop(first, ['invoices', 'balance', 'withdraw']));
    const deposits = await Promise.all(
      Array.from({ length: DEPOSITS }, async () => ({ address: await giveOut(), units: 2n * COIN })),
    );
    await node.pay(deposits);
    await node.mine(BURIED);
    await until('the deposits are spendable', async () => {
      return (await call<{ LTC: number }>(first, 'GET', '/balance')).body.LTC === 2 * DEPOSITS;
    });
    await owner.unlock();
    await owner.allow({ business: 'Regtest shop', per_withdrawal_usd: '80', per_day_usd: '5000' });
    await live();
    expect(await received()).toEqual(once());
  });
  afterAll(async () => {
    await first?.stop().catch(() => {});
    await node?.remove();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  /** Every withdrawal is completed at the end. What is above one coin goes over the policy. */
  async function live(): Promise<void> {
    await owner.call('wallet.lock', {});
    await request('by policy', '0.51');
    await request('approved', '1.02');
    await request('asked', '1.03');
    await keep(0);
    await owner.approve(paid.approved!.id);
    await keep(1);
    await owner.unlock();
    await sent('by policy');
    await sent('approved');
    await giveOut();
    await keep(2);
    await node.mine(BURIED + 1);
    await owner.approve(paid.asked!.id);
    await request('asked later', '0.54');
    await sent('asked');
    await sent('asked later');
    await node.pay([{ address: await giveOut(), units: COIN }]);
    await node.mine(BURIED + 1);
    for (const name of Object.keys(paid)) await completed(name);
    await keep(3);
    await request('in between', '0.57');
    await sent('in between');
    await giveOut();
    await keep(4);
    await request('at last', '0.58');
    await sent('at last');
    await node.pay([{ address: await giveOut(), units: COIN }]);
    await node.mine(BURIED + 1);
    await completed('in between');
    await completed('at last');
    await keep('running');
    await first.daemon.stop();
    await keep('end');
  }

  /** The data of the end, with these parts of a point. */
  const mixed =
    (point: number, parts: readonly string[]) =>
    async (made: string): Promise<void> => {
      await copied(join(folder, 'end'), made);
      for (const part of parts) {
        await rm(join(made, part), { recursive: true, force: true });
        await cp(join(folder, `${point}`, part), join(made, part), { recursive: true }).catch(() => {});
      }
    };
  const spoilt =
    (from: string, spoil: (made: string) => Promise<void>) =>
    async (made: string): Promise<void> => {
      await copied(join(folder, from), made);
      await spoil(made);
    };
  /** From nothing to nearly everything. */
  const shares = [0, 0.3, 0.6, 0.9, 0.995];

  const points = Array.from({ length: POINTS }, (_, at) => at);
  const whole = (point: number) => (made: string) => copied(join(folder, `${point}`), made);
  // the twins pay, so that all data is older than the chain after them
  const tries: Try[] = [
    ...points.map((at) => ({ name: `the whole folder of point ${at}`, make: whole(at) })),
    ...points.map((at) => ({ name: `the database of point ${at}`, make: mixed(at, STORED) })),
    ...points.map((at) => ({ name: `the database and stamp of point ${at}`, make: mixed(at, [...STORED, STAMP]) })),
    ...points.map((at) => ({ name: `the database and vault of point ${at}`, make: mixed(at, [...STORED, 'vault']) })),
    ...points.map((at) => {
      const make = spoilt('end', (made) => damage(join(made, DATABASE), `database ${at}`, 4 ** at, 32));
      return { name: `a database overwritten at ${4 ** at} places`, make };
    }),
    ...points.map((at) => {
      const make = spoilt('end', (made) => damage(join(made, JOURNAL), `journal ${at}`, at + 1, 8));
      return { name: `a journal overwritten at ${at + 1} places`, make };
    }),
    ...shares.map((share) => {
      const make = spoilt('end', (made) => cut(join(made, DATABASE), share));
      return { name: `${share} of a database`, make };
    }),
    ...shares.map((share) => {
      const make = spoilt('running', async (made) => {
        const wal = join(made, `${DATABASE}-wal`);
        await truncate(wal, Math.floor((await ownBytes(wal)) * share));
      });
      return { name: `${share} of a write-ahead log`, make };
    }),
    // without the signer's word about what it signed since
    ...shares.map((share, at) => {
      const make = async (made: string): Promise<void> => {
        await mixed(at, [...STORED, STAMP])(made);
        await cut(join(made, JOURNAL), share);
      };
      return { name: `the database and stamp of point ${at} with ${share} of the journal`, make };
    }),
    ...points.map((at) => ({ name: `a twin of point ${at}`, make: whole(at), isTwin: true })),
  ];

  const isOlder = async (operator: Operator): Promise<boolean> =>
    (await operator.call('alert.list', {})).alerts.some(({ kind }) => kind === 'data.older');

  /** What an operator does who trusts his machine: unlocks, and approves what he approved before. */
  async function trust(operator: Operator): Promise<void> {
    await operator.unlock().catch(() => {});
    for (const { id } of Object.values(paid)) await operator.approve(id).catch(() => {});
  }

  /** Where the data is known to be older, what it does not know waits for the operator. */
  const settled = (operator: Operator, ids: string[], isOlder: boolean) => async (): Promise<boolean> => {
    const shown = await Promise.all(ids.map((id) => operator.show(id).catch(() => null)));
    return shown.every((one) => one === null || one.state === 'completed' || (isOlder && one.state === 'requested'));
  };

  async function work(service: TestDaemon): Promise<Outcome> {
    const operator = new Operator(service.dataDir, PASSPHRASE);
    await trust(operator);
    const found = await until(
      'it gives an address or says that it is older',
      async () => {
        const address = await askForAddress(service).catch(() => null);
        return address ?? ((await isOlder(operator).catch(() => false)) && 'older');
      },
      ANSWER_MS,
    ).catch(() => null);
    await trust(operator);
    if (found === null) return 'silent';
    if (found === 'older') {
      const confirm = () => operator.call('restore.confirm', { keep_keys: 'all' }).catch(() => null);
      await until('the operator takes over', confirm, SETTLED_MS);
      await trust(operator);
    } else expect(given).not.toContain(found);
    const fresh = Array.from({ length: FRESH }, () => until('an address is given out', () => askForAddress(service)));
    expect((await Promise.all(fresh)).filter((one) => given.includes(one))).toEqual([]);
    const ids: string[] = [];
    for (const name of Object.keys(paid)) ids.push(`${(await repeat(service, name)).body.id ?? paid[name]!.id}`);
    const isDone = settled(operator, ids, found === 'older');
    await until('all is completed that it knows', isDone, SETTLED_MS).catch(async () => {
      const states = await Promise.all(ids.map((id) => operator.show(id).then(({ state }) => state, String)));
      throw new Error(`${found === 'older' ? 'quarantined' : 'went on'}, with unsettled withdrawals: ${states}`);
    });
    return found === 'older' ? 'quarantined' : 'went on';
  }

  /** The original goes on beside its copy, and pays. */
  async function payBeside(): Promise<void> {
    await first.resume();
    await owner.unlock();
    const name = `beside ${Object.keys(paid).length}`;
    await request(name, '0.59');
    await sent(name);
    await node.mine(BURIED + 1);
    await completed(name);
  }

  async function attempt({ make, isTwin = false }: Try, at: number): Promise<Outcome> {
    const made = join(folder, `try ${at}`);
    await make(made);
    if (isTwin) await payBeside();
    const service = await startTestDaemon(litecoinConfig(`core_rpc = "${node.url}"`), made).catch(() => null);
    try {
      return service ? await work(service) : 'refused';
    } finally {
      await service?.stop().catch(() => {});
      if (isTwin) await first.daemon.stop();
      await rm(made, { recursive: true, force: true });
    }
  }

  const numbered = tries.map((one, at) => ({ ...one, at }));
  const chosen = sampleOf(numbered, ONE_OF);

  for (const { at, ...one } of chosen) {
    const tried = async (): Promise<void> => {
      const outcome = await attempt(one, at).catch((error: Error) => error);
      await node.mine(2);
      // first what is on the chain: whatever went wrong beside is less
      expect(await received(), `${outcome}. ${REPEAT}`).toEqual(once());
      if (outcome instanceof Error) throw new Error(REPEAT, { cause: outcome });
      outcomes.push(outcome);
    };
    it(`${at}: ${one.name} pays nobody twice`, tried, TRY_MS);
  }

  it('tried as many as it says', () => {
    expect(tries).toHaveLength(50);
    expect(outcomes).toHaveLength(chosen.length);
    const told = [...new Set(outcomes)].map((one) => `${outcomes.filter((other) => other === one).length} ${one}`);
    console.log(`${outcomes.length} tries, nobody paid twice: ${told.join(', ')}`);
  });
});
