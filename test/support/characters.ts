/** Characters for properties about text. */
import fc from 'fast-check';

/** The only character of a text. Throws if it has more, or none. */
function codePointOf(text: unknown): number {
  const [character, ...others] = typeof text === 'string' ? text : [];
  if (character === undefined || others.length > 0) throw new Error('not one character');
  return character.codePointAt(0)!;
}

/**
 * Every character of Unicode, as `unit` of `fc.string`. fast-check's own unit `binary` holds the thread for more than a
 * second when it is first made; connections of a service in the same process end meanwhile.
 */
export const anyCharacter = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10_ffff }))
  .map((code) => String.fromCodePoint(code), codePointOf);
