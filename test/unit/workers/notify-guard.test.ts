/** Where notifications may go: a table of addresses and spellings, and the ways around a check that are known. */
import { describe, expect, it } from 'vitest';
import {
  checkDestination,
  type DestinationPolicy,
  DestinationRefused,
} from '../../../daemon/app/notifications/destinations.ts';

const ONION = `${'a'.repeat(56)}.onion`;

/** What a made-up DNS answers. */
const DNS: Record<string, string[]> = {
  'shop.test': ['93.184.216.34'],
  'shop6.test': ['2606:2800:220:1::1'],
  'both.test': ['2606:2800:220:1::1', '93.184.216.34'],
  localhost: ['127.0.0.1', '::1'],
  'inside.test': ['10.1.2.3'],
  '127.0.0.1.nip.test': ['127.0.0.1'],
  'mixed.test': ['93.184.216.34', '127.0.0.1'],
  'mixed-last.test': ['2606:2800:220:1::1', 'fd00::1'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'compatible.test': ['::127.0.0.1'],
  'zone.test': ['fe80::1%eth0'],
  'nonsense.test': ['not an address'],
  'empty.test': [],
  'litecoind.test': ['10.9.9.9'],
  'alias.test': ['10.9.9.9'],
  'provider.test': ['104.16.0.1'],
  'cdn-shop.test': ['104.16.0.1'],
};

const resolve: DestinationPolicy['resolve'] = async (host) => {
  const found = DNS[host];
  if (!found) throw new Error('ENOTFOUND');
  return found.map((address) => ({ address }));
};

const policy = (changes: Partial<DestinationPolicy> = {}): DestinationPolicy => ({
  allowHosts: [],
  ownPorts: [8480, 41_000],
  nodeHosts: [],
  fromMerchant: true,
  hasProxy: false,
  resolve,
  localAddresses: ['127.0.0.1', '::1', '192.168.7.7', '203.0.114.9'],
  ...changes,
});

async function verdict(url: string, changes: Partial<DestinationPolicy> = {}): Promise<string> {
  try {
    const target = await checkDestination(url, policy(changes));
    return target.via === 'proxy' ? 'proxy' : target.addresses.map((row) => row.address).join(' ');
  } catch (error) {
    if (error instanceof DestinationRefused) return `refused: ${error.message}`;
    throw error;
  }
}

const is = (name: string) => `refused: the address is ${name}`;

describe('addresses', () => {
  it.each([
    ['http://93.184.216.34/', '93.184.216.34'],
    ['https://93.184.216.34:8443/hook?x=1', '93.184.216.34'],
    ['http://[2606:2800:220:1::1]/', '2606:2800:220:1::1'],
    ['http://127.0.0.1/', is('loopback')],
    ['http://127.255.255.254/', is('loopback')],
    ['http://127.1/', is('loopback')],
    ['http://0x7f.1/', is('loopback')],
    ['http://0x7f000001/', is('loopback')],
    ['http://2130706433/', is('loopback')],
    ['http://017700000001/', is('loopback')],
    ['http://0177.0.0.1/', is('loopback')],
    ['http://127.0.0.1./', is('loopback')],
    ['http://①②⑦.⓪.⓪.①/', is('loopback')],
    ['http://127。0。0。1/', is('loopback')],
    ['http://[::1]/', is('loopback')],
    ['http://[0:0:0:0:0:0:0:1]/', is('loopback')],
    ['http://0.0.0.0/', is('unspecified')],
    ['http://0/', is('unspecified')],
    ['http://0.1.2.3/', is('unspecified')],
    ['http://[::]/', is('unspecified')],
    ['http://10.0.0.1/', is('private')],
    ['http://10.255.255.255/', is('private')],
    ['http://172.16.0.1/', is('private')],
    ['http://172.31.255.255/', is('private')],
    ['http://172.32.0.1/', '172.32.0.1'],
    ['http://192.168.1.1/', is('private')],
    ['http://192.169.1.1/', '192.169.1.1'],
    ['http://169.254.169.254/latest/meta-data', is('link-local')],
    ['http://[fe80::1]/', is('link-local')],
    ['http://[febf::1]/', is('link-local')],
    ['http://100.64.0.1/', is('carrier-grade NAT')],
    ['http://100.127.255.255/', is('carrier-grade NAT')],
    ['http://100.128.0.1/', '100.128.0.1'],
    ['http://[fc00::1]/', is('private')],
    ['http://[fdff::1]/', is('private')],
    ['http://[fec0::1]/', is('private')],
    ['http://224.0.0.1/', is('multicast')],
    ['http://239.255.255.250/', is('multicast')],
    ['http://[ff02::1]/', is('multicast')],
    ['http://255.255.255.255/', is('broadcast')],
    ['http://240.0.0.1/', is('reserved')],
    ['http://192.0.0.8/', is('reserved')],
    ['http://192.0.2.1/', is('reserved')],
    ['http://198.51.100.1/', is('reserved')],
    ['http://203.0.113.1/', is('reserved')],
    ['http://198.18.0.1/', is('reserved')],
    ['http://192.88.99.1/', is('reserved')],
    ['http://[2001:db8::1]/', is('reserved')],
    ['http://[3fff::1]/', is('reserved')],
    ['http://[100::1]/', is('reserved')],
    ['http://[2001:2::1]/', is('reserved')],
    ['http://[2001:20::1]/', is('reserved')],
    ['http://[5f00::1]/', is('reserved')],
    ['http://[4000::1]/', is('reserved')],
    ['http://[::ffff:127.0.0.1]/', is('IPv4-mapped')],
    ['http://[::ffff:7f00:1]/', is('IPv4-mapped')],
    ['http://[::ffff:93.184.216.34]/', is('IPv4-mapped')],
    ['http://[::127.0.0.1]/', is('reserved')],
    ['http://[::5db8:d822]/', is('reserved')],
    ['http://[::ffff:0:127.0.0.1]/', is('IPv4-translated')],
    ['http://[64:ff9b::127.0.0.1]/', is('NAT64')],
    ['http://[64:ff9b:1::10.0.0.1]/', is('NAT64')],
    ['http://[2002:7f00:1::]/', is('6to4')],
    ['http://[2001:0:53aa:64c::1]/', is('Teredo')],
  ])('%s → %s', async (url, expected) => {
    expect(await verdict(url)).toBe(expected);
  });
});

describe('names', () => {
  it.each([
    ['https://shop.test/hook', '93.184.216.34'],
    ['https://SHOP.test./hook', '93.184.216.34'],
    ['https://both.test/', '2606:2800:220:1::1 93.184.216.34'],
    ['http://localhost/', is('loopback')],
    ['http://inside.test/', is('private')],
    ['http://127.0.0.1.nip.test/', is('loopback')],
    ['http://mixed.test/', is('loopback')],
    ['http://mixed-last.test/', is('private')],
    ['http://mapped.test/', is('IPv4-mapped')],
    ['http://compatible.test/', is('reserved')],
    ['http://zone.test/', is('link-local')],
    ['http://nonsense.test/', 'refused: the host does not resolve'],
    ['http://empty.test/', 'refused: the host does not resolve'],
    ['http://unknown.test/', 'refused: the host does not resolve'],
  ])('%s → %s', async (url, expected) => {
    expect(await verdict(url)).toBe(expected);
  });

  it('takes the dot at the end out of the URL that is asked for', async () => {
    const target = await checkDestination('https://shop.test./hook?a=b', policy());
    expect(target.url.href).toBe('https://shop.test/hook?a=b');
    expect(target.addresses).toEqual([{ address: '93.184.216.34', family: 4 }]);
  });
});

describe('URLs', () => {
  const long = `http://shop.test/${'x'.repeat(2_048)}`;
  it.each([
    ['ftp://shop.test/', 'refused: the URL is neither http nor https'],
    ['file:///etc/passwd', 'refused: the URL is neither http nor https'],
    ['gopher://127.0.0.1:6379/_x', 'refused: the URL is neither http nor https'],
    ['javascript:alert(1)', 'refused: the URL is neither http nor https'],
    ['shop.test/hook', 'refused: the URL is not valid'],
    ['', 'refused: the URL is not valid'],
    ['http://', 'refused: the URL is not valid'],
    ['http://[fe80::1%25eth0]/', 'refused: the URL is not valid'],
    ['http://256.256.256.256/', 'refused: the URL is not valid'],
    ['http://shop.test:65536/', 'refused: the URL is not valid'],
    ['http://user@shop.test/', 'refused: the URL holds a login'],
    ['http://user:pass@shop.test/', 'refused: the URL holds a login'],
    ['http://shop.test@127.0.0.1/', 'refused: the URL holds a login'],
    ['http://./', 'refused: the URL has no valid host'],
    [`http://${'a.'.repeat(130)}test/`, 'refused: the URL has no valid host'],
    ['http://127.0.0.1\\@shop.test/', is('loopback')],
    ['http://shop.test#@127.0.0.1/', '93.184.216.34'],
    [long, 'refused: the URL is longer than 2048 characters'],
    [long.slice(0, 2_048), '93.184.216.34'],
  ])('%s → %s', async (url, expected) => {
    expect(await verdict(url)).toBe(expected);
  });
});

describe('the allow-list', () => {
  const unlisted = '; webhook.allow_hosts holds for invoices of the merchant API only';
  it.each<[string, string[], boolean, string]>([
    ['http://127.0.0.1:3000/', ['127.0.0.1:3000'], true, '127.0.0.1'],
    ['http://127.0.0.1:3000/', ['127.0.0.1:3000'], false, is('loopback') + unlisted],
    ['http://127.0.0.1:3001/', ['127.0.0.1:3000'], true, is('loopback')],
    ['http://127.0.0.2:3000/', ['127.0.0.1:3000'], true, is('loopback')],
    ['http://127.0.0.1/', ['127.0.0.1:80'], true, '127.0.0.1'],
    ['https://127.0.0.1/', ['127.0.0.1:443'], true, '127.0.0.1'],
    ['https://127.0.0.1/', ['127.0.0.1:80'], true, is('loopback')],
    ['http://localhost:3000/', ['127.0.0.1:3000'], true, '127.0.0.1 ::1'],
    ['http://[::1]:3000/', ['localhost:3000'], true, '::1'],
    ['http://127.0.0.1:3000/', ['[::1]:3000'], true, '127.0.0.1'],
    ['http://inside.test:3000/', ['inside.test:3000'], true, '10.1.2.3'],
    ['http://INSIDE.test.:3000/', ['inside.test:3000'], true, '10.1.2.3'],
    ['http://inside.test:3000/', ['10.1.2.3:3000'], true, '10.1.2.3'],
    ['http://inside.test:3000/', ['inside.test:3001'], true, is('private')],
    ['http://10.1.2.3:3000/', ['inside.test:3000'], true, is('private')],
    ['http://mixed.test:3000/', ['127.0.0.1:3000'], true, '93.184.216.34 127.0.0.1'],
    ['http://[fd00::1]:3000/', ['[fd00:0::1]:3000'], true, 'fd00::1'],
    ['http://169.254.1.1:3000/', ['169.254.1.1:3000'], true, '169.254.1.1'],
    ['http://100.64.0.5:3000/', ['100.64.0.5:3000'], true, '100.64.0.5'],
    ['http://[::ffff:127.0.0.1]:3000/', ['127.0.0.1:3000'], true, '::ffff:7f00:1'],
    ['http://[::ffff:93.184.216.34]:3000/', ['93.184.216.34:3000'], true, is('IPv4-mapped')],
    ['http://224.0.0.1:3000/', ['224.0.0.1:3000'], true, is('multicast')],
    ['http://0.0.0.0:3000/', ['0.0.0.0:3000', '127.0.0.1:3000'], true, is('unspecified')],
    ['http://[2002:7f00:1::]:3000/', ['[2002:7f00:1::]:3000'], true, is('6to4')],
    ['http://[64:ff9b::7f00:1]:3000/', ['[64:ff9b::7f00:1]:3000'], true, is('NAT64')],
    ['http://93.184.216.34:3000/', [], false, '93.184.216.34'],
  ])('%s with %j from the merchant %s → %s', async (url, allowHosts, fromMerchant, expected) => {
    expect(await verdict(url, { allowHosts, fromMerchant })).toBe(expected);
  });
});

describe('what is never notified, listed or not', () => {
  const own = "refused: the target is one of the appliance's own ports";
  const node = 'refused: the target is a configured node or proxy';
  it.each([
    ['http://127.0.0.1:8480/', own],
    ['http://127.0.0.1:41000/', own],
    ['http://127.8.8.8:8480/', own],
    ['http://0.0.0.0:8480/', own],
    ['http://[::1]:8480/', own],
    ['http://[::ffff:127.0.0.1]:8480/', own],
    ['http://localhost:8480/', own],
    ['http://192.168.7.7:8480/', own],
    ['http://203.0.114.9:8480/', own],
    ['http://93.184.216.34:8480/', '93.184.216.34'],
    ['http://127.0.0.1:19443/', node],
    ['http://127.0.0.2:19443/', node],
    ['http://[::]:19443/', node],
    ['http://192.168.7.7:19443/', node],
    ['http://[::1]:19443/', node],
    ['http://[::ffff:7f00:1]:19443/', node],
    ['http://10.5.5.5:8332/', node],
    ['http://[::ffff:10.5.5.5]:8332/', node],
    ['http://litecoind.test:9332/', node],
    ['http://alias.test:9332/', node],
    ['http://10.9.9.9:9332/', node],
    ['http://10.9.9.9:9333/', '10.9.9.9'],
    ['https://provider.test/v3/key', node],
    ['https://cdn-shop.test/hook', '104.16.0.1'],
    ['https://198.41.0.4:50002/', node],
  ])('%s → %s', async (url, expected) => {
    const port = new URL(url).port || '443';
    const allowHosts = [`${new URL(url).hostname}:${port}`, `127.0.0.1:${port}`];
    const nodeHosts = [
      '127.0.0.1:19443',
      '10.5.5.5:8332',
      'litecoind.test:9332',
      'gone.test:9332',
      'provider.test:443',
      '198.41.0.4:50002',
    ];
    expect(await verdict(url, { allowHosts, nodeHosts })).toBe(expected);
  });
});

describe('onion services', () => {
  const v2 = 'refused: the host is not a version 3 onion service';
  it.each([
    [`http://${ONION}/hook`, true, 'proxy'],
    [`http://www.${ONION}/hook`, true, 'proxy'],
    [`http://${ONION.toUpperCase()}./hook`, true, 'proxy'],
    [`http://${ONION}/hook`, false, 'refused: an onion service needs webhook.socks_proxy'],
    ['http://expyuzz4wqqyqhjn.onion/', true, v2],
    ['http://onion/', true, v2],
    [`http://${ONION}:9999/`, true, 'refused: the target is a configured node or proxy'],
  ])('%s with a proxy %s → %s', async (url, hasProxy, expected) => {
    expect(await verdict(url, { hasProxy, nodeHosts: [`${ONION}:9999`] })).toBe(expected);
  });

  it('never asks DNS for an onion name', async () => {
    const asked: string[] = [];
    const spy: DestinationPolicy['resolve'] = async (host) => {
      asked.push(host);
      return [{ address: '93.184.216.34' }];
    };
    await checkDestination(`http://${ONION}./`, policy({ hasProxy: true, resolve: spy, nodeHosts: ['a.test:80'] }));
    await expect(checkDestination('http://short.onion/', policy({ hasProxy: true, resolve: spy }))).rejects.toThrow();
    expect(asked).toEqual([]);
  });
});

describe("machines beside this one, with global addresses of the machine's own prefix", () => {
  it.each([
    ['2606:2800:220:1::99', ['2606:2800:220:1::10/64'], false],
    ['2606:2800:220:1:ffff::99', ['2606:2800:220:1::10/64'], false],
    ['2606:2800:220:1::99', ['2606:2800:220:1::10/128'], false],
    ['2606:2800:220:2::99', ['2606:2800:220:1::10/64'], true],
    ['2606:2800:220:1::99', ['2606:2800:220:1::10/72'], false],
    ['2606:2800:220:1:ff00::99', ['2606:2800:220:1::10/56'], false],
    ['2606:2800:220:2::99', ['2606:2800:220:1::10/48'], false],
    ['2606:2800:220:1::99', ['2606:2800::10/32'], true],
  ])('%s beside %j: reached %s', async (address, localAddresses, reached) => {
    const said = await verdict(`https://[${address}]/`, { localAddresses });
    expect(said === address).toBe(reached);
    if (!reached) expect(said).toBe(is("of this machine's own network"));
    const opened = { localAddresses, allowHosts: [`[${address}]:443`] };
    expect(await verdict(`https://[${address}]/`, opened)).toBe(address);
    expect((await verdict(`https://[${address}]/`, { ...opened, fromMerchant: false })) === address).toBe(reached);
  });
});
