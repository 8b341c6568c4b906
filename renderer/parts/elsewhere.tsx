/** Where to approve, in place of the passphrase's field: approvals are turned off in browsers, or the keys are on another machine. */
import type { ReactNode } from 'react';
import { useData } from '../data.tsx';
import { texts, useText } from '../i18n.ts';
import { Notice } from './parts.tsx';

const TEXTS = texts(
  {
    offTitle: 'Approving in a browser is turned off',
    off: 'Use the desktop program, or on the computer of Countinghouse:',
    homeTitle: 'The keys are on {machine}',
    home: 'Approve there, in the desktop program or in a terminal. NAME is the name of this server there. No page of this server asks for your passphrase.',
  },
  {
    offTitle: 'Genehmigen im Browser ist abgeschaltet',
    off: 'Nutzen Sie das Programm auf dem Schreibtisch, oder auf dem Computer von Countinghouse:',
    homeTitle: 'Die Schlüssel sind auf {machine}',
    home: 'Genehmigen Sie dort, im Programm auf dem Schreibtisch oder im Terminal. NAME ist der Name dieses Servers dort. Keine Seite dieses Servers fragt nach Ihrer Passphrase.',
  },
);

/** `commands`: without the program's name, such as `withdrawal approve 1`. */
export function Elsewhere({ commands }: { commands: readonly string[] }): ReactNode {
  const t = useText(TEXTS);
  const { home } = useData().session;
  const program = home === null ? 'countinghouse' : 'countinghouse --server NAME';
  return (
    <Notice
      tone={home === null ? 'warn' : 'main'}
      title={home === null ? t('offTitle') : t('homeTitle', { machine: home })}
    >
      <p>{t(home === null ? 'off' : 'home')}</p>
      {commands.map((command) => (
        <p key={command}>
          <code>{`${program} ${command}`}</code>
        </p>
      ))}
    </Notice>
  );
}
