/** The browser client as it is built and served: how much it is, in what language, and what its classic script does. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { browserCode } from '../../../daemon/http/assets/asset.ts';
import { classicScript } from '../../../daemon/http/assets/sdk.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const BYTES_MAX = 5_000;
const NAMES = [
  'ask',
  'createClient',
  'createInvoice',
  'cryptos',
  'getInvoice',
  'getInvoiceStatus',
  'init',
  'poll',
  'pollInvoice',
  'rates',
  'requestPayment',
];

let folder: string;
let module: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'countinghouse-web-'));
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  execFileSync(process.execPath, [compiler, '-p', join(ROOT, 'daemon', 'web'), '--outDir', folder]);
  module = readFileSync(join(folder, 'sdk', 'sdk.js'), 'utf8');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('what is built', () => {
  it(`is below ${BYTES_MAX} bytes, packed`, () => {
    for (const text of [module, classicScript(module)]) {
      const { length } = gzipSync(text, { level: 9 });
      expect(length).toBeLessThan(BYTES_MAX);
      expect(length).toBeGreaterThan(1_000);
    }
  });

  it('depends on nothing, and is ES2018 but for its own address', () => {
    const code = module.replaceAll(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, "''");
    expect(code).not.toMatch(/\bimport\s*[({'"*]|\brequire\(/);
    expect(code.split('import.meta').length).toBe(2);
    // after ES2018: optional chaining, nullish coalescing, logical assignment, a catch without a name, private names,
    // BigInt, separators in numbers, class fields
    expect(code).not.toMatch(/\?\.[^\d]|\?\?|(?:&&|\|\|)=|catch\s*\{|[.\s]#\w|\b\d+n\b|\d_\d/);
    expect(code).not.toMatch(/\b(?:globalThis|allSettled|replaceAll|flatMap|flat|fromEntries|matchAll|at)\b\s*[.(]/);
  });
});

type Global = Record<string, (...values: unknown[]) => unknown>;

/** Runs a classic script as a page with this tag would. */
function page(text: string, tag: { src: string; 'data-global'?: string } | null) {
  const asked: string[] = [];
  const fetch = vi.fn(async (url: string) => {
    asked.push(url);
    return new Response('{"status":"paid"}');
  });
  const window: Record<string, Global | undefined> = {};
  const currentScript = tag && { src: tag.src, getAttribute: (name: keyof typeof tag) => tag[name] ?? null };
  const context = createContext({
    window,
    document: { currentScript },
    fetch,
    URL,
    AbortController,
    setTimeout,
    clearTimeout,
  });
  runInContext(text, context);
  return { window, asked, context };
}

describe.each([
  ['built', () => classicScript(module)],
  ['from its source', () => classicScript(browserCode('sdk/sdk'))],
])('the classic script, %s', (_name, script) => {
  it('defines one global and nothing else', () => {
    const { window, context } = page(script(), { src: 'https://pay.example/js/sdk.js' });
    expect(Object.keys(window)).toEqual(['Countinghouse']);
    expect(Object.keys(window.Countinghouse!).sort()).toEqual(NAMES);
    expect(runInContext('typeof createClient + typeof poll + typeof script', context)).toBe('undefined'.repeat(3));
  });

  it('is named by its tag', () => {
    const { window } = page(script(), { src: 'https://pay.example/js/sdk.js', 'data-global': 'Pay' });
    expect(Object.keys(window)).toEqual(['Pay']);
  });

  it.each([
    ['https://pay.example/js/sdk.js', 'https://pay.example/api/v1/sdk/invoice/x'],
    ['https://shop.example/pay/js/sdk.js?v=1', 'https://shop.example/pay/api/v1/sdk/invoice/x'],
    ['http://127.0.0.1:8480/js/sdk.js', 'http://127.0.0.1:8480/api/v1/sdk/invoice/x'],
  ])('from %s asks where it came from', async (src, url) => {
    const { window, asked } = page(script(), { src });
    const client = window.Countinghouse!.createClient!({ clientId: 'x' }) as Global;
    await client.getInvoice!('x');
    expect(asked).toEqual([url]);
  });

  it('without a tag wants to be told where the service is', async () => {
    const { window, asked } = page(script(), null);
    expect(() => window.Countinghouse!.createClient!({ clientId: 'x' })).toThrow();
    const client = window.Countinghouse!.createClient!({ clientId: 'x', apiBase: 'https://pay.example/sdk' }) as Global;
    await client.getInvoice!('x');
    expect(asked).toEqual(['https://pay.example/sdk/invoice/x']);
  });

  it('answers before init that it comes first', async () => {
    const { window } = page(script(), { src: 'https://pay.example/js/sdk.js' });
    await expect(window.Countinghouse!.createInvoice!({ amount: 10 })).rejects.toThrow('Call init first');
    await expect(window.Countinghouse!.pollInvoice!('x')).rejects.toThrow('Call init first');
  });
});
