/** A sale that waits for the service. */
import type { ReactNode } from 'react';
import { Notice, Problem } from '../../parts/parts.tsx';
import type { T } from './counter.tsx';
import type { Selling } from './selling.ts';

/** A sale that the service has not answered, and why one was refused. */
export function Pending({ selling, t }: { selling: Selling; t: T }): ReactNode {
  if (selling.error) return <Problem error={selling.error} />;
  if (!selling.silent) return null;
  const drop = (
    <button type="button" className="link" onClick={selling.drop}>
      {t('drop')}
    </button>
  );
  return (
    <Notice tone="warn" title={t('kept')} actions={drop}>
      {t('keptNote')}
    </Notice>
  );
}
