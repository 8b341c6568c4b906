/**
 * Bundles the program into dist/daemon/cli.js and the files beside it that it loads: Node takes as long to find and read the
 * 1,300 modules one by one as for the rest of the start. The compiler's files stay, because the signer's process and the
 * backup's thread run from them.
 */
import { dirname, join, relative, sep } from 'node:path';
import { defineConfig } from 'vite';

const daemon = join(import.meta.dirname, '..');
/** Libraries with compiled parts, which they look for beside themselves. */
const COMPILED = ['better-sqlite3', '@napi-rs/keyring', 'tiny-secp256k1', 'monero-ts'];

/** Not in a text: the SDK is given out with such a name in it. */
const OWN_PLACE = /(?<!['"])\bimport\.meta\.(dirname|filename|url)\b/g;

/**
 * V8 keeps a file's text in memory with two bytes a character if one character is above U+00FF, so that fifteen languages would
 * double the memory of the files that they are in. Such characters stand in texts and patterns only, where an escape means the
 * same.
 */
const inAscii = (code) =>
  code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Defines the functions by which a module in a bundle names its own place among the compiler's files. */
const placesFrom = (bundle) =>
  `import { join as __join } from 'node:path'; import { pathToFileURL as __asUrl } from 'node:url';
const __place = (own) => __join(import.meta.dirname, ${JSON.stringify(bundle.includes('/') ? '..' : '.')}, own);
const __placeUrl = (own) => __asUrl(__place(own)).href;`;

const IMPORT_OF_NODE = /^import (?:(?:\* as )?([^"']*?) from )?"(node:[\w/]+)";$/gm;

/**
 * Takes Node's own modules without `import`, which reads each of their exports at once: that of `node:http` alone loads the
 * whole client behind `fetch` for one that nobody uses.
 */
const withoutFacades = (code) =>
  code.replace(IMPORT_OF_NODE, (_, names = '', module) => {
    const [, own, listed] = /^([\w$]+)?(?:, )?(\{.*\})?$/.exec(names);
    const taken = `process.getBuiltinModule("${module}")`;
    const whole = own ? `const ${own} = ${taken};` : '';
    return listed ? `${whole}const ${listed.replaceAll(' as ', ': ')} = ${taken};` : whole;
  });

export default defineConfig({
  root: daemon,
  logLevel: 'warn',
  publicDir: false,
  build: {
    outDir: join(daemon, '..', 'dist', 'daemon'),
    emptyOutDir: false,
    target: 'node26',
    minify: false,
    ssr: join(daemon, 'cli.ts'),
    rolldownOptions: {
      output: {
        format: 'es',
        entryFileNames: 'cli.js',
        chunkFileNames: 'bundle/[name]-[hash].js',
        comments: { legal: true, annotation: false, jsdoc: false },
        banner: ({ fileName }) => placesFrom(fileName),
      },
    },
  },
  ssr: { target: 'node', noExternal: true, external: COMPILED },
  plugins: [
    {
      name: 'faster-to-load',
      generateBundle(_, files) {
        const chunks = Object.values(files).filter((file) => file.type === 'chunk');
        for (const chunk of chunks) chunk.code = inAscii(withoutFacades(chunk.code));
      },
    },
    {
      name: 'own-places',
      enforce: 'pre',
      transform(code, id) {
        if (!id.startsWith(daemon + sep) || !id.endsWith('.ts')) return null;
        const own = relative(daemon, id).replaceAll(sep, '/').replace(/\.ts$/, '.js');
        const places = {
          dirname: `__place(${JSON.stringify(dirname(own))})`,
          filename: `__place(${JSON.stringify(own)})`,
          url: `__placeUrl(${JSON.stringify(own)})`,
        };
        return code.replace(OWN_PLACE, (_, what) => places[what]);
      },
    },
  ],
});
