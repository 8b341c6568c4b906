/** An address cut into groups, each compared with the group of another address. */
import { inGroups } from '../domain/policy.ts';

/** `other`: the group at the same position of the other address; null if there is no other address. */
export type Cell = { number: number; text: string; other: string | null; isSame: boolean };

/** Groups of four characters. A prefix such as "bitcoincash:" or "0x" stands before the first one. */
export function cellsOf(address: string, other: string | null): { prefix: string; cells: Cell[] } {
  const { prefix, groups } = partsOf(address);
  const others = other === null ? null : partsOf(other).groups;
  const count = Math.max(groups.length, others?.length ?? 0);
  const cells = Array.from({ length: count }, (_, at): Cell => {
    const text = groups[at] ?? '';
    const beside = others === null ? null : (others[at] ?? '');
    return { number: at + 1, text, other: beside, isSame: beside === text };
  });
  return { prefix, cells };
}

function partsOf(address: string): { prefix: string; groups: string[] } {
  const parts = inGroups(address);
  const hasPrefix = /^(?:[a-z]+:|0x)$/.test(parts[0] ?? '');
  return { prefix: hasPrefix ? parts[0]! : '', groups: hasPrefix ? parts.slice(1) : parts };
}

/** Whether a typed group is the one of the address. Case counts only where the address mixes both. */
export function isGroup(typed: string, group: string): boolean {
  const given = typed.replace(/\s/g, '');
  const exact = group !== group.toLowerCase() && group !== group.toUpperCase();
  return exact ? given === group : given.toLowerCase() === group.toLowerCase();
}
