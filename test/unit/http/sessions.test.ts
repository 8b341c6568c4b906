/** What is taken back on a full disk: whoever takes it back is told, since a restart would give it again. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { linkName, pageProof } from '../../../daemon/contract/console-channel.ts';
import { ConsoleSessions } from '../../../daemon/http/console/sessions.ts';

const PAGE = { origin: 'http://127.0.0.1:8481', page: 'a page', nonce: 'once' };
const DISK = 'The disk does not take it';

let folder: string;
let file: string;
let sessions: ConsoleSessions;
const afterRestart = () => new ConsoleSessions(file, Date.now).list();
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sessions-'));
  file = join(folder, 'console.json');
  sessions = new ConsoleSessions(file, Date.now);
  const { code } = await sessions.link();
  await sessions.signIn(
    { ...PAGE, link: await linkName(code), proof: await pageProof(code, PAGE) },
    'a browser',
    false,
  );
  // in the way of the file that is written aside
  await mkdir(`${file}.tmp`);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('ends a session at once, says that a restart would bring it back, and ends it for good once there is room', async () => {
  await expect(sessions.end(1)).rejects.toThrow(DISK);
  expect([sessions.list(), afterRestart().map(({ id }) => id)]).toEqual([[], [1]]);
  await rm(`${file}.tmp`, { recursive: true });
  await sessions.end(1);
  expect(afterRestart()).toEqual([]);
});

it('locks no session to a counter for as long as the service runs alone', async () => {
  await expect(sessions.lock(1, 7)).rejects.toThrow(DISK);
  expect(sessions.list()).toMatchObject([{ scope: 'all', business: null }]);
  await rm(`${file}.tmp`, { recursive: true });
  await sessions.lock(1, 7);
  expect(afterRestart()).toMatchObject([{ scope: 'counter', business: 7 }]);
});

it('uses and makes sessions all the same', async () => {
  expect(sessions.use(1)?.id).toBe(1);
  const { code } = await sessions.link();
  const said = { ...PAGE, page: 'another', link: await linkName(code), proof: '' };
  const made = await sessions.signIn(
    { ...said, proof: await pageProof(code, { ...PAGE, page: said.page }) },
    'a browser',
    false,
  );
  expect([made !== null, sessions.list().length]).toEqual([true, 2]);
});

it('ends a session that began while the clock was ahead, a month after it was last used', async () => {
  const day = 86_400_000;
  let now = Date.now() + 3_650 * day;
  const clocked = new ConsoleSessions(join(folder, 'clocked.json'), () => now);
  const { code } = await clocked.link();
  await clocked.signIn({ ...PAGE, link: await linkName(code), proof: await pageProof(code, PAGE) }, 'a browser', false);
  now -= 3_650 * day;
  expect(clocked.use(1)?.id).toBe(1);
  now += 31 * day;
  expect(clocked.use(1)).toBe(null);
});

it('keeps every session over a start whose clock is not set yet', async () => {
  let now = Date.now();
  const path = join(folder, 'unset.json');
  const before = new ConsoleSessions(path, () => now);
  const { code } = await before.link();
  await before.signIn({ ...PAGE, link: await linkName(code), proof: await pageProof(code, PAGE) }, 'a browser', false);
  const right = now;
  now = 0;
  const started = new ConsoleSessions(path, () => now);
  expect([started.hasTills(), started.list()]).toMatchObject([false, [{ id: 1 }]]);
  now = right;
  expect([started.list(), new ConsoleSessions(path, () => now).list()]).toMatchObject([[{ id: 1 }], [{ id: 1 }]]);
});

it('lets nobody in by a link that was made while the clock was ahead', async () => {
  const hour = 3_600_000;
  let now = Date.now() + hour;
  const ahead = new ConsoleSessions(join(folder, 'ahead-link.json'), () => now);
  const { code } = await ahead.link();
  const till = await ahead.link(1);
  now -= hour;
  expect(ahead.hasTills()).toBe(false);
  for (const made of [code, till.code]) {
    const said = { ...PAGE, link: await linkName(made), proof: await pageProof(made, PAGE) };
    expect(await ahead.signIn(said, 'a browser', made !== code)).toBe(null);
  }
});
