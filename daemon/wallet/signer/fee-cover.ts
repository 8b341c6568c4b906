/**
 * The fees that policies let go. Of transactions that share coins one confirms, but a batch shares coins with payments that share
 * none with each other, and those can all confirm.
 *
 * Invariant: what is counted is at least the sum of the fees of any transactions that can confirm beside each other. Transactions
 * are put in groups within which each conflicts with each, and the highest fee of every group counts. So at most one of a group
 * confirms. The result follows from the transactions and their order alone: a journal that is read again says the same.
 */

/** A transaction beyond this is the first of another group, which counts its whole fee. */
const MEMBERS_MAX = 64;
/** The groups that a transaction may join. */
const CANDIDATES_MAX = 64;

type Keys = ReadonlySet<string>;
/** `members`: the conflict keys of each transaction, transactions of the same keys once. `fee`: the highest. */
type Group = { members: (readonly string[])[]; fee: bigint };
/** Nearly every key is of one group. A full journal has millions of keys, and all of this is in the signer's memory. */
type Groups = Map<string, Group | Set<Group>>;

export class FeeCover {
  /** By a subject, and by a key: the groups with a transaction that uses it. */
  readonly #groups = new Map<string, Groups>();

  /** How much more counts against the grant of this subject when a transaction with these conflict keys is signed. */
  riseOf(subject: string, conflictKeys: readonly string[], fee: bigint): bigint {
    const group = this.#groupFor(subject, new Set(conflictKeys), fee);
    return rise(group, fee);
  }

  add(subject: string, conflictKeys: readonly string[], fee: bigint): void {
    const keys = new Set(conflictKeys);
    const group = this.#groupFor(subject, keys, fee) ?? { members: [], fee: 0n };
    if (group.fee < fee) group.fee = fee;
    if (!group.members.some((member) => isSame(member, keys))) group.members.push([...keys]);
    const groups: Groups = this.#groups.get(subject) ?? new Map();
    this.#groups.set(subject, groups);
    for (const key of keys) {
      const known = groups.get(key);
      if (known === undefined) groups.set(key, group);
      else if (known instanceof Set) known.add(group);
      else if (known !== group) groups.set(key, new Set([known, group]));
    }
  }

  /** The group in which the least more counts, of several the oldest. */
  #groupFor(subject: string, keys: Keys, fee: bigint): Group | undefined {
    const groups = this.#groups.get(subject);
    const candidates = new Set<Group>();
    for (const key of keys) {
      for (const group of each(groups?.get(key))) {
        if (candidates.size < CANDIDATES_MAX) candidates.add(group);
      }
    }
    let best: Group | undefined;
    for (const group of candidates) {
      if ((!best || rise(group, fee) < rise(best, fee)) && isOpenTo(group, keys)) best = group;
    }
    return best;
  }
}

const each = (known: Group | Set<Group> | undefined): Iterable<Group> => {
  if (known === undefined) return [];
  return known instanceof Set ? known : [known];
};

const rise = (group: Group | undefined, fee: bigint): bigint => {
  const counted = group?.fee ?? 0n;
  return fee > counted ? fee - counted : 0n;
};

/** Whether a transaction of these keys conflicts with each of the group. One with the keys of a member does as that member does. */
function isOpenTo({ members }: Group, keys: Keys): boolean {
  if (members.some((member) => isSame(member, keys))) return true;
  return members.length < MEMBERS_MAX && members.every((member) => member.some((key) => keys.has(key)));
}

const isSame = (member: readonly string[], keys: Keys): boolean =>
  member.length === keys.size && member.every((key) => keys.has(key));
