/**
 * The servers that this computer signs for: a folder each, with the connection and the wallet.
 *
 * Invariant: the private key by which a server knows this computer is in a file that its owner alone can read. It lets ask and answer, and
 * spends nothing: that needs the wallet's passphrase.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { Rejected } from '../domain/errors.ts';
import { isOnionHost, isSocksProxy } from '../kit/endpoint.ts';
import { exists, replaceFile } from '../wallet/files.ts';

const FOLDER = 'servers';
const FILE = 'server.json';
const WALLET_FOLDER = 'vault';
const KEYCHAIN_FILE = 'keychain';
/** Of `--proxy`: none. */
export const STRAIGHT = 'none';
const NAME = /^[a-z0-9][a-z0-9.-]{0,99}$/;

const Jwk = z.object({ kty: z.string(), crv: z.string(), x: z.string(), y: z.string(), d: z.string() });

const Stored = z.object({
  /** Where the server's console listens: http or https. */
  url: z.string(),
  /** The server's public key. */
  service: z.string(),
  /** This computer's name in the server's list, and its key pair. */
  name: z.string(),
  machine: Jwk,
  /** The SOCKS5 proxy to it, which resolves its name; absent: it is reached straight. */
  proxy: z.string().refine(isSocksProxy).optional(),
  /** When it was joined first, ISO 8601; absent for those of earlier releases. */
  joined: z.string().optional(),
});
export type Server = z.infer<typeof Stored>;

/** The folder of a server by its name. Throws `Rejected('signer.server')` for a text that is no name. */
export function serverFolder(dataDir: string, name: string): string {
  if (!NAME.test(name)) {
    throw new Rejected('signer.server', `${name} is no name of a server: \`countinghouse signer servers\` lists them`);
  }
  return join(dataDir, FOLDER, name);
}

export const walletFolderIn = (folder: string): string => join(folder, WALLET_FOLDER);

/** Has the fingerprint of the wallet whose passphrase is in the keychain. */
export const keychainFileIn = (folder: string): string => join(folder, KEYCHAIN_FILE);

/** The same while the question of the keychain is open, or nobody answered it: the entry may be there. */
export const begunFileIn = (folder: string): string => `${keychainFileIn(folder)}-begun`;

/** Whether the keychain opens the wallet in the folder of a server. */
export const isRemembered = (folder: string): boolean => existsSync(keychainFileIn(folder));

/** Whether the keychain may have the passphrase of the wallet in the folder of a server. */
export const mayBeRemembered = (folder: string): boolean => isRemembered(folder) || existsSync(begunFileIn(folder));

/** The names of the servers that this computer has joined, in alphabetical order. */
export async function serverNames(dataDir: string): Promise<string[]> {
  const names = (await readdir(join(dataDir, FOLDER)).catch(() => [])).filter((name) => NAME.test(name));
  const joined = await Promise.all(names.map((name) => exists(join(dataDir, FOLDER, name, FILE))));
  return names.filter((_, at) => joined[at]).sort();
}

/** Throws `Rejected('signer.server')` for a server that this computer does not know, or a damaged file. */
export async function readServer(folder: string): Promise<Server> {
  const text = await readFile(join(folder, FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
    const name = basename(folder);
    const what = `This computer has joined no server called ${name}: \`countinghouse signer servers\` lists those that it has joined`;
    throw new Rejected('signer.server', what);
  });
  try {
    return Stored.parse(JSON.parse(text));
  } catch {
    throw new Rejected('signer.server', `${join(folder, FILE)} is damaged: join the server anew`);
  }
}

/** Keeps a server. The wallet in its folder, if there is one, stays; one that is joined anew is no newer for it. */
export async function writeServer(folder: string, server: Server): Promise<void> {
  const former = await readServer(folder).catch(() => null);
  const { joined, ...known } = former?.service === server.service ? { ...server, joined: former.joined } : server;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const kept = joined === undefined ? known : { ...known, joined };
  await replaceFile(join(folder, FILE), `${JSON.stringify(kept, null, 2)}\n`);
}

/** Forgets how a server is reached. The wallet in its folder stays: its words may be the only ones there are. */
export const forgetServer = (folder: string): Promise<void> => rm(join(folder, FILE), { force: true });

/** Whether it is a tunnel on this computer or an onion service, which encrypt by themselves. */
const isPlain = ({ hostname, host }: URL): boolean =>
  ['localhost', '127.0.0.1', '[::1]'].includes(hostname) || isOnionHost(host);

/** Without its beginning, an address is of https, but for those that are reached without it. */
function urlOf(typed: string): URL | null {
  const text = typed.includes('://') ? typed : `https://${typed}`;
  const url = URL.canParse(text) ? new URL(text) : null;
  return url && text !== typed && isPlain(url) ? new URL(`http://${typed}`) : url;
}

/** The address that was typed as a URL, with the name that its folder gets. Throws `Rejected('signer.server')`. */
export function addressOf(typed: string): { url: string; name: string } {
  const url = urlOf(typed);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.pathname !== '/' || url.search !== '') {
    throw new Rejected('signer.server', `${typed} is no address of a server, such as pay.shop.example`);
  }
  if (url.protocol === 'http:' && !isPlain(url)) {
    throw new Rejected('signer.server', 'Only a tunnel on this computer or an onion service is reached without https');
  }
  return {
    url: url.origin,
    name: url.host
      .toLowerCase()
      .replace(/[^a-z0-9.-]+/g, '-')
      .replace(/^[.-]+|[.-]+$/g, ''),
  };
}

/** The proxy that was typed. Throws `Rejected('signer.proxy')`. */
export function proxyOf(typed: string): string {
  const proxy = typed.includes('://') ? typed : `socks5h://${typed}`;
  if (isSocksProxy(proxy)) return proxy;
  throw new Rejected('signer.proxy', `${typed} is no SOCKS5 proxy without a login, such as socks5h://127.0.0.1:9050`);
}

/**
 * Throws `Rejected('signer.proxy')` for an onion service without a proxy, because name servers would be asked about it.
 * They would learn that this computer uses it, and cannot answer.
 */
export function needProxy({ url, proxy }: Pick<Server, 'url' | 'proxy'>): void {
  if (proxy !== undefined || !isOnionHost(new URL(url).host)) return;
  const text = `${url} is an onion service, which is reached through Tor alone: start Tor, and join with its proxy, --proxy socks5h://127.0.0.1:9050 (Tor Browser: 9150)`;
  throw new Rejected('signer.proxy', text);
}

/** The proxy to a server as it was typed; `STRAIGHT` gives undefined. Throws as `proxyOf` and `needProxy`. */
export function proxyTo(url: string, typed: string): string | undefined {
  const proxy = typed === STRAIGHT ? undefined : proxyOf(typed);
  needProxy({ url, proxy });
  return proxy;
}
