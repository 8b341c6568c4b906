/** How it stands with a server. "Away" is a state, no error: red is for a foreign address alone. */
import type { ReactNode } from 'react';
import type { ServerState } from '../../../daemon/operator/desktop.ts';
import { useText } from '../../i18n.ts';
import { useTimes } from '../../parts/format.ts';
import { type Shape, ShapeIcon } from '../../parts/icons.tsx';
import TEXTS from './texts.ts';

const SHAPES: Record<ServerState['line'], Shape> = {
  connecting: 'waiting',
  connected: 'done',
  away: 'waiting',
  refused: 'ended',
};

export function ServerShape({ server }: { server: ServerState }): ReactNode {
  if (server.alarm) {
    return (
      <span className="state bad">
        <ShapeIcon shape="failed" />
      </span>
    );
  }
  return (
    <span className={server.line === 'connected' ? 'state good' : 'state quiet'}>
      <ShapeIcon shape={SHAPES[server.line]} />
    </span>
  );
}

/** The same in words. */
export function useServerWords(): (server: ServerState) => string {
  const t = useText(TEXTS);
  const times = useTimes();
  return ({ alarm, line, since }) => {
    if (alarm) return t('foreignAddress');
    return line === 'connected' || line === 'away'
      ? t(`line_${line}`, { time: times.short(since) })
      : t(`line_${line}`);
  };
}
