/**
 * Certificates for tests: self-signed, made on the spot, so that no key lies in the repository and every test can have
 * as many as it wants. Sources: RFC 5280 (certificates), X.690 (DER).
 */
import { createHash, generateKeyPairSync, sign } from 'node:crypto';

const SEQUENCE = 0x30;
const SET = 0x31;
const OID = { ecdsaSha256: '2a8648ce3d040302', commonName: '550403', subjectAltName: '551d11' };

function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  if (body.length < 0x80) return Buffer.concat([Buffer.of(tag, body.length), body]);
  const length = Buffer.from(body.length.toString(16).padStart(body.length > 0xff ? 4 : 2, '0'), 'hex');
  return Buffer.concat([Buffer.of(tag, 0x80 | length.length), length, body]);
}

const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const integer = (bytes: Uint8Array): Buffer => der(0x02, bytes);
const time = (at: Date): Buffer => der(0x18, Buffer.from(`${at.toISOString().replace(/[-:T]|\.\d+/g, '')}`, 'latin1'));
const name = (common: string): Buffer =>
  der(SEQUENCE, der(SET, der(SEQUENCE, oid(OID.commonName), der(0x0c, Buffer.from(common, 'utf8')))));

export type Certificate = { key: string; cert: string /** SHA-256 of the DER bytes, hex. */; fingerprint: string };

/** A self-signed certificate for a name, valid for a day around now unless said otherwise. */
export function selfSigned({ host = 'localhost', from = -1, until = 1 } = {}): Certificate {
  const DAY_MS = 86_400_000;
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(SEQUENCE, oid(OID.ecdsaSha256));
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const altNames = der(SEQUENCE, der(0x82, Buffer.from(host, 'latin1')), der(0x87, Buffer.of(127, 0, 0, 1)));
  const body = der(
    SEQUENCE,
    der(0xa0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(1), createHash('sha256').update(spki).digest().subarray(0, 8)])),
    algorithm,
    name(host),
    der(SEQUENCE, time(new Date(Date.now() + from * DAY_MS)), time(new Date(Date.now() + until * DAY_MS))),
    name(host),
    spki,
    der(0xa3, der(SEQUENCE, der(SEQUENCE, oid(OID.subjectAltName), der(0x04, altNames)))),
  );
  const signature = sign('sha256', body, privateKey);
  const bytes = der(SEQUENCE, body, algorithm, der(0x03, Buffer.of(0), signature));
  const lines = bytes.toString('base64').replace(/.{1,64}/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`,
    fingerprint: createHash('sha256').update(bytes).digest('hex'),
  };
}
