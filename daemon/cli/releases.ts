/** `countinghouse releases` and `countinghouse verify`: notices of new releases, and whether a package is its maker's. */
import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Command } from 'commander';
import type { Result } from '../contract/operator.ts';
import { areHashesSigned, fingerprintOf, hashOfFile, readHashes, releaseKey } from '../kit/release-signature.ts';
import { action } from './commands.ts';
import { Failure, FaultShown, type Io } from './io.ts';
import type { Session } from './session.ts';
import { pairs, table, when } from './table.ts';

const LIST = 'SHA256SUMS';
const LIST_BYTES_MAX = 1_048_576;

type State = Result<'releases.show'>;

export function releaseCommands(root: Command, io: Io): void {
  const releases = root.command('releases').description('notices of new releases, asked for once a day if you say so');
  releases
    .command('show', { isDefault: true })
    .description('show what is known of newer releases')
    .action(action(io, async (session) => show(session, await session.call('releases.show', {}))));
  for (const [name, wanted, description] of [
    ['on', true, 'ask for notices, now and once a day; nothing is installed by it'],
    ['off', false, 'ask for them no more'],
  ] as const) {
    releases
      .command(name)
      .description(description)
      .action(action(io, async (session) => show(session, await session.call('releases.choose', { wanted }))));
  }
  root
    .command('verify')
    .argument('<files...>', 'packages of a release')
    .option(
      '--hashes <file>',
      `the published list of hashes (default: ${LIST} beside the first file); its signature is FILE.sig`,
    )
    .option('--key <file>', "the maker's public key in PEM (default: the one in this package)")
    .description('check packages against the hashes that their maker signed')
    .action((files: string[], ...given: unknown[]) =>
      action<Options>(io, (session, options) => verify(session, files, options))(...given),
    );
}

function show(session: Session, state: State): void {
  session.print({ releases: state }, () =>
    pairs([
      ['This release', state.version],
      [
        'Security release',
        state.security && `${state.security.version} of ${state.security.date}: ${state.security.text}`,
      ],
      ['Newest', state.newer && `${state.newer.version} of ${state.newer.date}: ${state.newer.text}`],
      ['Notices', noticesText(state)],
      ['Last asked', state.wanted && state.feed !== null ? when(state.asked_at) : null],
      ['Failed', state.problem],
      ['Signed', state.made_at && when(state.made_at)],
    ]),
  );
}

function noticesText({ feed, wanted }: State): string {
  if (feed === null) return 'there are none: this package has no key of a maker who signs them';
  return wanted ? `once a day from ${feed}` : `not asked for; \`countinghouse releases on\` asks ${feed} once a day`;
}

type Options = { hashes?: string; key?: string };

function textOf(path: string, what: string): string {
  try {
    if (statSync(path).size > LIST_BYTES_MAX) throw new Failure(`${path} is too long for ${what}`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(`${what} cannot be read: ${(error as Error).message}`);
  }
}

async function keyFor(path: string | undefined) {
  if (path !== undefined) {
    try {
      return releaseKey(textOf(path, 'the key'));
    } catch (error) {
      throw error instanceof Failure ? error : new Failure(`${path}: ${(error as Error).message}`);
    }
  }
  const { makerOfPackage } = await import('./maker.ts');
  const maker = makerOfPackage();
  if (maker) return maker.key;
  throw new Failure(
    `this package has no key of a maker, so nothing can be verified with it. Give --key FILE with the maker's public key that you have from elsewhere. \`sha256sum --check ${LIST}\` compares hashes, and does not say who made them`,
  );
}

async function verify(session: Session, files: string[], options: Options): Promise<void> {
  const key = await keyFor(options.key);
  const path = options.hashes ?? join(dirname(files[0]!), LIST);
  const list = textOf(path, 'the list of hashes');
  const signature = textOf(`${path}.sig`, 'its signature').trim();
  if (!areHashesSigned(Buffer.from(list), signature, key))
    throw new Failure(`${path} is not signed with the key ${fingerprintOf(key)}: do not install these files`);
  const hashes = readHashes(list);
  if (hashes === null) throw new Failure(`${path} is no list of hashes`);
  const judged: { file: string; verdict: 'as_published' | 'changed' | 'not_listed' }[] = [];
  for (const file of files) {
    const hash = hashes.get(basename(file));
    const found = await hashOfFile(file).catch((error: Error) => {
      throw new Failure(`${file} cannot be read: ${error.message}`);
    });
    judged.push({ file, verdict: hash === undefined ? 'not_listed' : hash === found ? 'as_published' : 'changed' });
  }
  session.print({ key: fingerprintOf(key), files: judged }, () =>
    [
      pairs([['Signed with', fingerprintOf(key)]]),
      table(
        ['FILE', 'FOUND'],
        judged.map(({ file, verdict }) => [file, WORDS[verdict]]),
        '',
      ),
    ].join('\n'),
  );
  if (judged.some(({ verdict }) => verdict !== 'as_published')) throw new FaultShown();
}

const WORDS = {
  as_published: 'as its maker published it',
  changed: 'CHANGED: do not install it',
  not_listed: 'NOT of this release: its name is not on the list',
} as const;
