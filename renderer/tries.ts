/** How long the next passphrase must wait after wrong ones. */

import { useCallback, useEffect, useState } from 'react';
import { MS_PER_SECOND } from '../daemon/domain/time.ts';
import { useData } from './data.tsx';

export function useTries(enabled: boolean): { wait: number; read(): void } {
  const { bridge } = useData();
  const [wait, setWait] = useState(0);
  const read = useCallback((): void => {
    bridge.call('wallet.status', {}).then(
      ({ wallet }) => setWait(wallet.retry_after_seconds),
      () => {},
    );
  }, [bridge]);
  useEffect(() => {
    if (enabled) read();
  }, [enabled, read]);
  useEffect(() => {
    if (wait === 0) return;
    const timer = setTimeout(() => setWait(Math.max(0, wait - 1)), MS_PER_SECOND);
    return () => clearTimeout(timer);
  }, [wait]);
  return { wait, read };
}
