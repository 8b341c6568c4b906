import fc from 'fast-check';
import decodeQR from 'qr/decode.js';
import { describe, expect, it } from 'vitest';
import { contractOf, ethereumUri, paymentUri, webUrl } from '../../../daemon/app/invoices/uri.ts';
import { isValidAddress } from '../../../daemon/chains/evm/address.ts';
import { ASSETS, type AssetId, assetOf } from '../../../daemon/domain/assets.ts';
import { FIAT } from '../../../daemon/domain/currencies.ts';
import { parseDecimal } from '../../../daemon/domain/money.ts';
import { inGroups } from '../../../daemon/domain/policy.ts';
import { duration, fiat, instant, plainName, price, tickerOf } from '../../../daemon/payment-page/format.ts';
import { cleanText, escapeHtml, html } from '../../../daemon/payment-page/html.ts';
import { qrSvg } from '../../../daemon/payment-page/qr.ts';

/** Any text a program can hold: also halves of surrogate pairs, and often what matters to HTML. */
const codeUnits = fc.string({
  unit: fc.oneof(
    fc.constantFrom('<', '>', '&', '"', "'", '`', ';', '\u202e'),
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
  ),
});

describe('the html tag', () => {
  it.each([
    ['<script>alert(1)</script>', '&lt;script&gt;alert(1)&lt;/script&gt;'],
    [`" onfocus='x' autofocus="`, '&quot; onfocus=&#39;x&#39; autofocus=&quot;'],
    ['`$1` & &amp;', '&#96;$1&#96; &amp; &amp;amp;'],
    ['shop\u202egnp.exe\u2066\u200f\u061c', 'shopgnp.exe'],
    ['a\u0000b\u001b[31m\u007f\u0085c', 'ab[31mc'],
    ['half \ud83d of a pair', 'half \ufffd of a pair'],
    ['Käse 🧀 שלום', 'Käse 🧀 שלום'],
  ])('%j comes out as %j', (text, markup) => {
    expect(html`<p>${text}</p>`.markup).toBe(`<p>${markup}</p>`);
  });

  it('embeds its own kind, lists of it, numbers and nothing', () => {
    const items = ['<a>', 'b'].map((text) => html`<li>${text}</li>`);
    expect(html`<ul>${items}</ul>${3}${null}`.markup).toBe('<ul><li>&lt;a&gt;</li><li>b</li></ul>3');
  });

  it('lets no text open a tag or leave an attribute', () => {
    fc.assert(
      fc.property(codeUnits, (text) => {
        const markup = escapeHtml(text);
        expect(markup).not.toMatch(/[<>"'`]/);
        const entities = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&#96;': '`', '&amp;': '&' };
        const read = markup.replace(/&[^;]+;/g, (entity) => entities[entity as keyof typeof entities]);
        expect(read).toBe(cleanText(text));
      }),
    );
  });
});

describe('payment URIs', () => {
  const cases: [AssetId, string, bigint, string | null][] = [
    [
      'BTC',
      'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
      1n,
      'bitcoin:bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4?amount=0.00000001',
    ],
    ['BTC', 'bc1q', 2_100_000_000_000_000n, 'bitcoin:bc1q?amount=21000000'],
    ['LTC', 'rltc1q', 62_375_000n, 'litecoin:rltc1q?amount=0.62375'],
    ['BCH', 'bitcoincash:qpm2', 12_345_678n, 'bitcoincash:qpm2?amount=0.12345678'],
    ['BCH', 'bchreg:qpm2', 100_000_000n, 'bchreg:qpm2?amount=1'],
    ['XMR', '888t', 1_234_567_890_123n, 'monero:888t?tx_amount=1.234567890123'],
    ['ETH', '0xabc', 1n, null],
    ['BNB', '0xabc', 1n, null],
    ['USDT_ERC20', '0xabc', 1n, null],
    ['USDT_BEP20', '0xabc', 1n, null],
    ['XAUT', '0xabc', 1n, null],
    ['PAXG', '0xabc', 1n, null],
  ];
  it.each(cases)('%s to %s, %d units: %s', (symbol, address, units, uri) => {
    expect(paymentUri(assetOf(symbol), address, units)).toBe(uri);
  });

  it('say the amount exactly, as a plain decimal', () => {
    fc.assert(
      fc.property(fc.constantFrom<AssetId>('BTC', 'LTC', 'BCH', 'XMR'), fc.bigInt(1n, 10n ** 19n), (symbol, units) => {
        const asset = assetOf(symbol);
        const amount = paymentUri(asset, 'x:y', units)!.split('amount=')[1]!;
        expect(parseDecimal(amount, asset.decimals)).toBe(units);
      }),
    );
  });
});

describe('EIP-681', () => {
  const to = '0xf3E73B8e2442b4E936d40aDE628e6c471051080F';
  const usdt = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
  it.each([
    ['ETH', 'mainnet', 10n ** 16n, `ethereum:${to}@1?value=10000000000000000`],
    ['BNB', 'testnet', 5n, `ethereum:${to}@97?value=5`],
    ['USDT_ERC20', 'mainnet', 49_900_000n, `ethereum:${usdt}@1/transfer?address=${to}&uint256=49900000`],
    // no wallet takes the sandbox's for a payment in real money
    ['USDT_ERC20', 'sandbox', 1n, `ethereum:${usdt}@1337/transfer?address=${to}&uint256=1`],
    ['USDT_ERC20', 'testnet', 1n, null],
    ['BTC', 'mainnet', 1n, null],
    ['XMR', 'sandbox', 1n, null],
  ] as const)('%s on %s', (symbol, network, units, uri) => {
    expect(ethereumUri(assetOf(symbol), network, to, units)).toBe(uri);
  });

  it('contracts carry a right checksum (EIP-55), and only tokens have one', () => {
    const tokens = ASSETS.filter(({ contract }) => contract !== undefined);
    expect(tokens.map(({ symbol }) => symbol)).toEqual(['USDT_ERC20', 'USDT_BEP20', 'XAUT', 'PAXG']);
    for (const token of tokens) {
      expect(token.contract).toMatch(/[a-f].*[A-F]|[A-F].*[a-f]/);
      expect(isValidAddress(token.contract!)).toBe(true);
      expect([contractOf(token, 'mainnet'), contractOf(token, 'testnet')]).toEqual([token.contract, null]);
    }
  });
});

describe('links to the shop', () => {
  it.each([
    ['https://shop.example/cart?a=1&b="2"', 'https://shop.example/cart?a=1&b=%222%22'],
    ['http://127.0.0.1:3000', 'http://127.0.0.1:3000/'],
    ['javascript:alert(1)', null],
    ['JaVaScRiPt:alert(1)', null],
    ['data:text/html,<script>', null],
    ['//shop.example/', null],
    ['/cart', null],
    ['', null],
    [null, null],
  ])('%j → %j', (text, url) => {
    expect(webUrl(text)).toBe(url);
  });
});

describe('formats', () => {
  it.each([
    [4_990_000_000n, 'USD', 'US$49.90'],
    [100_000_000_000_000_000n, 'EUR', '€1,000,000,000.00'],
    [500_000_000_000n, 'JPY', 'JP¥5,000'],
    [99_999_999n, 'USD', 'US$0.999999'],
    [199_999_999n, 'USD', 'US$1.99'],
    [12_345_600n, 'GBP', '£0.123456'],
    [0n, 'USD', 'US$0.00'],
  ])('%d of %s is %s', (scaled, currency, text) => {
    expect(fiat(scaled, currency, 'en-GB')).toBe(text);
  });

  it.each(Object.entries(FIAT))('a price in %s shows every one of its %d decimals', (currency, decimals) => {
    const smallest = 10n ** BigInt(8 - decimals);
    const digits = price(1_234n * 100_000_000n + 56n * smallest, currency, 'en-GB').replace(/[^\d.]/g, '');
    expect(digits.replace(/^\.+/, '')).toMatch(decimals === 0 ? /^1290$/ : /^1234\.560?$/);
  });

  it.each([
    [4_990_000_000n, 'USD', 'US$49.90'],
    [99_999_999_999_000_000n, 'IDR', 'IDR 999,999,999.99'],
    [1_250_050_000_000n, 'HUF', 'HUF 12,500.50'],
    [1_250_000_000_000n, 'IDR', 'IDR 12,500'],
    [500_000_000_000n, 'JPY', 'JP¥5,000'],
  ])('a price of %d in %s is %s to the cent', (scaled, currency, text) => {
    expect(price(scaled, currency, 'en-GB').replace(/\u00a0/g, ' ')).toBe(text);
  });

  const now = Date.UTC(2026, 10, 21, 14, 5, 59);
  it.each([
    [1, '1 minute'],
    [60, '1 minute'],
    [61, '2 minutes'],
    [7_200, '120 minutes'],
    [7_201, '3 hours'],
    [86_400, '24 hours'],
  ])('%d seconds are %s', (seconds, text) => {
    expect(duration(seconds, 'en-GB')).toBe(text);
  });

  it('writes instants in UTC', () => {
    expect(instant(now, 'en-GB')).toBe('21 Nov 2026, 14:05 UTC');
  });

  it('names a token without its network, and Tether USDT everywhere', () => {
    expect(plainName(assetOf('USDT_BEP20'))).toBe('Tether USD');
    expect([tickerOf(assetOf('USDT_BEP20')), tickerOf(assetOf('PAXG')), tickerOf(assetOf('BNB'))]).toEqual([
      'USDT',
      'PAXG',
      'BNB',
    ]);
  });

  it.each([
    ['bc1qw508d6', ['bc1q', 'w508', 'd6']],
    ['bchreg:qz6elv2', ['bchreg:', 'qz6e', 'lv2']],
    ['0xf3E73B8e', ['0x', 'f3E7', '3B8e']],
    ['', []],
  ])('groups %s', (address, groups) => {
    expect(inGroups(address)).toEqual(groups);
    expect(inGroups(address).join('')).toBe(address);
  });
});

describe('the QR code', () => {
  /** The modules that the path draws, row by row, counted from the quiet zone's corner. */
  function modules(svg: string): Set<string> {
    const path = /<path d="([^"]+)"/.exec(svg)![1]!;
    const dark = new Set<string>();
    for (const [, x, y, width] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)) {
      for (let i = 0; i < Number(width); i++) dark.add(`${Number(x) + i + 4},${Number(y) + 4}`);
    }
    return dark;
  }

  it('has the three finder patterns within a quiet zone of four modules, and a label', () => {
    const svg = qrSvg('bitcoin:bc1q?amount=1', 'pay "1" BTC', 'BTC').markup;
    expect(svg).toContain('aria-label="pay &quot;1&quot; BTC"');
    const size = Number(/viewBox="-4 -4 (\d+) \1"/.exec(svg)![1]);
    const dark = modules(svg);
    const finder = (x: number, y: number): string[] =>
      Array.from({ length: 7 }, (_, dy) =>
        Array.from({ length: 7 }, (_, dx) => (dark.has(`${x + dx},${y + dy}`) ? '#' : ' ')).join(''),
      );
    const pattern = ['#######', '#     #', '# ### #', '# ### #', '# ### #', '#     #', '#######'];
    expect(finder(4, 4)).toEqual(pattern);
    expect(finder(size - 11, 4)).toEqual(pattern);
    expect(finder(4, size - 11)).toEqual(pattern);
    for (const module of dark) {
      const [x, y] = module.split(',').map(Number) as [number, number];
      expect(Math.min(x, y)).toBeGreaterThanOrEqual(4);
      expect(Math.max(x, y)).toBeLessThan(size - 4);
    }
  });

  /** Whatever the mark and its rim touch, as the worst picture of it: one half dark, the other light. */
  function pictureOf(svg: string, scale: number): { pixels: Uint8ClampedArray; side: number } {
    const size = Number(/viewBox="-4 -4 (\d+) \1"/.exec(svg)![1]);
    const radius = Number(/<circle cx="[\d.]+" cy="[\d.]+" r="([\d.]+)" fill="#fff"\/>/.exec(svg)![1]);
    const dark = modules(svg);
    const side = size * scale;
    const pixels = new Uint8ClampedArray(side * side * 4).fill(255);
    for (let y = 0; y < side; y++) {
      for (let x = 0; x < side; x++) {
        const [dx, dy] = [(x + 0.5) / scale - size / 2, (y + 0.5) / scale - size / 2];
        const covered = Math.hypot(dx, dy) <= radius;
        const isDark = covered ? dx < 0 : dark.has(`${Math.floor(x / scale)},${Math.floor(y / scale)}`);
        if (isDark) pixels.fill(0, 4 * (y * side + x), 4 * (y * side + x) + 3);
      }
    }
    return { pixels, side };
  }

  const EVM = '0xf3E73B8e2442b4E936d40aDE628e6c471051080F';
  const LONGEST: Record<AssetId, string> = {
    BTC: 'bc1p5d7rjq7g6rdk2yhzks9smlaqtedr4dekq08ge8ztwac72sfr9rusxg3297',
    BCH: 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a',
    LTC: 'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9',
    XMR: `8${'5bKq3FvPz7Rw'.repeat(8).slice(0, 94)}`,
    ETH: EVM,
    BNB: EVM,
    USDT_ERC20: EVM,
    USDT_BEP20: EVM,
    XAUT: EVM,
    PAXG: EVM,
  };
  it.each(ASSETS.map((asset) => [asset.symbol, asset] as const))(
    'is read with the mark of %s in it',
    (symbol, asset) => {
      const address = LONGEST[symbol];
      for (const units of [1n, 75_000_000n, 123_456_789_012_345n]) {
        const said = [paymentUri(asset, address, units) ?? address, ethereumUri(asset, 'mainnet', address, units)];
        for (const text of said) {
          if (text === null) continue;
          const { pixels, side } = pictureOf(qrSvg(text, 'pay', symbol).markup, 4);
          expect(decodeQR({ width: side, height: side, data: pixels })).toBe(text);
        }
      }
    },
  );
});
