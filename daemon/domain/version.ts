/** The order of versions, by the precedence of Semantic Versioning 2.0.0 (semver.org, 11). */

const FORM = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,60}))?(?:\+[0-9A-Za-z.-]{1,60})?$/;

type Version = { numbers: readonly number[]; tags: readonly string[] };

function versionOf(text: string): Version | null {
  const found = FORM.exec(text);
  if (!found) return null;
  const [, major, minor, patch, tags] = found;
  return { numbers: [major, minor, patch].map(Number), tags: tags === undefined ? [] : tags.split('.') };
}

export const isVersion = (text: string): boolean => versionOf(text) !== null;

/** Below 0 if `a` is the earlier one, above 0 if it is the later one. Throws a `RangeError` where one of them is no version. */
export function compareVersions(a: string, b: string): number {
  const [first, second] = [versionOf(a), versionOf(b)];
  if (!first || !second) throw new RangeError(`no version: ${first ? b : a}`);
  for (const [at, number] of first.numbers.entries()) {
    const difference = number - second.numbers[at]!;
    if (difference !== 0) return difference;
  }
  return compareTags(first.tags, second.tags);
}

/** A version with tags comes before the same one without. */
function compareTags(first: readonly string[], second: readonly string[]): number {
  if (first.length === 0 || second.length === 0) return second.length - first.length;
  for (const [at, tag] of first.entries()) {
    const other = second[at];
    if (other === undefined) return 1;
    if (tag !== other) return compareTag(tag, other);
  }
  return first.length - second.length;
}

/** Numbers by their size and before words; words by their bytes. */
function compareTag(tag: string, other: string): number {
  const isNumber = /^\d+$/.test(tag);
  if (isNumber !== /^\d+$/.test(other)) return isNumber ? -1 : 1;
  if (isNumber && tag.length !== other.length) return tag.length - other.length;
  return tag < other ? -1 : 1;
}
