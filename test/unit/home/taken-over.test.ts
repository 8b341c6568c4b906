/**
 * The third column of resources/docs/security.md's table: a thief controls the server entirely, the keys are at home. He has the
 * server's end of each connection, and answers every call of the operator as he likes.
 */
import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { scriptOf } from '../../../daemon/chains/utxo/address.ts';
import { unsignedTransaction } from '../../../daemon/chains/utxo/spend/transaction.ts';
import { runCli } from '../../../daemon/cli/program.ts';
import { grantHere } from '../../../daemon/home/keyholder.ts';
import { serverFolder } from '../../../daemon/home/place.ts';
import { approvalKey, grantMac, intentMac } from '../../../daemon/wallet/signer/approval.ts';
import { streamChannel } from '../../../daemon/wallet/signer/channel.ts';
import { epochOf } from '../../../daemon/wallet/signer/journal.ts';
import { readLines } from '../../../daemon/wallet/signer/lines.ts';
import type { UtxoOrder } from '../../../daemon/wallet/signer/port.ts';
import { limitsHeldIn } from '../../../daemon/wallet/signer/register.ts';
import { LINE_BYTES_MAX, Request } from '../../../daemon/wallet/signer/wire.ts';
import { DESTINATIONS } from '../chains/spend-kit.ts';
import { fakeIo } from '../cli-kit.ts';
import { byPolicy, codeOf, grantOf, hex, limitGrants, PASSPHRASE, payment, SEED, WORDS } from '../wallet/signer-kit.ts';
import { away, connected, homeOf, serverIn, signing, stage, stageEach, unlock, walletAtHome } from './home-kit.ts';

stageEach();

type Thief = Awaited<ReturnType<typeof takenOver>>;

const FRESH = 'another long passphrase';
const OTHER_KEY = approvalKey(new Uint8Array(64).fill(7));
const limits = (units = '90000000') => limitGrants(0, units, Date.now() - 1_000).find(({ asset }) => asset === 'LTC')!;
/** A server in the hands of a thief, whose end of each connection is kept, and a wallet at home that signs for it. */
async function takenOver() {
  const answers: Record<string, unknown> = {};
  const heard: string[] = [];
  const asked: string[] = [];
  const lines: Duplex[] = [];
  const server = await serverIn('server', {
    answers: async (method, params) => {
      asked.push(method);
      heard.push(JSON.stringify(params));
      const error = answers.error ?? { code: 'unavailable', message: 'The database is busy: try again' };
      return method in answers ? { status: 200, body: answers[method] } : { status: 503, body: { error } };
    },
    channel: (stream) => {
      lines.push(stream);
      stream.on('data', (data: Buffer) => heard.push(data.toString()));
      return streamChannel(stream);
    },
  });
  const dataDir = join(stage.root, 'home');
  const { code } = await server.machines.invite();
  const folder = await homeOf(server.url, code, serverFolder(dataDir, 'shop'));
  const wallet = await walletAtHome(folder);
  const passphrase = join(stage.root, 'passphrase');
  await writeFile(passphrase, PASSPHRASE);
  const home = await signing(folder);
  await connected(server.machines);
  await unlock(folder);
  const cli = async (...argv: string[]) => {
    const { io, ran } = fakeIo({ COUNTINGHOUSE_DATA_DIR: dataDir });
    return { code: await runCli(['--server', 'shop', ...argv], io), ...ran };
  };
  return { ...server, answers, heard, asked, lines, folder, wallet, passphrase, home, cli };
}

/** Says a line on the thief's end of the connection over which the wallet signs, and gives its answer. */
async function said({ machines, lines }: Thief, request: object): Promise<{ end: string; code?: string }> {
  machines.connect();
  const stream = lines.at(-1)!;
  const answer = readLines(stream, LINE_BYTES_MAX).next();
  stream.write(`${JSON.stringify({ id: 7, ...request })}\n`);
  return JSON.parse((await answer).value!);
}

