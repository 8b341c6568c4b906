/** Public static files, such as scripts, their types and icons: read once, compressed once, revalidated by hash. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { RequestHandler } from 'express';
import { CODE_FOLDER } from '../../kit/program.ts';

const WEB = join(CODE_FOLDER, 'web');
const ETAG_CHARACTERS = 22;

/**
 * The browser code of a module below `daemon/web/`, named without extension: the built file, or the source without its
 * types if the program runs from its sources.
 */
export function browserCode(name: string): string {
  const built = join(WEB, `${name}.js`);
  if (existsSync(built)) return readFileSync(built, 'utf8');
  return stripTypeScriptTypes(readFileSync(join(WEB, `${name}.ts`), 'utf8'));
}

export const browserFile = (name: string): string => readFileSync(join(WEB, name), 'utf8');

export type Asset = { type: string; etag: string; plain: Buffer; packed: Buffer };

export function makeAsset(type: string, content: string | Buffer): Asset {
  const plain = Buffer.from(content);
  const hash = createHash('sha256').update(plain).digest('base64url').slice(0, ETAG_CHARACTERS);
  // weak: the compressed form has other bytes under the same tag
  return { type, etag: `W/"${hash}"`, plain, packed: gzipSync(plain, { level: 9 }) };
}

/** Serves what `load` returns at the first request. `maxAgeSeconds`: for how long browsers need not ask again. */
export function serveAsset(load: () => Asset, maxAgeSeconds: number): RequestHandler {
  let asset: Asset | undefined;
  return (request, response) => {
    asset ??= load();
    response.set({
      'Cache-Control': `public, max-age=${maxAgeSeconds}`,
      'Content-Type': asset.type,
      ETag: asset.etag,
      Vary: 'Accept-Encoding',
      'X-Content-Type-Options': 'nosniff',
      // the same for everybody and without personal data: every page may load and read it
      'Access-Control-Allow-Origin': '*',
      'Cross-Origin-Resource-Policy': 'cross-origin',
    });
    if (request.fresh) {
      response.status(304).end();
      return;
    }
    const packed = request.acceptsEncodings('gzip') !== false;
    if (packed) response.set('Content-Encoding', 'gzip');
    response.send(packed ? asset.packed : asset.plain);
  };
}
