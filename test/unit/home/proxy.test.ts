/** A computer at home that reaches its server through a SOCKS5 proxy, which alone may resolve the name. */
import dns from 'node:dns';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer as createTcp, isIP, type Server } from 'node:net';
import { createServer as createTls, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { serverClient, withServer } from '../../../daemon/home/call.ts';
import { joinServer } from '../../../daemon/home/dial.ts';
import { openPage } from '../../../daemon/home/open-page.ts';
import { addressOf, needProxy, proxyOf, readServer, writeServer } from '../../../daemon/home/place.ts';
import { tunnelTo } from '../../../daemon/kit/socks.ts';
import { selfSigned } from '../../nodes/certificate.ts';
import { SocksProxy } from '../../nodes/socks-proxy.ts';
import { cli } from '../cli-kit.ts';
import { codeOf, payment } from '../wallet/signer-kit.ts';
import { connected, homeOf, serverIn, signing, stage, stageEach, unlock, walletAtHome } from './home-kit.ts';

stageEach();

const ONION = `${'a'.repeat(55)}d.onion`;
const NAME = 'pay.shop.example';

const portOf = (server: Pick<Server, 'address'>): number => (server.address() as AddressInfo).port;

/** A proxy that leads to a port of this machine, whatever it is asked for. */
async function proxyTo(port: number): Promise<SocksProxy> {
  const proxy = await SocksProxy.to(port);
  stage.undo.push(() => proxy.close());
  return proxy;
}

/** Begins to listen, and ends with the test. */
async function listening<T extends Server>(server: T): Promise<T> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stage.undo.push(() => server.close());
  return server;
}

/** A server, and the proxy that leads to it. */
async function behindProxy() {
  const answers = async (method: string) => ({ status: 200, body: { machines: [], method } });
  const server = await serverIn('server', { answers });
  const { code } = await server.machines.invite();
  const proxy = await proxyTo(Number(new URL(server.url).port));
  return { ...server, proxy, code };
}

const resolved: string[] = [];
beforeEach(() => {
  resolved.length = 0;
  const lookup = dns.lookup;
  const noted = (host: string, ...rest: unknown[]) => {
    if (isIP(host) === 0) resolved.push(host);
    return (lookup as (...all: unknown[]) => unknown)(host, ...rest);
  };
  vi.spyOn(dns, 'lookup').mockImplementation(noted as never);
});
afterEach(() => void vi.restoreAllMocks());

