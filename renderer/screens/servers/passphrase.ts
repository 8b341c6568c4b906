/** A passphrase that is typed for one thing that the desktop program does with a server's wallet here. */
import { type FormEvent, useState } from 'react';

type Asking = {
  passphrase: string;
  setPassphrase(text: string): void;
  error: Error | null;
  setError(error: Error): void;
  busy: boolean;
  submit(event: FormEvent): void;
};

/** `isReady`: whether all else is given. The field is empty before `work` begins. */
export function usePassphrase<T>(
  work: (passphrase: string) => Promise<T>,
  done: (result: T) => void,
  isReady = true,
): Asking {
  const [passphrase, setPassphrase] = useState('');
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (passphrase === '' || busy || !isReady) return;
    setBusy(true);
    setError(null);
    setPassphrase('');
    work(passphrase)
      .then(done, setError)
      .finally(() => setBusy(false));
  };
  return { passphrase, setPassphrase, error, setError, busy, submit };
}
