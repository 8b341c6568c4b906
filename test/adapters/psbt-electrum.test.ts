/** PSBTs that Debian's Electrum signs offline, by the keys of the account alone, and what it signs is taken as it is. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check } from '@scure/base';
import { initEccLib } from 'bitcoinjs-lib';
import * as ecc from 'tiny-secp256k1';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isOfPlan, judgeSigned } from '../../daemon/chains/utxo/spend/judge.ts';
import { makePsbt } from '../../daemon/chains/utxo/spend/psbt.ts';
import { accountOf, node, planned } from '../unit/chains/psbt-kit.ts';

initEccLib(ecc);

const PROGRAM = '/usr/bin/electrum';
const hasElectrum = existsSync(PROGRAM) || process.env.CI === 'true';
const title = 'a PSBT of another wallet';

/** The bytes by which Electrum tells what addresses a private key of a test network makes. */
const VERSIONS = { p2pkh: '04358394', 'p2sh-p2wpkh': '044a4e28', p2wpkh: '045f18bc' } as const;
type Form = keyof typeof VERSIONS;

/** The private key of the account, as Electrum restores it. */
function keyFor(form: Form): string {
  const coded = createBase58check(sha256);
  const bytes = coded.decode(node.privateExtendedKey);
  bytes.set(Buffer.from(VERSIONS[form], 'hex'));
  return coded.encode(bytes);
}

describe.skipIf(!hasElectrum)(hasElectrum ? title : `${title} (skipped: apt-get install electrum)`, () => {
  let folder: string;
  const electrum = async (...args: string[]): Promise<string> => {
    const env = { ...process.env, HOME: folder };
    const done = await promisify(execFile)(PROGRAM, ['--regtest', '--offline', '-D', folder, ...args], { env });
    return done.stdout.trim();
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'electrum-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each(Object.keys(VERSIONS) as Form[])(
    'of %s is signed by Electrum, which knows its keys and its change',
    async (form) => {
      const wallet = ['-w', join(folder, form)];
      await electrum('restore', ...wallet, keyFor(form));
      const { plan, previous } = planned(form);
      const { file } = makePsbt({ plan, previous }, accountOf(form));
      const signed = await electrum('signtransaction', ...wallet, Buffer.from(file).toString('base64'));
      const judged = judgeSigned(plan, Buffer.from(signed), 'BTC', 'regtest');
      expect(isOfPlan(plan, judged.raw)).toBe(true);
    },
  );
});
