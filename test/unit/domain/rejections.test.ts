/** The table of rejections says what the doors do, and has no code that nothing throws. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answersTo, type RejectCode } from '../../../daemon/domain/rejections.ts';

const DAEMON = join(import.meta.dirname, '../../../daemon');
const TABLE = join(DAEMON, 'domain/rejections.ts');
const sources = readdirSync(DAEMON, { recursive: true, encoding: 'utf8' })
  .map((name) => join(DAEMON, name))
  .filter((path) => path.endsWith('.ts') && path !== TABLE)
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n');

/** The codes of the union type, read from its text: a type leaves nothing behind at run time. */
const codes = [...readFileSync(TABLE, 'utf8').matchAll(/^ {2}\| (?:'([a-z_.]+)'|`([a-z_]+)\.\$\{(.+)\}`)/gm)].flatMap(
  ([, whole, subject, reasons]) =>
    whole ? [whole] : reasons!.split(' | ').map((reason) => `${subject}.${reason.slice(1, -1)}`),
);

describe('the codes', () => {
  it('are more than a hundred, none of them twice', () => {
    expect(codes.length).toBeGreaterThan(100);
    expect(new Set(codes).size).toBe(codes.length);
  });

  it('are all thrown', () => {
    const composed = ['sandbox.blocks', 'sandbox.depth', 'console.listen', 'till.listen'].concat(
      'account.integrated',
      'account.subaddress',
    );
    expect(codes.filter((code) => !composed.includes(code) && !sources.includes(`'${code}'`))).toEqual([]);
  });
});

describe('the answers', () => {
  it.each<[RejectCode, Partial<ReturnType<typeof answersTo>>]>([
    ['validation', { api: [422, 'errors'], withdrawal: 400, operator: 400, page: 'asks' }],
    ['invoice.not_found', { api: [404, 'error'], withdrawal: 404, operator: 404, page: 404 }],
    ['invoice.not_unpaid', { api: [400, 'both'], operator: 409, page: 'shows' }],
    ['idempotency.conflict', { api: [409, 'message'], withdrawal: 409, operator: 400 }],
    ['rates.unknown', { api: [404, 'error'], withdrawal: 400 }],
    ['withdrawal.not_found', { api: [400, 'message'], withdrawal: 404, operator: 404 }],
    ['key.too_many', { api: [400, 'message'], operator: 409, page: 400, exit: 1 }],
    ['withdrawal.overtaken', { operator: 409 }],
    ['store.locked', { operator: 400, exit: 3 }],
    ['store.newer', { operator: 400, exit: 3 }],
    ['signer.limit', { api: [400, 'message'], withdrawal: 400, operator: 400, page: 400, exit: 1 }],
  ])('to %s are %j', (code, expected) => {
    expect(answersTo(code)).toMatchObject(expected);
  });
});
