/**
 * The signatures that a journal names, read without its key. Nothing is checked: a wrong line can only make the service
 * ask its operator, and whoever can write it can do that anyway.
 */
import { createReadStream } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { isMissing } from '../files.ts';
import { HEAD_FILE, JOURNAL_FILE } from './files.ts';
import { readLines } from './lines.ts';

const LINE_BYTES_MAX = 4 * 1024 * 1024;
const MAC_CHARS = 64;

/** `txid`: of the signed transaction; `keys`: its conflict keys. Release 0.1.0 named one of them for each payment. */
export type Recorded = { txid: string; keys: string[] };

const Signed = z.object({
  kind: z.literal('sign'),
  txid: z.string(),
  inputs: z.array(z.string()).default([]),
  entries: z.array(z.object({ anchor: z.string().optional() })).default([]),
});

/**
 * `beginning`: the MAC of the first line, which tells one journal from another; null: there is none. `lines`: all
 * lines. `signed`: those after the line `after` of the journal that began so.
 */
export async function recordedIn(
  folder: string,
  { beginning, after }: { beginning: string | null; after: number },
): Promise<{ beginning: string | null; lines: number; signed: Recorded[] }> {
  const found: { beginning: string | null; lines: number; signed: Recorded[] } = {
    beginning: null,
    lines: 0,
    signed: [],
  };
  try {
    for await (const text of readLines(createReadStream(join(folder, JOURNAL_FILE)), LINE_BYTES_MAX)) {
      found.beginning ??= text.slice(0, MAC_CHARS);
      found.lines++;
      if (found.beginning === beginning && found.lines <= after) continue;
      const line = signedIn(text.slice(MAC_CHARS + 1));
      if (line) found.signed.push(line);
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  return found;
}

function signedIn(json: string): Recorded | null {
  try {
    const { txid, inputs, entries } = Signed.parse(JSON.parse(json));
    return { txid, keys: [...inputs, ...entries.flatMap(({ anchor }) => anchor ?? [])] };
  } catch {
    return null;
  }
}

const HeadLines = z.object({ lines: z.int().min(1) });

/** Where the journal of a folder is now; null: there is none that can be read. */
export async function placeIn(folder: string): Promise<{ beginning: string; lines: number } | null> {
  try {
    const { lines } = HeadLines.parse(JSON.parse(await readFile(join(folder, HEAD_FILE), 'utf8')));
    const file = await open(join(folder, JOURNAL_FILE), 'r');
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAC_CHARS), 0, MAC_CHARS, 0);
      return bytesRead === MAC_CHARS ? { beginning: buffer.toString('latin1'), lines } : null;
    } finally {
      await file.close();
    }
  } catch {
    return null;
  }
}
