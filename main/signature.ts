/**
 * The signature of an update: Ed25519 (RFC 8032) over its version and the SHA-512 of its files, which electron-updater compares with
 * what it fetched. The system's own check of publishers is only on macOS and Windows.
 */
import { createPublicKey, sign, verify } from 'node:crypto';
import { z } from 'zod';

const Release = z.object({
  version: z.string(),
  files: z.array(z.object({ url: z.string(), sha512: z.string() })).min(1),
});

/** In the file that electron-builder writes beside the packages, such as `latest-linux.yml`. */
export const SIGNATURE_FIELD = 'signature';

const signedText = ({ version, files }: z.infer<typeof Release>): Buffer =>
  Buffer.from(JSON.stringify(['countinghouse update', version, ...files.map(({ url, sha512 }) => [url, sha512])]));

/** In base64. `key`: a private key in PEM. Throws if `release` is none. */
export const signatureOf = (release: unknown, key: string): string =>
  sign(null, signedText(Release.parse(release)), key).toString('base64');

/** Whether a release was signed by the owner of the public key in PEM. */
export function isSigned(release: unknown, key: string): boolean {
  // packages: what electron-updater fetches for a web installer, by hashes that nobody signed
  const shape = Release.extend({ [SIGNATURE_FIELD]: z.string(), packages: z.undefined().optional() }).safeParse(
    release,
  );
  if (!shape.success) return false;
  const given = Buffer.from(String(shape.data[SIGNATURE_FIELD]), 'base64');
  return verify(null, signedText(Release.parse(release)), createPublicKey(key), given);
}
