/**
 * A built server and a built signing machine on loopback, as processes of their own: the memory of the machine's two processes, and the
 * bytes that an hour of idling carries: signs of life, measured over some minutes and extended to an hour, and the looks at the addresses,
 * of which each hour has six.
 *
 * Bytes are those inside TCP. PSS counts pages that both processes share once; RSS counts them in each.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

const { dist, minutes: MINUTES } = JSON.parse(process.argv[2] ?? '{}');
const LOOKS_AN_HOUR = 6;
const cli = join(dist, 'daemon/cli.js');
const root = mkdtempSync(join(tmpdir(), 'bench-home-'));
const [data, home] = [join(root, 'server'), join(root, 'home')];
const children = [];

const run = async (folder, ...args) => {
  const done = await promisify(execFile)(process.execPath, [cli, '--data-dir', folder, '--json', '--yes', ...args]);
  return JSON.parse(done.stdout);
};
const begin = (args, flags = []) => {
  const child = spawn(process.execPath, [...flags, cli, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  children.push(child);
  return child;
};
const until = async (what, look) => {
  for (let i = 0; i < 150; i++, await pause(100)) {
    try {
      const found = await look();
      if (found) return found;
    } catch {
      // not yet
    }
  }
  throw new Error(`${what}: not in time`);
};
const freePort = () =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });

/** Counts what passes in both directions. */
async function counter(to) {
  const seen = { bytes: 0, connections: 0 };
  const server = createServer((near) => {
    seen.connections += 1;
    const far = connect(to, '127.0.0.1');
    for (const [from, into] of [
      [near, far],
      [far, near],
    ]) {
      from.on('error', () => into.destroy());
      from.on('close', () => into.destroy());
      from.on('data', (part) => {
        seen.bytes += part.length;
        // the server answers to its own name alone
        const text = part.toString('latin1');
        into.write(text.includes('Host: ') ? text.replace(/^Host: .*$/m, `Host: 127.0.0.1:${to}`) : part, 'latin1');
      });
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { seen, port: server.address().port, close: () => server.close() };
}

const mb = (pid, field) => {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)[1]) / 1_000;
};
const childrenOf = (pid) => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);

try {
  const port = await freePort();
  const line = await counter(port);
  for (const folder of [data, home]) mkdirSync(folder);
  writeFileSync(join(home, 'passphrase'), 'a passphrase of the benchmark');
  writeFileSync(
    join(data, 'countinghouse.toml'),
    `port = 0\n[console]\nport = ${port}\n[rates]\nsources = []\n[electrum]\npublic_servers = "never"\n[evm]\npublic_endpoints = "never"\n`,
  );
  begin(['--data-dir', data, 'start']);
  const { code } = await until('the server answers', () => run(data, 'signer', 'invite', '--no-wait'));
  await run(home, 'signer', 'join', `http://127.0.0.1:${line.port}`, code, '--as', 'shop', '--name', 'Home');
  const file = ['--passphrase-file', join(home, 'passphrase')];
  await run(
    home,
    '--server',
    'shop',
    'business',
    'add',
    '--name',
    'Shop',
    '--network',
    'regtest',
    '--i-have-the-words',
    ...file,
  );
  // as the unit of `service install --signer-only` starts it
  const args = ['--data-dir', home, '--server', 'shop', 'signer', 'run', '--auto-lock-minutes', '0', ...file];
  const machine = begin(args, ['--max-semi-space-size=1']);
  await until('the wallet is open', async () => (await run(data, 'wallet', 'status')).wallet.state === 'unlocked');
  await pause(15_000);
  const before = { ...line.seen };
  await pause(MINUTES * 60_000);
  const idle = line.seen.bytes - before.bytes;
  const looks = line.seen.connections - before.connections;
  const atLook = line.seen.bytes;
  await run(home, '--server', 'shop', 'signer', 'audit');
  // asks for the businesses beside, over a connection of its own
  const look = line.seen.bytes - atLook;
  const pids = [machine.pid, ...childrenOf(machine.pid)];
  const sum = (field) => pids.reduce((all, pid) => all + mb(pid, field), 0);
  const signs = Math.max(0, idle - looks * look) * (60 / MINUTES);
  process.stdout.write(
    JSON.stringify({
      pssMb: sum('Pss'),
      rssMb: sum('Rss'),
      lookBytes: look,
      idleKb: (signs + LOOKS_AN_HOUR * look) / 1_000,
    }),
  );
  line.close();
} finally {
  for (const child of children) child.kill('SIGTERM');
  await pause(1_000);
  rmSync(root, { recursive: true, force: true });
}
