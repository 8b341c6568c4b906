/** A computer at home and a server: how they meet, sign, part and meet again; and what liars on the way can do. */
import { once } from 'node:events';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { codeOf as codeIn, newCode, spacedCode } from '../../../daemon/contract/signing-machine.ts';
import { serverClient } from '../../../daemon/home/call.ts';
import { joinServer } from '../../../daemon/home/dial.ts';
import { writeServer } from '../../../daemon/home/place.ts';
import { until } from '../../support/daemon.ts';
import { codeOf, payment } from '../wallet/signer-kit.ts';
import {
  away,
  connected,
  homeOf,
  journalOf,
  serverIn,
  signing,
  stage,
  stageEach,
  tunnel,
  unlock,
  walletAtHome,
} from './home-kit.ts';

stageEach();

describe('an invitation', () => {
  it('is typed with any case, with or without dashes, and a wrong character is seen before anything is sent', async () => {
    const code = await newCode('a key');
    const shown = spacedCode(code);
    expect(shown).toMatch(/^(?:[0-9A-HJKMNP-TV-Z]{4}-){5}[0-9A-HJKMNP-TV-Z]{4}$/);
    for (const typed of [shown, shown.toLowerCase(), code, ` ${shown.replaceAll('0', 'o')} `]) {
      expect(await codeIn(typed)).toBe(code);
    }
    expect(await codeIn(code.slice(1))).toBeNull();
    const others = await Promise.all(
      ['A', 'B', 'C', 'D'].map((letter) => codeIn(`${code.slice(0, 10)}${letter}${code.slice(11)}`)),
    );
    expect(others.filter((one) => one !== null && one !== code).length).toBeLessThan(3);
  });

  it('says whether a code is wrong, used, too old, replaced or of another server, and lets one computer in', async () => {
    const [server, other] = [await serverIn('server'), await serverIn('other')];
    const tried = (code: string) => codeOf(joinServer(server.url, code, 'A second one'));
    const foreign = await other.machines.invite();
    expect(await tried(foreign.code)).toBe('signer.code_foreign');
    const first = await server.machines.invite();
    const second = await server.machines.invite();
    expect(await tried(first.code)).toBe('signer.code_expired');
    stage.clock = second.endsAt + 1;
    expect(await tried(second.code)).toBe('signer.code_expired');
    const third = await server.machines.invite();
    await homeOf(server.url, third.code);
    expect(await tried(third.code)).toBe('signer.code_used');
    await expect(joinServer(server.url, third.code, 'x')).rejects.toThrow(/used at .* by "Laptop"/);
    expect(await codeOf(server.machines.invite())).toBe('signer.machine');
    // what the server keeps cannot pose as the computer
    const kept = JSON.parse(await readFile(join(server.dataDir, 'signing-machine.json'), 'utf8'));
    expect(Object.keys(kept.machine).sort()).toEqual(['fingerprint', 'joinedAt', 'key', 'name', 'seenAt']);
  });

  it('does not join what answers without knowing the code', async () => {
    const liar = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    stage.undo.push(() => liar.close());
    await once(liar, 'listening');
    const said = [
      'no json',
      '{"is":"joined"}',
      JSON.stringify({ is: 'joined', service: 'A'.repeat(87), proof: 'A'.repeat(43) }),
    ];
    liar.on('connection', (socket) => socket.on('message', () => socket.send(said.shift() ?? Buffer.alloc(1_000_000))));
    const url = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`;
    const code = await newCode('a key');
    for (let i = 0; i < 3; i++) expect(await codeOf(joinServer(url, code, 'Laptop'))).toBe('signer.server');
    // a message without end is cut, not kept
    await expect(joinServer(url, code, 'Laptop')).rejects.toThrow('ended the connection');
  });
});

describe.skipIf(process.platform === 'win32')('a wallet at home', () => {
  const withWallet = async () => {
    const server = await serverIn('server');
    const line = await tunnel(server.url);
    const { code } = await server.machines.invite();
    const folder = await homeOf(line.url, code);
    return { ...server, folder, line, wallet: await walletAtHome(folder) };
  };

  it('signs while it is connected, is away when it is not, and asks the server for no passphrase', async () => {
    const { folder, machines, signer, woken } = await withWallet();
    expect(await signer.status()).toMatchObject({ state: 'locked', away: { name: 'Laptop', seenAt: null } });
    const order = payment('LTC', ['home']);
    await expect(signer.sign(order)).rejects.toThrow('The signing machine Laptop is not connected');
    const home = await signing(folder);
    await connected(machines);
    expect(woken()).toBe(1);
    expect(await codeOf(signer.sign(order))).toBe('signer.locked');
    await unlock(folder);
    const signed = await signer.sign(order);
    expect(signed.raw).not.toBe('');
    expect(await codeOf(signer.sealKey())).toBe('signer.unsupported');
    expect(await signer.status()).toMatchObject({ state: 'unlocked', fingerprint: '73c5da0a' });
    await home.close();
    await away(machines);
    expect(await signer.status()).toMatchObject({
      fingerprint: '73c5da0a',
      away: { name: 'Laptop', seenAt: stage.clock },
    });
    await signing(folder);
    await connected(machines);
    await unlock(folder);
    expect(await signer.sign(order)).toEqual(signed);
  });

  it('gives the same bytes again when the connection ends at any byte of the answer', async () => {
    const { folder, line, machines, signer, wallet } = await withWallet();
    await signing(folder);
    await connected(machines);
    await unlock(folder);
    const order = payment('LTC', ['cut']);
    const first = await signer.sign(order);
    for (let bytes = 1; bytes <= 400; bytes += 57) {
      line.arm(bytes);
      const answer = await signer.sign(order).catch(() => null);
      line.arm(Number.POSITIVE_INFINITY);
      if (answer !== null) expect(answer).toEqual(first);
      const again = await until('the computer is back', () => signer.sign(order).catch(() => null));
      expect(again).toEqual(first);
    }
    expect(new Set(await journalOf(wallet))).toEqual(new Set([first.txid]));
  }, 60_000);

  it('is asked once for an order, so that a slow link costs its way there and back', async () => {
    const { folder, line, machines, signer } = await withWallet();
    await signing(folder);
    await connected(machines);
    await unlock(folder);
    await signer.sign(payment('LTC', ['first']));
    for (let order = 0; order < 20; order++) {
      const before = line.turns();
      await signer.sign(payment('LTC', [`order${order}`]));
      expect(line.turns() - before).toBe(2);
    }
  });

  it('answers its own server alone, and is let in no more once it is removed', async () => {
    const { folder, machines, url } = await withWallet();
    const call = serverClient(folder, 'test');
    await expect(call('status', {})).rejects.toThrow('of another version');
    const other = await serverIn('impostor');
    const kept = JSON.parse(await readFile(join(folder, 'server.json'), 'utf8'));
    await writeServer(folder, { ...kept, url: other.url });
    expect(await codeOf(call('status', {}))).toBe('signer.server');
    await writeServer(folder, { ...kept, url });
    await machines.remove('Laptop');
    expect(await codeOf(call('status', {}))).toBe('signer.not_found');
    const home = await signing(folder);
    expect(await codeOf(home.ended)).toBe('signer.not_found');
  });

  it('gets through, however many strangers there are, who get no further for it', async () => {
    const { folder, url } = await withWallet();
    const open = (headers: Record<string, string> = {}) =>
      once(new WebSocket(`${url.replace('http', 'ws')}/signing-machine`, { headers }), 'open').then(
        () => 'open',
        String,
      );
    const strangers = await Promise.all(Array.from({ length: 25 }, () => open()));
    expect(strangers.filter((one) => one === 'open')).toHaveLength(20);
    expect(strangers.at(-1)).toContain('429');
    expect(await open({ 'x-signing-machine': 'A'.repeat(87) })).toContain('429');
    const call = serverClient(folder, 'test');
    // the test's server only repeats the call
    for (let n = 0; n < 10; n++) await expect(call('status', {})).rejects.toThrow('of another version');
  });

  it('is let in no more if it is removed while it connects', async () => {
    let asked = 0;
    const server = await serverIn('server', {
      answers: async () => ({ status: 200, body: ++asked }),
      writeOnce: async () => {
        await server.machines.remove('Laptop');
        return true;
      },
    });
    const { code } = await server.machines.invite();
    const folder = await homeOf(server.url, code);
    await walletAtHome(folder);
    await expect(serverClient(folder, 'test')('status', {})).rejects.toThrow('ended before its answer');
    expect([asked, server.machines.machine()]).toEqual([0, null]);
  });

  it('brings the key of its backups once, though several connections bring it at the same time', async () => {
    const { dataDir, folder } = await withWallet();
    const call = serverClient(folder, 'test');
    const answers = await Promise.all(Array.from({ length: 8 }, () => call('status', {}).catch(String)));
    // the test's server only repeats the call
    for (const answer of answers) expect(answer).toContain('of another version');
    expect(await readdir(join(dataDir, 'vault'))).toEqual(['backup-key-73c5da0a.json']);
  });

  it('is told the end of a connection that the server cannot serve, and does not wait there', async () => {
    const { dataDir, folder, machines } = await withWallet();
    await writeFile(join(dataDir, 'vault'), 'no folder');
    await expect(serverClient(folder, 'test')('status', {})).rejects.toThrow('ended before its answer');
    const home = await signing(folder);
    await rm(join(dataDir, 'vault'));
    await connected(machines);
    await home.close();
  });
});
