/**
 * The maker's part of a release. Around packaging it writes who makes the package (`dist/release.json`). As a program,
 * `npm run release -- FOLDER [--notices FILE]`, it lists and signs the hashes of the packages in a folder, and signs the notices of
 * releases. The private key is a file outside of the project, named by COUNTINGHOUSE_UPDATE_KEY. Valid on Node 18.
 */
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { createReadStream, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where a package says who made it, from its root. */
const MAKER_FILE = join('dist', 'release.json');
/** As `sha256sum` writes it, so that `sha256sum --check` reads it. */
const LIST = 'SHA256SUMS';
const FEED = 'releases.json';
const NOTICES_PREFIX = 'countinghouse releases\n';
const TEXT_CHARS_MAX = 300;

function keyIn(file) {
  const key = createPrivateKey(readFileSync(file, 'utf8'));
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`${file} is no key of Ed25519`);
  return key;
}

/**
 * Writes who makes a package: the public key, and where its notices are, beside the desktop program's updates
 * (COUNTINGHOUSE_UPDATES, an https address; without it there are none). Without a key it removes what an earlier run wrote.
 */
export function writeMaker(root, { COUNTINGHOUSE_UPDATES: url, COUNTINGHOUSE_UPDATE_KEY: file } = process.env) {
  const path = join(root, MAKER_FILE);
  if (!file) return rmSync(path, { force: true });
  if (url && !url.startsWith('https://')) throw new Error(`COUNTINGHOUSE_UPDATES is no https address: ${url}`);
  const key = createPublicKey(keyIn(file)).export({ type: 'spki', format: 'pem' });
  const feed = url ? `${url.replace(/\/+$/, '')}/${FEED}` : null;
  writeFileSync(path, `${JSON.stringify({ key, feed }, null, 1)}\n`);
}

async function hashOf(path) {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece);
  return hash.digest('hex');
}

/** Lists the hashes of a folder's files, and signs the list. Resolves to the names. */
async function signHashes(folder, keyFile) {
  const key = keyIn(keyFile);
  const own = new Set([LIST, `${LIST}.sig`, FEED]);
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !own.has(entry.name))
    .map(({ name }) => name)
    .sort();
  if (names.length === 0) throw new Error(`there is no file in ${folder}`);
  const strange = names.find((name) => !/^[\w.+@-]{1,200}$/.test(name));
  if (strange !== undefined) throw new Error(`${strange}: a package's name has letters, digits and . _ + @ - alone`);
  const lines = [];
  for (const name of names) lines.push(`${await hashOf(join(folder, name))}  ${name}\n`);
  const list = lines.join('');
  writeFileSync(join(folder, LIST), list);
  writeFileSync(join(folder, `${LIST}.sig`), `${sign(null, Buffer.from(list), key).toString('base64')}\n`);
  return names;
}

function noticeFault({ version, date, security, since, text }) {
  const isVersion = (one) => /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(one);
  if (!isVersion(version)) return `version: ${version}`;
  if (!/^\d{4}-\d\d-\d\d$/.test(date)) return `date: ${date}`;
  if (typeof security !== 'boolean') return `security: ${security}`;
  if (since !== undefined && !isVersion(since)) return `since: ${since}`;
  return typeof text === 'string' && /^\P{C}{1,300}$/u.test(text) ? null : `text: 1 to ${TEXT_CHARS_MAX} characters`;
}

/** Signs notices into the feed `releases.json`. `made`: the time of the signature. */
export function signNotices(folder, noticesFile, keyFile, made = new Date()) {
  const { serial, releases } = JSON.parse(readFileSync(noticesFile, 'utf8'));
  if (!Number.isInteger(serial) || serial < 1) throw new Error('serial: a whole number, higher than in the last feed');
  const fault = releases.map(noticeFault).find((one) => one !== null);
  if (fault) throw new Error(`a notice is wrong: ${fault}`);
  const signed = JSON.stringify({ serial, made: made.toISOString(), releases });
  const signature = sign(null, Buffer.from(NOTICES_PREFIX + signed), keyIn(keyFile)).toString('base64');
  writeFileSync(join(folder, FEED), `${JSON.stringify({ signed, signature })}\n`);
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) {
  const [folder, option, notices] = process.argv.slice(2);
  const keyFile = process.env.COUNTINGHOUSE_UPDATE_KEY;
  if (!folder || !keyFile || (option !== undefined && (option !== '--notices' || !notices))) {
    process.stderr.write('COUNTINGHOUSE_UPDATE_KEY=FILE npm run release -- FOLDER [--notices FILE]\n');
    process.exit(2);
  }
  const names = await signHashes(folder, keyFile);
  if (notices) signNotices(folder, notices, keyFile);
  process.stderr.write(`signed: ${names.join(', ')}${notices ? `, ${FEED}` : ''}\n`);
}
