/** Standard Webhooks 1.0.0: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
import { createHmac } from 'node:crypto';

export const SECRET_PREFIX = 'whsec_';

/** The headers of a message that is signed with each of the secrets ("whsec_" and base64). `now`: milliseconds since 1970. */
export function signatureHeaders(secrets: readonly string[], id: string, body: string, now: number) {
  const timestamp = `${Math.floor(now / 1_000)}`;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
