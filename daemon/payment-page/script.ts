/** The page's own script, served under a name that holds its hash. It takes its polling from the SDK. */
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
  // one step further up than the page, since scripts lie in assets/
  return source.replace(imported, `from '../${SDK_PATH}'`);
}

export const SCRIPT = load();
const hash = createHash('sha256').update(SCRIPT).digest('hex').slice(0, HASH_CHARACTERS);

/** Where it lies, below the payment pages. */
export const SCRIPT_PATH = `assets/page.${hash}.mjs`;
