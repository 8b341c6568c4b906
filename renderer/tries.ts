/** How long the next passphrase must wait after wrong ones. */
import { useCallback, useEffect, useState } from 'react';
import { useData } from './data.tsx';

const SECOND_MS = 1_000;

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
    const timer = setTimeout(() => setWait(Math.max(0, wait - 1)), SECOND_MS);
    return () => clearTimeout(timer);
  }, [wait]);
  return { wait, read };
}
