/** `GET /health`: 200 while payments can be taken, 503 with the reasons while not. Without a key. */
import type { RequestHandler } from 'express';
import type { App } from '../app/app.ts';
import { healthOf } from '../app/operator/health.ts';

/** Repeated requests within this time get the same answer, so that they cost nothing. */
const KEPT_MS = 1_000;

export function healthCheck(app: App): RequestHandler {
  let kept: { at: number; serves: boolean; body: string } | null = null;
  return (_request, response) => {
    const at = performance.now();
    if (kept === null || at - kept.at >= KEPT_MS) {
      const { serves, reasons } = healthOf(app);
      kept = { at, serves, body: JSON.stringify({ status: serves ? 'ok' : 'unavailable', reasons }) };
    }
    response.status(kept.serves ? 200 : 503).setHeader('Cache-Control', 'no-store');
    response.type('application/json').send(kept.body);
  };
}
