/**
 * The desktop program's additions to the console's frame: the servers that this computer signs for. It is loaded there alone, and works
 * without a service that answers: a server that is away, or was taken over, is left by it.
 */
import { type ComponentType, lazy } from 'react';
import type { Bridge } from './bridge.ts';
import { desktopBridge, shellOf } from './bridge-desktop.ts';
import type { Desk } from './data.tsx';
import { Alarms, Away, Servers } from './screens/servers/frame.tsx';

const Screen: ComponentType = lazy(() => import('./screens/servers/servers.tsx'));

/** In the window of the desktop program. */
export function made(window: object): { bridge: Bridge; desk: Desk } {
  const bridge = desktopBridge(shellOf(window));
  return { bridge, desk: { desktop: bridge.desktop, Servers, Alarms, Screen, Away } };
}
