/** A PSBT as pictures for a camera: BBQr, the codes that hardware wallets with a camera read. In a file of its own, because of its library. */
import { splitQRs } from 'bbqr';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { useText } from '../../i18n.ts';
import { QrCode } from '../../parts/qr.tsx';
import TEXTS from './outside-texts.ts';

/** Few enough squares for the camera of a small device: 77 a side. */
const LARGEST = { maxVersion: 15 } as const;
const PSBT = 'P';
/** Two pictures a second: a camera reads each, and nothing flashes three times a second. */
const PICTURE_MS = 500;

export default function Codes({ bytes }: { bytes: Uint8Array }): ReactNode {
  const t = useText(TEXTS);
  const { parts, version } = useMemo(() => splitQRs(bytes, PSBT, LARGEST), [bytes]);
  const [at, setAt] = useState(0);
  const [moves, setMoves] = useState(() => !matchMedia('(prefers-reduced-motion: reduce)').matches);
  const of = parts.length;
  const shown = at % of;
  useEffect(() => {
    if (!moves || of === 1) return;
    const timer = setInterval(() => setAt((now) => now + 1), PICTURE_MS);
    return () => clearInterval(timer);
  }, [moves, of]);
  const place = { n: shown + 1, of };
  return (
    <figure className="outside-codes">
      <QrCode text={parts[shown] ?? ''} label={t('codeLabel', place)} version={version} />
      <figcaption className="quiet">
        {of === 1 ? t('codeOne') : t(moves ? 'codeMoves' : 'codeStands', place)} {t('codesNote')}
      </figcaption>
      {of > 1 && (
        <div className="actions">
          <button type="button" className="link" onClick={() => setMoves(!moves)}>
            {t(moves ? 'pause' : 'play')}
          </button>
          {!moves && (
            <button type="button" className="link" onClick={() => setAt(shown + 1)}>
              {t('next')}
            </button>
          )}
        </div>
      )}
    </figure>
  );
}