describe.skipIf(process.platform === 'win32')('a server that was taken over', () => {
  let thief: Thief;
  beforeEach(async () => {
    thief = await takenOver();
  });

  it('may ask six things, and none that takes a passphrase or gives words', async () => {
    const sealed = { key: 'AAAA', nonce: 'AAAA', box: 'AAAA' };
    const names = Request.options.map((option) => option.shape.call.value);
    const refused: string[] = [];
    for (const call of names) {
      const asks = 'sealed' in Request.options[names.indexOf(call)]!.shape ? { call, sealed } : { call };
      const answer = await said(thief, asks);
      if (answer.code === 'signer.unsupported') refused.push(call);
    }
    expect(refused.sort()).toEqual(['authorize', 'change', 'custody', 'end', 'sealKey', 'unlock']);
    const may = names.filter((call) => !refused.includes(call)).sort();
    expect(may).toEqual(['grant', 'images', 'lock', 'revoke', 'sign', 'status']);
    // as one who would be the operator
    const posing = await said(thief, { call: 'unlock', sealed, by: 'operator' });
    expect(posing.code).toBe('signer.unsupported');
  });

  it('hears no passphrase, no word and no key, whatever the operator does and it answers', async () => {
    const { answers, asked, cli, heard, passphrase, signer } = thief;
    const wallet = { state: 'locked', fingerprint: '73c5da0a', unlock: 'prompt', locks_at: null };
    Object.assign(answers, {
      'wallet.sealKey': { seal_key: 'A'.repeat(44) },
      'wallet.status': { wallet },
      'wallet.authorize': { macs: { approvals: [], grants: [], change: null } },
      'policy.grants': { grants: limitGrants(0, '0') },
    });
    await signer.sign(payment('LTC', ['one']));
    await cli('wallet', 'lock');
    await cli('wallet', 'unlock', '--passphrase-file', passphrase);
    await signer.sign(payment('LTC', ['two']));
    await cli('policy', 'set', 'Shop', '--mode', 'manual', '--yes', '--passphrase-file', passphrase);
    await cli('wallet', 'revoke', '--yes', '--passphrase-file', passphrase);
    const fresh = join(stage.root, 'fresh');
    await writeFile(fresh, FRESH);
    await cli('wallet', 'passphrase', '--passphrase-file', passphrase, '--new-passphrase-file', fresh);
    expect(asked).toEqual(expect.arrayContaining(['wallet.status', 'policy.grants']));
    expect(asked.filter((method) => /sealKey|unlock|authorize|custody|passphrase/.test(method))).toEqual([]);
    const all = heard.join('\n');
    expect(all).toContain('"raw"');
    const secrets = [PASSPHRASE, FRESH, WORDS, 'abandon', hex(SEED), Buffer.from(SEED).toString('base64'), 'sealed'];
    expect(secrets.filter((secret) => all.includes(secret))).toEqual([]);
    // public keys alone
    const kept = await readdir(thief.dataDir, { recursive: true });
    expect(kept.sort()).toEqual(['signing-machine.json', 'vault', 'vault/backup-key-73c5da0a.json']);
  });

  it('gets nothing signed that was not approved, or was approved otherwise', async () => {
    const { signer, wallet } = thief;
    const [thiefs] = DESTINATIONS.LTC.slice(1);
    const script = scriptOf(thiefs!, 'LTC', 'regtest')!;
    const tries: [string, (order: UtxoOrder) => void][] = [
      ['signer.differs', ({ plan }) => Object.assign(plan.outputs[0]!, { address: thiefs, script })],
      [
        'signer.approval',
        ({ plan, withdrawals: [one] }) => {
          Object.assign(plan.outputs[0]!, { address: thiefs, script });
          Object.assign(one!.intent, { address: thiefs });
        },
      ],
      ['signer.approval', ({ withdrawals: [one] }) => Object.assign(one!.intent, { feeMax: '100000000' })],
      ['signer.approval', ({ withdrawals: [one] }) => Object.assign(one!.intent, { uuid: 'a-second-time' })],
      ['signer.limit', ({ withdrawals: [one] }) => Object.assign(one!, { approval: { by: 'policy' } })],
    ];
    for (const [code, spoil] of tries) {
      const order = payment('LTC', ['spoiled']);
      spoil(order);
      expect(await codeOf(signer.sign(order))).toBe(code);
    }
    const forged = payment('LTC', ['forged']);
    const [{ intent, approval }] = forged.withdrawals as [UtxoOrder['withdrawals'][number]];
    const until = 'until' in approval ? approval.until : 0;
    const mac = intentMac(OTHER_KEY, await epochOf(wallet), 'pay', intent, until);
    forged.withdrawals[0]!.approval = { by: 'operator', until, mac };
    expect(await codeOf(signer.sign(forged))).toBe('signer.approval');
    const grant = limits();
    const made = grantMac(OTHER_KEY, await epochOf(wallet), grant);
    expect(await codeOf(signer.grantPolicy(grant, made))).toBe('signer.approval');
    expect(await limitsHeldIn(wallet, Date.now())).toEqual({ policies: [], gas: [], forwards: [] });
  });

  it('spends no limit again by going back, or by ending a connection: the record is at home', async () => {
    const { folder, home, machines, signer } = thief;
    await signer.grantPolicy(...grantOf(limits('50000000')));
    const first = byPolicy('first');
    const signed = await signer.sign(first);
    expect(await codeOf(signer.sign(byPolicy('second')))).toBe('signer.limit');
    thief.lines.at(-1)!.destroy();
    await away(machines);
    await connected(machines);
    expect(await codeOf(signer.sign(byPolicy('third')))).toBe('signer.limit');
    await home.close();
    await away(machines);
    await signing(folder);
    await connected(machines);
    await unlock(folder);
    expect(await codeOf(signer.sign(byPolicy('fourth')))).toBe('signer.limit');
    expect(await signer.sign(first)).toEqual(signed);
  });

  it('fills no record at home by asking for the same signature again and again', async () => {
    const { signer, wallet } = thief;
    await signer.grantPolicy(...grantOf(limits()));
    const orders = [payment('LTC', ['approved']), byPolicy('by-policy')];
    const signed = await Promise.all(orders.map((order) => signer.sign(order)));
    const size = async () => (await stat(join(wallet, 'signer-journal.jsonl'))).size;
    const before = await size();
    for (let n = 0; n < 5; n++) {
      for (const [at, order] of orders.entries()) expect(await signer.sign(order)).toEqual(signed[at]);
    }
    expect(await size()).toBe(before);
    // with the record as with the lock: what the operator ended is not signed again
    await thief.cli('wallet', 'halt', '--yes');
    expect(await codeOf(signer.sign(orders[0]!))).toBe('signer.locked');
  });

  it('controls no terminal at home by what it answers', async () => {
    for (const code of ['config', 'failed']) {
      thief.answers.error = { code, message: 'no\r\u001b[2J\u2028\u001b]0;title\u0007\nerror: yes' };
      const { err, out } = await thief.cli('alert', 'list');
      expect(err).toContain('error: no');
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(`${err}${out}`).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u2028]/);
    }
  });

  it('keeps neither a lock nor a limit that is taken back from the wallet, whatever it answers', async () => {
    const { answers, cli, folder, passphrase, signer, wallet } = thief;
    const granted = grantOf(limits());
    await signer.grantPolicy(...granted);
    await signer.sign(byPolicy('before'));
    answers['policy.grants'] = { grants: [] };
    const { err } = await cli('policy', 'set', 'Shop', '--mode', 'manual', '--yes', '--passphrase-file', passphrase);
    expect(err).toContain('The wallet has ended them, whatever the service says.');
    expect(await codeOf(signer.sign(byPolicy('after')))).toBe('signer.limit');
    expect(await codeOf(signer.grantPolicy(...granted))).toBe('signer.approval');
    expect(await limitsHeldIn(wallet, Date.now())).toEqual({ policies: [], gas: [], forwards: [] });
    const approved = payment('LTC', ['approved']);
    await cli('wallet', 'lock');
    expect(await codeOf(signer.sign(approved))).toBe('signer.locked');
    const before = await epochOf(wallet);
    expect(await cli('wallet', 'halt', '--yes')).toMatchObject({ code: 0, out: 'The wallet is locked.\n' });
    await unlock(folder);
    expect(await epochOf(wallet)).not.toBe(before);
    expect(await codeOf(signer.sign(approved))).toBe('signer.approval');
  });

  it('keeps no lower limit from a locked wallet unnoticed: the operator is told that the wallet has the old one', async () => {
    const { cli, folder, signer } = thief;
    await signer.grantPolicy(...grantOf(limits()));
    const [grant, mac] = grantOf({ ...limits('0'), issuedAt: Date.now() });
    await cli('wallet', 'lock');
    await expect(grantHere(folder, [grant], [mac])).rejects.toThrow('still has the limits that it was granted');
    await unlock(folder);
    await grantHere(folder, [grant], [mac]);
    expect(await codeOf(signer.sign(byPolicy('after')))).toBe('signer.limit');
  });

  it('can keep an approval, whatever it says of a rejection, until it ends or the operator ends all', async () => {
    const { cli, folder, passphrase, signer } = thief;
    // the operator approved both, and rejected them: only the server hears of that
    expect((await signer.sign(payment('LTC', ['rejected']))).fee).toBe(2_000n);
    const kept = payment('LTC', ['kept']);
    const { err } = await cli('wallet', 'revoke', '--yes', '--passphrase-file', passphrase);
    expect(err).toContain('The wallet has ended every approval and limit');
    await unlock(folder);
    expect(await codeOf(signer.sign(kept))).toBe('signer.approval');
  });

  it('can keep an approval that it refuses, and the operator is told', async () => {
    const { answers, asked, cli, passphrase } = thief;
    const { plan, withdrawals } = payment('LTC', ['refused']);
    const outputs = plan.outputs.map((output) => ({
      address: null,
      groups: '',
      amount: '0.1',
      usd_value: null,
      change: output.kind === 'change',
      change_index: output.kind === 'change' ? output.index : null,
    }));
    const preview = {
      crypto: 'LTC',
      purpose: 'pay',
      outside: false,
      intents: withdrawals.map(({ intent }) => intent),
      raw: unsignedTransaction(plan),
      outputs,
      inputs: [],
      fee: '0.00001',
      fee_crypto: 'LTC',
      fee_usd: null,
      fee_max: '0.00002',
      fee_max_usd: null,
      usd_rate: null,
      fee_rate: '1',
      vsize: 141,
      warnings: [],
      notes: [],
      speeds: [],
      until: Date.now() + 86_400_000,
    };
    answers['withdrawal.propose'] = { withdrawals: [], preview, why: null, collect: null };
    const { code, err } = await cli('withdrawal', 'approve', '1', '--yes', '--passphrase-file', passphrase);
    expect([code, asked.at(-1)]).toEqual([1, 'withdrawal.approve']);
    expect(err).toContain('`countinghouse --server shop wallet revoke` ends every approval and limit');
  });

  it('ends no wait for a passphrase, and uses up none of the operator’s tries', async () => {
    const sealed = { key: 'AAAA', nonce: 'AAAA', box: 'AAAA' };
    for (let n = 0; n < 10; n++) await said(thief, { call: 'unlock', sealed });
    await thief.cli('wallet', 'lock');
    await thief.cli('wallet', 'unlock', '--passphrase-file', thief.passphrase);
    expect((await thief.signer.sign(payment('LTC', ['one']))).fee).toBe(2_000n);
  });

  it('gets no answer to what is no request, and its connection is served on', async () => {
    for (const line of [{ call: 'files' }, { call: 'status', folder: '/' }, { call: 'sign', order: {} }]) {
      expect(await said(thief, line)).toMatchObject({ id: 7, end: 'unavailable' });
    }
    expect((await said(thief, { call: 'status' })).end).toBe('ok');
  });
});
