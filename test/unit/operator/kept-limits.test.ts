/** Limits that the operator grants with the command line, while the service keeps what it gets, to hand it in later. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nextDate } from '../../../daemon/cli/limits.ts';
import { runCli } from '../../../daemon/cli/program.ts';
import { Session } from '../../../daemon/cli/session.ts';
import { proofOf } from '../../../daemon/contract/proof.ts';
import { SignerClient } from '../../../daemon/wallet/signer/client.ts';
import { type ForwardGrant, type GasGrant, type Grant, SEAL_UNLOCK } from '../../../daemon/wallet/signer/port.ts';
import { endOf, limitsHeldIn, newestDateIn } from '../../../daemon/wallet/signer/register.ts';
import { seal } from '../../../daemon/wallet/signer/seal.ts';
import { serveSigner } from '../../../daemon/wallet/signer/service.ts';
import { Session as SignerSession } from '../../../daemon/wallet/signer/session.ts';
import { DESTINATIONS } from '../chains/spend-kit.ts';
import { fakeIo } from '../cli-kit.ts';
import { codeOf, grantOf, limitGrants, PASSPHRASE, walletFolder } from '../wallet/signer-kit.ts';

const HOUR_MS = 3_600_000;

type Kept = { grant: Grant; mac: string };

let root: string;
let wallet: Awaited<ReturnType<typeof walletFolder>>;
let service: Awaited<ReturnType<typeof serveSigner>>;
let daemon: SignerClient;
let env: Record<string, string>;
let isRefusing: boolean;
let closeThief: () => void;
/** Everything that the service got. */
let kept: Kept[];
/** What the service answers to `gas.tank`; null: it refuses. */
let newTank: object | null;
/** The methods that the service was asked for. */
let asked: string[];

const policy = {
  business_id: 1,
  business: 'Shop',
  mode: 'automatic',
  per_withdrawal_usd: '100',
  per_day_usd: '500',
  address_book_only: false,
  used_usd: '0',
};
const rates = [{ network: 'regtest', crypto: 'LTC', usd: '1', eur: null, gbp: null }];
const limits = () => {
  const now = Date.now();
  return limitGrants(0, '0', now).map((one) =>
    one.asset === 'LTC' ? { ...one, perWithdrawal: '90000000', perDay: '90000000' } : one,
  );
};

const desk = {
  business_id: 1,
  business: 'Shop',
  network: 'regtest',
  account_no: 0,
  chain: 'ETH',
  coin: 'ETH',
  tank: { address: '0xtank', amount: '0', index: 0 },
  former_tanks: [],
  price: '1',
  prices: [],
  assets: [],
  needs: null,
  plan: null,
};
const plan = {
  min_usd: '5',
  price_max: null,
  fee_max: '0.001',
  used: '0',
  begins_at: '2026-01-01T00:00:00Z',
  ends_at: '2026-01-02T00:00:00Z',
  daily: null,
  only_needed: false,
  state: 'open',
  halted: false,
  problem: null,
};
const forecast = {
  coin: 'ETH',
  price: '1',
  worth: 1,
  items: [],
  cost: '0.001',
  cost_usd: null,
  fee_max: '1000000000000000',
  fee_max_coin: '0.001',
  needs: null,
};

/** A service that says that all is done, and keeps every limit. */
async function thief(dataDir: string): Promise<() => void> {
  const file = { url: '', socket: null, token: 'x'.repeat(43) };
  const answers: Record<string, () => unknown> = {
    'policy.grants': () => ({ grants: limits() }),
    'policy.set': () => (isRefusing ? undefined : { policy }),
    'rates.list': () => ({ rates, currencies: [], credits: [] }),
    'gas.status': () => ({ desks: [desk] }),
    'gas.forecast': () => forecast,
    'gas.collect': () => ({ plan }),
    'gas.tank': () => newTank ?? undefined,
  };
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      body += part;
    });
    request.on('end', () => {
      const method = request.url?.split('/').at(-1) ?? '';
      const challenge = request.headers['countinghouse-challenge'];
      if (!challenge) asked.push(method);
      if (method === 'policy.set' && !challenge) kept.push(...JSON.parse(body).grants);
      const answer = challenge ? { proof: proofOf(file, String(challenge)) } : answers[method]?.();
      response.writeHead(answer === undefined ? 503 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer ?? { error: { code: 'unavailable', message: 'Try again' } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  file.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await writeFile(join(dataDir, 'operator.json'), JSON.stringify(file));
  return () => server.close();
}

const unlock = async () => daemon.unlock(await seal(await daemon.sealKey(), SEAL_UNLOCK, PASSPHRASE));

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'kept-'));
  const [run, data] = [join(root, 'run'), join(root, 'data')];
  await mkdir(run, { mode: 0o750 });
  await mkdir(data, { mode: 0o700 });
  await writeFile(join(root, 'passphrase'), PASSPHRASE);
  wallet = await walletFolder();
  const socket = join(run, 'signer.sock');
  const source = () => ({ kind: 'prompt' as const });
  const sandbox = { sign: () => Promise.reject(new Error('no sandbox here')) };
  const common = { autoLockMinutes: 0, source, log: () => {} };
  service = await serveSigner({ ...common, folder: wallet.folder, socket });
  daemon = new SignerClient({ ...common, folder: '/nonexistent', remote: socket, sandbox });
  env = {
    COUNTINGHOUSE_SIGNER_SOCKET: socket,
    COUNTINGHOUSE_SIGNER_DIR: wallet.folder,
    COUNTINGHOUSE_DATA_DIR: data,
  };
  kept = [];
  asked = [];
  newTank = null;
  isRefusing = false;
  closeThief = await thief(data);
});
afterEach(async () => {
  closeThief();
  await daemon.close();
  await service.close();
  await wallet.remove();
  await rm(root, { recursive: true, force: true });
});

