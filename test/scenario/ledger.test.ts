/** The books against a real litecoind's own, and what they give an accountant. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import { textOf } from '../../daemon/domain/messages.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { openShop } from '../support/shop.ts';
import { cli } from '../unit/cli-kit.ts';
import { type Opened, SOURCES, type Source } from './sources.ts';

const COIN = 100_000_000n;
const ORDER = { order_id: 'A-1001', description: '=1+1' };

const title = ({ name }: Source): string => litecoindTitle(`the ledger against litecoind, ${name}`);

describe.skipIf(!hasLitecoind).each(SOURCES.map((source) => [title(source), source] as const))('%s', (_, { open }) => {
  let source: Opened;
  let node: Litecoind;
  let service: TestDaemon;
  let key: string;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countinghouse-ledger-'));
    node = await Litecoind.start();
    await node.fund();
    source = await open(node);
    service = await startTestDaemon(litecoinConfig(source.setting));
    ({ key } = await openShop(service, ['invoices'], '=Shop, "the best"'));
  });
  afterAll(async () => {
    await service?.stop();
    await source?.stop();
    await node?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  const call = <Body>(method: string, path: string, body?: unknown) =>
    service.call<Body>(method, path, body, { 'mb-api-key': key });

  async function paid(amount: number, units: bigint): Promise<{ id: string; txid: string }> {
    const { body } = await call<{ id: string }>('POST', '/invoice', { amount, crypto: 'LTC', ...ORDER });
    const requested = await until('litecoind is followed', async () => {
      const answer = await call<{ address: string }>('POST', `/invoice/rp/${body.id}`, {});
      return answer.status === 201 && answer.body;
    });
    const txid = await node.pay([{ address: requested.address, units }]);
    await node.mine(3);
    await until('it is paid', async () => {
      return (await call<{ status: string }>('GET', `/invoice/${body.id}`)).body.status === 'paid';
    });
    return { id: body.id, txid };
  }

  it('adds up, coin by coin, and is told as a table', async () => {
    await paid(80, COIN);
    await paid(160, 2n * COIN);
    const { chains } = await operatorClient(service.dataDir)('ledger.prove', { chain: 'regtest:LTC' });
    expect(chains).toEqual([
      {
        chain: 'regtest:LTC',
        height: expect.any(Number),
        compared: true,
        lines: [{ crypto: 'LTC', received: '3', paid_out: '0', fees: '0', adopted: '0', held: '3' }],
        problems: [],
        offers: [],
        corrections: [],
        error: null,
      },
    ]);
    const told = await cli(service.dataDir, ['ledger', 'regtest:LTC']);
    expect(told).toMatchObject({ code: 0, out: expect.stringMatching(/regtest:LTC +\d+ +LTC +3 +0 +0 +0 +3 +proved/) });
    expect(await cli(service.dataDir, ['ledger', 'mainnet:XMR'])).toMatchObject({ code: 1 });
  });

  it('adds up while blocks come', async () => {
    let proving = true;
    const mining = (async () => {
      while (proving) await node.mine(1);
    })();
    for (let i = 0; i < 5; i++) {
      const { chains } = await operatorClient(service.dataDir)('ledger.prove', { chain: 'regtest:LTC' });
      expect(chains).toMatchObject([{ compared: true, problems: [], error: null }]);
    }
    proving = false;
    await mining;
  });

  it('names the transaction of what differs, and raises an alert', async () => {
    const { txid } = await paid(80, COIN);
    const db = new Database(join(service.dataDir, 'countinghouse.db'));
    const credit = db.prepare('SELECT id, outpoint, units FROM credit WHERE txid = ?').get(txid) as {
      id: number;
      outpoint: string;
      units: string;
    };
    const prove = async () =>
      (await operatorClient(service.dataDir)('ledger.prove', { chain: 'regtest:LTC' })).chains[0]!.problems;

    db.prepare("UPDATE credit SET units = '100000001' WHERE id = ?").run(credit.id);
    const balance = 'LTC: the balance is 4 LTC, its entries make';
    expect(await prove()).toEqual([
      `${credit.outpoint}: our books say 1.00000001 LTC, the source 1 LTC`,
      `${balance} 4.00000001 LTC`,
    ]);
    db.prepare('UPDATE credit SET units = ?, gone = 1 WHERE id = ?').run(credit.units, credit.id);
    const told = async () =>
      (await operatorClient(service.dataDir)('alert.list', {})).alerts.find(({ kind }) => kind === 'ledger.differs');
    const books = async () =>
      (await operatorClient(service.dataDir)('doctor', {})).findings.filter(({ subject }) => subject === 'books');
    const [first, one] = [await told(), await books()];
    expect(first).toMatchObject({ subject: 'regtest:LTC', message: { code: expect.any(String) } });
    expect(first && textOf(first.message)).toContain(credit.outpoint);
    expect(one).toMatchObject([{ level: 'problem', text: { code: 'doctor.books_differ', values: { count: 2 } } }]);
    const later = await prove();
    expect(later).toEqual([
      `${credit.outpoint}: the source holds 1 LTC that our books do not know`,
      `${balance} 3 LTC`,
    ]);
    // the open alert tells the differences of the latest proof
    const now = await told();
    expect(now?.id).toBe(first?.id);
    for (const text of later) expect(now && textOf(now.message)).toContain(text);
    db.prepare('UPDATE credit SET gone = 0, outpoint = ? WHERE id = ?').run(`${'ab'.repeat(32)}:0`, credit.id);
    expect(await prove()).toHaveLength(2);
    // a spend of no block would be dropped as soon as the service looks
    db.prepare(
      'UPDATE credit SET outpoint = ?, spent_txid = ?, spent_block_height = 1, spent_block_hash = ? WHERE id = ?',
    ).run(credit.outpoint, 'cd'.repeat(32), 'ef'.repeat(32), credit.id);
    expect(await prove()).toEqual([
      `${credit.outpoint}: our books say that ${'cd'.repeat(32)} spent it, the source holds it`,
      'LTC: what was received less what was paid out and the fees is not what is held',
    ]);
    db.prepare(
      'UPDATE credit SET spent_txid = NULL, spent_block_height = NULL, spent_block_hash = NULL WHERE id = ?',
    ).run(credit.id);
    db.close();
    expect(await prove()).toEqual([]);
    expect(await told()).toBeUndefined();
    expect((await books()).map(({ level }) => level)).not.toContain('problem');
  });

  it('gives an accountant every receipt with its value, in a file that is safe to open', async () => {
    const { id, txid } = await paid(80, COIN);
    const file = join(folder, 'books.csv');
    const done = await cli(service.dataDir, ['export', '--file', file]);
    expect(done).toMatchObject({ code: 0, out: expect.stringContaining('4 lines') });
    const lines = (await readFile(file, 'utf8')).split('\r\n');
    expect(lines[0]).toBe(
      'at,day,kind,business,network,crypto,amount,currency,value,usd_value,reference,address,tx_id,order_id,description,refund_of,' +
        'book_currency,book_rate,book_value,book_rate_at,vat',
    );
    expect(lines).toHaveLength(6);
    const line = lines.find((text) => text.includes(txid));
    expect(line).toMatch(
      new RegExp(
        `^20\\d\\d-.*Z,20\\d\\d-\\d\\d-\\d\\d,receipt,"'=Shop, ""the best""",regtest,LTC,1,USD,80,80,${id},rltc1q[a-z0-9]+,${txid},A-1001,'=1\\+1,,USD,80,80,20\\d\\d-.*Z,none:80:0$`,
      ),
    );
    const early = await cli(service.dataDir, ['export', '--to', '2020-01-01']);
    expect(early.out.split('\r\n')).toHaveLength(2);
    expect(await cli(service.dataDir, ['export', '--file', file])).toMatchObject({ code: 1 });
  });
});
