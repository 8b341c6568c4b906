/** BIP-39: the published English vectors (passphrase TREZOR), and what an import says about mistakes. */
import { describe, expect, it } from 'vitest';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { createWords, parseWords, seedOf } from '../../../daemon/wallet/mnemonic.ts';

const ABANDON = `${'abandon '.repeat(11)}about`;

const VECTORS = [
  [
    ABANDON,
    'c55257c360c07c72029aebc1b53c05ed0362ada38ead3e3e9efa3708e53495531f09a6987599d18264c1e1c92f2cf141630c7a3c4ab7c81b2f001698e7463b04',
  ],
  [
    'legal winner thank year wave sausage worth useful legal winner thank yellow',
    '2e8905819b8723fe2c1d161860e5ee1830318dbf49a83bd451cfb8440c28bd6fa457fe1296106559a3c80937a1c1069be3a3a5bd381ee6260e8d9739fce1f607',
  ],
  [
    'letter advice cage absurd amount doctor acoustic avoid letter advice cage above',
    'd71de856f81a8acc65e6fc851a38d4d7ec216fd0796d0a6827a3ad6ed5511a30fa280f12eb2e47ed2ac03b5c462a0358d18d69fe4f985ec81778c1b370b652a8',
  ],
  [
    'zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong',
    'ac27495480225222079d7be181583751e86f571027b0497b5b5d11218e0a8a13332572917f0f8e5a589620c6f15b11c61dee327651a14c34e18231052e48c069',
  ],
] as const;

const rejection = async (promise: Promise<unknown>): Promise<Rejected> => {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Rejected);
  return error as Rejected;
};

describe('seeds', () => {
  it.each(VECTORS)('%s', async (words, seed) => {
    expect((await seedOf(await parseWords(words), 'TREZOR')).toString('hex')).toBe(seed);
  });

  it('take the two Unicode spellings of a passphrase for one', async () => {
    const [composed, decomposed] = await Promise.all([seedOf(ABANDON, 'caf\u00e9'), seedOf(ABANDON, 'cafe\u0301')]);
    expect(composed.equals(decomposed)).toBe(true);
    expect(composed.equals(await seedOf(ABANDON, 'cafe'))).toBe(false);
  });
});

describe('new words', () => {
  it.each([12, 24] as const)('are %d, valid, and others each time', async (count) => {
    const [first, second] = [await createWords(count), await createWords(count)];
    expect(first.split(' ').length).toBe(count);
    expect(await parseWords(first)).toBe(first);
    expect(second).not.toBe(first);
  });

  it('are 24 by default', async () => {
    expect((await createWords()).split(' ').length).toBe(24);
  });
});

describe('imported words', () => {
  it.each([
    ['upper case and odd spaces', ` ${ABANDON.toUpperCase().replaceAll(' ', '  \n')}\t`, ABANDON],
    ['15 words', `${'abandon '.repeat(14)}address`, `${'abandon '.repeat(14)}address`],
    ['18 words', `${'abandon '.repeat(17)}agent`, `${'abandon '.repeat(17)}agent`],
    ['21 words', `${'abandon '.repeat(20)}admit`, `${'abandon '.repeat(20)}admit`],
    ['24 words', `${'abandon '.repeat(23)}art`, `${'abandon '.repeat(23)}art`],
  ])('may be %s', async (_, text, words) => {
    expect(await parseWords(text)).toBe(words);
  });

  it.each([
    ['none', '', 'mnemonic.length'],
    ['11 words', 'abandon '.repeat(11), 'mnemonic.length'],
    ['13 words', `${ABANDON} about`, 'mnemonic.length'],
    ['27 words', 'abandon '.repeat(27), 'mnemonic.length'],
    ['a flood', 'abandon '.repeat(100_000), 'mnemonic.length'],
    ['a wrong last word', 'abandon '.repeat(12), 'mnemonic.checksum'],
    ['swapped words', `about ${'abandon '.repeat(11)}`, 'mnemonic.checksum'],
  ])('are refused for %s', async (_, text, code) => {
    expect((await rejection(parseWords(text))).code).toBe(code);
  });

  it('name the position of a wrong word and never the word', async () => {
    const error = await rejection(parseWords(`${'abandon '.repeat(6)}abandom ${'abandon '.repeat(4)}about`));
    expect([error.code, error.field, error.message]).toEqual([
      'mnemonic.word',
      'words',
      'Word 7 is not in the English BIP-39 word list',
    ]);
    const checksum = await rejection(parseWords('zoo '.repeat(12)));
    expect(`${checksum.message} ${checksum.stack}`).not.toContain('zoo');
  });
});