const cli = async (...argv: string[]) => {
  const { io, ran } = fakeIo(env);
  return { code: await runCli([...argv, '--yes', '--passphrase-file', join(root, 'passphrase')], io), ...ran };
};
const AUTOMATIC = ['policy', 'set', 'Shop', '--mode', 'automatic', '--per-withdrawal', '100', '--per-day', '500'];
const MANUAL = ['policy', 'set', 'Shop', '--mode', 'manual'];
const held = () => limitsHeldIn(wallet.folder, Date.now());

describe('limits that a service keeps', () => {
  it('do not come into force after the policy was taken back', async () => {
    const granted = await cli(...AUTOMATIC);
    expect([granted.code, granted.err]).toEqual([1, expect.stringContaining('The wallet is locked')]);
    // the operator thinks better of it
    await unlock();
    await cli(...MANUAL);
    for (const { grant, mac } of kept) await daemon.grantPolicy(grant, mac).catch(() => {});
    expect((await held()).policies).toEqual([]);
  });

  it('are told of where the service says that it refused them', async () => {
    await unlock();
    isRefusing = true;
    const { code, err } = await cli(...AUTOMATIC);
    expect([code, err]).toEqual([1, expect.stringMatching(/By the wallet's own record(.|\n)*LTC(.|\n)*Try again/)]);
    expect((await held()).policies).toHaveLength(1);
  });

  it('are in the wallet before the service gets them, so that the operator finds and ends them', async () => {
    await unlock();
    expect((await cli(...AUTOMATIC)).code).toBe(0);
    expect(kept).toHaveLength(limits().length);
    expect((await held()).policies.map(({ grant }) => grant.asset)).toEqual(['LTC']);
    await cli(...MANUAL);
    const { grant, mac } = kept.find((one) => 'asset' in one.grant && one.grant.asset === 'LTC')!;
    expect(await codeOf(daemon.grantPolicy(grant, mac))).toBe('signer.approval');
    expect((await held()).policies).toEqual([]);
  });
});

const of = { network: 'regtest' as const, accountNo: 0 };
const gas = (): GasGrant => ({
  ...of,
  kind: 'gas',
  chain: 'ETH',
  feeMax: '1000000000000000',
  until: Date.now() + HOUR_MS,
  issuedAt: Date.now() - 1,
});
const forward = (): ForwardGrant => ({
  ...of,
  kind: 'forward',
  asset: 'LTC',
  address: DESTINATIONS.LTC[0]!,
  feeSharePpm: 100,
  feeMax: null,
  feeDay: '10000',
  issuedAt: Date.now() - 1,
});

describe('the MAC of a limit', () => {
  const macsOf = async (...grants: Grant[]) => {
    const keyholder = await new Session(fakeIo(env).io, {}).keyholder();
    return (await keyholder.authorize(PASSPHRASE, { approvals: [], change: null, grants })).grants;
  };
  const KINDS: [string, () => Grant][] = [
    ['a policy', () => limits().find(({ asset }) => asset === 'LTC')!],
    ['gas', gas],
    ['forwarding', forward],
  ];

  it.each(KINDS)('of %s leaves the command only once the wallet has it', async (_, made) => {
    const grant = made();
    expect(await codeOf(macsOf(grant))).toBe('signer.locked');
    await unlock();
    const [mac] = await macsOf(grant);
    // what the wallet has it takes again without a line, and nothing older
    await daemon.grantPolicy(grant, mac!);
    const older = { ...grant, issuedAt: grant.issuedAt - 1 };
    expect(await codeOf(macsOf(older))).toBe('signer.approval');
  });

  it.each([true, false])(
    'does not leave it if the wallet locks, which says what it has: locked halfway %s',
    async (halfway) => {
      await unlock();
      const original = SignerClient.prototype.grantPolicy;
      let calls = 0;
      const spy = vi.spyOn(SignerClient.prototype, 'grantPolicy').mockImplementation(async function (
        this: SignerClient,
        grant,
        mac,
      ) {
        await original.call(this, grant, mac);
        calls += 1;
        // the service's own client, and then the one of the command
        if (calls === 2) await daemon.lock();
      });
      if (!halfway) await daemon.lock();
      try {
        const [first] = limits();
        const text = halfway ? `It has the new limits of ${first!.asset}, and still has` : 'Nothing was changed';
        await expect(macsOf(...limits())).rejects.toThrow(text);
      } finally {
        spy.mockRestore();
      }
    },
  );

  it('of a new tank leaves it only while the wallet is open', async () => {
    const grant = { ...gas(), feeMax: '0', tank: 1 };
    expect(await codeOf(macsOf(grant))).toBe('signer.locked');
    await unlock();
    expect(await macsOf(grant)).toHaveLength(1);
    // the service may refuse it
    expect(await newestDateIn(wallet.folder)).toBe(0);
  });

  it('that ends one leaves it from a locked wallet, too: it gives nobody a right', async () => {
    const ends = [gas(), forward(), limits()[0]!].map((grant) => endOf(grant, Date.now()));
    expect(await macsOf(...ends)).toHaveLength(3);
    expect((await daemon.status()).state).toBe('locked');
  });
});

it.each([
  ['inside the service', ({ COUNTINGHOUSE_SIGNER_SOCKET: _, ...others }: Record<string, string>) => others],
  ['of its own', (all: Record<string, string>) => all],
])('limits are dated after those of a clock that was ahead, with a signer %s', async (_, of) => {
  const ahead = Date.now() + 9_000 * HOUR_MS;
  const signer = await SignerSession.open(wallet.folder, PASSPHRASE, () => ahead);
  await signer.grant(...grantOf(limitGrants(0, '1', ahead)[0]!));
  await signer.close();
  expect(await nextDate(new Session(fakeIo(of(env)).io, { dataDir: root }))).toBe(ahead + 1);
});

describe('a new tank', () => {
  const TANK = ['gas', 'tank', 'Shop', 'ETH'];

  it('is not told to the wallet if the service refuses it', async () => {
    await unlock();
    expect((await cli(...TANK)).code).toBe(1);
    expect(asked).toContain('gas.tank');
    expect(await newestDateIn(wallet.folder)).toBe(0);
  });

  it('is in the record of the wallet once the service has accepted it', async () => {
    await unlock();
    newTank = { address: '0xnew', index: 1 };
    const { code, err } = await cli(...TANK);
    expect([code, err]).toEqual([0, expect.not.stringContaining('word of the service alone')]);
    expect(await newestDateIn(wallet.folder)).toBeGreaterThan(0);
  });

  it.each([[TANK], [['gas', 'collect', 'Shop', 'ETH']]])(
    'or a plan needs an open wallet before it asks: %s',
    async (argv) => {
      await rm(join(root, 'passphrase'));
      const { code, err } = await cli(...argv);
      expect([code, err]).toEqual([1, expect.stringContaining('Nothing was changed: unlock it')]);
      expect(asked.filter((method) => ['gas.tank', 'gas.collect'].includes(method))).toEqual([]);
    },
  );
});

describe('a plan to collect', () => {
  const COLLECT = ['gas', 'collect', 'Shop', 'ETH'];
  const at = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString().replace(/\.\d+/, '');

  it.each([
    ['It ends before it begins', () => ['--from', at(3), '--until', at(2)]],
    ['31 days at most', () => ['--until', at(32 * 24)]],
    ['hours of the day are none', () => ['--daily', '02:00-02:00', '--max-cost', '1']],
    ['say 02:00-05:00', () => ['--daily', '24:00-25:00', '--max-cost', '1']],
    ['is no number of gwei', () => ['--max-price', 'much']],
  ])('that no service takes is not told to the wallet: %s', async (text, options) => {
    await unlock();
    const { code, err } = await cli(...COLLECT, ...options());
    expect([code, err]).toEqual([expect.any(Number), expect.stringContaining(text)]);
    expect(code).not.toBe(0);
    expect(await newestDateIn(wallet.folder)).toBe(0);
  });

  it('is shown as the wallet took it', async () => {
    await unlock();
    const { code, err } = await cli(...COLLECT);
    expect([code, err]).toEqual([0, expect.stringMatching(/By the wallet's own record(.|\n)*gas on ETH/)]);
  });
});
