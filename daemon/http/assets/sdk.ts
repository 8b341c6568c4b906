/** The browser client below `/js`: a module, a classic script, and the types, all from `daemon/web/sdk/`. */
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
 * A module as a classic script: its exports become members of a global, named by the tag's `data-global` (default:
 * Countinghouse), and its address is the tag's.
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
