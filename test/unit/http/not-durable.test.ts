/** The folder of a file cannot be synced after its rename: memory has what the file has, as after a restart. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { linkName, pageProof } from '../../../daemon/contract/console-channel.ts';
import { joinOrigin, serverMark } from '../../../daemon/contract/signing-machine.ts';
import { ConsoleSessions } from '../../../daemon/http/console/sessions.ts';
import { Roll } from '../../../daemon/http/machines/roll.ts';
import { failFolderSync } from '../../support/folder-sync.ts';

const TOLD = 'It is stored, but a power cut could undo it (EIO)';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'durable-'));
  file = join(folder, 'kept.json');
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

const machineAfterRestart = () => new Roll(file, Date.now).machine;

async function joined(roll: Roll, code: string): Promise<{ service: string }> {
  const { said: service } = await roll.key();
  const [name, machine, nonce] = ['Laptop', 'a machine', 'once'];
  const proof = await pageProof(code, { origin: joinOrigin(name), page: machine, nonce });
  return roll.join({
    do: 'join',
    mark: await serverMark(service),
    link: await linkName(code),
    machine,
    nonce,
    proof,
    name,
  });
}

it('a computer that joins is told so, and known', async () => {
  const roll = new Roll(file, Date.now);
  const { code } = await roll.invite();
  await failFolderSync(folder);
  const { service } = await joined(roll, code);
  expect(service).toBe((await roll.key()).said);
  expect([roll.machine?.name, machineAfterRestart()?.name]).toEqual(['Laptop', 'Laptop']);
});

it('a computer that is removed is not known any more, and who removed it is told of the disk', async () => {
  const roll = new Roll(file, Date.now);
  await joined(roll, (await roll.invite()).code);
  await failFolderSync(folder);
  await expect(roll.remove('Laptop')).rejects.toMatchObject({ name: 'Unavailable', message: TOLD });
  expect([roll.machine, machineAfterRestart()]).toEqual([null, null]);
});

it('a session that is locked to a counter stays so, and who locked it is told of the disk', async () => {
  const sessions = new ConsoleSessions(file, Date.now);
  const { code } = await sessions.link();
  const page = { origin: 'http://127.0.0.1:8481', page: 'a page', nonce: 'once' };
  const said = { ...page, link: await linkName(code), proof: await pageProof(code, page) };
  await sessions.signIn(said, 'a browser', false);
  await failFolderSync(folder);
  await expect(sessions.lock(1, 7)).rejects.toThrow(TOLD);
  const locked = [{ scope: 'counter', business: 7 }];
  expect(sessions.list()).toMatchObject(locked);
  expect(new ConsoleSessions(file, Date.now).list()).toMatchObject(locked);
});
