/** A real nginx with TLS before what listens in a test, with the snippets as they are printed. */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { selfSigned } from '../nodes/certificate.ts';
import { spawnBound } from './bound-child.ts';
import { until } from './until.ts';

const PROGRAM = existsSync('/usr/bin/nginx') ? '/usr/bin/nginx' : '/usr/sbin/nginx';
/** With CI=true a missing program fails the tests. */
export const hasNginx = existsSync(PROGRAM) || process.env.CI === 'true';
export const nginxTitle = (what: string): string => (hasNginx ? what : `${what} (skipped: apt-get install nginx)`);
const PROXIES = join(import.meta.dirname, '..', '..', 'resources', 'proxies');

/** Where it listens, and the listeners behind it. */
type Ports = { at: number; api?: number; console?: number };

export class Nginx {
  readonly #folder: string;
  #child: ChildProcess | null = null;
  #log = '';

  /** Of its certificate for `localhost`, and its temporary files. */
  constructor(folder: string) {
    this.#folder = folder;
    const { cert, key } = selfSigned();
    writeFileSync(this.certificate, cert);
    writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 });
    mkdirSync(join(folder, 'temp'));
  }

  get certificate(): string {
    return join(this.#folder, 'cert.pem');
  }

  /** A snippet for this machine: another name, ports, certificate. */
  snippet(file: string, { at, api = 8480, console = 8481 }: Ports): string {
    return readFileSync(join(PROXIES, file), 'utf8')
      .replaceAll('127.0.0.1:8480', `127.0.0.1:${api}`)
      .replaceAll('127.0.0.1:8481', `127.0.0.1:${console}`)
      .replaceAll(/listen .*443 ssl;\n/g, '')
      .replace('server_name', `listen 127.0.0.1:${at} ssl;\n    server_name`)
      .replace(/server_name .*;/, 'server_name localhost;')
      .replace(/ssl_certificate .*;/, `ssl_certificate ${this.certificate};`)
      .replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${this.#folder}/key.pem;`);
  }

  /** `sites`: snippets, one of which listens at `port`. */
  async start(sites: string, port: number): Promise<void> {
    const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${this.#folder}/temp/${name};`,
    );
    const config = join(this.#folder, 'nginx.conf');
    writeFileSync(
      config,
      `daemon off; pid ${this.#folder}/pid; error_log stderr; worker_processes 1; events {}\nhttp { access_log off; ${temp.join(' ')}\n${sites}}\n`,
    );
    const check = ['-t', '-p', this.#folder, '-e', 'stderr', '-c', config];
    execFileSync(PROGRAM, check, { stdio: ['ignore', 'pipe', 'pipe'] });
    const child = spawnBound(PROGRAM, check.slice(1), { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    child.stderr?.on('data', (text: Buffer) => {
      this.#log += text;
    });
    await until('nginx answers', async () => {
      if (child.exitCode !== null) throw new Error(`nginx ended: ${this.#log}`);
      return answers(port);
    });
  }

  async stop(): Promise<void> {
    if (!this.#child?.pid || this.#child.exitCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }
}

function answers(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const probe = connect(port, '127.0.0.1', () => resolve(true));
  probe.once('error', () => resolve(false));
  return promise.finally(() => probe.destroy());
}
