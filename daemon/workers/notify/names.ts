/**
 * Resolves host names of URLs that strangers choose. The system's resolver (getaddrinfo) occupies one of the process's
 * few threads while a name server is silent and cannot be cancelled: four such names would block all file access. So
 * names are resolved by DNS itself (c-ares), which needs no thread and can be cancelled.
 */
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import ipaddr from 'ipaddr.js';
import type { Resolve } from '../../app/notifications/destinations.ts';

/** For one question to one name server; each is asked twice. */
const QUESTION_MS = 2_000;
const TRIES = 2;
const HOSTS_FILE =
  process.platform === 'win32' ? `${process.env.SystemRoot}\\System32\\drivers\\etc\\hosts` : '/etc/hosts';
const HOSTS_BYTES_MAX = 1_048_576;

type NamesOptions = {
  /** Name servers as "host:port"; default: the system's. */
  servers?: readonly string[];
  hostsFile?: string;
};

/** The addresses of a name in a hosts file (hosts(5)). */
export function addressesInHosts(text: string, name: string): string[] {
  const found: string[] = [];
  for (const line of text.slice(0, HOSTS_BYTES_MAX).split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    if (address !== undefined && ipaddr.isValid(address) && names.includes(name)) found.push(address);
  }
  return found;
}

/** Makes a resolver. It rejects if there is no address, and when the signal aborts, which also ends its queries. */
export function nameResolver({ servers, hostsFile = HOSTS_FILE }: NamesOptions = {}): Resolve {
  return async (host, signal) => {
    const name = host.toLowerCase();
    // RFC 6761: queries for these names must not leave the machine
    if (name === 'localhost' || name.endsWith('.localhost')) return [{ address: '127.0.0.1' }, { address: '::1' }];
    const listed = addressesInHosts(await readFile(hostsFile, 'utf8').catch(() => ''), name);
    if (listed.length > 0) return listed.map((address) => ({ address }));
    signal.throwIfAborted();
    const resolver = new Resolver({ timeout: QUESTION_MS, tries: TRIES });
    if (servers) resolver.setServers(servers);
    const cancel = (): void => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      if (addresses.length === 0) throw new Error('the name has no address');
      return addresses.map((address) => ({ address }));
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  };
}
