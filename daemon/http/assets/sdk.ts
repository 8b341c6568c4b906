/**
 * The browser client under `/js`: as a module, as a classic script that defines a global, and its types. All are made of
 * the one source in `daemon/web/sdk/`.
 */
import { Router } from 'express';
import { assert } from '../../domain/errors.ts';
import { notFound, onlyMethods } from '../errors.ts';
import { EXACT_PATHS } from '../requests.ts';
import { type Asset, browserCode, browserFile, makeAsset, serveAsset } from './asset.ts';

const MAX_AGE_SECONDS = 300;
const GLOBAL = 'Countinghouse';
const SCRIPT = 'text/javascript; charset=utf-8';
const TYPES = 'application/typescript; charset=utf-8';

/**
 * The classic script of a module: what it exports becomes the members of a global, named by the tag's `data-global` or
 * else Countinghouse, and its own address is that of the tag.
 */
export function classicScript(module: string): string {
  const exported = /^export \{([^}]*)\};\s*$/m.exec(module);
  const own = 'import.meta.url';
  assert(exported && module.split(own).length === 2, 'the module exports once and asks for its address once');
  const body = module.replace(exported[0], '').replace(own, "script ? script.src : ''");
  return `(function () {
'use strict';
const script = document.currentScript;
${body}
window[(script && script.getAttribute('data-global')) || '${GLOBAL}'] = {${exported[1]}};
})();
`;
}

/** The declarations, for whoever imports the module or has the script's global. */
const declarations = (): string => `${browserFile('sdk/types.ts')}\nexport as namespace ${GLOBAL};\n`;

/** Mounted at `/js`. */
export function sdkRouter(): Router {
  const router = Router(EXACT_PATHS);
  const files: Record<string, () => Asset> = {
    'sdk.js': () => makeAsset(SCRIPT, classicScript(browserCode('sdk/sdk'))),
    'sdk.mjs': () => makeAsset(SCRIPT, browserCode('sdk/sdk')),
    'sdk.d.ts': () => makeAsset(TYPES, declarations()),
    'sdk.d.mts': () => makeAsset(TYPES, declarations()),
  };
  for (const [name, load] of Object.entries(files)) {
    router.route(`/${name}`).get(serveAsset(load, MAX_AGE_SECONDS)).all(onlyMethods('GET', 'HEAD'));
  }
  router.use(notFound);
  return router;
}
