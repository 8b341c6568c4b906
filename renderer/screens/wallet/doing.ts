/** Runs what needs the wallet, and reads the wallet's state afterwards, whatever came of it. */
import { useState } from 'react';
import { useData } from '../../data.tsx';

type Doing = { error: Error | null; busy: boolean; run(work: () => Promise<unknown>): Promise<boolean> };

export function useDoing(): Doing {
  const { client } = useData();
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const run = async (work: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    setError(null);
    const failed = await work().then(
      () => null,
      (error: Error) => error,
    );
    setError(failed);
    setBusy(false);
    await client.invalidateQueries({ queryKey: ['wallet.status'] });
    return failed === null;
  };
  return { error, busy, run };
}
