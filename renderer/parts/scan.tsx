/** The camera with its libraries, which are as large as a screen and which few need: they are loaded when it is opened. */
import { type ComponentProps, lazy, type ReactNode, Suspense } from 'react';
import { Still } from './parts.tsx';

const Camera = lazy(() => import('./camera.tsx'));

export const Scan = (camera: ComponentProps<typeof Camera>): ReactNode => (
  <Suspense fallback={<Still rows={1} />}>
    <Camera {...camera} />
  </Suspense>
);
