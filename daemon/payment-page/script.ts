/** The page's script, served under a name with its hash. It uses the SDK for polling. */
import { createHash } from 'node:crypto';
import { assert } from '../domain/errors.ts';
import { browserCode } from '../http/assets/asset.ts';

const HASH_CHARACTERS = 16;
/** From the payment pages' path to the SDK. */
export const SDK_PATH = '../js/sdk.mjs';

function load(): string {
  const source = browserCode('page/page');
  const imported = /from '\.\.\/sdk\/sdk\.(?:ts|js)'/;
  assert(imported.test(source), 'the page imports the SDK');
  // one level further up than the page, because scripts are in assets/
  return source.replace(imported, `from '../${SDK_PATH}'`);
}

export const SCRIPT = load();
const hash = createHash('sha256').update(SCRIPT).digest('hex').slice(0, HASH_CHARACTERS);

/** Its path below the payment pages. */
export const SCRIPT_PATH = `assets/page.${hash}.mjs`;
