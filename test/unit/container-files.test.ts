/** What the image and compose.yaml say, against what the service takes. `e2e/container.test.ts` builds and runs the image. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadConfig } from '../../daemon/config/config.ts';

const ROOT = join(import.meta.dirname, '../..');
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const IMAGE = textOf('Containerfile');
const COMPOSE = textOf('compose.yaml');
const SIGNER = textOf('compose.signer.yaml');

/** The service's variables: as the image sets them, then as compose.yaml does. */
function variables(): Record<string, string> {
  const names = { PAY_NAME: 'pay.shop.com', CONSOLE_NAME: 'console.shop.com' };
  const inImage = [...IMAGE.matchAll(/\b(COUNTINGHOUSE_\w+)=(\S+)/g)];
  const inCompose = [...COMPOSE.matchAll(/^ +(COUNTINGHOUSE_\w+): (.+)$/gm)];
  const value = (text: string): string =>
    text.replace(/^"(.*)"$/, '$1').replace(/\$\{(\w+)[^}]*\}/g, (_, name: keyof typeof names) => names[name]);
  return Object.fromEntries([...inImage, ...inCompose].map(([, name, text]) => [name!, value(text!)]));
}

it('compose.yaml configures a service for payers and a console behind Caddy', () => {
  const { COUNTINGHOUSE_DATA_DIR: dataDir, ...env } = variables();
  expect(dataDir).toBe('/data');
  const config = loadConfig({ dataDir: join(ROOT, 'no-such-folder'), env, flags: {} });
  expect(config).toMatchObject({
    host: '0.0.0.0',
    port: 8480,
    publicUrl: 'https://pay.shop.com',
    console: {
      host: '0.0.0.0',
      port: 8481,
      publicUrl: 'https://console.shop.com',
      elsewhere: true,
      approvals: false,
      firstLink: true,
    },
  });
  const [caddy] = config.trustedProxies;
  const own = [...COMPOSE.matchAll(/ipv4_address: (\S+)/g)].map(([, address]) => address);
  expect(own).toEqual(['172.30.84.2', caddy]);
});

it("Caddy's file passes on to the ports that the image names", () => {
  const passed = [...textOf('resources/proxies/Caddyfile-container').matchAll(/countinghouse:(\d+)/g)];
  expect(passed.map(([, port]) => port)).toEqual(/^EXPOSE (\d+) (\d+)$/m.exec(IMAGE)?.slice(1));
  expect(COMPOSE).toContain('./resources/proxies/Caddyfile-container:/etc/caddy/Caddyfile:ro');
  expect(existsSync(join(ROOT, 'resources/proxies/Caddyfile-container'))).toBe(true);
});

it('the image runs as a user that is not root, and compose.yaml with nothing to write but the volume', () => {
  expect(/^USER (\d+):(\d+)$/m.exec(IMAGE)?.slice(1).map(Number)).toEqual([8480, 8480]);
  for (const line of ['read_only: true', 'cap_drop: [ALL]', 'security_opt: ["no-new-privileges:true"]']) {
    expect(COMPOSE).toContain(line);
  }
});

it('every library with a build for 64-bit x86 under Linux has one for ARM', () => {
  const { packages } = JSON.parse(textOf('package-lock.json')) as { packages: Record<string, { dev?: boolean }> };
  const installed = Object.keys(packages).filter((path) => !packages[path]?.dev);
  const builds = (processor: string): string[] =>
    installed
      .filter((path) => path.includes('linux') && path.includes(processor))
      .map((path) => path.replace(processor, ''));
  expect(builds('x64').length).toBeGreaterThan(0);
  expect(builds('arm64')).toEqual(expect.arrayContaining(builds('x64')));
  const compiled = join(ROOT, 'node_modules/better-sqlite3/prebuilds');
  expect(['linux-x64.node', 'linux-arm64.node'].filter((name) => !existsSync(join(compiled, name)))).toEqual([]);
});

it('the image is built from named files alone, without settings, data or backups that lie beside them', () => {
  const lines = textOf('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(lines[0]).toBe('*');
  const taken = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  expect(taken.filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
  expect(taken).toEqual(
    expect.arrayContaining(['daemon', 'main', 'renderer', 'resources', 'package-lock.json', '.npmrc']),
  );
  expect(taken.filter((name) => /^\.env|\.toml$|^data|backup|^\.git$|^test/.test(name))).toEqual([]);
  expect(lines).toEqual(expect.arrayContaining(['**/.env*', '**/*.toml', '**/node_modules']));
});

it('compose.yaml gives the service an init: the first process of a container cannot end itself by a signal', () => {
  expect(COMPOSE).toMatch(/^ {2}countinghouse:\n(?: {4}.*\n)*? {4}init: true\n/m);
});

it('compose.yaml publishes ports by IPv4 alone, whose visitors keep their own addresses', () => {
  const [, ports] = /^ +ports: (\[.*\])$/m.exec(COMPOSE)!;
  expect(JSON.parse(ports!)).toEqual(['0.0.0.0:80:80', '0.0.0.0:443:443', '0.0.0.0:443:443/udp']);
});

/** What compose.signer.yaml says of one service. */
function signerService(name: string): string {
  const found = new RegExp(`^  ${name}:\\n((?: {4}.*\\n|\\n)+)`, 'm').exec(SIGNER);
  if (!found?.[1]) throw new Error(`compose.signer.yaml has no ${name}`);
  return found[1];
}

it('compose.signer.yaml gives the wallet to a container of another user without a network, and to the operator', () => {
  const socket = '/run/countinghouse-signer/signer.sock';
  const signer = signerService('signer');
  expect(signer).toContain(`command: [signer, --folder, /signer, --socket, ${socket}]`);
  expect(signer).toContain('volumes: ["signer:/signer", "signer-socket:/run/countinghouse-signer"]');
  for (const line of [
    'user: "8482:8480"',
    'network_mode: none',
    'read_only: true',
    'cap_drop: [ALL]',
    'ulimits: { core: 0 }',
  ]) {
    expect(signer).toContain(line);
  }
  const service = signerService('countinghouse');
  expect(service).toContain(`COUNTINGHOUSE_WALLET_SIGNER: ${socket}`);
  expect(service).not.toContain('/signer"');
  const operator = signerService('operator');
  expect(operator).toContain(`COUNTINGHOUSE_SIGNER_SOCKET: ${socket}`);
  for (const line of ['user: "0:0"', 'network_mode: none', 'profiles: [operator]']) expect(operator).toContain(line);
  // a new volume has the owner of the image's folder
  expect(IMAGE).toMatch(/--mode 700 --owner 8482 --group 8480 \/signer/);
  expect(IMAGE).toMatch(/--mode 750 --owner 8482 --group 8480 \/run\/countinghouse-signer/);
});
