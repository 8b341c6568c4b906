/** Keeps the screen of a till on while it is shown (Screen Wake Lock, W3C). Browsers do so over HTTPS and on this machine alone. */
import { useEffect } from 'react';

export function useAwake(): void {
  useEffect(() => {
    let lock: WakeLockSentinel | null = null;
    let over = false;
    const take = (): void => {
      if (document.visibilityState !== 'visible' || !('wakeLock' in navigator)) return;
      navigator.wakeLock.request('screen').then(
        (taken) => {
          if (over) void taken.release();
          else lock = taken;
        },
        // a device with little power left refuses: the screen goes dark as usual
        () => {},
      );
    };
    take();
    // the lock ends while the page is hidden
    document.addEventListener('visibilitychange', take);
    return () => {
      over = true;
      document.removeEventListener('visibilitychange', take);
      void lock?.release();
    };
  }, []);
}
