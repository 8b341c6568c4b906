/** Says how long an approval counts, on a page of the desktop program about a server, which may be in the hands of a thief. */
import type { ReactNode } from 'react';
import { useServerName } from '../../data.tsx';
import { texts, useText } from '../../i18n.ts';

const TEXTS = texts(
  {
    kept: 'Did you approve it? A server that somebody controls can keep an approval, and still have the payment signed for up to seven days, whatever it says. This ends every approval and limit on this computer:',
  },
  {
    kept: 'Haben Sie sie genehmigt? Ein Server, den jemand übernommen hat, kann eine Genehmigung behalten und die Zahlung noch bis zu sieben Tage lang unterschreiben lassen, was er auch sagt. Das beendet jede Genehmigung und jedes Limit auf diesem Computer:',
  },
);

/** Nothing on other pages: their service is on this computer, or asks for the approval itself. */
export function KeptApproval(): ReactNode {
  const t = useText(TEXTS);
  const server = useServerName();
  if (server === null) return null;
  return (
    <>
      <p className="quiet">{t('kept')}</p>
      <p>
        <code>{`countinghouse --server ${server} wallet revoke`}</code>
      </p>
    </>
  );
}
