/** What of the WooCommerce plug-in needs no WordPress: its signature check, its files, its readme. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { hasPhp, php, phpTitle } from './shop.ts';

const PLUGIN = join(import.meta.dirname, '../../resources/woocommerce');
const textOf = (path: string): string => readFileSync(join(PLUGIN, path), 'utf8');
const files = readdirSync(PLUGIN, { recursive: true, encoding: 'utf8' });

describe('The plug-in', () => {
  it('has a readme in the form that WordPress reads, of its own version', () => {
    const readme = textOf('readme.txt');
    const version = /^ \* Version: (.+)$/m.exec(textOf('countinghouse.php'))![1];
    expect(readme).toMatch(/^=== .+ ===\n/);
    expect(/^Stable tag: (.+)$/m.exec(readme)![1]).toBe(version);
    for (const name of ['Requires at least', 'Requires PHP', 'License']) {
      const line = new RegExp(`^(?: \\* )?${name}: (.+)$`, 'm');
      expect(line.exec(readme)![1], name).toBe(line.exec(textOf('countinghouse.php'))![1]);
    }
    expect(/^License: .+\n.*\n*([^=]+?)\n\n==/m.exec(readme)![1]!.length).toBeLessThan(150 + 60);
    for (const section of ['Description', 'Installation', 'Frequently Asked Questions', 'Changelog']) {
      expect(readme).toContain(`\n== ${section} ==\n`);
    }
  });

  it('does nothing when a file of it is asked for by itself', () => {
    for (const file of files.filter((name) => name.endsWith('.php'))) {
      expect(textOf(file), file).toMatch(/defined\( '(ABSPATH|WP_UNINSTALL_PLUGIN)' \) \|\| exit;/);
    }
  });
});

describe.skipIf(!hasPhp)(phpTitle('The signature of an event'), () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
  const at = new Date(1_800_000_000_000);
  const seconds = 1_800_000_000;
  const body = '{"type":"invoice.paid","data":{"name":"Zoë"}}';
  const good = new Webhook(secret).sign('evt_1', at, body);
  const foreign = new Webhook(other).sign('evt_1', at, body);
  const given = { secret, id: 'evt_1', at: `${seconds}`, signatures: good, body, now: seconds };

  it.each([
    ['a good one', {}, true],
    ['a good one behind one of another secret', { signatures: `${foreign} ${good}` }, true],
    ['one of five minutes ago', { now: seconds + 300 }, true],
    ['one of longer ago', { now: seconds + 301 }, false],
    ['one of the future', { now: seconds - 301 }, false],
    ['one of another secret', { signatures: foreign }, false],
    ['another body', { body: `${body} ` }, false],
    ['another id', { id: 'evt_2' }, false],
    ['another time', { at: `${seconds + 1}` }, false],
    ['a time that is no number', { at: '1e9' }, false],
    ['no id', { id: '' }, false],
    ['no signature', { signatures: '' }, false],
    ['another version', { signatures: good.replace('v1,', 'v1a,') }, false],
    ['no secret', { secret: '' }, false],
    ['a secret without its prefix', { secret: secret.slice(6) }, false],
    ['a secret that is too short', { secret: 'whsec_AAAA' }, false],
  ])('is decided for %s', async (_what, own, expected) => {
    const { now, ...texts } = { ...given, ...own };
    const code = `define('ABSPATH', '/'); require $argv[1];
      echo Countinghouse\\Signature::is_genuine($argv[2], $argv[3], $argv[4], $argv[5], $argv[6], (int) $argv[7]) ? 'yes' : 'no';`;
    const values = [texts.secret, texts.id, texts.at, texts.signatures, texts.body, `${now}`];
    expect(await php(code, join(PLUGIN, 'includes/signature.php'), ...values)).toBe(expected ? 'yes' : 'no');
  });
});
