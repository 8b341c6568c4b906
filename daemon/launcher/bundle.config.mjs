/**
 * Bundles the program into dist/daemon: one file for each process and thread, and the files that they share. Node takes as long
 * to find and read the 1,300 modules one by one as for the rest of the start.
 */
import { join } from 'node:path';
import { defineConfig } from 'vite';
import { COMPILED, ENTRIES } from '../kit/entries.ts';

const daemon = join(import.meta.dirname, '..');

const BUILT_IN = '\0built-in:';

/**
 * Takes Node's own modules without `import`, which reads each of their exports at once: that of `node:http` alone loads the
 * whole client behind `fetch` for one that nobody uses.
 */
const builtIns = {
  name: 'built-ins',
  enforce: 'pre',
  // the bundler's own module comes before all others
  resolveId: (source, importer = '\0') =>
    source.startsWith('node:') && !importer.startsWith('\0') ? `${BUILT_IN}${source}` : null,
  load: (id) =>
    id.startsWith(BUILT_IN)
      ? `module.exports = process.getBuiltinModule(${JSON.stringify(id.slice(BUILT_IN.length))});`
      : null,
};

export default defineConfig({
  root: daemon,
  logLevel: 'warn',
  publicDir: false,
  build: {
    outDir: join(daemon, '..', 'dist', 'daemon'),
    emptyOutDir: false,
    target: 'node26',
    minify: false,
    ssr: true,
    rolldownOptions: {
      input: Object.fromEntries(Object.entries(ENTRIES).map(([name, source]) => [name, join(daemon, `${source}.ts`)])),
      output: {
        format: 'es',
        // in one folder, where `kit/program.ts` looks for them
        entryFileNames: '[name].js',
        chunkFileNames: '[name]-[hash].js',
        codeSplitting: { groups: [{ name: 'built-ins', test: (id) => id.startsWith(BUILT_IN) }] },
        // V8 keeps a file with two bytes a character if one of them is above U+00FF, as in the texts of fifteen languages
        charset: 'ascii',
        comments: { legal: true, annotation: false, jsdoc: false },
      },
    },
  },
  ssr: { target: 'node', noExternal: true, external: COMPILED },
  plugins: [builtIns],
});
