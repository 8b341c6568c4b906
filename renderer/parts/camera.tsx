/** Reads QR codes by a camera of this device. Its pictures stay in the page. In a file of its own, because of its libraries. */
import decodeQR from 'qr/decode.js';
import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from 'react';
import { useText } from '../i18n.ts';
import TEXTS from './camera-texts.ts';
import { Notice } from './parts.tsx';
import { QrReading, type Read } from './qr-reading.ts';

/** A device shows two to five codes a second. */
const LOOK_MS = 80;
/** Enough for a code of 177 squares a side, and quickly searched. */
const WIDTH = 1280;
const HEIGHT = 720;

type Fault = 'denied' | 'missing' | 'failed' | 'insecure';
const FAULTS: Readonly<Record<string, Fault>> = {
  NotAllowedError: 'denied',
  SecurityError: 'denied',
  NotFoundError: 'missing',
  OverconstrainedError: 'missing',
};

/** `onRead`: called once, with what the code said. */
type Props = { onRead(bytes: Uint8Array<ArrayBuffer>): void; onClose(): void };

export default function Camera({ onRead, onClose }: Props): ReactNode {
  const t = useText(TEXTS);
  const video = useRef<HTMLVideoElement>(null);
  const [read, setRead] = useState<Exclude<Read, { is: 'whole' }> | null>(null);
  const [isOn, setOn] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const whole = useEffectEvent(onRead);
  useEffect(() => {
    const end = new AbortController();
    const reading = new QrReading();
    watch(video.current!, end.signal, (text) => {
      setOn(true);
      if (text === null) return;
      const now = reading.take(text);
      if (now.is !== 'whole') return setRead(now);
      end.abort();
      whole(now.bytes);
    }).catch((error: Error) => {
      if (!end.signal.aborted) setFault(FAULTS[error.name] ?? (isSecureContext ? 'failed' : 'insecure'));
    });
    return () => end.abort();
  }, []);
  return (
    <div className="camera">
      {fault === null ? (
        <>
          <video ref={video} muted playsInline aria-label={t('picture')} />
          <p className="quiet" role="status">
            {read === null ? t(isOn ? 'aim' : 'asks') : read.is === 'part' ? t('part', read) : t(read.is)}
          </p>
        </>
      ) : (
        <Notice tone="main" title={t(fault)} />
      )}
      <button type="button" className="link" onClick={onClose}>
        {t('close')}
      </button>
    </div>
  );
}

/** Tells the text of the code in each picture of the camera, or null where there is none, until `signal` ends it. */
async function watch(video: HTMLVideoElement, signal: AbortSignal, tell: (text: string | null) => void): Promise<void> {
  const stream = await navigator.mediaDevices.getUserMedia({
    video: { facingMode: 'environment', width: { ideal: WIDTH }, height: { ideal: HEIGHT } },
  });
  const stop = (): void => {
    for (const track of stream.getTracks()) track.stop();
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) return stop();
  video.srcObject = stream;
  await video.play();
  const picture = new OffscreenCanvas(video.videoWidth, video.videoHeight);
  const context = picture.getContext('2d', { willReadFrequently: true })!;
  while (!signal.aborted) {
    context.drawImage(video, 0, 0);
    tell(textIn(context.getImageData(0, 0, picture.width, picture.height)));
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function textIn(picture: ImageData): string | null {
  try {
    return decodeQR(picture);
  } catch {
    // no code in it, or one that is not sharp
    return null;
  }
}
