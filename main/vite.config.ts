/**
 * Bundles the shell into dist/main/: the main process as an ES module, and the preload script as the one CommonJS file that
 * Chromium's sandbox accepts. Packages that the service needs anyway stay outside; electron-updater is bundled.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vite';

const root = join(import.meta.dirname, '..');
const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
};

export default defineConfig(({ mode }) => ({
  root: import.meta.dirname,
  logLevel: 'warn',
  build: {
    outDir: join(root, 'dist', 'main'),
    emptyOutDir: false,
    target: 'node26',
    minify: false,
    ssr: join(import.meta.dirname, `${mode}.ts`),
    rolldownOptions: {
      // Electron's own, beside `electron`
      external: ['original-fs'],
      output:
        mode === 'preload'
          ? { format: 'cjs', entryFileNames: 'preload.cjs', codeSplitting: false }
          : { format: 'es', entryFileNames: 'main.js', chunkFileNames: '[name].js' },
    },
  },
  ssr: { target: 'node', noExternal: true, external: ['electron', ...Object.keys(dependencies)] },
}));
