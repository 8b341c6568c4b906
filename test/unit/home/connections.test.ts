/** The connections of a computer at home, as the server counts them: which one is alive, which one is gone, and which one may be there at all. */
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { serverClient } from '../../../daemon/home/call.ts';
import { dial, joinServer } from '../../../daemon/home/dial.ts';
import { readServer } from '../../../daemon/home/place.ts';
import type { MachinesOptions } from '../../../daemon/http/machines/machines.ts';
import { failFolderSync } from '../../support/folder-sync.ts';
import { until } from '../../support/until.ts';
import { away, connected, homeOf, serverIn, stage, stageEach } from './home-kit.ts';

stageEach();

const FINGERPRINT = '73c5da0a';
const ABOUT = { release: 'test', fingerprint: null, backupKey: null };
const BACKUP_KEY = { fingerprint: FINGERPRINT, public_key: Buffer.alloc(32).toString('base64') };
const WITH_KEY = { release: 'test', fingerprint: FINGERPRINT, backupKey: JSON.stringify(BACKUP_KEY) };
/** More than the sockets of a machine hold. */
const LARGE = Buffer.alloc(32 * 1_048_576, 0x20);
const PING_MS = 30_000;

/** A server that a computer has joined. `line`: another connection of it to sign over. */
async function joined(given: Partial<Pick<MachinesOptions, 'writeOnce'>> = {}) {
  const server = await serverIn('server', given);
  const { code } = await server.machines.invite();
  const folder = await homeOf(server.url, code);
  const place = await readServer(folder);
  const line = async (about: Parameters<typeof dial>[2] = ABOUT) => {
    const stream = await dial(place, 'signer', about);
    stage.undo.push(() => stream.destroy());
    return stream;
  };
  return { ...server, folder, line };
}

type Joined = Awaited<ReturnType<typeof joined>>;

/** The server asks for more than is read, as during a long signing. */
async function stuffed({ machines }: Joined, stream: Duplex): Promise<void> {
  await connected(machines);
  const { input } = machines.connect()!;
  input!.write(LARGE);
  await until('nothing more is read', async () => stream.readableLength > 0);
  for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate);
}

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe.skipIf(process.platform === 'win32')('a connection to sign over', () => {
  it('that goes before the server has asked for anything is seen to go', async () => {
    const { line, machines } = await joined();
    const stream = await line();
    await connected(machines);
    stream.destroy();
    await away(machines);
  });

  it('takes the place of none that came after the server has looked who is there', async () => {
    const first = Promise.withResolvers<boolean>();
    let waiting = 0;
    const { line, machines, woken } = await joined({
      writeOnce: () => (waiting++ ? Promise.resolve(true) : first.promise),
    });
    const slow = await line(WITH_KEY);
    await until('the server has looked', async () => waiting === 1);
    const quick = await line(WITH_KEY);
    await connected(machines);
    const ended = Promise.race([once(slow.resume(), 'close'), once(quick.resume(), 'close')]);
    first.resolve(true);
    await ended;
    expect([slow.destroyed, quick.destroyed, woken()]).toEqual([true, false, 1]);
  });

  it('is alive while the computer signs and reads nothing: one with a copy of its folder is turned away', async () => {
    const server = await joined();
    const busy = await server.line();
    await stuffed(server, busy);
    await expect(server.line()).rejects.toThrow('Another computer signs for this server already');
    expect([busy.destroyed, server.woken()]).toEqual([false, 1]);
  }, 60_000);

  it('is not given up at home because nothing is read there meanwhile', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const server = await joined();
    const busy = await server.line();
    await stuffed(server, busy);
    for (let ticks = 0; ticks < 4; ticks++) vi.advanceTimersByTime(PING_MS);
    expect(busy.destroyed).toBe(false);
    let heard = 0;
    busy.on('data', (data: Buffer) => {
      heard += data.length;
    });
    await until('all was heard', async () => heard === LARGE.length);
  }, 60_000);
});

describe.skipIf(process.platform === 'win32')('on a full disk of the server', () => {
  /** In the way of the file that is written aside. */
  const fill = async ({ dataDir }: Pick<Joined, 'dataDir'>) => {
    const blocked = join(dataDir, 'signing-machine.json.tmp');
    await mkdir(blocked);
    return () => rm(blocked, { recursive: true });
  };

  it('a computer is removed once that is stored, since a restart would let it in again', async () => {
    const server = await joined();
    const { machines } = server;
    const empty = await fill(server);
    await expect(machines.remove('Laptop')).rejects.toThrow('The disk does not take it');
    expect(machines.machine()?.name).toBe('Laptop');
    await empty();
    await machines.remove('Laptop');
    expect(machines.machine()).toBeNull();
  });

  it('a computer whose removal a power cut could undo is removed, and its connection ends', async () => {
    const { machines, line } = await joined();
    await line();
    await connected(machines);
    await failFolderSync(stage.root);
    await expect(machines.remove('Laptop')).rejects.toThrow('a power cut could undo it');
    expect(machines.machine()).toBeNull();
    await away(machines);
  });

  it('no computer becomes the one that signs, and the next one may', async () => {
    const server = await serverIn('server');
    const { code } = await server.machines.invite();
    const empty = await fill(server);
    await expect(joinServer(server.url, code, 'Laptop')).rejects.toThrow('ended the connection');
    expect(server.machines.machine()).toBeNull();
    await empty();
    await homeOf(server.url, (await server.machines.invite()).code);
    expect(server.machines.machine()?.name).toBe('Laptop');
  });

  it('the operator at home is served', async () => {
    const server = await joined();
    await fill(server);
    // the test's server only repeats the call
    await expect(serverClient(server.folder, 'test')('status', {})).rejects.toThrow('of another version');
  });
});
