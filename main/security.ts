/**
 * Electron's security checklist (https://www.electronjs.org/docs/latest/tutorial/security) as code: what a page may do,
 * where it may go, and what leaves for the system's browser.
 */
import type { BrowserWindowConstructorOptions, Session, WebContents } from 'electron';
import { pageOf as pathOf, serverIn } from '../renderer/place.ts';
import { ORIGIN } from './limits.ts';

/** The policy of the console's pages. No inline code, no remote content, no connections: everything passes the bridge. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'none'",
  "media-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join('; ');

/** WebRTC is subject neither to the page's policy nor to the filter of requests. It may use proxies alone, of which there is none. */
export const WEBRTC_POLICY = 'disable_non_proxied_udp';

/** A proxy at a port that only root could listen at, also for addresses of loopback: what passes every other fence ends here. */
export const NO_NETWORK = {
  mode: 'fixed_servers',
  proxyRules: 'http://127.0.0.1:1',
  proxyBypassRules: '<-loopback>',
} as const;

export const webPreferences = (preload: string): BrowserWindowConstructorOptions['webPreferences'] => ({
  preload,
  contextIsolation: true,
  sandbox: true,
  nodeIntegration: false,
  nodeIntegrationInWorker: false,
  nodeIntegrationInSubFrames: false,
  webSecurity: true,
  allowRunningInsecureContent: false,
  experimentalFeatures: false,
  webviewTag: false,
  navigateOnDragDrop: false,
  // words and passphrases are given to no dictionary
  spellcheck: false,
  disableDialogs: true,
});

/** Whether an address is one of the console's own pages. */
export function isOwnPage(address: string): boolean {
  try {
    const { protocol, host, username, password } = new URL(address);
    return `${protocol}//${host}` === ORIGIN && username === '' && password === '';
  } catch {
    return false;
  }
}

/** The server that one of the console's pages is about; null: this computer. */
export const serverOf = (address: string): string | null => serverIn(new URL(address).search);

/** The address of a screen. `place`: its name and parts. */
export const pageOf = (place: string, server: string | null): string => `${ORIGIN}/${pathOf(server, place)}`;

/** Whether an address is that of a text which one of these pages made. */
const isOwnText = (address: string): boolean => address.startsWith(`blob:${ORIGIN}/`);

const HOST = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$/;
const ADDRESS_CHARS_MAX = 2_000;

/** An https address on the web that may be opened in the system's browser; null for anything else. */
export function webAddress(address: string): string | null {
  if (address.length > ADDRESS_CHARS_MAX) return null;
  try {
    const { protocol, hostname, port, username, password, href } = new URL(address);
    const isPlain = protocol === 'https:' && port === '' && username === '' && password === '';
    return isPlain && HOST.test(hostname) ? href : null;
  } catch {
    return null;
  }
}

/**
 * Denies navigation, new windows and embedded contents of a page. `open`: is called with a checked https address for the
 * system's browser.
 */
export function fenceContents(contents: WebContents, open: (address: string) => void): void {
  const stop = (event: { preventDefault(): void }, address: string): void => {
    if (!isOwnPage(address)) event.preventDefault();
  };
  contents.setWebRTCIPHandlingPolicy(WEBRTC_POLICY);
  contents.on('will-navigate', (event) => stop(event, event.url));
  contents.on('will-frame-navigate', (event) => stop(event, event.url));
  contents.on('will-redirect', (event) => stop(event, event.url));
  contents.on('will-attach-webview', (event) => event.preventDefault());
  contents.setWindowOpenHandler(({ url }) => {
    const address = webAddress(url);
    if (address !== null) open(address);
    return { action: 'deny' };
  });
}

/** Lets the console's own pages write to the clipboard and use the camera. Denies everything else, and every way to a network. */
export async function fenceSession(session: Session): Promise<void> {
  session.setPermissionRequestHandler((contents, permission, decide, details) => {
    const media = 'mediaTypes' in details ? (details.mediaTypes ?? []) : [];
    const isCamera = permission === 'media' && media.length === 1 && media[0] === 'video';
    decide((isCamera || permission === 'clipboard-sanitized-write') && isOwnPage(contents.getURL()));
  });
  session.setPermissionCheckHandler((_contents, permission, origin, details) => {
    const isCamera = permission === 'media' && details.mediaType === 'video';
    return (isCamera || permission === 'clipboard-sanitized-write') && isOwnPage(origin);
  });
  session.setDevicePermissionHandler(() => false);
  // nothing is fetched from anywhere, not even by a page that was tampered with
  session.webRequest.onBeforeRequest(({ url }, answer) => {
    answer({ cancel: !isOwnPage(url) && !isOwnText(url) && !/^(?:data|devtools):/.test(url) });
  });
  // an export, for which the system asks the user for a place
  session.on('will-download', (event, item) => {
    if (!isOwnText(item.getURL())) event.preventDefault();
  });
  await session.setProxy(NO_NETWORK);
}
