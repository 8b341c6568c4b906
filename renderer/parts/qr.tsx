/** A QR code as one picture of squares, black on white in both themes, because cameras expect that. */
import { create } from 'qrcode';
import { type ReactNode, useMemo } from 'react';

const QUIET_MODULES = 4;

/** `version`: the size that each of several pictures has, so that none jumps, with the least correction; absent: what the text needs. */
export function QrCode({ text, label, version }: { text: string; label: string; version?: number }): ReactNode {
  const { path, size } = useMemo(() => {
    const { modules } = create(text, version ? { errorCorrectionLevel: 'L', version } : { errorCorrectionLevel: 'M' });
    const dark = Array.from(modules.data, (bit, at) => (bit ? at : -1)).filter((at) => at >= 0);
    const square = (at: number): string =>
      `M${(at % modules.size) + QUIET_MODULES} ${Math.floor(at / modules.size) + QUIET_MODULES}h1v1h-1z`;
    return { path: dark.map(square).join(''), size: modules.size + 2 * QUIET_MODULES };
  }, [text, version]);
  return (
    <svg className="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shapeRendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