describe.skipIf(process.platform === 'win32')('a server behind a proxy', () => {
  it('is joined, called and signed for through it, and no name is resolved here', async () => {
    const { proxy, code, machines, signer } = await behindProxy();
    const folder = await homeOf(`http://${ONION}`, code, undefined, undefined, proxy.url);
    expect(await readServer(folder)).toMatchObject({ url: `http://${ONION}`, proxy: proxy.url });
    const call = serverClient(folder, 'test');
    expect(await call('signer.machines', {})).toMatchObject({ machines: [] });
    await walletAtHome(folder);
    await signing(folder);
    await connected(machines);
    await unlock(folder);
    expect((await signer.sign(payment('LTC', ['proxy']))).raw).not.toBe('');
    expect(new Set(proxy.asked)).toEqual(new Set([`${ONION}:80`]));
    expect(proxy.asked.length).toBeGreaterThanOrEqual(3);
    expect(resolved).toEqual([]);
  });

  it('is joined by a command that names the proxy, which stays until another is named', async () => {
    const { proxy, code, machines } = await behindProxy();
    const join = async (invited: string, ...more: string[]) =>
      cli(stage.root, ['--yes', '--json', 'signer', 'join', ONION, invited, '--name', 'Laptop', ...more]);
    const refused = await join(code);
    expect([refused.code, refused.out + refused.err]).toEqual([1, expect.stringContaining('join with its proxy')]);
    const way = proxy.url.replace('socks5', 'socks5h');
    const joined = await join(code, '--proxy', way.replace(/^.*:\/\//, ''));
    expect(JSON.parse(joined.out)).toMatchObject({ server: ONION, url: `http://${ONION}`, proxy: way });
    const servers = await cli(stage.root, ['signer', 'servers']);
    expect(servers.out).toContain(`http://${ONION} through ${way}`);
    await machines.remove('Laptop');
    const again = await join((await machines.invite()).code);
    expect(JSON.parse(again.out)).toMatchObject({ proxy: way });
    const change = (through: string) => cli(stage.root, ['--json', '--server', ONION, 'signer', 'proxy', through]);
    expect(JSON.parse((await change('localhost:9150')).out)).toEqual({
      server: ONION,
      proxy: 'socks5h://localhost:9150',
    });
    expect((await cli(stage.root, ['signer', 'servers'])).out).toContain('through socks5h://localhost:9150');
    for (const wrong of ['none', 'http://127.0.0.1:1']) expect((await change(wrong)).code).toBe(1);
    const straight = await join(code, '--proxy', 'none');
    expect(straight.out + straight.err).toContain('join with its proxy');
  });

  it('with https shows the certificate of its name, and is not joined with another one', async () => {
    const { url, code } = await behindProxy();
    const { key, cert } = selfSigned({ host: NAME });
    const before = getCACertificates('default');
    stage.undo.push(() => setDefaultCACertificates(before));
    const front = await listening(
      createTls({ key, cert }, (near) => {
        const far = connect(Number(new URL(url).port), '127.0.0.1');
        for (const side of [near, far]) side.on('error', () => {});
        near.pipe(far).pipe(near);
      }),
    );
    const { url: proxy, asked } = await proxyTo(portOf(front));
    await expect(joinServer(`https://${NAME}`, code, 'Laptop', proxy)).rejects.toThrow('SELF_SIGNED_CERT');
    setDefaultCACertificates([...before, cert]);
    await expect(joinServer('https://other.example', code, 'Laptop', proxy)).rejects.toThrow('ALTNAME_INVALID');
    expect(await joinServer(`https://${NAME}`, code, 'Laptop', proxy)).toMatchObject({ url: `https://${NAME}`, proxy });
    expect(asked).toEqual([`${NAME}:443`, 'other.example:443', `${NAME}:443`]);
    expect(resolved).toEqual([]);
  });

  it('is away when nothing listens at the proxy, and when that reaches nothing', async () => {
    const { code } = await behindProxy();
    const gone = await listening(createTcp());
    const port = portOf(gone);
    gone.close();
    const proxy = `socks5h://127.0.0.1:${port}`;
    const joined = (url: string) => joinServer(`http://${ONION}`, code, 'Laptop', url);
    await expect(joined(proxy)).rejects.toThrow(`nothing listens at the proxy ${proxy}`);
    const { url } = await proxyTo(port);
    await expect(joined(url)).rejects.toThrow(`the proxy ${url} could not connect to it`);
  });

  it('is given up after its time when the proxy says nothing', async () => {
    const ended = Promise.withResolvers<void>();
    const silent = await listening(createTcp((socket) => socket.once('close', () => ended.resolve()).resume()));
    const proxy = `socks5://127.0.0.1:${portOf(silent)}`;
    const limit = new AbortController().signal;
    await expect(tunnelTo(new URL(`http://${ONION}`), proxy, 50, limit)).rejects.toThrow('timed out');
    await ended.promise;
  });

  it('that takes the connection and never answers, ends with the attempt', async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const silent = await listening(
      createTcp((socket) => {
        socket.once('data', () => asked.resolve());
        socket.once('close', () => end()).resume();
      }),
    );
    const server = await serverIn('server');
    const { code } = await server.machines.invite();
    const folder = await homeOf(server.url, code);
    const proxy = await proxyTo(portOf(silent));
    await writeServer(folder, { ...(await readServer(folder)), url: `http://${ONION}`, proxy: proxy.url });
    const attempt = new AbortController();
    const call = withServer(folder, 'test', async () => null, attempt.signal);
    await asked.promise;
    attempt.abort();
    await expect(call).rejects.toThrow('it did not answer in time');
    await ended;
  });
});

describe('an onion service without a proxy', () => {
  it('is neither joined nor called nor asked for, and what to do is said', async () => {
    const server = await serverIn('server');
    const { code } = await server.machines.invite();
    const folder = await homeOf(server.url, code);
    expect(addressOf(ONION)).toEqual({ url: `http://${ONION}`, name: ONION });
    await expect(joinServer(`http://${ONION}`, code, 'Laptop')).rejects.toThrow('--proxy socks5h://127.0.0.1:9050');
    await writeServer(folder, { ...(await readServer(folder)), url: `http://${ONION}:8481` });
    expect(await codeOf(withServer(folder, 'test', async () => null))).toBe('signer.proxy');
    expect(() => needProxy({ url: addressOf(`${ONION}.`).url })).toThrow('--proxy socks5h://127.0.0.1:9050');
    // none of these is a proxy of a page by http
    for (const env of [{}, { NO_PROXY: 'localhost' }, { HTTPS_PROXY: 'http://127.0.0.1:1' }]) {
      for (const local of [false, true]) {
        for (const host of [ONION, `${ONION}.`]) {
          const page = openPage(`http://${host}/pay/x`, { local, env, signal: new AbortController().signal });
          await expect(page).rejects.toThrow('an onion service is reached through a proxy alone');
        }
      }
    }
    expect(resolved).toEqual([]);
  });
});

describe('a proxy', () => {
  it.each([
    ['socks5h://127.0.0.1:9050', 'socks5h://127.0.0.1:9050'],
    ['socks5://[::1]:9050', 'socks5://[::1]:9050'],
    ['localhost:9150', 'socks5h://localhost:9150'],
    ['http://127.0.0.1:8118', null],
    ['socks4://127.0.0.1:9050', null],
    ['socks5h://user:secret@127.0.0.1:9050', null],
    ['socks5h://127.0.0.1', null],
    ['127.0.0.1', null],
    ['', null],
  ])('is typed as %s', async (typed, proxy) => {
    if (proxy !== null) expect(proxyOf(typed)).toBe(proxy);
    else expect(await codeOf((async () => proxyOf(typed))())).toBe('signer.proxy');
  });

  it('opens the payment pages, too', async () => {
    const asked: IncomingMessage[] = [];
    const pages = await listening(
      createServer((request, response) => {
        asked.push(request);
        response.end('<p>Paid</p>');
      }),
    );
    const proxy = await proxyTo(portOf(pages));
    const network = { local: false, proxy: proxy.url, env: {}, signal: new AbortController().signal };
    expect(await openPage(`http://${ONION}/pay/slug1`, network)).toBe('<p>Paid</p>');
    expect(proxy.asked).toEqual([`${ONION}:80`]);
    expect([asked[0]?.url, asked[0]?.headers.host]).toEqual(['/pay/slug1', ONION]);
    await expect(openPage('http://127.0.0.1/pay/slug1', network)).rejects.toThrow('the address is on this network');
    expect(resolved).toEqual([]);
  });
});
