/** The servers that this computer signs for, as the program knows them, read again and again while somebody looks. */
import { useSyncExternalStore } from 'react';
import type { ServerList, ServerState } from '../../../daemon/operator/desktop.ts';
import type { Desktop } from '../../bridge.ts';
import { useDesk } from '../../data.tsx';

const READ_EVERY_MS = 2_000;

let known: ServerList | null = null;
const watchers = new Set<() => void>();
let timer: ReturnType<typeof setTimeout> | undefined;

/** A list that the program answered with. */
export function take(list: ServerList): void {
  if (JSON.stringify(list) === JSON.stringify(known)) return;
  known = list;
  for (const changed of watchers) changed();
}

function read(desktop: Desktop): void {
  const again = (): void => {
    timer = watchers.size > 0 ? setTimeout(() => read(desktop), READ_EVERY_MS) : undefined;
  };
  desktop.servers().then(take).then(again, again);
}

const watch =
  (desktop: Desktop) =>
  (changed: () => void): (() => void) => {
    watchers.add(changed);
    if (timer === undefined && watchers.size === 1) read(desktop);
    return () => watchers.delete(changed);
  };
const watching = new WeakMap<Desktop, ReturnType<typeof watch>>();

/** Null until it is read. */
export function useServers(): ServerList | null {
  const { desktop } = useDesk();
  const watched = watching.get(desktop) ?? watch(desktop);
  watching.set(desktop, watched);
  return useSyncExternalStore(watched, () => known);
}

export const find = (list: ServerList | null, name: string | null): ServerState | null =>
  list?.servers.find((one) => one.name === name) ?? null;
