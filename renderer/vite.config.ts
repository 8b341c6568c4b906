/** Bundles the console into static files. The launcher's build names the output folder. */
import { join } from 'node:path';
import { defineConfig } from 'vite';

const NO_TEXTS = '\0no-texts';

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  publicDir: false,
  logLevel: 'warn',
  server: { host: '127.0.0.1' },
  build: {
    outDir: join(import.meta.dirname, '..', 'dist', 'renderer'),
    emptyOutDir: true,
    target: 'es2022',
    // the content security policy permits no data: URLs but for pictures
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rolldownOptions: { checks: { moduleLevelDirective: false } },
  },
  plugins: [
    {
      // React Aria ships its few words in 34 languages
      name: 'only-the-languages-of-the-console',
      enforce: 'pre',
      resolveId(source) {
        return /\/[a-z]{2}-[A-Z]{2}\.m?js$/.test(source) && !/\/(?:en-US|de-DE)\.m?js$/.test(source) ? NO_TEXTS : null;
      },
      load(id) {
        return id === NO_TEXTS ? 'export default {};' : null;
      },
    },
  ],
});
