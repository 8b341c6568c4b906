/** What is installed, what of it may run a script, and what can run in the process that holds the words. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const { SBOM_FILE, writeSbom } = (await import(join(ROOT, 'daemon/launcher/sbom.mjs'))) as {
  SBOM_FILE: string;
  writeSbom(root: string): void;
};

type Locked = {
  version: string;
  name?: string;
  dev?: boolean;
  devOptional?: boolean;

  hasInstallScript?: boolean;
  integrity?: string;
};
const lockOf = (path: string) => (JSON.parse(textOf(path)) as { packages: Record<string, Locked> }).packages;
const LOCKED = lockOf('package-lock.json');

/** Whose code the signer's process can load. A new name here can read the words: read its code first. */
const SIGNERS = [
  '@bitauth/libauth',
  '@noble/curves',
  '@noble/hashes',
  '@scure/base',
  '@scure/bip32',
  'base-x',
  'bech32',
  'bip174',
  'bip39',
  'bitcoinjs-lib',
  'bs58',
  'bs58check',
  'monero-ts',
  'tiny-secp256k1',
  'uint8array-tools',
  'valibot',
  'varuint-bitcoin',
  'zod',
];

const CLAUSE = /^[ \t]*(?:import|export)\b([^'"`;]*?)\bfrom\s*['"]([^'"]+)['"]/gm;
const CALL = /(?:\bimport|\brequire|createRequire\([^)]*\))\(\s*['"]([^'"]+)['"]\)|^[ \t]*import\s*['"]([^'"]+)['"]/gm;

/** What a source loads when it runs: types leave nothing behind. */
function loadedBy(path: string): string[] {
  const text = textOf(path);
  const clauses = [...text.matchAll(CLAUSE)].filter(([, clause]) => !/^\s*type\b/.test(clause!));
  return [...clauses.map(([, , name]) => name!), ...[...text.matchAll(CALL)].map(([, a, b]) => (a ?? b)!)];
}

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/** The packages that a program's sources load, directly or through other sources. */
function packagesOf(...programs: string[]): Set<string> {
  const seen = new Set(programs);
  const packages = new Set<string>();
  for (const path of seen) {
    for (const name of loadedBy(path)) {
      if (name.startsWith('node:')) continue;
      if (name.startsWith('.')) seen.add(join(dirname(path), name));
      else packages.add(packageOf(name));
    }
  }
  return packages;
}

/** With the packages that those depend on, as they are installed. */
function withDependencies(names: Set<string>): string[] {
  const all = new Set(names);
  for (const name of all) {
    const manifest = join('node_modules', name, 'package.json');
    // the one file of monero-ts that the signer loads needs no other package (test/unit/wallet/signer-monero.test.ts)
    if (name === 'monero-ts' || !existsSync(join(ROOT, manifest))) continue;
    const { dependencies = {} } = JSON.parse(textOf(manifest)) as { dependencies?: Record<string, string> };
    for (const needed of Object.keys(dependencies)) all.add(needed);
  }
  return [...all].sort();
}

describe('The signer’s process', () => {
  it('can load the code of the listed packages, and of no other', () => {
    const programs = ['daemon/wallet/signer/process.ts', 'daemon/wallet/signer/service.ts'];
    expect(withDependencies(packagesOf(...programs))).toEqual(SIGNERS);
  });
});

describe('An installation', () => {
  it.each([
    'package-lock.json',
    'main/packaging/package-lock.json',
    'test/nodes/package-lock.json',
    'test/clients/package-lock.json',
  ])('by %s gets each package by its hash, and names no registry', (path) => {
    for (const [place, { integrity }] of Object.entries(lockOf(path)).filter(([place]) => place !== '')) {
      expect(integrity, place).toMatch(/^sha512-/);
    }
    expect(textOf(path)).not.toContain('"resolved"');
  });

  it('runs no script of a package that the service needs', () => {
    const scripted = Object.entries(LOCKED).filter(([place, { hasInstallScript }]) => place !== '' && hasInstallScript);
    expect(scripted.filter(([, { dev }]) => !dev).map(([place]) => place)).toEqual([]);
  });

  it('has no HTTP client that nothing calls: another package stands in its place', () => {
    expect(LOCKED['node_modules/axios']).toBeUndefined();
    expect(LOCKED['node_modules/monero-ts/node_modules/axios']?.name).toBe('@scure/base');
  });

  it('takes a new version only when it is a week old, and a locked one at once', () => {
    const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
    expect(scripts.add).toContain('--min-release-age=7');
    expect(textOf('daemon/launcher/prepare.mjs')).toContain("'--min-release-age=0'");
    // `npm ci` would obey it, too
    expect(textOf('.npmrc')).not.toMatch(/^min-release-age/m);
  });

  it('has a list of all that it holds, by CycloneDX', () => {
    writeSbom(ROOT);
    const list = JSON.parse(textOf(SBOM_FILE)) as {
      bomFormat: string;
      metadata: { component: { name: string } };
      components: { name: string; version: string; hashes?: { alg: string }[] }[];
    };
    expect(list).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'countinghouse' } } });
    const listed = new Set(list.components.map(({ name, version }) => `${name}@${version}`));
    const { dependencies, devDependencies } = JSON.parse(textOf('package.json')) as Record<
      string,
      Record<string, string>
    >;
    for (const [name, version] of Object.entries(dependencies!)) expect(listed).toContain(`${name}@${version}`);
    expect(listed).toContain(`bip174@${LOCKED['node_modules/bip174']!.version}`);
    expect(listed).not.toContain(`vitest@${devDependencies!.vitest}`);
    expect(list.components.every(({ hashes }) => hashes?.some(({ alg }) => alg === 'SHA-512'))).toBe(true);
  });
});
