// Receives the events of a Countinghouse endpoint and believes only what is signed. Run: SECRET=whsec_… node receive-events.mjs
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const AGE_SECONDS_MAX = 300;
const BYTES_MAX = 1_000_000;
const key = Buffer.from((process.env.SECRET ?? '').replace(/^whsec_/, ''), 'base64');
if (key.length < 24) throw new Error('SECRET is no secret of an endpoint: with a short one anybody could sign');

function isGenuine({ 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signatures = '' }, body) {
  if (!(Math.abs(Date.now() / 1000 - at) < AGE_SECONDS_MAX)) return false;
  const expected = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest();
  const given = signatures.split(' ').map((text) => Buffer.from(text.replace(/^v1,/, ''), 'base64'));
  return given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
}

async function textOf(request) {
  const pieces = [];
  for await (const piece of request) {
    pieces.push(piece);
    if (pieces.reduce((sum, { length }) => sum + length, 0) > BYTES_MAX) throw new Error('that is no event');
  }
  return Buffer.concat(pieces).toString();
}

async function take(request, response) {
  const body = await textOf(request);
  response.writeHead(isGenuine(request.headers, body) ? 204 : 401).end();
  if (response.statusCode !== 204) return;
  const { type, data } = JSON.parse(body); // once per request.headers['webhook-id']: an event may come twice
  console.log(type, data.id, data.order_id ?? '', data.status ?? '');
}

createServer((request, response) => {
  // cut off, or too long: it comes again
  take(request, response).catch(() => response.destroy());
}).listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
