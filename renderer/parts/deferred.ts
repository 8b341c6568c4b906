/**
 * Something that is done after ten seconds unless it is undone. Leaving the screen does it at once; closing the window
 * undoes it, because nothing was sent.
 */

import { useCallback, useEffect, useRef, useState } from 'react';
import { MS_PER_SECOND } from '../../daemon/domain/time.ts';

const UNDO_SECONDS = 10;

export type Deferred = {
  /** The seconds left to undo; null: nothing waits. */
  left: number | null;
  start(): void;
  undo(): void;
  now(): void;
};

export function useDeferred(work: () => void): Deferred {
  const [left, setLeft] = useState<number | null>(null);
  const waits = useRef(false);
  const latest = useRef(work);
  latest.current = work;
  const finish = useCallback((run: boolean): void => {
    if (!waits.current) return;
    waits.current = false;
    setLeft(null);
    if (run) latest.current();
  }, []);
  useEffect(() => {
    if (left === null) return;
    const timer = setTimeout(() => (left > 1 ? setLeft(left - 1) : finish(true)), MS_PER_SECOND);
    return () => clearTimeout(timer);
  }, [left, finish]);
  useEffect(() => () => finish(true), [finish]);
  const start = (): void => {
    waits.current = true;
    setLeft(UNDO_SECONDS);
  };
  return { left, start, undo: () => finish(false), now: () => finish(true) };
}
