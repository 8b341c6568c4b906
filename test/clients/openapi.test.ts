/** The description of the API in the hands of others: a linter, a generator of types, and a client made with both. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';

const run = promisify(execFile);
const here = import.meta.dirname;
const modules = join(here, 'node_modules');
const has = existsSync(join(modules, '.package-lock.json')) || process.env.CI === 'true';
const name = 'the description of the API';
/** The path of Request payment and this one both match `/invoice/rp/refund`, which names no invoice: ids have 12 characters. */
const RP_OR_REFUND = 'no-ambiguous-paths #/paths/~1merchant~1invoice~1{invoice_id}~1refund';
const OUTPUT_BYTES_MAX = 8_388_608;

const tool = (path: string, args: string[]) =>
  run(process.execPath, [join(modules, path), ...args], { maxBuffer: OUTPUT_BYTES_MAX });

describe.skipIf(!has)(has ? name : `${name} (skipped: npm ci --ignore-scripts --prefix test/clients)`, () => {
  let service: TestDaemon;
  let folder: string;
  let description: string;
  beforeAll(async () => {
    service = await startTestDaemon();
    folder = await mkdtemp(join(tmpdir(), 'countinghouse-openapi-'));
    const text = await (await fetch(`${service.url}/api/v1/openapi.json`)).text();
    description = join(folder, 'openapi.json');
    await writeFile(description, text);
  });
  afterAll(async () => {
    await service.stop();
    await rm(folder, { recursive: true });
  });

  it("passes Redocly's recommended rules without a warning, but for two paths that look alike", async () => {
    const { stdout } = await run(process.execPath, [join(here, 'lint.mjs'), description], {
      maxBuffer: OUTPUT_BYTES_MAX,
    });
    const told = JSON.parse(stdout) as { rule: string; at: string }[];
    expect(told.filter(({ rule, at }) => `${rule} ${at}` !== RP_OR_REFUND)).toEqual([]);
  });

  it('gives types with which a client compiles, and runs against the sandbox', async () => {
    await tool('openapi-typescript/bin/cli.js', [description, '--output', join(folder, 'schema.d.ts')]);
    await cp(join(here, 'checkout.ts'), join(folder, 'checkout.ts'));
    await symlink(modules, join(folder, 'node_modules'));
    const types = join(here, '..', '..', 'node_modules', '@types');
    const options = ['--strict', '--target', 'es2023', '--module', 'preserve', '--moduleResolution', 'bundler'];
    await tool('typescript/bin/tsc', [
      ...options,
      '--typeRoots',
      types,
      '--types',
      'node',
      '--skipLibCheck',
      join(folder, 'checkout.ts'),
    ]).catch((error: { stdout?: string }) => expect.fail(error.stdout ?? String(error)));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    const { stdout } = await run(process.execPath, [join(folder, 'checkout.js'), service.url, service.apiKey]);
    expect(JSON.parse(stdout)).toEqual({ before: 'none yet', same: true, again: 'payment.requested', found: [true] });
  });
});
