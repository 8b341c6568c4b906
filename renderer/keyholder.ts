/** Requests that need the wallet's passphrase: by the desktop shell's main process, or sealed to the signer's key by this page. */
import { useMemo } from 'react';
import { type Custody, type Keyholder, sealedCustody, sealedKeyholder } from '../daemon/operator/keyholder.ts';
import { useData } from './data.tsx';

export function useKeyholder(): Keyholder {
  const { bridge } = useData();
  return useMemo(() => bridge.keyholder ?? sealedKeyholder(bridge.call), [bridge]);
}

/** Makes and shows the wallet. */
export function useCustody(): Custody {
  const { bridge } = useData();
  return useMemo(() => bridge.custody ?? sealedCustody(bridge.call), [bridge]);
}
